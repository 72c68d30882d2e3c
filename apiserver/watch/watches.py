"""The public face of caches and watches in one process; one per worker, on its event loop.

Nothing is kept for a tenant that nobody reads: its tail begins with the first reader and ends some
minutes after the last.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import AsyncIterator, Callable, Hashable, Iterable, Sequence

from apiserver.meta.gvk import GroupResource
from apiserver.storage.errors import StorageError, TenantGone, TooLarge, Unavailable
from apiserver.storage.interface import Event, ObjectKey, Record, Store
from apiserver.watch.board import Board, last_deciding
from apiserver.watch.cache import Cache
from apiserver.watch.entry import Change, Entry, Index, Predicate
from apiserver.watch.errors import WatchClosed
from apiserver.watch.recent import Recent
from apiserver.watch.subscription import BATCH_BYTES, Subscription, initial_state, replay
from apiserver.watch.tail import Channel, Tail
from apiserver.watch.turnover import Turnover

log = logging.getLogger("polyplane.watch")

POLL = 1.0  # seconds between looks at the heads, in case hints were lost
SWEEP = 5.0  # seconds between looks for idle caches and stalled watchers
HEARING = 1.0  # seconds to wait for what another worker has committed
LOG_PAGE = 1000  # events of the log at a time, for a watcher that begins in the past
REACH = 3.0  # seconds to wait for a version that is not there yet, as kube-apiserver does
MAX_UNREAD = 128 * 2**20
"""Bytes that the clients of a tenant may leave unread in one process, and how many may have changed
(`Turnover`) before a reader who is behind is dropped."""


class Watches:
    """index: labels and selectable fields of an object's JSON; idle: seconds after which a cache
    without readers is dropped; board: shared with the other workers of this machine; max_unread:
    bytes that slow readers of a tenant may keep alive (`Turnover`).

    ``behind``: versions by which the tail that was most behind was so at the last look at the
    heads."""

    def __init__(
        self,
        store: Store,
        index: Index,
        *,
        idle: float = 300.0,
        board: Board | None = None,
        max_unread: int = MAX_UNREAD,
    ) -> None:
        self._store = store
        self._index = index
        self._idle = idle
        self._board = board
        self._max_unread = max_unread
        self._tails: dict[int, Tail] = {}
        self.behind = 0
        self._recent = Recent()
        self._forgetting: list[Callable[[int], None]] = []
        self._starting: dict[int, asyncio.Task[Tail]] = {}
        self._tasks: list[asyncio.Task[None]] = []
        store.observe(self.committed)
        store.listen(self._hint)

    async def start(self) -> None:
        self._tasks = [
            asyncio.create_task(self._every(POLL, self._poll)),
            asyncio.create_task(self._every(SWEEP, self._sweep)),
        ]

    def when_idle(self, forget: Callable[[int], None]) -> None:
        """``forget`` is called with each tenant whose caches have been dropped, because nobody
        reads them or it is gone."""
        self._forgetting.append(forget)

    async def stop(self) -> None:
        """Ends every subscription with WatchClosed."""
        for task in [*self._tasks, *self._starting.values()]:
            task.cancel()
        for tail in self._tails.values():
            tail.close(WatchClosed("the server stops"))
        self._tails.clear()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    # --- reading ----------------------------------------------------------------------------------
    async def cache(self, tenant: int, resource: GroupResource) -> Cache:
        """Loaded, and consistent at its own resource_version, which may be a moment old. Raises
        TenantGone, Unavailable."""
        return (await self._channel(tenant, resource)).cache

    async def is_soon(self, tenant: int, resource: GroupResource, seconds: float) -> bool:
        """Whether the cache is there within so many seconds; what is not goes on being loaded.
        Raises as `cache` does."""
        if self.peek(tenant, resource) is not None:
            return True
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self.cache(tenant, resource)
                return True
        return False

    def peek(self, tenant: int, resource: GroupResource) -> Cache | None:
        """The cache if it is there already; counts as use."""
        tail = self._tails.get(tenant)
        channel = tail.channels.get(resource) if tail is not None else None
        if channel is None:
            return None
        channel.used = time.monotonic()
        return channel.cache

    async def latest_known(self, tenant: int, key: ObjectKey) -> tuple[Record | None, bool]:
        """An object of a resource without a cache, and whether this is its state of now: it may be
        what was heard of it last. Raises TenantGone, Unavailable."""
        record = self._recent.get(tenant, key)
        if record is not None:
            return record, False
        record = await self._store.get(tenant, key)
        if record is not None and tenant in self._tails:
            self._recent.keep(tenant, record)
        return record, True

    async def fresh(
        self, tenant: int, resource: GroupResource, cache: Cache | None = None
    ) -> Cache:
        """Not older than the call: asks the database for the head and waits until the cache has it.
        ``cache``: what `peek` has found. Raises TenantGone, Unavailable."""
        if cache is None:
            cache = await self.cache(tenant, resource)
        head = await self._store.head(tenant)
        if cache.resource_version >= head:
            return cache
        try:
            return await self.wait_for(tenant, resource, head)
        except (
            TooLarge
        ) as error:  # nobody has asked for a version: the log cannot be read as fast as it grows
            raise Unavailable(
                f"the log of tenant {tenant} has been read up to {error.current} of {head}"
            ) from None

    async def wait_for(
        self, tenant: int, resource: GroupResource, resource_version: int, seconds: float = REACH
    ) -> Cache:
        """The cache at that version or a later one. Raises TooLarge after ``seconds``."""
        deadline = time.monotonic() + seconds
        while True:
            cache = await self.cache(tenant, resource)
            if cache.resource_version >= resource_version:
                return cache
            try:
                await (await self._tail(tenant)).reach(
                    resource_version, max(deadline - time.monotonic(), 0)
                )
            except WatchClosed:
                await asyncio.sleep(0)

    # --- watching ---------------------------------------------------------------------------------
    async def subscribe(
        self,
        tenant: int,
        resource: GroupResource,
        *,
        after: int | None,
        initial: bool = False,
        namespace: str = "",
        name: str = "",
        predicate: Predicate | None = None,
        selector: Hashable = None,
    ) -> Subscription:
        """after None: the most recent state as ADDED events, then changes; 0: the same from
        whatever state the cache has; otherwise the changes after that version, or, with
        ``initial``, a state that is not older than it, then changes. A version of the future is
        waited for, silently. Predicates with equal ``selector`` keys (or, without one, equal
        predicates) are evaluated once for all. The caller must cancel() the subscription.

        Raises Compacted for a version below the floor, TooLarge (initial only), TenantGone,
        Unavailable."""
        if after is None:
            await self.fresh(tenant, resource)
        elif initial and after:
            await self.wait_for(tenant, resource, after)
        channel = await self._channel(tenant, resource)
        cache = channel.cache
        matches = _matches(namespace, name)
        if initial or not after:
            backlog = initial_state(cache.select(namespace), _selected(matches, predicate))
            subscription = Subscription(
                cache.resource_version, lambda: cache.resource_version, channel.turnover, backlog
            )
            channel.hub.join(subscription, namespace, name, predicate, selector)
            return subscription
        subscription = Subscription(after, lambda: cache.resource_version, channel.turnover)
        channel.hub.join(subscription, namespace, name, predicate, selector)
        missed = await self._missed(subscription, cache, tenant, resource)
        subscription.resume_with(replay(missed, matches, predicate))
        return subscription

    async def _missed(
        self, subscription: Subscription, cache: Cache, tenant: int, resource: GroupResource
    ) -> AsyncIterator[Iterable[Change]]:
        """The changes between the version that it began after and what the cache has now."""
        after, now = subscription.start, cache.resource_version
        if after >= cache.window_after:
            return _one_page(cache.changes_after(after))
        subscription.after = now
        pages = _from_log(self._store, tenant, resource, after, now, self._index)
        try:
            return _then(await anext(pages, ()), pages)
        except BaseException:
            subscription.cancel()
            raise

    def turnover(self, tenant: int) -> Turnover:
        """What readers of the tenant's caches compare themselves with; one that stands still when
        there are none."""
        tail = self._tails.get(tenant)
        return Turnover(self._max_unread) if tail is None else tail.turnover

    def drop(self, tenant: int, resource: GroupResource) -> None:
        """Forgets a cache whose labels or fields are indexed in another way now, or whose resource
        is gone; its watchers end."""
        tail = self._tails.get(tenant)
        if tail is not None:
            tail.drop(resource, WatchClosed(f"{resource} is served in another way now"))

    def watched(self, tenant: int, *, but: GroupResource) -> bool:
        """Whether anybody watches anything of the tenant beside that resource."""
        tail = self._tails.get(tenant)
        return tail is not None and any(
            len(c.hub) for resource, c in tail.channels.items() if resource != but
        )

    def committed(self, tenant: int, events: Sequence[Event]) -> None:
        """What this process wrote; called by the store."""
        self._recent.follow(tenant, events)
        tail = self._tails.get(tenant)
        if tail is not None and not tail.closed:
            tail.committed(events)
        if self._board is not None:
            told = last_deciding(
                (e.record.key.group_resource, e.record.resource_version) for e in events
            )
            if told:
                self._board.tell(tenant, told)

    async def heard(self, tenant: int) -> None:
        """Waits until what other workers changed before this call, and what decides about requests,
        is known here."""
        told = self._board.told(tenant) if self._board is not None else 0
        local = self._tails.get(tenant)
        if not told or (local is not None and not local.closed and told <= local.position):
            return
        with contextlib.suppress(
            WatchClosed, StorageError
        ):  # whoever needs the tenant is told what is wrong with it
            if tenant in self._starting:
                await self._tail(tenant)  # may be from before
            tail = self._tails.get(tenant)
            if tail is None or tail.closed or told <= max(tail.position, tail.unheard):
                return
            try:
                await tail.reach(told, HEARING)
            except (
                TooLarge
            ):  # one wait for it is enough: it may be that of a database that was lost
                tail.unheard = told

    # --- tails ------------------------------------------------------------------------------------
    async def _channel(self, tenant: int, resource: GroupResource) -> Channel:
        while True:
            try:
                return await (await self._tail(tenant)).channel(resource)
            except WatchClosed:
                await asyncio.sleep(0)

    async def _tail(self, tenant: int) -> Tail:
        tail = self._tails.get(tenant)
        if tail is not None and not tail.closed:
            return tail
        if tenant not in self._starting:
            self._starting[tenant] = asyncio.create_task(self._start_tail(tenant))
        return await asyncio.shield(self._starting[tenant])

    async def _start_tail(self, tenant: int) -> Tail:
        try:
            head, turnover = await self._store.head(tenant), Turnover(self._max_unread)
            tail = self._tails[tenant] = Tail(
                self._store, tenant, head, self._index, turnover, self._recent
            )
            return tail
        finally:
            del self._starting[tenant]

    def _hint(self, tenant: int, resource_version: int) -> None:
        tail = self._tails.get(tenant)
        if tail is not None:
            tail.hint(resource_version)

    async def _every(self, seconds: float, duty: Callable[[], object]) -> None:
        while True:
            await asyncio.sleep(seconds)
            try:
                result = duty()
                if asyncio.iscoroutine(result):
                    await result
            except Unavailable as error:
                log.debug("%s", error)
            except Exception:
                log.exception("a duty of the watches failed")

    async def _poll(self) -> None:
        asked = list(self._tails)
        heads = await self._store.heads(asked)
        behind = 0
        for tenant in asked:
            tail = self._tails.get(tenant)
            if tail is not None and tenant in heads:
                behind = max(behind, heads[tenant].head - tail.position)
                tail.hint(heads[tenant].head)
            elif tail is not None:
                tail.close(TenantGone(f"tenant {tenant} is gone"))
        self.behind = behind

    def _sweep(self) -> None:
        limit = time.monotonic() - self._idle
        for tenant, tail in list(self._tails.items()):
            for resource, channel in list(tail.channels.items()):
                channel.hub.check_stalls()
                channel.cache.forget_old()
                if not len(channel.hub) and channel.used < limit:
                    tail.drop(resource, WatchClosed("idle"))
            if tail.idle:
                tail.close(WatchClosed("idle"))
            if tail.closed:
                del self._tails[tenant]
                self._recent.forget(tenant)
                for forget in self._forgetting:
                    forget(tenant)


def _matches(namespace: str, name: str) -> Callable[[Entry], bool]:
    return lambda entry: (
        (not namespace or entry.namespace == namespace) and (not name or entry.name == name)
    )


def _selected(
    matches: Callable[[Entry], bool], predicate: Predicate | None
) -> Callable[[Entry], bool]:
    if predicate is None:
        return matches
    return lambda entry: matches(entry) and predicate(entry.labels, entry.fields)


async def _one_page(changes: Iterable[Change]) -> AsyncIterator[Iterable[Change]]:
    yield changes


async def _then(
    first: Iterable[Change], rest: AsyncIterator[Iterable[Change]]
) -> AsyncIterator[Iterable[Change]]:
    yield first
    async for page in rest:
        yield page


async def _from_log(
    store: Store, tenant: int, resource: GroupResource, after: int, through: int, index: Index
) -> AsyncIterator[Iterable[Change]]:
    """Changes above ``after`` up to ``through``, page by page: every watcher has pages of its own,
    so that they are small."""

    def entry(record: Record) -> Entry:
        return Entry.of(resource, record, index)

    while after < through:
        page = await store.events(
            tenant, after, resource=resource, with_old=True, limit=LOG_PAGE, max_bytes=BATCH_BYTES
        )
        if page.through == after:
            raise StorageError(f"the log of tenant {tenant} ends at {after}, before {through}")
        events = [event for event in page.events if event.record.resource_version <= through]
        yield [
            Change(entry(e.old) if e.old else None, entry(e.record), e.type == "DELETED")
            for e in events
        ]
        after = page.through
