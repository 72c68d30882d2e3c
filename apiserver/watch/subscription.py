"""One watcher: first a backlog (the state as ADDED events, or the changes since its version), then
what the hub pushes.

The backlog is made as it is read, from sequences that never change, so a watcher of 100,000 objects
costs nothing before it reads. What is pushed meanwhile waits in a queue that is bounded in number,
in time, and in what it keeps alive: a watcher that does not read is dropped, never waited for.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence

from apiserver.watch.entry import Change, Entry, Predicate, WatchEvent
from apiserver.watch.errors import TooSlow
from apiserver.watch.turnover import Turnover
from apiserver.whose import is_shared

MAX_PENDING = 10_000  # events
BATCH_BYTES = (
    256 * 1024
)  # of objects, after which next() returns no more: every watcher has batches of its own
MAX_STALL = 60.0  # seconds that an event may wait to be read
STEP, SHARED_STEP = 500, 100  # entries of a watch's initial state

Backlog = AsyncIterator[list[WatchEvent]]


class Subscription:
    """Made by Watches.subscribe. start: the version that the initial state is of, or after which
    changes come. synced: the initial state, if one was asked for, has been returned by next()
    completely (a batch never holds both it and later events). turnover: of the tenant, by which it
    is known how much is kept for this watcher."""

    __slots__ = (
        "_backlog",
        "_began",
        "_bytes",
        "_clock",
        "_delivered",
        "_error",
        "_leave",
        "_pending",
        "_stalled",
        "_turnover",
        "_waiter",
        "after",
        "start",
    )

    def __init__(
        self,
        start: int,
        clock: Callable[[], int],
        turnover: Turnover,
        backlog: Backlog | None = None,
    ) -> None:
        self.start = start
        self.after = start
        self._clock = clock
        self._turnover = turnover
        self._began = turnover.bytes
        self._backlog = backlog
        self._delivered = start
        self._pending: deque[WatchEvent] = deque()
        self._bytes = 0
        self._stalled = 0.0
        self._waiter: asyncio.Future[None] | None = None
        self._error: Exception | None = None
        self._leave: Callable[[], None] | None = None

    @property
    def synced(self) -> bool:
        return self._backlog is None

    async def next(self, seconds: float | None = None) -> list[WatchEvent]:
        """At least one event, in order, as many as there are up to BATCH_BYTES (some hundred at
        most of a backlog); [] after ``seconds``, or when the backlog has ended. Raises why the
        subscription was closed, once what came before has been returned; TooSlow at once."""
        if self._backlog is not None:
            return await self._next_of_backlog()
        if not self._pending and self._error is None:
            await self._wait(seconds)
        if self._pending:
            events = self._take()
            self._delivered = events[-1].resource_version
            return events
        if self._error is not None:
            raise self._error
        return []

    def _take(self) -> list[WatchEvent]:
        pending = self._pending
        if self._bytes <= BATCH_BYTES:
            events = list(pending)
            pending.clear()
            self._bytes = 0
            return events
        events, size = [], 0
        while pending and size < BATCH_BYTES:
            event = pending.popleft()
            events.append(event)
            size += len(event.entry.json)
        self._bytes -= size
        self._stalled = time.monotonic()
        return events

    def position(self) -> int:
        """The version up to which everything has been returned by next(): what a bookmark may
        say."""
        if self._backlog is not None or self._pending or self._error is not None:
            return self._delivered
        return max(self._delivered, self.after, self._clock())

    def cancel(self) -> None:
        """The watcher goes; idempotent."""
        if self._leave is not None:
            self._leave()
            self._leave = None
        self._backlog = None
        self._pending.clear()

    # --- for the hub ------------------------------------------------------------------------------
    def joined(self, leave: Callable[[], None]) -> None:
        self._leave = leave

    def resume_with(self, backlog: Backlog) -> None:
        self._backlog = backlog

    def push(self, event: WatchEvent) -> None:
        pending = self._pending
        if not pending:
            self._stalled = time.monotonic()
        elif (
            len(pending) >= MAX_PENDING
            or self._turnover.since(pending[0].turnover) > self._turnover.max_unread
        ):
            self.drop_slow()
            return
        pending.append(event)
        self._bytes += len(event.entry.json)
        waiter = self._waiter
        if waiter is not None and not waiter.done():
            waiter.set_result(None)

    def check_stall(self, now: float) -> None:
        """Drops a watcher that does not read, or keeps too much alive: the changes that wait, or
        the state that it began with."""
        stalled = bool(self._pending) and now - self._stalled > MAX_STALL
        oldest = (
            self._began
            if self._backlog is not None
            else self._pending[0].turnover
            if self._pending
            else None
        )
        if stalled or (
            oldest is not None and self._turnover.since(oldest) > self._turnover.max_unread
        ):
            self.drop_slow()

    def drop_slow(self) -> None:
        self.close(TooSlow("the watcher does not read"))
        self._backlog = None
        self._pending.clear()

    def close(self, error: Exception) -> None:
        """Ends it; what is pending can still be read."""
        if self._error is None:
            self._error = error
        if self._leave is not None:
            self._leave()
            self._leave = None
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    async def _next_of_backlog(self) -> list[WatchEvent]:
        assert self._backlog is not None
        try:
            async for batch in self._backlog:
                if batch:
                    return batch
        except Exception as error:  # what is pending would come after a gap
            self.close(error)
            self._pending.clear()
            self._backlog = None
            raise
        self._backlog = None
        return []

    async def _wait(self, seconds: float | None) -> None:
        """Until something is pushed. A bare timer, because asyncio.timeout costs more than all else
        that a watcher does for an event."""
        loop = asyncio.get_running_loop()
        waiter = self._waiter = loop.create_future()
        timer = loop.call_later(seconds, _wake, waiter) if seconds is not None else None
        try:
            await waiter
        finally:
            self._waiter = None
            if timer is not None:
                timer.cancel()


def _wake(waiter: asyncio.Future[None]) -> None:
    if not waiter.done():
        waiter.set_result(None)


async def initial_state(entries: Sequence[Entry], matches: Callable[[Entry], bool]) -> Backlog:
    """ADDED events of those entries that match; between two awaits it looks at `STEP` of them, at
    `SHARED_STEP` while other tenants have something to do on the loop."""
    at = 0
    while at < len(entries):
        step = SHARED_STEP if is_shared() else STEP
        some = entries[at : at + step]
        for batch in _batches([WatchEvent("ADDED", entry) for entry in some if matches(entry)]):
            yield batch
        at += step
        await asyncio.sleep(0)


def _batches(events: list[WatchEvent]) -> Iterator[list[WatchEvent]]:
    """The same events, those of one batch not much larger together than BATCH_BYTES."""
    begin, size = 0, 0
    for i, event in enumerate(events):
        size += len(event.entry.json)
        if size >= BATCH_BYTES:
            yield events[begin : i + 1]
            begin, size = i + 1, 0
    yield events[begin:]


async def replay(
    pages: AsyncIterator[Iterable[Change]],
    matches: Callable[[Entry], bool],
    predicate: Predicate | None,
) -> Backlog:
    """What the watcher would have been sent of past changes. ``matches``: namespace and name, which
    no change alters."""
    async for changes in pages:
        seen = (change.seen(predicate) for change in changes if matches(change.new))
        for batch in _batches([event for event in seen if event is not None]):
            yield batch
