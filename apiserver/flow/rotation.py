"""Whose turn it is, when tenants share one thing that does one piece of work at a time: start-time
fair queuing (Goyal, Vin, Cheng 1996) over pieces whose length is known when they have ended.

Each tenant has a clock that runs by the time its pieces took. Who is furthest behind is next; who
was idle comes back at the place of whoever is served then, so that nothing is saved up, and waits
for one piece at most. Within a tenant pieces stay in their order. Pure bookkeeping.
"""

from __future__ import annotations

from collections import deque
from heapq import heappop, heappush
from typing import Generic, TypeVar

J = TypeVar("J")

_REMEMBERED = 1024
"""Tenants that are ahead of the others and have nothing to do: those whom one forgets gain a
piece's time."""


class Rotation(Generic[J]):
    def __init__(self) -> None:
        self._queues: dict[int, deque[J]] = {}
        """Of tenants that have something waiting, or are being served."""
        self._order: list[tuple[float, int, int]] = []
        """(the tenant's clock, when it came into this list, its number): a heap of those that have
        something waiting and are not being served."""
        self._ahead: dict[int, float] = {}
        """Clocks of tenants that have nothing to do."""
        self._now = 0.0
        self._came = 0

    def __bool__(self) -> bool:
        return bool(self._order)

    def __contains__(self, tenant: int) -> bool:
        """Whether something of the tenant waits, or is being done."""
        return tenant in self._queues

    def add(self, tenant: int, job: J) -> None:
        queue = self._queues.get(tenant)
        if queue is None:
            self._queues[tenant] = deque((job,))
            self._enter(tenant, max(self._ahead.pop(tenant, 0.0), self._now))
        else:
            queue.append(job)

    def next(self) -> tuple[int, J]:
        """Whose turn it is, and the job to do now; then `spent` is to be told, before the next.
        There must be one."""
        self._now, _, tenant = heappop(self._order)
        return tenant, self._queues[tenant].popleft()

    def spent(self, tenant: int, seconds: float) -> None:
        """The tenant's job is done and took so long."""
        clock = self._now + seconds
        if self._queues[tenant]:
            self._enter(tenant, clock)
            return
        del self._queues[tenant]
        self._ahead[tenant] = clock
        if len(self._ahead) > _REMEMBERED:
            self._ahead = {t: c for t, c in self._ahead.items() if c > self._now}
            if len(self._ahead) > _REMEMBERED:
                self._ahead.clear()

    def _enter(self, tenant: int, clock: float) -> None:
        self._came += 1
        heappush(self._order, (clock, self._came, tenant))
