"""What every tenant has from its first request on: system namespaces, default roles, flow control,
priority classes.

A tenant is seeded when it is first used, so that creating one takes milliseconds and an unused one
costs nothing. Seeding again creates what is missing and changes nothing else; the last object
written marks that all is there.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from typing import Any

from apiserver.errors import AlreadyExists, Conflict
from apiserver.kinds.bootstrap import bootstrap_objects
from apiserver.meta.gvk import GroupVersion
from apiserver.meta.objects import Object
from apiserver.meta.times import now
from apiserver.registry.core import Registry
from apiserver.registry.create import create
from apiserver.registry.scope import Scope, Tenant
from apiserver.registry.write import Request
from apiserver.storage.interface import ObjectKey
from apiserver.user import MASTERS, User

SYSTEM = User("system:apiserver", groups=(MASTERS,))
_MARK = ObjectKey("", "namespaces", "", "kube-node-lease")

_MOST = 10_000
"""Tenants that a process remembers."""


class Seeder:
    """Remembers which tenants this process knows to be seeded."""

    def __init__(self, registry: Registry, secure_port: int = 6443) -> None:
        """secure_port: where this server listens."""
        self._registry, self._port = registry, secure_port
        self._done: set[int] = set()
        self._running: dict[int, asyncio.Task[None]] = {}
        self._used: set[int] = set()

    async def ensure(self, tenant: Tenant) -> None:
        self._used.add(tenant.id)
        if tenant.id in self._done:
            return
        task = self._running.get(tenant.id)
        if task is None:
            task = self._running[tenant.id] = asyncio.create_task(self._seed(tenant))
        await asyncio.shield(task)

    async def _seed(self, tenant: Tenant) -> None:
        try:
            if await self._registry.store.get(tenant.id, _MARK) is None:
                await seed(self._registry, tenant, self._port)
            if len(self._done) >= _MOST:
                self._done.clear()  # to ask again costs each tenant in use one query
            self._done.add(tenant.id)
        finally:
            del self._running[tenant.id]

    def take_used(self) -> Collection[int]:
        """The tenants that this process has had requests for since the last call."""
        used, self._used = self._used, set()
        return used

    def forget(self, tenant_id: int) -> None:
        self._done.discard(tenant_id)


async def seed(registry: Registry, tenant: Tenant, secure_port: int = 6443) -> None:
    objects = bootstrap_for(registry, tenant, secure_port)
    last = [o for o in objects if o["kind"] == "Namespace" and o["metadata"]["name"] == _MARK.name]
    namespaces = [o for o in objects if o["kind"] == "Namespace" and o not in last]
    rest = [o for o in objects if o["kind"] != "Namespace"]
    for group in (namespaces, rest, last):
        await asyncio.gather(*(_create(registry, tenant, obj) for obj in group))


def bootstrap_for(registry: Registry, tenant: Tenant, secure_port: int = 6443) -> list[Object]:
    """What the tenant is to hold, as `bootstrap_objects`."""
    objects = bootstrap_objects(now(), secure_port=secure_port)
    return [o for o in objects if _served(registry, tenant, o)]


def _served(registry: Registry, tenant: Tenant, obj: Object) -> bool:
    """False of an APIService for a version that --runtime-config has switched off."""
    if obj["kind"] != "APIService":
        return True
    group, version = obj["spec"].get("group", ""), obj["spec"]["version"]
    return any(r.group == group and version in r.versions for r in registry.catalog.all(tenant))


async def _create(registry: Registry, tenant: Tenant, obj: Object) -> None:
    gv = GroupVersion.parse(str(obj["apiVersion"]))
    resource = next(
        r for r in registry.catalog.all(tenant) if r.group == gv.group and r.kind == obj["kind"]
    )
    served = resource.versions[gv.version]
    metadata: dict[str, Any] = obj["metadata"]
    namespace = metadata.get("namespace", "")
    scope = Scope(
        tenant=tenant,
        resource=resource,
        served=served,
        user=SYSTEM,
        namespace=namespace,
        user_agent="polyplane",
    )
    decoded, _ = scope.decode(obj)
    try:
        await create(registry, scope, decoded, Request("polyplane"))
    except (AlreadyExists, Conflict):
        return
