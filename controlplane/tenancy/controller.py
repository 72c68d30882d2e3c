"""Tenant objects of tenant default and the rows of tenants, kept in step by one elected process.

Whatever a name is about - an object that was written, a row that a command has changed, a time that
is up - comes to the same look: `declaration.step` compares the two and says what to do. A look may
be cut short at any point; the next one goes on from what is stored.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
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
from apiserver.watch.entry import WatchEvent
from apiserver.watch.errors import WatchClosed
from apiserver.watch.subscription import Subscription
from controlplane.tenancy import declaration, rows, statuses, types
from controlplane.tenancy.applying import Applying, CannotApply
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
_COUNT_EVERY = 60.0  # seconds
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
        self._used: Mapping[str, tuple[int, ...]] = {}
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
        self._pause, self._asked, self._used = _PAUSE, 0.0, {}
        events = await self._registry.watches.subscribe(self._home.id, TENANTS, after=None)
        counted = time.monotonic()
        leading = asyncio.create_task(self._lead())
        try:
            while not leading.done():
                await self._hear(events)
                await self._look_at(self._ready())
                if time.monotonic() - counted > _COUNT_EVERY:
                    counted = time.monotonic()
                    await self._count()
        finally:
            leading.cancel()
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
        turns = asyncio.Semaphore(_AT_ONCE)
        done = await asyncio.gather(*(self._turn(turns, pair) for pair in pairs))
        await self._rows(rows.mark_synced, [row for row in done if row is not None])

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
                pair.step = Step.NOTHING
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
    async def _turn(self, turns: asyncio.Semaphore, pair: _Pair) -> Tenant | None:
        """The row, when the object knows of it."""
        async with turns:
            try:
                await self._one(pair)
                self._failures.pop(pair.name, None)
                return pair.row if pair.step in (Step.AGREE, Step.ADOPT) else None
            except (*_FAILURES, CannotApply, ValidationError, rows.Changed) as e:
                self._again(pair.name, e)
            except Exception as e:
                log.exception("tenant %s", pair.name)
                self._again(pair.name, e)
            return None

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
            await self._agree(obj, row, adopt=pair.step is Step.ADOPT)

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

    async def _agree(self, obj: Object, row: Tenant, *, adopt: bool) -> None:
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
        problem = await self._fill(row)
        await self._tell(obj, row, problem)
        if problem:
            raise CannotApply(problem)

    async def _expire(self, obj: Object, row: Tenant) -> None:
        if not row.deletion_protection:
            uid = obj["metadata"]["uid"]
            await self._actions.delete(self._home, self._key(row.name), uid, "its time is up")

    async def _tell(self, obj: Object, row: Tenant, problem: str, head: Any = None) -> None:
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
        """Brings status.counts of those that use something else than they did: of ten thousand
        tenants that is what few do."""
        used = await self._rows(rows.usage)
        names = [name for name, counts in used.items() if self._used.get(name) != counts]
        self._used = used
        for i in range(0, len(names), _BATCH):
            pairs = await self._pairs(names[i : i + _BATCH])
            await self._count_some((p.obj, p.row) for p in pairs if p.obj and p.row)
        self._due.update(dict.fromkeys(await self._rows(rows.over, datetime.now(UTC)), 0.0))

    async def _count_some(self, pairs: Iterable[tuple[Object, Tenant]]) -> None:
        pairs = list(pairs)
        heads: Mapping[int, Any] = await self._rows(rows.used, [row for _, row in pairs])
        for obj, row in pairs:
            if (head := heads.get(row.pk)) is None:
                continue
            counts = statuses.counts_of(head)
            before = (obj.get("status") or {}).get("counts") or {}
            if counts == before or (row.name == DEFAULT and _only_the_log(before, counts)):
                continue
            edit = partial(_set_counts, counts)
            await self._actions.change(self._home, self._key(row.name), edit, "status", MANAGER)


def _matters(event: WatchEvent) -> bool:
    """False of what nothing but the status has changed about."""
    if event.old is None or event.type == "DELETED":
        return True
    before, after = event.old.object()["metadata"], event.entry.object()["metadata"]
    return any(
        before.get(member) != after.get(member)
        for member in ("uid", "generation", "labels", "finalizers", "deletionTimestamp")
    )


def _set_counts(counts: Object, obj: Object) -> bool:
    obj.setdefault("status", {})["counts"] = counts
    return True


def _only_the_log(before: Object, now: Object) -> bool:
    """Whether nothing but the log has grown: in the tenant where Tenant objects are, each write of
    a status does that, so that saying so would go on for ever."""
    return {**before, "logBytes": now["logBytes"]} == now


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
