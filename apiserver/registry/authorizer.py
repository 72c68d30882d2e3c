"""RBAC over the objects of a tenant: the reader that the pure authorizer (apiserver.authz.rbac) is
given."""

from __future__ import annotations

from collections.abc import Sequence

from admission.attributes import Lookup
from apiserver.authz import rbac
from apiserver.authz.attributes import Attributes, Decision
from apiserver.meta.gvk import GroupResource
from apiserver.meta.objects import Object
from apiserver.registry.core import Registry
from apiserver.registry.scope import Tenant
from apiserver.user import MASTERS, User

_ROLES, _CLUSTER_ROLES = (
    GroupResource(rbac.GROUP, "roles"),
    GroupResource(rbac.GROUP, "clusterroles"),
)
_BINDINGS, _CLUSTER_BINDINGS = (
    GroupResource(rbac.GROUP, "rolebindings"),
    GroupResource(rbac.GROUP, "clusterrolebindings"),
)


class RbacReader:
    """apiserver.authz.rbac.Reader over the watch caches of one tenant."""

    def __init__(self, lookup: Lookup) -> None:
        self._lookup = lookup

    async def cluster_role_bindings(self) -> Sequence[Object]:
        return await self._lookup.list(_CLUSTER_BINDINGS)

    async def role_bindings(self, namespace: str) -> Sequence[Object]:
        return await self._lookup.list(_BINDINGS, namespace)

    async def cluster_role(self, name: str) -> Object | None:
        return await self._lookup.get(_CLUSTER_ROLES, "", name)

    async def role(self, namespace: str, name: str) -> Object | None:
        return await self._lookup.get(_ROLES, namespace, name)


async def decide(lookup: Lookup, attributes: Attributes) -> Decision:
    """RBAC's answer within the tenant that ``lookup`` reads; system:masters may do everything."""
    if MASTERS in attributes.user.groups:
        return Decision(True)
    return await rbac.authorize(attributes, RbacReader(lookup))


class RbacAuthorizer:
    """apiserver.endpoints.server.Authorizer."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry

    async def authorize(self, tenant: Tenant, attributes: Attributes) -> Decision:
        return await decide(self._registry.lookup(tenant), attributes)

    async def rules_for(self, tenant: Tenant, user: User, namespace: str) -> rbac.UserRules:
        return await rbac.rules_for(user, namespace, RbacReader(self._registry.lookup(tenant)))
