"""Turns: whose work is next, when tenants share a few places to work at.

Tenants take turns, not jobs: a tenant that asks for a hundred things waits for itself. Where a
tenant's share is smaller than the number of places (`Limits`), no tenant alone can hold all of
them. A tenant may rest after a job: its place is another's, its share is not its own yet. What
waits is bounded for each tenant, in number and bytes.
Pure bookkeeping: no threads, no clock, no loop.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from dataclasses import dataclass, field
from typing import Generic, TypeVar

J = TypeVar("J")


@dataclass(slots=True, frozen=True)
class Limits:
    """places: jobs that are worked on at a time; share: those of one tenant; waiting,
    waiting_bytes: of one tenant beside these. A job of more bytes may wait where nothing else of
    its tenant does."""

    places: int
    share: int
    waiting: int
    waiting_bytes: int


class Full(Exception):
    """The tenant has more waiting than it may."""


@dataclass(slots=True)
class _Tenant(Generic[J]):
    """queue: (job, bytes) in the order in which they came; size: bytes of all; taken: of its share,
    by jobs that run and by rests after them."""

    queue: deque[tuple[J, int]] = field(default_factory=deque)
    size: int = 0
    taken: int = 0


class Turns(Generic[J]):
    """Jobs are told apart by identity."""

    def __init__(self, limits: Limits) -> None:
        assert 0 < limits.share <= limits.places
        self.limits = limits
        self.running = 0
        self._tenants: OrderedDict[int, _Tenant[J]] = OrderedDict()
        """Those that have something waiting or running; who had a turn longest ago comes first."""

    @property
    def waiting(self) -> int:
        return sum(len(t.queue) for t in self._tenants.values())

    def add(self, tenant: int, job: J, size: int, *, bounded: bool = True) -> None:
        """``size``: bytes that it holds while it waits. Raises Full, if it is ``bounded``."""
        entry = self._tenants.get(tenant)
        if entry is None:
            entry = self._tenants[tenant] = _Tenant()
        heavy = entry.size + size > self.limits.waiting_bytes
        if bounded and entry.queue and (heavy or len(entry.queue) >= self.limits.waiting):
            raise Full
        entry.queue.append((job, size))
        entry.size += size

    def next(self) -> J | None:
        """The job to begin now, whose end `done` is to be told; None when nothing may begin."""
        if self.running >= self.limits.places:
            return None
        for number, entry in self._tenants.items():
            if entry.queue and entry.taken < self.limits.share:
                job, size = entry.queue.popleft()
                entry.size -= size
                entry.taken += 1
                self.running += 1
                self._tenants.move_to_end(number)
                return job
        return None

    def done(self, tenant: int, *, rests: bool = False) -> None:
        """A job of the tenant that `next` gave out has ended. rests: `rested` is told when the
        tenant may have its next in this one's stead."""
        self.running -= 1
        if not rests:
            self.rested(tenant)

    def rested(self, tenant: int) -> None:
        self._tenants[tenant].taken -= 1
        self._leave(tenant)

    def drop(self, tenant: int, job: J) -> None:
        """Takes back a job that still waits."""
        entry = self._tenants[tenant]
        at = next(i for i, (queued, _) in enumerate(entry.queue) if queued is job)
        entry.size -= entry.queue[at][1]
        del entry.queue[at]
        self._leave(tenant)

    def _leave(self, tenant: int) -> None:
        entry = self._tenants[tenant]
        if not entry.queue and not entry.taken:
            del self._tenants[tenant]
