"""Tenant objects of tenant default and the rows of tenants, kept in step by one elected process.

Whatever a name is about - an object that was written, a row that a command has changed, a time that
is up - comes to the same look: `declaration.step` compares the two and says what to do. A look may
be cut short at any point; the next one goes on from what is stored.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Any, NoReturn, TypeVar

from django.core.exceptions import ValidationError
from django.db import DatabaseError, connections

from admission.plugins.tenants import DEFAULT, FINALIZER, TENANTS
from apiserver.controllers.actions import Actions
from apiserver.errors import ApiError
from apiserver.meta.names import random_uid
from apiserver.meta.objects import Object
from apiserver.registry.core import Registry
from apiserver.registry.customcatalog import TenantCatalog
from apiserver.registry.definitions import DEFINITIONS
from apiserver.registry.scope import Tenant as Control
from apiserver.registry.seeding import Seeder
from apiserver.request import TENANCY_GROUP
from apiserver.storage.errors import StorageError
from apiserver.storage.interface import ObjectKey
from apiserver.storage.leases import Candidate
from apiserver.storage.models import TenantHead
from apiserver.watch.entry import WatchEvent
from apiserver.watch.errors import WatchClosed
from apiserver.watch.subscription import Subscription
from controlplane.tenancy import declaration, rows, statuses, types
from controlplane.tenancy.applying import Applying, CannotApply
from controlplane.tenancy.counting import EVERY, Counting
from controlplane.tenancy.declaration import Step
from controlplane.tenancy.models import Tenant

log = logging.getLogger("polyplane.tenancy")

MANAGER = "polyplane-tenancy"
OWNERS = "polyplane:owners"
_LEASE = "tenancy"
_BATCH = 100
"""Names that are looked at together."""
_AT_ONCE = 25
"""Tenants that are filled at a time."""
_MOST_DUE = 1000
"""Names of rows that are found at a time."""
_PAUSE, _LONGEST_PAUSE = 0.5, 2.0
"""Seconds between looks at rows: while something happens, and while nothing does."""
_GATHERING = 0.1
"""Seconds for which names that come one after the other are gathered."""
_LONGEST = 60.0
"""Seconds of the longest pause after a look that failed."""
_FAILURES = (ApiError, StorageError, DatabaseError, WatchClosed)

T = TypeVar("T")


@dataclass(slots=True)
class _Pair:
    """What is known of a name: its object and its row."""

    name: str
    obj: Object | None
    row: Tenant | None
    step: Step
    problem: str | None = None
    """Why not all is there that shall be; "": it is; None: nobody has looked."""
    waits: bool = False
    """Its row could not be made."""


class TenantController:
    """One in each worker; the elected one works. seeds: makes what every tenant has."""

    def __init__(
        self,
        registry: Registry,
        catalog: TenantCatalog,
        seeds: Seeder,
        candidate: Candidate,
    ) -> None:
        self._registry, self._catalog, self._candidate = registry, catalog, candidate
        self._actions = Actions(registry)
        self._applying = Applying(self._actions, catalog, seeds)
        self._thread = ThreadPoolExecutor(1, "tenancy")
        self._home = Control(0, DEFAULT)
        self._due: dict[str, float] = {}
        self._failures: dict[str, int] = {}
        self._pause, self._asked = _PAUSE, 0.0
        self._counting = Counting(self._actions, MANAGER)
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        self._task = asyncio.create_task(self._run())

    async def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        loop = asyncio.get_running_loop()
        await loop.run_in_executor(self._thread, connections.close_all)
        self._thread.shutdown(wait=False)

    async def _run(self) -> NoReturn:
        while True:
            try:
                if await self._candidate.elected(_LEASE):
                    await self._serve()
            except _FAILURES as e:
                log.info("tenants wait: %s", e)
            except Exception:
                log.exception("tenants wait")
            await asyncio.sleep(1)

    async def _rows(self, work: Callable[..., T], *arguments: Any) -> T:
        """In the thread that has its own connection, which stays open: to open one costs more than
        most of what is asked, and this is asked twice a second."""

        def run() -> T:
            try:
                return work(*arguments)
            except DatabaseError:
                connections.close_all()  # whatever is wrong with it
                raise

        return await asyncio.get_running_loop().run_in_executor(self._thread, run)

    # --- what is due ------------------------------------------------------------------------------
    async def _serve(self) -> None:
        """As long as this process is elected."""
        stored = await self._rows(rows.find, [DEFAULT], [])
        if DEFAULT not in stored.rows:
            return  # nobody has set the installation up yet
        self._home = Control(stored.rows[DEFAULT].pk, DEFAULT)
        await self._applying.all(self._home, types.objects(), MANAGER)
        self._due = dict.fromkeys(await self._rows(rows.names), 0.0)
        self._pause, self._asked = _PAUSE, 0.0
        self._counting = Counting(self._actions, MANAGER)  # another may have counted since
        events = await self._registry.watches.subscribe(self._home.id, TENANTS, after=None)
        leading = asyncio.create_task(self._lead())
        counting = asyncio.create_task(self._keep_counting())
        try:
            while not leading.done():
                await self._hear(events)
                await self._look_at(self._ready())
        finally:
            leading.cancel()
            counting.cancel()
            events.cancel()

    async def _hear(self, events: Subscription) -> None:
        """Waits until something is due, or may be: longer and longer while nothing is, and for
        others where several come at a time, because a look at many costs hardly more than one at
        few."""
        now = time.monotonic()
        ready = self._ready()
        if not ready:
            self._heed(await events.next(self._pause))
        elif 1 < len(ready) < _BATCH:
            await asyncio.sleep(_GATHERING)
        while heard := await events.next(0):
            self._heed(heard)
        if now >= self._asked + self._pause:
            self._asked = now
            for name in await self._rows(rows.due, datetime.now(UTC), _MOST_DUE):
                self._due.setdefault(name, 0.0)
        self._pause = _PAUSE if self._due else min(2 * self._pause, _LONGEST_PAUSE)

    def _heed(self, events: Iterable[WatchEvent]) -> None:
        self._due.update((e.entry.name, 0.0) for e in events if _matters(e))

    async def _lead(self) -> None:
        """Renews the lease, however long a look takes; ends when another process has it."""
        with suppress(StorageError):
            while await self._candidate.elected(_LEASE):  # noqa: ASYNC110  nothing tells of it
                await asyncio.sleep(self._candidate.seconds / 3)

    def _ready(self) -> list[str]:
        now = time.monotonic()
        ready = (name for name, due in self._due.items() if due <= now)
        return [name for name, _ in zip(ready, range(_BATCH), strict=False)]

    async def _look_at(self, names: Sequence[str]) -> None:
        if not names:
            return
        for name in names:
            del self._due[name]
        pairs = await self._pairs(names)
        by_step: dict[Step, list[_Pair]] = {}
        for pair in pairs:
            by_step.setdefault(pair.step, []).append(pair)
        await self._make(by_step.get(Step.MAKE_ROW, []))
        await self._drop(by_step.get(Step.DROP_TENANT, []))
        await self._each([pair for pair in pairs if not pair.waits], self._one)
        filled = [pair for pair in pairs if pair.problem is not None]
        new = [pair.row for pair in filled if pair.row is not None and not _is_counted(pair.obj)]
        tell = partial(self._tell_filled, await self._rows(rows.used, new) if new else {})
        await self._rows(rows.mark_synced, await self._each(filled, tell))

    async def _pairs(self, names: Sequence[str]) -> list[_Pair]:
        cache = await self._registry.watches.fresh(self._home.id, TENANTS)
        keys = ((name, ObjectKey(*TENANTS, "", name)) for name in names)
        objects = {n: entry.object() for n, key in keys if (entry := cache.get(key)) is not None}
        uids = [obj["metadata"]["uid"] for obj in objects.values()]
        stored = await self._rows(rows.find, names, uids)
        pairs = []
        for name in names:
            obj, row = objects.get(name), stored.rows.get(name)
            gone = obj is not None and obj["metadata"]["uid"] in stored.departed
            pairs.append(_Pair(name, obj, row, declaration.step(obj, row, departed=gone)))
        return pairs

    def _again(self, name: str, problem: object) -> None:
        failures = self._failures[name] = self._failures.get(name, 0) + 1
        self._due[name] = time.monotonic() + min(0.25 * 2**failures, _LONGEST)
        log.info("tenant %s waits: %s", name, problem)

    # --- many at a time ---------------------------------------------------------------------------
    async def _make(self, pairs: Collection[_Pair]) -> None:
        """Rows of new objects; where all together cannot be made, one by one."""
        try:
            created = await self._rows(rows.make, [pair.obj for pair in pairs]) if pairs else {}
            for pair in pairs:
                pair.row, pair.step = created[pair.name], Step.AGREE
        except (ValidationError, DatabaseError) as e:
            if len(pairs) > 1:
                for pair in pairs:
                    await self._make([pair])
                return
            for pair in pairs:
                pair.waits = True
                self._again(pair.name, e)

    async def _drop(self, pairs: Collection[_Pair]) -> None:
        leaving = [pair.row for pair in pairs if pair.row is not None]
        if not leaving:
            return
        await self._rows(rows.close, leaving)
        await self._rows(rows.drop, leaving)
        for row in leaving:
            self._catalog.forget(row.pk)
        for pair in pairs:
            going = pair.obj is not None and "deletionTimestamp" in pair.obj["metadata"]
            pair.step = Step.RELEASE if going else Step.DROP_OBJECT
            if pair.obj is None:
                pair.step = Step.NOTHING

    # --- one at a time ----------------------------------------------------------------------------
    async def _each(
        self, pairs: Iterable[_Pair], work: Callable[[_Pair], Awaitable[None]]
    ) -> list[Tenant]:
        """Rows of those with which it went well; the others are looked at again."""
        turns = asyncio.Semaphore(_AT_ONCE)

        async def one(pair: _Pair) -> Tenant | None:
            async with turns:
                try:
                    await work(pair)
                    return pair.row
                except (*_FAILURES, CannotApply, ValidationError, rows.Changed) as e:
                    self._again(pair.name, e)
                except Exception as e:
                    log.exception("tenant %s", pair.name)
                    self._again(pair.name, e)
            return None

        done = await asyncio.gather(*map(one, pairs))
        return [row for row in done if row is not None]

    async def _one(self, pair: _Pair) -> None:
        obj, row = pair.obj, pair.row
        if pair.step is Step.MAKE_OBJECT and row is not None:
            await self._make_object(row)
        elif obj is not None and pair.step in (Step.RELEASE, Step.DROP_OBJECT):
            await self._release(obj, delete=pair.step is Step.DROP_OBJECT)
        elif obj is not None and row is not None and pair.step is Step.HOLD:
            text = "the tenant is protected from deletion; set spec.deletionProtection to false"
            await self._tell(obj, row, text)
        elif obj is not None and row is not None and pair.step in (Step.AGREE, Step.ADOPT):
            pair.problem = await self._agree(obj, row, adopt=pair.step is Step.ADOPT)
            return  # it is told together with others
        self._failures.pop(pair.name, None)

    async def _tell_filled(self, heads: Mapping[int, TenantHead], pair: _Pair) -> None:
        """heads: of those of which nothing has been counted yet."""
        assert pair.obj is not None and pair.row is not None, "it has been agreed"
        await self._tell(pair.obj, pair.row, pair.problem or "", heads.get(pair.row.pk))
        if pair.problem:
            raise CannotApply(pair.problem)
        self._failures.pop(pair.name, None)

    def _key(self, name: str) -> ObjectKey:
        return ObjectKey(*TENANTS, "", name)

    async def _make_object(self, row: Tenant) -> None:
        """The row knows its object before that is there: so a change of the object is one since
        they agreed, even if this process gets no further, and an object that somebody else makes
        meanwhile comes later than the tenant."""
        obj: Object = {
            "apiVersion": f"{TENANCY_GROUP}/{types.VERSION}",
            "kind": "Tenant",
            "metadata": {"name": row.name},
            "spec": {},
        }
        said = declaration.of_row(row)
        declaration.into_object(obj, said)
        uid = random_uid()
        await self._rows(rows.save, row, said, uid)
        await self._actions.ensure(self._home, self._key(row.name), obj, MANAGER, uid=uid)

    async def _release(self, obj: Object, *, delete: bool) -> None:
        """Of an object whose tenant is gone."""
        name, uid = obj["metadata"]["name"], obj["metadata"]["uid"]

        def edit(stored: Object) -> bool:
            metadata = stored["metadata"]
            if metadata["uid"] != uid or FINALIZER not in (metadata.get("finalizers") or ()):
                return False
            metadata["finalizers"].remove(FINALIZER)
            stored.get("spec", {}).pop("deletionProtection", None)
            return True

        if delete:
            await self._actions.change(self._home, self._key(name), _unprotect, manager=MANAGER)
            await self._actions.delete(self._home, self._key(name), uid, "its tenant is gone")
        await self._actions.change(self._home, self._key(name), edit, manager=MANAGER)

    async def _agree(self, obj: Object, row: Tenant, *, adopt: bool) -> str:
        """Why not all is there, "" when it is."""
        uid, name = obj["metadata"]["uid"], row.name
        said = declaration.agreed(
            row.declared, declaration.of_object(obj), declaration.of_row(row), row_leads=adopt
        )
        if adopt or said != row.declared or said != declaration.of_row(row):
            await self._rows(rows.save, row, said, uid)
        if said != declaration.of_object(obj):
            edit = partial(declaration.into_object, said=said)
            await self._actions.change(self._home, self._key(name), edit, manager=MANAGER)
        if statuses.is_over(row, datetime.now(UTC)):
            await self._expire(obj, row)
        return await self._fill(row)

    async def _expire(self, obj: Object, row: Tenant) -> None:
        if not row.deletion_protection:
            uid = obj["metadata"]["uid"]
            await self._actions.delete(self._home, self._key(row.name), uid, "its time is up")

    async def _tell(
        self, obj: Object, row: Tenant, problem: str, head: TenantHead | None = None
    ) -> None:
        def edit(stored: Object) -> bool:
            if stored["metadata"]["uid"] == obj["metadata"]["uid"]:
                stored["status"] = statuses.status_of(stored, row, head, problem, datetime.now(UTC))
            return True

        await self._actions.change(self._home, self._key(row.name), edit, "status", MANAGER)

    # --- what is in the tenant --------------------------------------------------------------------
    async def _fill(self, row: Tenant) -> str:
        """Applies what the tenant is made from and binds its owners; why that could not be done."""
        if row.name == DEFAULT:
            return ""
        tenant = Control(row.pk, row.name)
        idle = self._catalog.used(row.pk) is None
        try:
            for template in row.templates[len(row.applied_templates) :]:
                await self._applying.all(tenant, await self._template(template), MANAGER)
                done = [*row.applied_templates, template]
                await self._rows(partial(rows.note, row, applied_templates=done))
            if sorted(row.bound_owners) != sorted(row.owners):
                await self._applying.all(tenant, [_binding(row.owners)], MANAGER)
                await self._rows(partial(rows.note, row, bound_owners=list(row.owners)))
        except (CannotApply, ApiError, StorageError) as e:
            return str(e)
        finally:
            watched = self._registry.watches.watched(row.pk, but=DEFINITIONS)
            if idle and not watched:  # nobody uses the tenant: nothing of it stays in memory
                self._catalog.forget(row.pk)
        return ""

    async def _template(self, name: str) -> list[Object]:
        """Raises CannotApply."""
        cache = await self._registry.watches.fresh(self._home.id, types.TEMPLATES)
        entry = cache.get(ObjectKey(*types.TEMPLATES, "", name))
        if entry is None:
            raise CannotApply(f'there is no TenantTemplate "{name}"')
        objects: list[Object] = entry.object()["spec"]["objects"]
        return objects

    # --- what tenants use -------------------------------------------------------------------------
    async def _count(self) -> None:
        await self._counting.tell(self._home, await self._rows(rows.usage))
        self._due.update(dict.fromkeys(await self._rows(rows.over, datetime.now(UTC)), 0.0))

    async def _keep_counting(self) -> NoReturn:
        """Beside the looks, which it must not hold up: a minute after ten thousand tenants were
        made there is much to count."""
        while True:
            await asyncio.sleep(EVERY)
            try:
                await self._count()
            except _FAILURES as e:
                log.info("counts of tenants wait: %s", e)
            except Exception:
                log.exception("counts of tenants wait")


def _matters(event: WatchEvent) -> bool:
    """False of what nothing but the status has changed about."""
    if event.old is None or event.type == "DELETED":
        return True
    before, after = event.old.object()["metadata"], event.entry.object()["metadata"]
    return any(
        before.get(member) != after.get(member)
        for member in ("uid", "generation", "labels", "finalizers", "deletionTimestamp")
    )


def _is_counted(obj: Object | None) -> bool:
    return obj is not None and "counts" in (obj.get("status") or {})


def _unprotect(obj: Object) -> bool:
    return (obj.get("spec") or {}).pop("deletionProtection", None) is not None


def _binding(owners: Iterable[str]) -> Object:
    group = "rbac.authorization.k8s.io"
    subjects = [owner.partition(":") for owner in owners]
    return {
        "apiVersion": f"{group}/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": OWNERS, "annotations": {f"{TENANCY_GROUP}/managed-by": "Tenant"}},
        "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": "cluster-admin"},
        "subjects": [{"apiGroup": group, "kind": k, "name": n} for k, _, n in subjects],
    }
