"""Which tenant a request is for, in two steps around authentication: its row, then what the tenant
needs to be served.

Nobody learns without a token which tenants exist: a request without one is served outside of all
tenants, where only what is public everywhere is allowed
(`apiserver.endpoints.filters.authorization`), whether the tenant is there or not. Exceptions are
tenants whose names are no secret, `Server.anonymous_tenants`: their own RBAC decides. A tenant is
seeded, and its definitions are loaded, for nobody else.
"""

from __future__ import annotations

from apiserver.endpoints.filters.authentication import NOBODY
from apiserver.endpoints.server import Server, TenantInfo
from apiserver.errors import Forbidden, NotFound
from apiserver.meta.gvk import GroupResource
from apiserver.registry.scope import NO_TENANT, Tenant
from apiserver.request import TENANCY_GROUP
from apiserver.tenantnames import is_name
from apiserver.user import User

_TENANTS = GroupResource(TENANCY_GROUP, "tenants")


async def look_up_tenant(server: Server, name: str) -> TenantInfo | None:
    """The row of that name, in any state. What can be no tenant's name is not asked for."""
    return await server.directory.tenant(name) if is_name(name) else None


def unproven(tenant_info: TenantInfo | None, name: str) -> Tenant:
    """What authentication works with. A tenant that is not there has the number 0, and its name
    when it could be one."""
    if tenant_info is not None:
        return Tenant(tenant_info.id, tenant_info.name)
    return Tenant(0, name if is_name(name) else "")


async def enter_tenant(
    server: Server, name: str, tenant_info: TenantInfo | None, meant: Tenant, user: User
) -> Tenant:
    """``tenant_info``: the row of that name; ``meant``: what it says. Raises 404 for an unknown
    tenant and 403 for one that is suspended or being deleted; who has no token is outside of
    all."""
    if user is NOBODY and (
        tenant_info is None
        or tenant_info.state != "active"
        or tenant_info.name not in server.anonymous_tenants
    ):
        return NO_TENANT
    if tenant_info is not None and tenant_info.state == "active":
        await server.seeder.ensure(meant)
        await server.catalog.ready(meant)
        return meant
    if tenant_info is None:
        raise NotFound(_TENANTS, name)
    raise Forbidden(_TENANTS, name, f"the tenant is {tenant_info.state}")
