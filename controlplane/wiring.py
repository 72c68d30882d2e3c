"""Wiring: who gets what. One Server per process, made inside its running event loop.

This is the only place where the layers of ``apiserver`` meet the settings.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import os
import socket
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import cache
from typing import Any

import orjson
from django.conf import settings

from admission.chain import Chain
from admission.order import default_plugins
from apiserver.controllers.crd import DefinitionController
from apiserver.controllers.manager import Controllers, TenantOf
from apiserver.endpoints.server import Server
from apiserver.fieldmanager.manager import FieldManager
from apiserver.kinds.apiextensions.custom import CustomResource
from apiserver.kinds.base import Resource
from apiserver.kinds.declarative.run import Gates
from apiserver.meta import features
from apiserver.meta.gvk import GroupResource
from apiserver.registry.authorizer import RbacAuthorizer
from apiserver.registry.core import Registry
from apiserver.registry.customcatalog import TenantCatalog
from apiserver.registry.customfields import CustomFields
from apiserver.registry.definitionnames import DefinitionHook
from apiserver.registry.definitions import DEFINITIONS, Change
from apiserver.registry.managers import make_manager
from apiserver.registry.quota import charger
from apiserver.registry.scope import Tenant
from apiserver.registry.seeding import Seeder
from apiserver.registry.services import SERVICES, ServiceHook
from apiserver.storage.compact import compact_forever
from apiserver.storage.interface import Store
from apiserver.storage.leases import Candidate
from apiserver.storage.postgres import PostgresStore
from apiserver.watch.board import Board
from apiserver.watch.watches import Watches
from controlplane import environment
from controlplane.accounttokens import account_tokens
from controlplane.database import conninfo
from controlplane.tenancy.directory import Directory, Fetch
from controlplane.webhooks import webhook_client

GIT_VERSION = "v1.36.2+polyplane-0.1.0"


def index_with(catalog: TenantCatalog) -> Any:
    """The watch caches' index: labels and selectable fields of a stored object."""

    def index(resource: GroupResource, data: bytes) -> tuple[Mapping[str, str], Mapping[str, str]]:
        obj = orjson.loads(data)
        metadata = obj["metadata"]
        fields = {"metadata.name": metadata["name"], "metadata.namespace": metadata.get("namespace", "")}
        found = catalog.stored(resource)
        if found is None:
            return metadata.get("labels") or {}, CustomFields(fields, data)
        fields.update(found.hooks.fields(obj))
        return metadata.get("labels") or {}, fields

    return index


def managers() -> Callable[[Resource], FieldManager]:
    """Field managers: those of built-in resources live as long as the process, those of custom ones as long as their definition."""
    built_in = cache(make_manager)

    def manager(resource: Resource) -> FieldManager:
        if not isinstance(resource, CustomResource):
            return built_in(resource)
        if resource.manager is None:
            resource.manager = make_manager(resource)
        found: FieldManager = resource.manager
        return found

    return manager


def signer(secret: str) -> Any:
    key = hashlib.sha256(b"polyplane signing\0" + secret.encode()).digest()
    return lambda message: hmac.new(key, message, hashlib.sha256).digest()


def fetcher(store: PostgresStore) -> Fetch:
    async def fetch(statement: str, parameters: Sequence[Any]) -> Sequence[tuple[Any, ...]]:
        async def query(connection: Any) -> Sequence[tuple[Any, ...]]:
            rows: Sequence[tuple[Any, ...]] = await (await connection.execute(statement, parameters)).fetchall()
            return rows

        return await store.database.read(query)

    return fetch


def make_registry(store: Store, catalog: TenantCatalog) -> Registry:
    """The registry over an open store, with watches that have not been started and a catalog that nobody follows yet."""
    index = index_with(catalog)
    return Registry(
        store=store,
        watches=Watches(store, index, board=Board.inherited(environment.text("BOARD_FD"))),
        chain=Chain(default_plugins(charger(store))),
        catalog=catalog,
        manager=managers(),
        hooks={SERVICES: ServiceHook(), DEFINITIONS: DefinitionHook()},
        sign=signer(settings.SECRET_KEY),
        index=index,
        gates=Gates.of(features.ENABLED),
        webhooks=webhook_client(),
    )


class _Nobody:
    """Follows definitions and does nothing about them."""

    def changed(self, tenant: Tenant, changes: Sequence[Change]) -> None:
        pass


@asynccontextmanager
async def open_registry() -> AsyncIterator[tuple[Registry, TenantCatalog]]:
    """For commands: reads and writes like a server, serves nobody and runs no controllers."""
    store = PostgresStore(conninfo(settings.DATABASES["default"], application_name="polyplane"))
    await store.open()
    catalog = TenantCatalog()
    registry = make_registry(store, catalog)
    await registry.watches.start()
    catalog.follow(registry.watches, _Nobody())
    try:
        yield registry, catalog
    finally:
        catalog.stop()
        await registry.watches.stop()
        await registry.webhooks.close()
        await store.close()


async def start_server() -> Server:
    """Everything that serves requests, running."""
    database = settings.DATABASES["default"]
    dsn = conninfo(database, application_name="polyplane")
    store = PostgresStore(dsn, hints_conninfo=settings.POLYPLANE_HINTS_DSN or dsn)
    await store.open()
    catalog = TenantCatalog()
    registry = make_registry(store, catalog)
    watches = registry.watches
    await watches.start()
    holder = f"{socket.gethostname()}:{os.getpid()}"
    definitions = DefinitionController(registry, catalog, Candidate(store.database, holder))
    catalog.follow(watches, definitions)
    server = Server(
        registry=registry,
        catalog=catalog,
        definitions=definitions,
        directory=Directory(fetcher(store)),
        authorizer=RbacAuthorizer(registry),
        seeder=Seeder(registry),
        git_version=GIT_VERSION,
        tokens=account_tokens(settings.SECRET_KEY),
        livez_grace=float(environment.number("LIVEZ_GRACE_SECONDS", 0)),
    )
    controllers = Controllers(registry, store.database, tenant_reader(store, catalog), holder, definitions)
    controllers.start()
    compaction = asyncio.create_task(compact_forever(store.database, holder))
    server.stop = lambda: _stop(server, controllers, compaction)
    server.started = True
    return server


def tenant_reader(store: PostgresStore, catalog: TenantCatalog) -> TenantOf:
    """Tenants by number, for controllers, with the definitions of their custom resources at hand; None for those that are being deleted."""
    fetch = fetcher(store)

    async def tenant_of(number: int) -> Tenant | None:
        rows = await fetch("SELECT id, name FROM tenancy_tenant WHERE id = %s AND state <> 'deleting'", [number])
        if not rows:
            return None
        tenant = Tenant(*rows[0])
        await catalog.ready(tenant)  # this process may never have had a request for it
        return tenant

    return tenant_of


async def stop_server(server: Server) -> None:
    """Readiness fails first; then watches end, controllers stop, and writes that were begun are finished."""
    server.stopping = True
    server.definitions.stop()
    server.catalog.stop()
    await server.stop()


async def _stop(server: Server, controllers: Controllers, compaction: asyncio.Task[None]) -> None:
    await server.registry.watches.stop()
    await controllers.stop()
    await server.registry.webhooks.close()
    compaction.cancel()
    store = server.registry.store
    assert isinstance(store, PostgresStore)
    await store.close()
