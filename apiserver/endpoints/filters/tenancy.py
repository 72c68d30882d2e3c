"""The first filter: which tenant a request is for."""

from __future__ import annotations

from apiserver.endpoints.request import ApiRequest
from apiserver.endpoints.server import Server
from apiserver.errors import Forbidden, NotFound
from apiserver.meta.gvk import GroupResource
from apiserver.registry.scope import Tenant

_TENANTS = GroupResource("tenancy.polyplane.dev", "tenants")


async def find_tenant(server: Server, request: ApiRequest) -> Tenant:
    """Raises 404 for an unknown tenant and 403 for one that is suspended or being deleted."""
    name = request.info.tenant
    found = await server.directory.tenant(name)
    if found is None:
        raise NotFound(_TENANTS, name)
    if found.state != "active":
        raise Forbidden(_TENANTS, name, f"the tenant is {found.state}")
    tenant = Tenant(found.id, found.name)
    await server.seeder.ensure(tenant)
    await server.catalog.ready(tenant)
    return tenant
