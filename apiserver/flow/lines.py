"""Which of a tenant's jobs is next, where one of them is done at a time: as API Priority and
Fairness decides about requests, for what requests have done beside the event loop.

What the server does itself and what it does for requests take turns by the time that they have had.
Among requests those of exempt levels come first; the others take turns by priority level, in
proportion to the levels' shares of seats, and within a level by flow, each of the same share. A
flow that was idle waits, within its level's turns, for one job at most. Jobs of one flow stay in
their order. Pure bookkeeping.
"""

from __future__ import annotations

from collections import deque
from typing import Generic, NamedTuple, TypeVar

from apiserver.flow.rotation import Rotation

J = TypeVar("J")


class Place(NamedTuple):
    """Where jobs of a request wait. level: the priority level's name; shares: its
    nominalConcurrencyShares, of which it has one at least; exempt: whether it is exempt; flow:
    tells the flows of the level apart."""

    level: str
    shares: int
    exempt: bool
    flow: int


UNSORTED = Place("", 1, False, 0)
"""Of requests that no FlowSchema has been asked about: those that last, or all where API Priority
and Fairness is switched off."""


class Lines(Generic[J]):
    """A job's place is None where nobody's request is the reason for it."""

    def __init__(self) -> None:
        self._sides: Rotation[bool, None] = Rotation()
        """Whether it is the server's own, for each job."""
        self._own: deque[J] = deque()
        self._exempt: Rotation[int, J] = Rotation()
        self._levels: Rotation[str, Rotation[int, J]] = Rotation()
        self._flows: dict[str, Rotation[int, J]] = {}
        """Of levels that have something waiting, or are being served."""

    def __bool__(self) -> bool:
        return bool(self._sides)

    def add(self, place: Place | None, job: J) -> None:
        self._sides.add(place is None, None)
        if place is None:
            self._own.append(job)
        elif place.exempt:
            self._exempt.add(place.flow, job)
        else:
            flows = self._flows.setdefault(place.level, Rotation())
            flows.add(place.flow, job)
            self._levels.add(place.level, flows)

    def next(self) -> J:
        """The job to do now; then `spent` is to be told, before the next. There must be one."""
        is_own, _ = self._sides.next()
        if is_own:
            return self._own.popleft()
        if self._exempt:
            return self._exempt.next()[1]
        _, flows = self._levels.next()
        return flows.next()[1]

    def spent(self, place: Place | None, seconds: float) -> None:
        """The job of that place is done and took so long."""
        self._sides.spent(place is None, seconds)
        if place is None:
            return
        if place.exempt:
            self._exempt.spent(place.flow, seconds)
            return
        self._flows[place.level].spent(place.flow, seconds)
        self._levels.spent(place.level, seconds / max(place.shares, 1))
        self._forget(place.level)

    def drop(self, place: Place | None, job: J) -> None:
        """Takes back a job that still waits."""
        self._sides.drop(place is None, None)
        if place is None:
            self._own.remove(job)
        elif place.exempt:
            self._exempt.drop(place.flow, job)
        else:
            flows = self._flows[place.level]
            flows.drop(place.flow, job)
            self._levels.drop(place.level, flows)
            self._forget(place.level)

    def _forget(self, level: str) -> None:
        if level not in self._levels:
            del self._flows[level]
