"""RBAC over the objects of a tenant: the reader that the pure authorizer (apiserver.authz.rbac) is
given."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from apiserver.authorizers.links import Stateless, World
from apiserver.authz import rbac
from apiserver.authz.attributes import Attributes, Decision
from apiserver.authz.bindings import Bound, Identity, Indexes
from apiserver.meta.gvk import GroupResource
from apiserver.meta.objects import Object
from apiserver.user import User

_ROLES, _CLUSTER_ROLES = (
    GroupResource(rbac.GROUP, "roles"),
    GroupResource(rbac.GROUP, "clusterroles"),
)
_BINDINGS, _CLUSTER_BINDINGS = (
    GroupResource(rbac.GROUP, "rolebindings"),
    GroupResource(rbac.GROUP, "clusterrolebindings"),
)
MOST_TOLD = 8 * 1024 * 1024
"""Characters of rules that a review lists: a role may have half of them."""


class RbacReader:
    """apiserver.authz.grants.Reader over the watch caches of one tenant."""

    def __init__(self, world: World, indexes: Indexes) -> None:
        self._lookup, self._tenant, self._indexes = world.lookup, world.tenant, indexes

    async def bound(self, namespace: str, identity: Identity) -> Iterable[Bound]:
        of = _BINDINGS if namespace else _CLUSTER_BINDINGS
        bindings = await self._lookup.list(of, namespace)
        return self._indexes.bound(self._tenant, namespace, bindings, identity)

    async def role_bindings(self) -> Sequence[Object]:
        """Of all namespaces."""
        return await self._lookup.list(_BINDINGS)

    async def cluster_role_bindings(self) -> Sequence[Object]:
        return await self._lookup.list(_CLUSTER_BINDINGS)

    async def cluster_role(self, name: str) -> Object | None:
        return await self._lookup.get(_CLUSTER_ROLES, "", name)

    async def role(self, namespace: str, name: str) -> Object | None:
        return await self._lookup.get(_ROLES, namespace, name)


class Rbac(Stateless):
    """The link of a chain. indexes: of whoever has made it."""

    def __init__(self, indexes: Indexes) -> None:
        self._indexes = indexes

    async def authorize(self, world: World, attributes: Attributes) -> Decision:
        return await rbac.authorize(attributes, RbacReader(world, self._indexes))

    async def rules_for(self, world: World, user: User, namespace: str) -> rbac.UserRules:
        return await rbac.rules_for(user, namespace, RbacReader(world, self._indexes), MOST_TOLD)
