"""The tail of one tenant's log in this process: applies every event once, in order, to the caches
that exist.

Events come from two sides: this process's own commits, handed over directly, and the log, read when
a hint, a waiting reader or the clock says that there may be more. Both only ever move `position`
forward along the chain of `previous` versions; what the direct side cannot attach is left to the
log, and a hole in the log itself is a bug that is reported, never skipped.
"""

from __future__ import annotations

import asyncio
import heapq
import logging
import random
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import aclosing
from itertools import count

from apiserver.meta.gvk import GroupResource
from apiserver.storage.errors import (
    ChainBroken,
    Compacted,
    StorageError,
    TenantGone,
    TooLarge,
    Unavailable,
)
from apiserver.storage.interface import Event, Store
from apiserver.watch.cache import Cache
from apiserver.watch.entry import Index
from apiserver.watch.errors import WatchClosed
from apiserver.watch.hub import Hub
from apiserver.watch.recent import Recent
from apiserver.watch.turnover import Turnover

log = logging.getLogger("polyplane.watch")

PAGE = 250  # events that are applied between two awaits
_MOST_RESOURCES = 1_000
_OTHERS = GroupResource("", "")
_received: dict[int, dict[GroupResource, int]] = {}


def take_received() -> Mapping[int, Mapping[GroupResource, int]]:
    """By tenant, how many events of each resource tails have come by since this was last called;
    those of more resources than are kept apart are under one without a name."""
    taken = _received.copy()
    _received.clear()
    return taken


class Channel:
    """One resource: its cache and its watchers. turnover: of its tenant; used: time.monotonic() of
    the last reader."""

    __slots__ = ("cache", "hub", "turnover", "used")

    def __init__(self, cache: Cache, turnover: Turnover) -> None:
        self.cache = cache
        self.turnover = turnover
        self.hub = Hub()
        self.used = time.monotonic()


class Tail:
    """Ends (``closed``) when the log can no longer be followed; whoever needs the tenant then
    starts a new one. unheard: a version that requests have waited for in vain."""

    def __init__(
        self,
        store: Store,
        tenant: int,
        position: int,
        index: Index,
        turnover: Turnover,
        recent: Recent,
    ) -> None:
        self.tenant = tenant
        self.turnover = turnover
        self._recent = recent
        self.position = position
        self.unheard = 0
        self.closed = False
        self.channels: dict[GroupResource, Channel] = {}
        self._store = store
        self._index = index
        self._loading: dict[GroupResource, tuple[asyncio.Task[Channel], list[Event]]] = {}
        self._waiters: list[tuple[int, int, asyncio.Future[None]]] = []
        self._order = count()
        self._wake = asyncio.Event()
        self._task = asyncio.create_task(self._follow())

    @property
    def idle(self) -> bool:
        return not self.channels and not self._loading and not self._waiters

    # --- caches -----------------------------------------------------------------------------------
    async def channel(self, resource: GroupResource) -> Channel:
        """Loaded at its first use. Raises StorageError, WatchClosed when the tail ended
        meanwhile."""
        channel = self.channels.get(resource)
        if channel is None:
            loading = self._loading.get(resource)
            if loading is None:
                events: list[Event] = []
                loading = self._loading[resource] = (
                    asyncio.create_task(self._load(resource, events)),
                    events,
                )
            await asyncio.wait([loading[0]])
            if loading[0].cancelled() or (
                self.channels.get(resource) is None and loading[0].exception() is None
            ):
                raise WatchClosed("the cache was dropped while it was loaded")
            channel = loading[0].result()
        channel.used = time.monotonic()
        return channel

    def drop(self, resource: GroupResource, error: Exception) -> None:
        channel = self.channels.pop(resource, None)
        if channel is not None:
            channel.hub.close(error)
        loading = self._loading.pop(resource, None)
        if loading is not None:
            loading[0].cancel()

    async def _load(self, resource: GroupResource, meanwhile: list[Event]) -> Channel:
        """The snapshot is from after the tail's position of now, so nothing falls between it and
        the events that arrive from here on."""
        try:
            cache = Cache(resource, self._index, self)
            version = 0
            async with aclosing(
                self._store.snapshot(self.tenant, resource)
            ) as batches:  # a load that is given up leaves no cursor behind
                async for version, records in batches:  # noqa: B007
                    cache.load(records)
                    await asyncio.sleep(0)
            cache.loaded(version)
            for event in meanwhile:
                cache.apply(event)
            channel = self.channels[resource] = Channel(cache, self.turnover)
            return channel
        finally:
            if resource in self._loading and self._loading[resource][1] is meanwhile:
                del self._loading[resource]

    # --- following the log ------------------------------------------------------------------------
    def committed(self, events: Sequence[Event]) -> None:
        """This process's own commits, or what a query found."""
        self._apply(events)
        if events[-1].record.resource_version > self.position:
            self._wake.set()

    def hint(self, resource_version: int) -> None:
        if resource_version > self.position:
            self._wake.set()

    async def reach(self, resource_version: int, seconds: float) -> None:
        """Waits until the log has been applied up to that version. Raises TooLarge after
        ``seconds``, WatchClosed when the tail ends."""
        if resource_version <= self.position:
            return
        self._wake.set()
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        waiter = (resource_version, next(self._order), future)
        heapq.heappush(self._waiters, waiter)
        try:
            async with asyncio.timeout(seconds):
                await future
        except TimeoutError:
            raise TooLarge(self.position) from None
        finally:
            if waiter in self._waiters:
                self._waiters.remove(waiter)
                heapq.heapify(self._waiters)

    def _apply(self, events: Iterable[Event]) -> None:
        """Those that attach to the position; stops before one that does not."""
        received = _received.setdefault(self.tenant, {})
        for event in events:
            version = event.record.resource_version
            if version <= self.position:
                continue
            if event.previous != self.position:
                break
            self.position = version
            resource = event.record.key.group_resource
            known = resource in received or len(received) < _MOST_RESOURCES
            counted = resource if known else _OTHERS
            received[counted] = received.get(counted, 0) + 1
            if resource in self.channels:
                self._pass_on(resource, event)
            elif resource in self._loading:
                self._loading[resource][1].append(event)
        while self._waiters and self._waiters[0][0] <= self.position:
            future = heapq.heappop(self._waiters)[2]
            if not future.done():
                future.set_result(None)

    def _pass_on(self, resource: GroupResource, event: Event) -> None:
        channel = self.channels[resource]
        try:
            change = channel.cache.apply(event)
            if change is not None:
                old = change.old
                self.turnover.add(len(change.new.json), 0 if old is None else len(old.json))
                change.turnover = self.turnover.bytes
                channel.hub.send(change)
        except Exception as error:  # a cache that missed an event must not be served
            log.exception(
                "%s of tenant %s at %s", resource, self.tenant, event.record.resource_version
            )
            self.drop(resource, WatchClosed(f"internal error: {error}"))

    async def _follow(self) -> None:
        pause = 0.05
        while not self.closed:
            await self._wake.wait()
            self._wake.clear()
            try:
                await self._catch_up()
                pause = 0.05
            except Unavailable as error:
                log.debug("tail of tenant %s: %s", self.tenant, error)
                self._wake.set()
                await asyncio.sleep(pause * random.uniform(0.5, 1.5))  # noqa: S311
                pause = min(pause * 2, 1.0)
            except (TenantGone, Compacted) as error:
                self.close(error)
            except ChainBroken as error:
                log.critical("the log has a hole: %s", error)
                self.close(error)
            except Exception as error:
                log.exception("tail of tenant %s", self.tenant)
                self.close(error)

    async def _catch_up(self) -> None:
        while not self.closed:
            page = await self._store.events(self.tenant, self.position, limit=PAGE)
            self._recent.follow(self.tenant, page.events)
            self._apply(page.events)
            if page.through > self.position:
                beyond = [
                    e.previous for e in page.events if e.record.resource_version > self.position
                ]
                raise ChainBroken(self.tenant, self.position, beyond[0] if beyond else page.through)
            if (
                len(page.events) < PAGE
            ):  # the end, as of that query; what came after it wakes the tail again
                return

    def close(self, error: Exception) -> None:
        """Ends all that depends on it: watchers get the error, readers that wait get WatchClosed
        or, for a tenant that is gone, that."""
        if self.closed:
            return
        self.closed = True
        for resource in [*self.channels, *self._loading]:
            self.drop(resource, error)
        for _, _, future in self._waiters:
            if not future.done():
                future.set_exception(
                    error if isinstance(error, StorageError) else WatchClosed(str(error))
                )
        self._waiters.clear()
        if asyncio.current_task() is not self._task:
            self._task.cancel()
