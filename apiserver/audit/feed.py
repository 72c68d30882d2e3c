"""Feed: a bounded queue between the event loop and a thread that writes events somewhere.

Whoever puts never waits: what finds the queue full is dropped and counted, so that a disk or a
webhook that is slow, broken or gone costs requests nothing.
"""

from __future__ import annotations

import logging
import threading
import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Sequence

from apiserver.audit import counts

log = logging.getLogger("polyplane.audit")

MOST_EVENTS = 10_000
MOST_BYTES = 64 * 2**20
_REMIND = 60.0
"""Seconds between two lines about what is lost."""


class Feed(ABC):
    """batch: events that are written together, at most; wait: seconds for which fewer of them wait
    for more; dropped: how many were lost, by no room or by whoever should have taken them; done:
    how many were written."""

    def __init__(self, name: str, batch: int, batch_bytes: int, wait: float) -> None:
        self.name = name
        self.dropped = self.done = 0
        self._batch, self._batch_bytes, self._wait = batch, batch_bytes, wait
        self._events: deque[bytes] = deque()
        self._bytes = 0
        self._changed = threading.Condition()
        self._closing = False
        self._told = -_REMIND
        self._thread: threading.Thread | None = None

    def put(self, event: bytes) -> None:
        with self._changed:
            if self._closing:
                self._lose(1, "it is closed")
                return
            if len(self._events) >= MOST_EVENTS or self._bytes + len(event) > MOST_BYTES:
                self._lose(1, "the queue is full")
                return
            self._events.append(event)
            self._bytes += len(event)
            if len(self._events) in (1, self._batch):
                self._changed.notify()
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name=self.name, daemon=True)
                self._thread.start()

    def close(self, patience: float = 5.0) -> None:
        """Writes what waits, for so many seconds; blocks meanwhile."""
        with self._changed:
            self._closing = True
            self._changed.notify()
        if self._thread is not None:
            self._thread.join(patience)

    @abstractmethod
    def write(self, events: Sequence[bytes]) -> None:
        """Runs in the feed's own thread. Raises OSError for what could not be written."""

    def finish(self) -> None:  # noqa: B027  # most have nothing to do
        """Runs in the feed's own thread, after the last batch."""

    def _run(self) -> None:
        while True:
            events = self._take()
            if not events:
                self.finish()
                return
            try:
                self.write(events)
                self.done += len(events)
            except Exception as error:  # the next batch may be better
                with self._changed:
                    self._lose(len(events), f"{type(error).__name__}: {error}")

    def _take(self) -> list[bytes]:
        """The next batch; none at the end."""
        with self._changed:
            self._changed.wait_for(lambda: self._events or self._closing)
            self._changed.wait_for(
                lambda: len(self._events) >= self._batch or self._closing, self._wait
            )
            events: list[bytes] = []
            size = 0
            while self._events and len(events) < self._batch:
                if events and size + len(self._events[0]) > self._batch_bytes:
                    break
                size += len(self._events[0])
                events.append(self._events.popleft())
            self._bytes -= size
            return events

    def _lose(self, count: int, why: str) -> None:
        self.dropped += count
        counts.lost(self.name, count)
        now = time.monotonic()
        if now - self._told >= _REMIND:
            self._told = now
            log.error("%s: %d audit events are lost so far: %s", self.name, self.dropped, why)
