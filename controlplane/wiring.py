"""Wiring: who gets what. One Server per process, made inside its running event loop.

This is the only place where the layers of ``apiserver`` meet the settings.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import orjson
from django.conf import settings

from admission.chain import Chain
from admission.order import default_plugins
from apiserver.endpoints.server import Server
from apiserver.kinds import catalog as builtin_catalog
from apiserver.kinds.base import Resource
from apiserver.meta.gvk import GroupResource
from apiserver.registry.authorizer import RbacAuthorizer
from apiserver.registry.core import Registry
from apiserver.registry.managers import make_manager
from apiserver.registry.quota import charger
from apiserver.registry.scope import Tenant
from apiserver.registry.seeding import Seeder
from apiserver.registry.services import SERVICES, ServiceHook
from apiserver.storage.postgres import PostgresStore
from apiserver.watch.watches import Watches
from controlplane.database import conninfo
from controlplane.tenancy.directory import Directory, Fetch

GIT_VERSION = "v1.36.2+polyplane-0.1.0"


class BuiltinCatalog:
    """The built-in resources, the same for every tenant."""

    def __init__(self) -> None:
        self._resources = builtin_catalog.resources()
        self._all = list(self._resources.values())
        self._by_storage = {r.storage: r for r in self._all if r.storage == r.group_resource}

    def find(self, tenant: Tenant, group: str, resource: str) -> Resource | None:
        return self._resources.get(GroupResource(group, resource))

    def all(self, tenant: Tenant) -> Sequence[Resource]:
        return self._all

    def stored(self, resource: GroupResource) -> Resource | None:
        return self._by_storage.get(resource)


def index_with(catalog: BuiltinCatalog) -> Any:
    """The watch caches' index: labels and selectable fields of a stored object."""

    def index(resource: GroupResource, data: bytes) -> tuple[Mapping[str, str], Mapping[str, str]]:
        obj = orjson.loads(data)
        metadata = obj["metadata"]
        fields = {"metadata.name": metadata["name"], "metadata.namespace": metadata.get("namespace", "")}
        found = catalog.stored(resource)
        if found is not None:
            fields.update(found.hooks.fields(obj))
        return metadata.get("labels") or {}, fields

    return index


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


async def start_server() -> Server:
    """Everything that serves requests, running."""
    database = settings.DATABASES["default"]
    dsn = conninfo(database, application_name="polyplane")
    store = PostgresStore(dsn, hints_conninfo=dsn)
    await store.open()
    catalog = BuiltinCatalog()
    index = index_with(catalog)
    watches = Watches(store, index)
    await watches.start()
    registry = Registry(
        store=store,
        watches=watches,
        chain=Chain(default_plugins(charger(store))),
        catalog=catalog,
        manager=cache(make_manager),
        hooks={SERVICES: ServiceHook()},
        sign=signer(settings.SECRET_KEY),
        index=index,
    )
    server = Server(
        registry=registry,
        directory=Directory(fetcher(store)),
        authorizer=RbacAuthorizer(registry),
        seeder=Seeder(registry),
        git_version=GIT_VERSION,
    )
    server.started = True
    return server


async def stop_server(server: Server) -> None:
    server.stopping = True
    await server.registry.watches.stop()
    store = server.registry.store
    assert isinstance(store, PostgresStore)
    await store.close()
