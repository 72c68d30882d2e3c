"""How controllers change the status of a CustomResourceDefinition: through the same update as any
client, as kube-apiserver itself."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from apiserver.meta.objects import Object
from apiserver.registry.changes import Edit
from apiserver.registry.core import Registry
from apiserver.registry.customcatalog import TenantCatalog
from apiserver.registry.definitions import DEFINITIONS
from apiserver.registry.scope import Scope, Tenant
from apiserver.registry.update import update
from apiserver.registry.write import Request
from apiserver.user import MASTERS, User

USER = User("system:apiserver", groups=(MASTERS,))
MANAGER = "kube-apiserver"

Amend = Callable[[Object, Scope], Awaitable[None]]
"""Changes the definition in place; called again when another write came first."""


async def change_status(
    registry: Registry, catalog: TenantCatalog, tenant: Tenant, name: str, amend: Amend
) -> None:
    """Raises ApiError (NotFound when the definition is gone), StorageError."""
    resource = catalog.find(tenant, *DEFINITIONS)
    assert resource is not None, "definitions are built in"
    served = resource.versions[resource.storage_version]
    scope = Scope(
        tenant, resource, served, USER, name=name, subresource="status", user_agent=MANAGER
    )

    async def edited(crd: Object) -> Object:
        await amend(crd, scope)
        return crd

    await update(registry, scope, Edit(edited), Request(MANAGER))
