"""What the installation's authorizers say about the objects of a tenant."""

from __future__ import annotations

from admission.attributes import Lookup
from apiserver.authorizers.links import World
from apiserver.authz.attributes import Attributes, Decision
from apiserver.authz.explain import Explanation
from apiserver.authz.grants import Asked, Granted, May
from apiserver.authz.rbac import UserRules
from apiserver.registry.core import Registry
from apiserver.registry.scope import Tenant
from apiserver.user import User


async def decide(lookup: Lookup, attributes: Attributes) -> Decision:
    """About the tenant that ``lookup`` reads; system:masters may do everything."""
    return await lookup.decide(attributes)


class TenantAuthorizer:
    """apiserver.endpoints.server.Authorizer."""

    def __init__(self, registry: Registry) -> None:
        self._registry, self._authority = registry, registry.authority

    async def authorize(self, tenant: Tenant, attributes: Attributes) -> Decision:
        return await self._authority.authorize(self._world(tenant), attributes)

    async def rules_for(self, tenant: Tenant, user: User, namespace: str) -> UserRules:
        return await self._authority.rules_for(self._world(tenant), user, namespace)

    async def explain(self, tenant: Tenant, attributes: Attributes) -> Explanation:
        return await self._authority.explain(self._world(tenant), attributes)

    async def grants(self, tenant: Tenant, asked: Asked, may: May) -> Granted:
        return await self._authority.grants(self._world(tenant), asked, may)

    def _world(self, tenant: Tenant) -> World:
        return World(tenant.id, tenant.name, self._registry.lookup(tenant))
