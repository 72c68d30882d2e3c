"""Turns: whose work is next, when tenants share a few places to work at.

Tenants take turns, not jobs, and none has two places: a tenant that asks for a hundred things waits
for itself. Which of its own jobs is next, `apiserver.flow.lines` says. A tenant may rest after a
job: its place is another's, and it has its next turn later.

What waits is bounded for each tenant, in number and bytes, and no flow of it can take all of that:
a flow may have as much waiting as it leaves free (Choudhury, Hahne 1998: Dynamic Queue Length
Thresholds), so half of it where it is alone, a third beside another that does the same. Exempt
levels may take what is free. Pure bookkeeping: no threads, no clock, no loop.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar

from apiserver.flow.lines import Lines, Place

J = TypeVar("J")


@dataclass(slots=True, frozen=True)
class Limits:
    """places: jobs that are worked on at a time; waiting, waiting_bytes: of one tenant's requests
    beside these. A job of more bytes may wait where nothing else does for its tenant's requests."""

    places: int
    waiting: int
    waiting_bytes: int


class Full(Exception):
    """The tenant, or this flow of it, has more waiting than it may."""


class Numbered(Protocol):
    @property
    def id(self) -> int: ...


class Asks(Protocol):
    """Who has a job. size: bytes that it holds while it waits; place: None where it is the server's
    own."""

    @property
    def tenant(self) -> Numbered: ...
    @property
    def size(self) -> int: ...
    @property
    def place(self) -> Place | None: ...


@dataclass(slots=True)
class _Load:
    """What waits of one flow."""

    jobs: int = 0
    size: int = 0


@dataclass(slots=True)
class _Tenant(Generic[J]):
    """loads: by level and flow, of requests; busy: it has a place, or rests."""

    lines: Lines[tuple[J, Asks]] = field(default_factory=Lines)
    loads: dict[tuple[str, int], _Load] = field(default_factory=dict)
    waiting: int = 0
    busy: bool = False

    def put(self, asker: Asks, job: J) -> None:
        self.lines.add(asker.place, (job, asker))
        self.waiting += 1
        if asker.place is not None:
            load = self.loads.setdefault(_flow(asker.place), _Load())
            load.jobs += 1
            load.size += asker.size

    def taken(self, asker: Asks) -> None:
        """A job of its does not wait any more."""
        self.waiting -= 1
        if asker.place is not None:
            load = self.loads[_flow(asker.place)]
            load.jobs -= 1
            load.size -= asker.size
            if not load.jobs:
                del self.loads[_flow(asker.place)]


class Turns(Generic[J]):
    """Jobs are told apart by identity."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.running = 0
        self._tenants: OrderedDict[int, _Tenant[J]] = OrderedDict()
        """Those that have something waiting or running; who had a turn longest ago comes first."""

    @property
    def waiting(self) -> int:
        return sum(tenant.waiting for tenant in self._tenants.values())

    def add(self, asker: Asks, job: J, *, bounded: bool = True) -> None:
        """Raises Full, if it is ``bounded`` and not the server's own."""
        number = asker.tenant.id
        entry = self._tenants.get(number)
        if entry is None:
            entry = self._tenants[number] = _Tenant()
        if bounded and asker.place is not None and not self._fits(entry, asker, asker.place):
            raise Full
        entry.put(asker, job)

    def _fits(self, entry: _Tenant[J], asker: Asks, place: Place) -> bool:
        if not entry.loads:
            return True
        own = _Load() if place.exempt else entry.loads.get(_flow(place), _Load())
        jobs = sum(load.jobs for load in entry.loads.values())
        size = sum(load.size for load in entry.loads.values())
        return (
            own.jobs + 1 + jobs <= self.limits.waiting
            and own.size + asker.size + size <= self.limits.waiting_bytes
        )

    def next(self) -> J | None:
        """The job to begin now, whose end `done` is to be told; None when nothing may begin."""
        if self.running >= self.limits.places:
            return None
        for number, entry in self._tenants.items():
            if entry.lines and not entry.busy:
                job, asker = entry.lines.next()
                entry.taken(asker)
                entry.busy = True
                self.running += 1
                self._tenants.move_to_end(number)
                return job
        return None

    def done(self, asker: Asks, seconds: float, *, rests: bool = False) -> None:
        """The asker's job that `next` gave out has ended, and took so long. rests: `rested` is told
        when the tenant may have its next."""
        self.running -= 1
        self._tenants[asker.tenant.id].lines.spent(asker.place, seconds)
        if not rests:
            self.rested(asker.tenant.id)

    def rested(self, tenant: int) -> None:
        self._tenants[tenant].busy = False
        self._leave(tenant)

    def drop(self, asker: Asks, job: J) -> None:
        """Takes back a job that still waits."""
        entry = self._tenants[asker.tenant.id]
        entry.lines.drop(asker.place, (job, asker))
        entry.taken(asker)
        self._leave(asker.tenant.id)

    def _leave(self, tenant: int) -> None:
        entry = self._tenants[tenant]
        if not entry.waiting and not entry.busy:
            del self._tenants[tenant]


def _flow(place: Place) -> tuple[str, int]:
    return place.level, place.flow
