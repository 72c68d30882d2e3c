"""Nobody grants more than they hold: every write of a role or a binding is checked here, whatever
verb it came with.

The moment is upstream's: on the object as mutating admission leaves it, before anything is
validated (kubernetes ``pkg/registry/rbac/*/policybased``). `apiserver.registry.mutation` calls it,
through which every create, update, patch and apply goes. What the server does by itself it does as
system:masters, and passes.
"""

from __future__ import annotations

from collections.abc import Callable

from apiserver.authorizers.links import World
from apiserver.authz import rbac
from apiserver.authz.attributes import Attributes
from apiserver.authz.escalation import check_binding, check_role
from apiserver.meta.objects import Object
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
