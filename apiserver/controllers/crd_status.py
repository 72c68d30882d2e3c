"""How controllers change the status of a CustomResourceDefinition: through the same update as any client, as kube-apiserver itself."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from apiserver.kinds.base import Object
from apiserver.meta.objects import copy_json
from apiserver.registry.core import Registry
from apiserver.registry.customcatalog import TenantCatalog
from apiserver.registry.definitions import DEFINITIONS
from apiserver.registry.offload import by_size
from apiserver.registry.scope import Scope, Tenant
from apiserver.registry.update import Request, update
from apiserver.user import MASTERS, User

USER = User("system:apiserver", groups=(MASTERS,))
MANAGER = "kube-apiserver"

Edit = Callable[[Object, Scope], Awaitable[None]]
"""Changes the definition in place; called again when another write came first."""


async def change_status(registry: Registry, catalog: TenantCatalog, tenant: Tenant, name: str, edit: Edit) -> None:
    """Raises ApiError (NotFound when the definition is gone), StorageError."""
    resource = catalog.find(tenant, *DEFINITIONS)
    assert resource is not None, "definitions are built in"
    served = resource.versions[resource.storage_version]
    scope = Scope(tenant, resource, served, USER, name=name, subresource="status", user_agent=MANAGER)

    async def change(old: Object | None) -> Object:
        assert old is not None, "the update loop answers 404 for absent objects"
        new: Object = await by_size(scope.size, lambda: copy_json(old))
        await edit(new, scope)
        return new

    await update(registry, scope, change, Request(manager=MANAGER))
