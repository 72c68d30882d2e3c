"""Which tenant a request is for, in two steps around authentication: its row, then what the tenant needs to be served.

Nobody learns without a token which tenants exist: to an anonymous request a tenant that is not there, or not active, is one in which RBAC
allows nothing but what is public everywhere. A tenant is seeded, and its definitions are loaded, only for those who got that far.
"""

from __future__ import annotations

from apiserver.authz.attributes import forbidden
from apiserver.endpoints.filters.authorization import ALWAYS_ALLOWED, attributes_of
from apiserver.endpoints.request import ApiRequest
from apiserver.endpoints.server import Server, TenantInfo
from apiserver.errors import Forbidden, NotFound
from apiserver.meta.gvk import GroupResource
from apiserver.registry.scope import Tenant
from apiserver.user import ANONYMOUS, User

_TENANTS = GroupResource("tenancy.polyplane.dev", "tenants")
_PUBLIC = ALWAYS_ALLOWED | {"/version", "/version/"}
"""What system:public-info-viewer lets everybody read."""
_NONE = Tenant(0, "")


async def enter_tenant(server: Server, request: ApiRequest, found: TenantInfo | None, user: User) -> Tenant:
    """``found``: the row of the tenant's name. Raises 404 for an unknown tenant and 403 for one that is suspended or being deleted; to
    anonymous users 403 as from RBAC for both."""
    if found is not None and found.state == "active":
        tenant = Tenant(found.id, found.name)
        await server.seeder.ensure(tenant)
        await server.catalog.ready(tenant)
        return tenant
    if user.name == ANONYMOUS:
        if request.info.path in _PUBLIC and request.info.verb == "get":
            return _NONE
        request.user = user
        raise forbidden(attributes_of(request), "")
    name = request.info.tenant
    if found is None:
        raise NotFound(_TENANTS, name)
    raise Forbidden(_TENANTS, name, f"the tenant is {found.state}")
