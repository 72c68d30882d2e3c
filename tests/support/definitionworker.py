"""The parts of one worker that custom resources need, on the database of the tests: several of them
share a tenant."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from admission.chain import Chain
from apiserver.controllers.crd import DefinitionController
from apiserver.errors import NotFound
from apiserver.meta.objects import Object
from apiserver.registry import deletion, reading
from apiserver.registry.changes import Edit
from apiserver.registry.core import Registry
from apiserver.registry.create import create
from apiserver.registry.customcatalog import FOLLOWED, TenantCatalog
from apiserver.registry.definitionnames import DefinitionHook
from apiserver.registry.definitions import DEFINITIONS
from apiserver.registry.options import DeleteOptions
from apiserver.registry.scope import Scope, Tenant
from apiserver.registry.update import update
from apiserver.registry.write import Request
from apiserver.storage.leases import Candidate
from apiserver.storage.postgres import PostgresStore
from apiserver.user import MASTERS, User
from apiserver.watch.watches import Watches
from controlplane.wiring import index_with, managers
from tests.support.waiting import PATIENCE

ADMIN = User("admin", groups=(MASTERS,))


@dataclass
class Worker:
    registry: Registry
    catalog: TenantCatalog
    tenant: Tenant
    controller: DefinitionController

    def scope(self, resource: tuple[str, str], name: str = "", version: str = "v1") -> Scope:
        found = self.catalog.find(self.tenant, *resource)
        assert found is not None, resource
        return Scope(
            self.tenant,
            found,
            found.versions[version],
            ADMIN,
            namespace="ns" if found.namespaced else "",
            name=name,
        )

    async def create(self, resource: tuple[str, str], obj: Object) -> Any:
        return await self.create_in(self.scope(resource), obj)

    async def create_in(self, scope: Scope, obj: Object) -> Any:
        decoded, _ = scope.decode(obj)
        if scope.resource.namespaced:
            decoded["metadata"]["namespace"] = "ns"
        return (await create(self.registry, scope, decoded, Request("test"))).object

    async def change(
        self, resource: tuple[str, str], name: str, edit: Callable[[Object], None]
    ) -> Any:
        async def edited(obj: Object) -> Object:
            edit(obj)
            return obj

        scope = self.scope(resource, name)
        return (await update(self.registry, scope, Edit(edited), Request("test"))).object

    async def delete(
        self, resource: tuple[str, str], name: str, options: DeleteOptions | None = None
    ) -> Object:
        scope = self.scope(resource, name)
        return (await deletion.delete(self.registry, scope, options or DeleteOptions())).object

    async def get(self, resource: tuple[str, str], name: str) -> Object | None:
        try:
            return (await reading.get(self.registry, self.scope(resource, name))).object
        except NotFound:
            return None

    async def until(self, holds: Callable[[], bool]) -> None:
        async with asyncio.timeout(PATIENCE):
            # the controllers under test offer nothing to wait for
            while not holds():  # noqa: ASYNC110
                await asyncio.sleep(0.005)

    async def until_true(self, holds: Callable[[], Awaitable[bool]]) -> None:
        async with asyncio.timeout(PATIENCE):
            while not await holds():  # noqa: ASYNC110  likewise
                await asyncio.sleep(0.02)

    async def until_gone(self, name: str) -> None:
        async def gone() -> bool:
            return await self.get(DEFINITIONS, name) is None

        await self.until_true(gone)

    def serves(self, resource: tuple[str, str]) -> bool:
        return self.catalog.find(self.tenant, *resource) is not None


@asynccontextmanager
async def running(
    store: PostgresStore,
    tenant: int,
    holder: str,
    *,
    deaf: bool = False,
    chain: Chain | None = None,
    followed: float = FOLLOWED,
) -> AsyncIterator[Worker]:
    """deaf: the worker looks at nothing unless somebody asks. The tenant is in use at once."""
    catalog = TenantCatalog(followed)
    watches = Watches(store, index_with(catalog))
    if not deaf:
        await watches.start()
    hooks = {DEFINITIONS: DefinitionHook()}
    registry = Registry(
        store,
        watches,
        chain or Chain([]),
        catalog,
        managers(),
        hooks,
        lambda message: message,
        index_with(catalog),
    )
    controller = DefinitionController(registry, catalog, Candidate(store.database, holder))
    catalog.follow(watches, controller)
    made = Worker(registry, catalog, Tenant(tenant, "test"), controller)
    await catalog.ready(made.tenant)
    try:
        yield made
    finally:
        await controller.stop()
        catalog.stop()
        await watches.stop()
