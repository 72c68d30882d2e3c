"""Whose turn it is, when several share one thing that does one piece of work at a time: start-time
fair queuing (Goyal, Vin, Cheng 1996) over pieces whose length is known when they have ended.

Those who share are tenants, or within a tenant its priority levels and flows. Each has a clock that
runs by the time its pieces took. Who is furthest behind is next; who was idle comes back at the
place of whoever is served then, so that nothing is saved up, and waits for one piece at most. What
one of them wants stays in its order. Pure bookkeeping.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable
from heapq import heapify, heappop, heappush
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
J = TypeVar("J")

_REMEMBERED = 1024
"""Of those that are ahead of the others and have nothing to do: who is forgotten gains a piece's
time."""


class Rotation(Generic[K, J]):
    def __init__(self) -> None:
        self._queues: dict[K, deque[J]] = {}
        """Of those that have something waiting, or are being served."""
        self._order: list[tuple[float, int, K]] = []
        """(a clock, when it came into this list, whose it is): a heap of those that have something
        waiting and are not being served."""
        self._ahead: dict[K, float] = {}
        """Clocks of those that have nothing to do."""
        self._now = 0.0
        self._came = 0

    def __bool__(self) -> bool:
        return bool(self._order)

    def __contains__(self, whose: K) -> bool:
        """Whether something of his waits, or is being done."""
        return whose in self._queues

    def add(self, whose: K, job: J) -> None:
        queue = self._queues.get(whose)
        if queue is None:
            self._queues[whose] = deque((job,))
            self._enter(whose, max(self._ahead.pop(whose, 0.0), self._now))
        else:
            queue.append(job)

    def next(self) -> tuple[K, J]:
        """Whose turn it is, and the job to do now; then `spent` is to be told, before the next.
        There must be one."""
        self._now, _, whose = heappop(self._order)
        return whose, self._queues[whose].popleft()

    def spent(self, whose: K, seconds: float) -> None:
        """His job is done and took so long: where shares differ, seconds by what his share is."""
        clock = self._now + seconds
        if self._queues[whose]:
            self._enter(whose, clock)
        else:
            self._leave(whose, clock)

    def drop(self, whose: K, job: J) -> None:
        """Takes back a job that still waits."""
        queue = self._queues[whose]
        queue.remove(job)
        if queue:
            return
        at = next((i for i, (_, _, other) in enumerate(self._order) if other == whose), None)
        if at is None:
            return  # he is being served
        clock, _, _ = self._order.pop(at)
        heapify(self._order)
        self._leave(whose, clock)

    def _enter(self, whose: K, clock: float) -> None:
        self._came += 1
        heappush(self._order, (clock, self._came, whose))

    def _leave(self, whose: K, clock: float) -> None:
        del self._queues[whose]
        self._ahead[whose] = clock
        if len(self._ahead) > _REMEMBERED:
            self._ahead = {w: c for w, c in self._ahead.items() if c > self._now}
            if len(self._ahead) > _REMEMBERED:
                self._ahead.clear()
