"""Histograms over time, against a clock that the test turns."""

from __future__ import annotations

import pytest

from apiserver.flow import occupancy
from apiserver.flow.counts import Counts, Spread
from apiserver.flow.levels import Levels
from apiserver.flow.occupancy import EXECUTING, TRAFFIC, WAITING, Occupancy, Traffic
from apiserver.flow.queueset import QueueSet, Queuing, Ticket, Work
from apiserver.meta.objects import Object
from apiserver.registry.flowcontrol import _mandatory


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


class Flow:
    def __init__(self) -> None:
        self.hand = (0,)
        self.counts = Counts()


def told(spread: Spread) -> dict[float, float]:
    """Seconds by the upper bound of the bucket that they fell into."""
    *buckets, _ = spread.cells
    bounds = (*spread.bounds, float("inf"))
    return {b: pytest.approx(s) for b, s in zip(bounds, buckets, strict=True) if s}


def later(*_: object) -> None:
    raise AssertionError("nothing lingers here")


def test_each_number_is_a_part_of_its_own_limit() -> None:
    times = Occupancy((0, 0.5, 1), (0, 0.5, 1))
    times.limit((4, 10))
    times.add((2, 2), 3.0)
    times.add((4, 0), 1.0)
    times.add((5, 10), 0.5)
    times.fold()
    one, two = times.spreads
    assert told(one) == {0.5: 3.0, 1: 1.0, float("inf"): 0.5}
    assert told(two) == {0.5: 3.0, 0: 1.0, 1: 0.5}
    assert one.cells[-1] == pytest.approx(3.0 * 0.5 + 1.0 + 0.5 * 1.25)


def test_what_was_before_a_limit_changed_keeps_the_old_one() -> None:
    times = Occupancy((0, 0.5, 1))
    times.limit((2,))
    times.add((2,), 1.0)
    times.limit((4,))
    times.add((2,), 1.0)
    times.fold()
    times.fold()
    assert told(times.spreads[0]) == {1: 1.0, 0.5: 1.0}


def test_few_states_are_kept_and_none_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(occupancy, "_MOST", 3)
    times = Occupancy((0, 0.5, 1))
    times.limit((10,))
    for number in range(10):
        times.add((number,), 1.0)
        assert len(times._times) <= 3
    times.fold()
    assert told(times.spreads[0]) == {0: 1.0, 0.5: 5.0, 1: 4.0}


def test_a_level_is_measured_by_its_seats_and_places() -> None:
    """Two seats and five places: one request of two seats is served, and one waits."""
    clock = Clock()
    queues = QueueSet(None, 0, clock, later)
    queues.configure(Queuing(1, 1, 5), 2)
    clock.now += 7  # nothing happens
    first, second = (Ticket(Flow(), Work(2)) for _ in range(2))
    assert queues.ask(first)
    clock.now += 3  # one is served
    assert not queues.ask(second)
    clock.now += 2  # another one waits
    queues.finish(first)
    clock.now += 1
    queues.finish(second)
    clock.now += 1
    demand, seats, waiting, executing = queues.occupancy()
    assert told(demand) == {0.2: 8.0, 1: 4.0, 2: 2.0}
    assert told(seats) == {0: 8.0, 1: 6.0}
    assert told(waiting) == {0: 12.0, 0.25: 2.0}
    assert told(executing) == {0: 8.0, 0.5: 6.0}
    assert demand.cells[-1] == pytest.approx(3 * 1 + 2 * 2 + 1 * 1)


def test_an_exempt_level_is_measured_too() -> None:
    clock = Clock()
    queues = QueueSet(None, 0, clock, later, exempt=True)
    queues.configure(None, 0, 4)
    one = Ticket(Flow(), Work(2))
    assert queues.ask(one)
    clock.now += 3
    assert queues.finish(one) == 3.0
    clock.now += 1
    demand, seats, waiting, executing = queues.occupancy()
    assert told(demand) == {0.6: 3.0, 0.2: 1.0}
    assert told(seats) == {0.5: 3.0, 0: 1.0}
    assert told(waiting) == {0: 4.0}
    assert told(executing) == {0.25: 3.0, 0: 1.0}
    assert queues.demand().average == pytest.approx(1.5)
    assert queues.demand().seconds == 0


def test_a_level_without_seats_is_measured_by_a_tenth_of_all() -> None:
    clock = Clock()
    levels = Levels(_mandatory(), clock, later)
    levels.digest([], [], 600)
    exempt = levels.levels["exempt"].queues
    assert exempt.limit == 0
    one = Ticket(Flow(), Work(15))
    assert exempt.ask(one)
    clock.now += 1
    assert told(exempt.occupancy()[1]) == {0.3: 1.0}, "15 of 60"


def level(name: str, shares: int) -> Object:
    queuing = {"queues": 2, "handSize": 1, "queueLengthLimit": 5}
    limited = {
        "nominalConcurrencyShares": shares,
        "limitResponse": {"type": "Queue", "queuing": queuing},
    }
    return {"metadata": {"name": name}, "spec": {"type": "Limited", "limited": limited}}


def test_reads_and_writes_of_a_tenant_by_all_its_seats_and_places() -> None:
    clock = Clock()
    traffic = Traffic(clock)
    traffic.limit(20, 10)
    for verb in ("get", "list", "watch", "delete"):
        traffic.change(verb, EXECUTING, 1)
    traffic.change("get", WAITING, 2)
    clock.now += 1
    traffic.change("list", EXECUTING, -1)
    clock.now += 1
    waiting_reads, waiting_writes, reads, writes = traffic.spreads()
    assert told(waiting_reads) == {0.1: 2.0}
    assert told(waiting_writes) == {0: 2.0}
    assert told(reads) == {0.3: 1.0, 0.2: 1.0}
    assert told(writes) == {0.1: 2.0}
    assert reads.bounds == TRAFFIC


def test_the_places_and_seats_of_a_tenant_are_those_of_its_levels() -> None:
    clock = Clock()
    levels = Levels(_mandatory(), clock, later)
    levels.digest([level("one", 5), level("two", 10)], [], 40)
    levels.traffic.change("get", WAITING, 10)
    levels.traffic.change("get", EXECUTING, 10)
    clock.now += 1
    waiting, _, executing, _ = levels.traffic.spreads()
    assert told(waiting) == {0.5: 1.0}, "10 of twice 2 queues of 5"
    assert told(executing) == {0.3: 1.0}, "10 of 40"
