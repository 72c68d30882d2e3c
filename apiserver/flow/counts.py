"""What is counted of the requests of one FlowSchema at one priority level, and what is read of it
when somebody asks for metrics.

Counting is on the way of every request, so it is a few additions to numbers; label values are put
together by who reads.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable

WAIT = (0, 0.005, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30)
LENGTHS = (0, 10, 25, 50, 100, 250, 500, 1000)
SEATS = (1, 2, 4, 8, 16, 32, 64, 100)
WATCHES = (0, 1, 10, 100, 1000, 10000)


class Spread:
    """A histogram. cells: one number a bucket, those above the last bound, and the sum."""

    __slots__ = ("bounds", "cells")

    def __init__(self, bounds: tuple[float, ...]) -> None:
        self.bounds, self.cells = bounds, [0.0] * (len(bounds) + 2)

    def add(self, value: float, times: float = 1) -> None:
        cells = self.cells
        cells[bisect_left(self.bounds, value)] += times
        cells[-1] += value * times

    def include(self, other: Spread) -> None:
        self.cells = [a + b for a, b in zip(self.cells, other.cells, strict=True)]


class Counts:
    """executing, seats: now; waiting, waiting_seats: in queues now; the rest since it began."""

    __slots__ = (
        "dispatched",
        "estimated",
        "executing",
        "lasted",
        "lengths",
        "no_accommodation",
        "rejected",
        "seats",
        "waited",
        "waiting",
        "waiting_seats",
        "watched",
        "watchers",
    )

    def __init__(self) -> None:
        self.executing = self.seats = self.waiting = self.waiting_seats = 0
        self.dispatched = self.no_accommodation = 0
        self.rejected: Counter[str] = Counter()
        self.lasted, self.watched = Spread(WAIT), Spread(WAIT)
        self.waited = {True: Spread(WAIT), False: Spread(WAIT)}
        self.lengths, self.estimated = Spread(LENGTHS), Spread(SEATS)
        self.watchers = Spread(WATCHES)

    def include(self, other: Counts, *, past: bool = False) -> None:
        """past: without what is the case at this moment."""
        if not past:
            self.executing += other.executing
            self.seats += other.seats
            self.waiting += other.waiting
            self.waiting_seats += other.waiting_seats
        self.dispatched += other.dispatched
        self.no_accommodation += other.no_accommodation
        self.rejected.update(other.rejected)
        for own, others in zip(self._spreads(), other._spreads(), strict=True):
            own.include(others)

    def _spreads(self) -> tuple[Spread, ...]:
        waited = self.waited
        return (
            *(self.lasted, self.watched, waited[True], waited[False]),
            *(self.lengths, self.estimated, self.watchers),
        )


Key = tuple[str, str]
"""Names of a priority level and a FlowSchema."""
MOST = 500
"""Keys of one tally; what comes beside these is counted under no names."""


class Tally:
    """The counts of one tenant, or of the installation."""

    def __init__(self) -> None:
        self.counts: dict[Key, Counts] = {}

    def of(self, level: str, schema: str) -> Counts:
        counts = self.counts.get((level, schema))
        if counts is None:
            key = (level, schema) if len(self.counts) < MOST else ("", "")
            counts = self.counts.setdefault(key, Counts())
        return counts

    def include(self, other: Tally, *, past: bool = False) -> None:
        for (level, schema), counts in other.counts.items():
            self.of(level, schema).include(counts, past=past)

    def pick(self, read: Callable[[Counts], float]) -> dict[tuple[str, ...], float]:
        return {key: read(counts) for key, counts in self.counts.items()}
