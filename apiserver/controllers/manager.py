"""The controllers of one process: what it commits itself is followed up at once; an elected process sweeps for what was missed.

Follow-ups need no election: the process that committed a deletion is the one that knows of it first. A process that dies leaves its
follow-ups to the sweep, which finds them in the database. Each follow-up waits a moment, so that a client that deletes an object and looks
at what waits sees it, as on a server whose controllers run elsewhere.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Literal

from apiserver.controllers import namespaces, serviceaccounts
from apiserver.controllers.actions import Actions
from apiserver.controllers.crd import DefinitionController
from apiserver.controllers.garbage import GarbageCollector
from apiserver.errors import ApiError
from apiserver.registry.core import Registry
from apiserver.registry.definitions import DEFINITIONS
from apiserver.registry.scope import Tenant
from apiserver.storage import leases
from apiserver.storage.errors import StorageError
from apiserver.storage.interface import Event, ObjectKey
from apiserver.storage.pool import Database
from apiserver.storage.relations import Found, Relations

log = logging.getLogger("polyplane.controllers")

SETTLE = 1.0  # seconds between a deletion and its follow-up
AGAIN = 2.0  # seconds until the next look at something that still waits
SWEEP = 30.0  # seconds between sweeps
LEASE = "controllers"
_AT_ONCE = 4

_NAMESPACES = ("", "namespaces")

Duty = Literal["gone", "marked", "account"]
"""Objects of a tenant are gone; one is marked for deletion; a default service account is wanted."""

_ANY = ObjectKey("", "", "", "")

TenantOf = Callable[[int], Awaitable[Tenant | None]]


class Controllers:
    def __init__(self, registry: Registry, database: Database, tenant_of: TenantOf, holder: str, definitions: DefinitionController) -> None:
        """holder: names this process in elections; definitions: sees to CustomResourceDefinitions."""
        self._database, self._tenant_of, self._holder, self._definitions = database, tenant_of, holder, definitions
        self._relations = Relations(database)
        self._actions = Actions(registry)
        self._garbage = GarbageCollector(self._actions, self._relations)
        self._tasks: dict[tuple[int, ObjectKey, str, Duty], asyncio.Task[None]] = {}
        self._gone: dict[int, dict[str, float]] = {}
        """Tenant to uids of objects that went, and when: what no one has asked about yet."""
        self._again: dict[int, set[str]] = {}
        self._turn = asyncio.Semaphore(_AT_ONCE)
        self._sweeping: asyncio.Task[None] | None = None
        self._stopped = False
        registry.store.observe(self._committed)

    def start(self) -> None:
        self._sweeping = asyncio.create_task(self._sweep_forever())

    async def stop(self) -> None:
        self._stopped = True
        tasks = [*self._tasks.values(), *([self._sweeping] if self._sweeping else [])]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    # --- follow-ups ------------------------------------------------------------------------------------------------------------
    def _committed(self, tenant: int, events: Sequence[Event]) -> None:
        for event in events:
            data = event.record.data
            key = event.record.key
            account = self._account_wanted(event)
            if account is not None:
                self._later(tenant, account, "", "account")
            if event.type == "DELETED":
                self._gone.setdefault(tenant, {})[event.record.uid] = time.monotonic()
                self._later(tenant, _ANY, "", "gone")
            elif event.type == "MODIFIED" and b'"deletionTimestamp":"' in data:
                self._later(tenant, key, event.record.uid, "marked")

    @staticmethod
    def _account_wanted(event: Event) -> ObjectKey | None:
        """The default service account that a new namespace, or the deletion of the account, calls for."""
        key = event.record.key
        if event.type == "ADDED" and (key.group, key.resource) == _NAMESPACES:
            return ObjectKey("", "serviceaccounts", key.name, serviceaccounts.NAME)
        if event.type == "DELETED" and (key.group, key.resource, key.name) == ("", "serviceaccounts", serviceaccounts.NAME):
            return key
        return None

    def _later(self, tenant: int, key: ObjectKey, uid: str, duty: Duty) -> None:
        name = (tenant, key, uid, duty)
        if name not in self._tasks:
            task = self._tasks[name] = asyncio.create_task(self._follow_up(tenant, key, uid, duty))
            task.add_done_callback(lambda _: self._ended(name))

    def _ended(self, name: tuple[int, ObjectKey, str, Duty]) -> None:
        self._tasks.pop(name, None)
        tenant, _, _, duty = name
        if duty == "gone":
            self._again.pop(tenant, None)  # asked often enough: the sweep goes on
            if tenant in self._gone and not self._stopped:
                self._later(tenant, _ANY, "", "gone")

    async def _follow_up(self, tenant_id: int, key: ObjectKey, uid: str, duty: Duty) -> None:
        await asyncio.sleep(SETTLE)
        for _ in range(30):
            async with self._turn:
                try:
                    tenant = await self._tenant_of(tenant_id)
                    if tenant is None or await self._once(tenant, key, uid, duty):
                        return
                except (ApiError, StorageError) as e:
                    log.info("follow-up of %s/%s waits: %s", key.resource, key.name, e)
                except Exception:
                    log.exception("follow-up of %s/%s failed", key.resource, key.name)
                    return
            await asyncio.sleep(AGAIN)

    async def _once(self, tenant: Tenant, key: ObjectKey, uid: str, duty: Duty) -> bool:
        if duty == "gone":
            return await self._owners_gone(tenant)
        if duty == "account":
            await serviceaccounts.ensure_default(self._actions, tenant, key.namespace)
            return True
        if (key.group, key.resource) == _NAMESPACES:
            return await namespaces.finish(self._actions, self._relations, tenant, key)
        if key.group_resource == DEFINITIONS:
            self._definitions.look(tenant, key.name)
            return True
        return await self._garbage.marked(tenant, key)

    async def _owners_gone(self, tenant: Tenant) -> bool:
        """One question for all that went a moment ago: most of it owned nothing. Later ones get a moment of their own (`_ended`)."""
        gone, ripe = self._gone.pop(tenant.id, {}), time.monotonic() - 0.9 * SETTLE
        if young := {uid: at for uid, at in gone.items() if at > ripe}:
            self._gone[tenant.id] = young
        uids = self._again.pop(tenant.id, set()) | (gone.keys() - young.keys())
        done = False
        try:
            done = not uids or await self._garbage.owners_gone(tenant, uids)
        finally:
            if not done:
                self._again[tenant.id] = uids
        return done

    # --- sweep -----------------------------------------------------------------------------------------------------------------
    async def _sweep_forever(self) -> None:
        while True:
            await asyncio.sleep(SWEEP)
            try:
                if await leases.acquire(self._database, LEASE, self._holder, 3 * SWEEP):
                    await self._sweep()
            except StorageError as e:
                log.info("the sweep waits: %s", e)
            except Exception:
                log.exception("the sweep failed")

    async def _sweep(self) -> None:
        async for found in pages(self._relations.waiting):
            self._later(found.tenant, found.key, found.uid, "marked")
        async for orphan in pages(self._relations.orphaned):
            await self._collect(orphan)

    async def _collect(self, orphan: Found) -> None:
        tenant = await self._tenant_of(orphan.tenant)
        if tenant is not None:
            try:
                await self._garbage.collect(tenant, orphan)
            except ApiError as e:
                log.info("garbage %s/%s stays: %s", orphan.key.resource, orphan.key.name, e)


async def pages(read: Callable[[Found | None], Awaitable[Sequence[Found]]]) -> AsyncIterator[Found]:
    """All that ``read`` finds, page by page; the argument is the last of the page before."""
    last: Found | None = None
    while page := await read(last):
        for found in page:
            yield found
        last = page[-1]
