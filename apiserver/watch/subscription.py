"""One watcher: first a backlog (the state as ADDED events, or the changes since its version), then what the hub pushes.

The backlog is made as it is read, from sequences that never change, so a watcher of 100,000 objects costs nothing before it reads. What is
pushed meanwhile waits in a queue that is bounded in number and in time: a watcher that does not read is dropped, never waited for.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterable, Sequence

from apiserver.watch.entry import Change, Entry, Predicate, WatchEvent
from apiserver.watch.errors import TooSlow

MAX_PENDING = 10_000  # events; they are shared with other watchers, so this bounds what one of them keeps alive
MAX_PENDING_BYTES = 64 * 2**20
MAX_STALL = 60.0  # seconds that an event may wait to be read

Backlog = AsyncIterator[list[WatchEvent]]


class Subscription:
    """Made by Watches.subscribe. start: the version that the initial state is of, or after which changes come. synced: the initial
    state, if one was asked for, has been returned by next() completely (a batch never holds both it and later events)."""

    __slots__ = ("_backlog", "_bytes", "_clock", "_delivered", "_error", "_leave", "_pending", "_stalled", "_waiter", "after", "start")

    def __init__(self, start: int, clock: Callable[[], int], backlog: Backlog | None = None) -> None:
        self.start = start
        self.after = start
        self._clock = clock
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
        """At least one event, in order, as many as there are (some hundred at most of a backlog); [] after ``seconds``, or when
        the backlog has ended. Raises why the subscription was closed, once what came before has been returned; TooSlow at once."""
        if self._backlog is not None:
            return await self._next_of_backlog()
        if not self._pending and self._error is None:
            await self._wait(seconds)
        if self._pending:
            events = list(self._pending)
            self._pending.clear()
            self._bytes = 0
            self._delivered = events[-1].resource_version
            return events
        if self._error is not None:
            raise self._error
        return []

    def position(self) -> int:
        """The version up to which everything has been returned by next(): what a bookmark may say."""
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

    # --- for the hub -----------------------------------------------------------------------------------------------------------
    def joined(self, leave: Callable[[], None]) -> None:
        self._leave = leave

    def resume_with(self, backlog: Backlog) -> None:
        self._backlog = backlog

    def push(self, event: WatchEvent) -> None:
        pending = self._pending
        if not pending:
            self._stalled = time.monotonic()
        elif len(pending) >= MAX_PENDING or self._bytes > MAX_PENDING_BYTES:
            self.drop_slow()
            return
        pending.append(event)
        self._bytes += len(event.entry.json)
        waiter = self._waiter
        if waiter is not None and not waiter.done():
            waiter.set_result(None)

    def check_stall(self, now: float) -> None:
        if self._pending and now - self._stalled > MAX_STALL:
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
        """Until something is pushed. A bare timer, because asyncio.timeout costs more than all else that a watcher does for an event."""
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


async def initial_state(entries: Sequence[Entry], matches: Callable[[Entry], bool], step: int = 500) -> Backlog:
    """ADDED events of those entries that match; looks at ``step`` of them between two awaits."""
    for i in range(0, len(entries), step):
        yield [WatchEvent("ADDED", entry) for entry in entries[i : i + step] if matches(entry)]
        await asyncio.sleep(0)


async def replay(pages: AsyncIterator[Iterable[Change]], matches: Callable[[Entry], bool], predicate: Predicate | None) -> Backlog:
    """What the watcher would have been sent of past changes. ``matches``: namespace and name, which no change alters."""
    async for changes in pages:
        seen = (change.seen(predicate) for change in changes if matches(change.new))
        yield [event for event in seen if event is not None]
