"""What follows the write of a CustomResourceDefinition: accepted names, conditions, and the end of its instances when it is deleted.

kube-apiserver has a controller for each; here one pass over a tenant's definitions does it all. The worker that committed the write starts
at once, so that instances are served within milliseconds. Any other worker that knows the tenant looks a second later, in case the first
one is gone. Writes are conditional, so two passes at one time do no harm.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import replace

from apiserver.controllers.crd_apiservices import register
from apiserver.errors import ApiError
from apiserver.kinds.apiextensions import conditions
from apiserver.kinds.base import Object
from apiserver.meta.objects import copy_json
from apiserver.meta.times import now
from apiserver.registry.core import Registry
from apiserver.registry.customcatalog import DEFINITIONS, Definition, TenantCatalog
from apiserver.registry.deletion import delete
from apiserver.registry.options import DeleteOptions
from apiserver.registry.scope import Scope, Tenant
from apiserver.registry.update import Request, update
from apiserver.storage.errors import StorageError
from apiserver.storage.interface import Event
from apiserver.user import MASTERS, User

log = logging.getLogger("polyplane.crd")

_USER = User("system:apiserver", groups=(MASTERS,))
_MANAGER = "kube-apiserver"
SAFETY = 1.0
"""Seconds after which a worker sees to definitions that another one wrote."""
RETRY = 1.0
"""Seconds between two looks at instances that finalizers hold back."""


class DefinitionController:
    """One in each worker."""

    def __init__(self, registry: Registry, catalog: TenantCatalog) -> None:
        self._registry, self._catalog = registry, catalog
        self._tasks: dict[int, asyncio.Task[None]] = {}
        self._wake: dict[int, asyncio.Event] = {}
        self._tenants: dict[int, Tenant] = {}
        registry.store.observe(self._committed)

    def stop(self) -> None:
        for task in self._tasks.values():
            task.cancel()

    def changed(self, tenant: Tenant) -> None:
        """The catalog has seen other definitions than before."""
        self._tenants[tenant.id] = tenant
        if any(_unsettled(d, self._outlines(tenant)) for d in self._catalog.definitions(tenant).values()):
            self._start(tenant, SAFETY)

    def _committed(self, tenant_id: int, events: Sequence[Event]) -> None:
        if any(e.record.key.group_resource == DEFINITIONS for e in events):
            self._start(self._tenants.get(tenant_id) or Tenant(tenant_id, str(tenant_id)), 0.0)

    def _start(self, tenant: Tenant, delay: float) -> None:
        wake = self._wake.setdefault(tenant.id, asyncio.Event())
        if not delay:
            wake.set()
        task = self._tasks.get(tenant.id)
        if task is None or task.done():
            self._tasks[tenant.id] = asyncio.create_task(self._run(tenant, wake, delay))

    async def _run(self, tenant: Tenant, wake: asyncio.Event, delay: float) -> None:
        try:
            while True:
                if delay:
                    await _wait(wake, delay)
                wake.clear()
                await self._catalog.fresh(tenant)
                waiting = await self._pass(tenant)
                await register(self._registry, self._catalog, tenant, _USER)
                if not waiting and not wake.is_set():
                    return
                delay = 0.0 if wake.is_set() else RETRY
        except (StorageError, ApiError) as e:
            log.debug("definitions of tenant %s: %s", tenant.name, e)
        except Exception:
            log.exception("definitions of tenant %s", tenant.name)

    def _outlines(self, tenant: Tenant) -> list[Object]:
        return [d.outline for d in self._catalog.definitions(tenant).values()]

    async def _pass(self, tenant: Tenant) -> bool:
        """Sees to all definitions; whether some of them have to wait for their instances."""
        waiting = False
        for name in list(self._catalog.definitions(tenant)):
            definition = self._catalog.definitions(tenant).get(name)
            if definition is None:
                continue
            try:
                if _ending(definition):
                    waiting |= not await self._end(tenant, definition)
                elif _unsettled(definition, self._outlines(tenant)):
                    await self._settle(tenant, name)
            except ApiError as e:
                log.debug("definition %s of tenant %s: %s", name, tenant.name, e.message)
        return waiting

    async def _settle(self, tenant: Tenant, name: str) -> None:
        scope = self._scope(tenant, name)

        async def change(old: Object | None) -> Object:
            assert old is not None, "the update loop answers 404 for absent objects"
            new: Object = copy_json(old)
            conditions.settle(new, self._outlines(tenant), scope.now)
            return new

        await update(self._registry, scope, change, Request(manager=_MANAGER))

    async def _end(self, tenant: Tenant, definition: Definition) -> bool:
        """Deletes the instances, then takes the finalizer off. False: some are still there."""
        resource = definition.resource
        if resource is None:
            reason, text = "NeverEstablished", "resource was never established"
        elif await self._delete_instances(tenant, definition):
            reason, text = "InstanceDeletionCompleted", "removed all instances"
        else:
            await self._terminating(tenant, definition, True, "InstanceDeletionInProgress", "CustomResource deletion is in progress")
            return False
        await self._terminating(tenant, definition, False, reason, text)
        return True

    async def _delete_instances(self, tenant: Tenant, definition: Definition) -> bool:
        resource = definition.resource
        assert resource is not None, "only served definitions have instances"
        page = await self._registry.store.list(tenant.id, resource.storage)
        if not page.records:
            return True
        served = resource.versions[resource.storage_version]
        scope = Scope(tenant, resource, served, _USER, user_agent=_MANAGER)
        for record in page.records:
            one = replace(scope, namespace=record.key.namespace, name=record.key.name, warnings=[])
            try:
                await delete(self._registry, one, DeleteOptions())
            except ApiError as e:
                log.debug("instance %s of %s: %s", record.key.name, resource.group_resource, e.message)
        return not (await self._registry.store.list(tenant.id, resource.storage, limit=1)).records

    async def _terminating(self, tenant: Tenant, definition: Definition, status: bool, reason: str, text: str) -> None:
        scope = self._scope(tenant, definition.entry.name)

        async def change(old: Object | None) -> Object:
            assert old is not None, "the update loop answers 404 for absent objects"
            new: Object = copy_json(old)
            conditions.set_condition(new, "Terminating", status, reason, text, scope.now)
            if not status:
                new["metadata"]["finalizers"] = [f for f in new["metadata"].get("finalizers") or () if f != conditions.FINALIZER]
            return new

        await update(self._registry, scope, change, Request(manager=_MANAGER))

    def _scope(self, tenant: Tenant, name: str) -> Scope:
        resource = self._catalog.find(tenant, *DEFINITIONS)
        assert resource is not None, "definitions are built in"
        served = resource.versions[resource.storage_version]
        return Scope(tenant, resource, served, _USER, name=name, subresource="status", user_agent=_MANAGER)


def _ending(definition: Definition) -> bool:
    return definition.deleting and conditions.FINALIZER in (definition.outline["metadata"].get("finalizers") or ())


def _unsettled(definition: Definition, others: Sequence[Object]) -> bool:
    """Whether anything is to be done: names to be accepted, conditions to be set, instances to be deleted."""
    if definition.deleting:
        return _ending(definition)
    outline = definition.outline
    settled = copy_json(outline)
    conditions.settle(settled, others, now())
    return bool(settled["status"] != outline["status"])


async def _wait(wake: asyncio.Event, seconds: float) -> None:
    try:
        async with asyncio.timeout(seconds):
            await wake.wait()
    except TimeoutError:
        pass
