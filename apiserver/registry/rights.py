"""What a write asks of its user beside the right to the request.

Nobody grants more than they hold: every write of a role or a binding is checked here, whatever verb
it came with. The moment is upstream's: on the object as mutating admission leaves it, before
anything is validated (kubernetes ``pkg/registry/rbac/*/policybased``); `mutation` in this package
calls it, through which every create, update, patch and apply goes. What the server does by itself
it does as system:masters, and passes.

The status of a ResourceClaim asks for rights by what changes in it; what lacks is an error of
validation (kubernetes ``pkg/registry/resource/resourceclaim``).
"""

from __future__ import annotations

from collections.abc import Callable

from apiserver.authorizers.links import World
from apiserver.authz import rbac
from apiserver.authz.attributes import Attributes, Decision
from apiserver.authz.claimstatus import status_errors
from apiserver.authz.escalation import check_binding, check_role
from apiserver.fielderrors import FieldErrors
from apiserver.meta import features
from apiserver.meta.gvk import GroupResource
from apiserver.meta.objects import Object
from apiserver.registry.authorizer import decide
from apiserver.registry.core import Registry
from apiserver.registry.offload import by_size
from apiserver.registry.scope import Scope

_CHECKS = {
    "roles": check_role,
    "clusterroles": check_role,
    "rolebindings": check_binding,
    "clusterrolebindings": check_binding,
}


async def check_grant(registry: Registry, scope: Scope, obj: Object, old: Object | None) -> None:
    """``old``: the stored object, None for a create. Raises Forbidden for rights that the user does
    not hold, NotFound for a role that does not exist; returns at once for what grants nothing."""
    if scope.resource.group != rbac.GROUP:
        return
    lookup = registry.lookup(scope.tenant)
    reader = registry.authority.reader(World(*scope.tenant, lookup))
    request = Attributes(
        scope.user,
        "create" if old is None else "update",
        group=scope.resource.group,
        version="*",
        resource=scope.resource.resource,
        namespace=scope.namespace,
        name=scope.name,
    )

    async def run(size: int, work: Callable[[], str]) -> str:
        return await by_size(scope.asker(size), work)

    await _CHECKS[scope.resource.resource](request, obj, old, reader, lookup.decide, run)


_CLAIMS = GroupResource("resource.k8s.io", "resourceclaims")


async def permission_errors(
    registry: Registry, scope: Scope, verb: str, new: Object, old: Object | None
) -> FieldErrors:
    """What a change of a ResourceClaim's status asks of the user beside the right to change it; an
    empty list for everything else."""
    if scope.subresource != "status" or scope.resource.group_resource != _CLAIMS or old is None:
        return []
    if not features.enabled("DRAResourceClaimGranularStatusAuthorization"):
        return []
    request = Attributes(
        scope.user,
        verb,
        _CLAIMS.group,
        scope.version,
        _CLAIMS.resource,
        scope.subresource,
        scope.namespace,
        scope.name,
    )
    lookup = registry.lookup(scope.tenant)

    async def authorize(question: Attributes) -> Decision:
        return await decide(lookup, question)

    statuses = new.get("status") or {}, old.get("status") or {}
    return [error async for error in status_errors(*statuses, request, authorize)]
