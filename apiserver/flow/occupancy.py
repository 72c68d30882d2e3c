"""How long numbers were how large a part of their limits: kube-apiserver's timing ratio histograms
(k8s.io/apiserver ``util/flowcontrol/metrics``), which count a nanosecond as one observation.

A change costs one look-up: times are kept by what the numbers were, and distributed among buckets
when a limit changes or somebody reads.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from apiserver.flow.counts import Spread

DEMAND = (0.2, 0.4, 0.6, 0.8, 1, 1.2, 1.4, 1.7, 2, 2.8, 4, 6)
SEATS = (0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 1)
REQUESTS = (0, 0.001, 0.003, 0.01, 0.03, 0.1, 0.25, 0.5, 0.75, 1)
TRAFFIC = (0, 0.001, 0.01, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 1)
_MOST = 64
"""States whose times are kept."""

State = tuple[int, ...]


class Occupancy:
    """spreads: one for each number, in seconds, their sums in seconds times the ratio."""

    __slots__ = ("_limits", "_times", "spreads")

    def __init__(self, *bounds: tuple[float, ...]) -> None:
        self.spreads = [Spread(of_one) for of_one in bounds]
        self._limits: Sequence[float] = [1] * len(bounds)
        self._times: dict[State, float] = {}

    def add(self, state: State, seconds: float) -> None:
        """The numbers were so for so long."""
        times = self._times
        times[state] = times.get(state, 0.0) + seconds
        if len(times) > _MOST:
            self.fold()

    def limit(self, limits: Sequence[float]) -> None:
        """What the numbers are parts of from now on; none is 0."""
        if limits != self._limits:
            self.fold()
            self._limits = limits

    def fold(self) -> None:
        """To be called before `spreads` are read."""
        for state, seconds in self._times.items():
            for spread, number, limit in zip(self.spreads, state, self._limits, strict=True):
                spread.add(number / limit, seconds)
        self._times.clear()


WAITING, EXECUTING = 0, 2
"""What a request does; one further in a state's numbers are those that write."""
_READING = frozenset({"get", "list", "watch"})


class Traffic:
    """Requests of one tenant that wait or are served, those that read and those that write."""

    __slots__ = ("_clock", "_last", "_numbers", "occupancy")

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock, self._last = clock, clock()
        self._numbers = [0, 0, 0, 0]
        self.occupancy = Occupancy(*[TRAFFIC] * 4)

    def change(self, verb: str, what: int, number: int) -> None:
        """So many more requests of the verb do `WAITING` or `EXECUTING`."""
        self._advance()
        self._numbers[what if verb in _READING else what + 1] += number

    def limit(self, waiting: int, executing: int) -> None:
        self._advance()
        self.occupancy.limit((waiting, waiting, executing, executing))

    def spreads(self) -> Sequence[Spread]:
        """Of reads and of writes that wait, and of those that are served, until now."""
        self._advance()
        self.occupancy.fold()
        return self.occupancy.spreads

    def _advance(self) -> None:
        now = self._clock()
        self.occupancy.add(tuple(self._numbers), now - self._last)
        self._last = now
