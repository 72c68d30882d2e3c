"""What a write asks of its user beside the right to the request.

Nobody grants more than they hold: every write of a role or a binding is checked here, whatever verb
it came with. The moment is upstream's: on the object as mutating admission leaves it, before
anything is validated (kubernetes ``pkg/registry/rbac/*/policybased``); `mutation` in this package
calls it, through which every create, update, patch and apply goes. What the server does by itself
it does as system:masters, and passes.

A ResourceClaim asks for a namespace that is open for admin access, and its status for rights by
what changes in it; what lacks is an error of validation (kubernetes
``pkg/registry/resource/resourceclaim``).
"""

from __future__ import annotations

from collections.abc import Callable

from admission.rules import find_namespace, labels_of
from apiserver.authorizers.links import World
from apiserver.authz import rbac
from apiserver.authz.attributes import Attributes, Decision
from apiserver.authz.claimstatus import status_errors
from apiserver.authz.escalation import check_binding, check_role
from apiserver.fielderrors import FieldErrors, FieldPath
from apiserver.kinds.resource import adminaccess
from apiserver.meta import features
from apiserver.meta.gvk import GroupResource
from apiserver.meta.objects import Object, ReadOnlyObject
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
_TEMPLATES = GroupResource("resource.k8s.io", "resourceclaimtemplates")


async def permission_errors(
    registry: Registry, scope: Scope, verb: str, new: Object, old: Object | None
) -> FieldErrors:
    """What a write of a claim for devices asks, or of a template of claims: a namespace that is
    open for admin access, and of a claim's status rights on parts of it. An empty list for all
    other resources. What a spec asks for is looked at once: it does not change. Raises NotFound
    where the namespace has gone meanwhile."""
    resource = scope.resource.group_resource
    if resource not in (_CLAIMS, _TEMPLATES):
        return []
    if old is None:
        spec = new.get("spec") or {}
        if resource == _TEMPLATES:
            spec = spec.get("spec") or {}
        return await _admin_errors(registry, scope, adminaccess.asked_for(spec))
    if scope.subresource != "status":
        return []
    statuses = new.get("status") or {}, old.get("status") or {}
    errors = await _admin_errors(registry, scope, adminaccess.granted_anew(*statuses))
    return errors + await _status_errors(registry, scope, verb, *statuses)


async def _admin_errors(registry: Registry, scope: Scope, path: FieldPath | None) -> FieldErrors:
    """``path``: of what asks for it, if anything does. Raises NotFound."""
    if path is None:
        return []
    namespace = await find_namespace(registry.lookup(scope.tenant), scope.namespace)
    refused = adminaccess.refusal(path, labels_of(namespace))
    return [] if refused is None else [refused]


async def _status_errors(
    registry: Registry, scope: Scope, verb: str, new: ReadOnlyObject, old: ReadOnlyObject
) -> FieldErrors:
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

    return [error async for error in status_errors(new, old, request, authorize)]
