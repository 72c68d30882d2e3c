"""API Priority and Fairness of the tenants that this worker serves: what their FlowSchemas and
PriorityLevelConfigurations say, read from the watch caches, and who has a seat.

The objects are looked at again `LOOK` seconds after the last time, when a request comes. A tenant
that nobody uses is forgotten with its caches; what was counted for it stays in `past`.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Sequence
from functools import cache

from apiserver.flow.counts import Tally
from apiserver.flow.estimates import Stock, Watchers
from apiserver.flow.levels import CATCH_ALL, EXEMPT, PERIOD, Levels
from apiserver.kinds.bootstrap import bootstrap_objects
from apiserver.meta.gvk import GroupResource
from apiserver.meta.objects import Object
from apiserver.meta.times import now
from apiserver.storage.errors import StorageError
from apiserver.watch.cache import Entries, decoded
from apiserver.watch.watches import Watches

GROUP = "flowcontrol.apiserver.k8s.io"
SCHEMAS = GroupResource(GROUP, "flowschemas")
LEVELS = GroupResource(GROUP, "prioritylevelconfigurations")
LOOK = 0.25
SEATS = 600
"""Of a tenant whose requests nobody limits: kube-apiserver's own default."""
_MOST_OBJECTS, _MOST_BYTES = 500, 2**20
"""Of each resource that are obeyed, the most important first: every new kind of request is compared
with all of them."""


class Control:
    """Of one tenant. due: when its objects are looked at again; seen: what was read, and for how
    many seats."""

    __slots__ = ("due", "levels", "seen", "tenant", "watchers", "watches")

    def __init__(self, tenant: int, watches: Watches) -> None:
        self.tenant, self.watches = tenant, watches
        self.levels = Levels(_mandatory(), time.monotonic, _later)
        self.watchers = Watchers()
        self.due = 0.0
        self.seen: tuple[Entries, Entries, int] | None = None

    def stock(self, resource: GroupResource) -> Stock | None:
        """The objects that this worker has at hand."""
        cached = self.watches.peek(self.tenant, resource)
        return None if cached is None else Stock(len(cached), cached.size)


class FlowControl:
    """workers: how many processes of this machine share a tenant's requests."""

    def __init__(self, watches: Watches, workers: int = 1) -> None:
        self._watches, self._workers = watches, workers
        self.controls: dict[int, Control] = {}
        self.past = Tally()
        watches.when_idle(self.forget)

    def ready(self, tenant: int) -> Control | None:
        """None where `look` has to be awaited first."""
        control = self.controls.get(tenant)
        return control if control is not None and control.due > time.monotonic() else None

    async def look(self, tenant: int, limit: int) -> Control:
        """``limit``: requests of the tenant that this machine serves at once. Raises StorageError
        where nothing is known of the tenant yet."""
        seats = SEATS if limit == sys.maxsize else -(-limit // self._workers)
        control = self.controls.get(tenant)
        if control is not None:
            control.due = time.monotonic() + LOOK  # one of those that come now looks
        try:
            schemas = (await self._watches.cache(tenant, SCHEMAS)).select()
            levels = (await self._watches.cache(tenant, LEVELS)).select()
            current = self.controls.get(tenant)
            if current is None:
                current = Control(tenant, self._watches)
            if current.seen is None or not _same(current.seen, (schemas, levels, seats)):
                read = (await _first(levels), await _first(schemas))
                current.levels.digest(*read, seats)
                current.seen = schemas, levels, seats
        except StorageError:
            if control is None:
                raise
            return control
        current.due = time.monotonic() + LOOK
        self.controls[tenant] = current
        return current

    def forget(self, tenant: int) -> None:
        """Who still waits or is served there goes on with what they have."""
        control = self.controls.pop(tenant, None)
        if control is not None:
            self.past.include(control.levels.tally, past=True)

    async def adjust_forever(self) -> None:
        while True:
            await asyncio.sleep(PERIOD)
            for control in list(self.controls.values()):
                levels = control.levels
                levels.adjust()
                if any(x.quiescing and x.queues.idle for x in levels.levels.values()):
                    control.seen = None
                await asyncio.sleep(0)


async def _first(entries: Entries) -> Sequence[Object]:
    """The objects that count, in the order in which requests try them."""
    objects = await decoded(entries)
    if len(entries) <= _MOST_OBJECTS and entries.size <= _MOST_BYTES:
        return objects
    counted: list[Object] = []
    size = 0
    pairs = zip(objects, entries, strict=True)
    for obj, entry in sorted(pairs, key=lambda pair: _order(pair[0])):
        size += len(entry.json)
        if len(counted) == _MOST_OBJECTS or size > _MOST_BYTES:
            break
        counted.append(obj)
    return counted


def _order(obj: Object) -> tuple[int, str]:
    return (obj.get("spec") or {}).get("matchingPrecedence", 0), obj["metadata"]["name"]


def _same(a: tuple[Entries, Entries, int], b: tuple[Entries, Entries, int]) -> bool:
    return a[0] is b[0] and a[1] is b[1] and a[2] == b[2]


@cache
def _mandatory() -> dict[str, tuple[Object, Object]]:
    """Level and schema by their name."""
    objects = {(o["kind"], o["metadata"]["name"]): o for o in bootstrap_objects(now())}
    return {
        name: (objects["PriorityLevelConfiguration", name], objects["FlowSchema", name])
        for name in (EXEMPT, CATCH_ALL)
    }


def _later(seconds: float, call: object) -> object:
    return asyncio.get_running_loop().call_later(seconds, call)  # type: ignore[arg-type]
