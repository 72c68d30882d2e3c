"""Fair queues against a clock that the test turns: who is served when, and what never happens."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apiserver.flow.counts import Counts
from apiserver.flow.queueset import GUESS, QueueSet, Queuing, Rejected, Ticket, Work
from apiserver.flow.shuffle import Hand, deal


class World:
    """A clock, and what it is to call later."""

    def __init__(self) -> None:
        self.now = 0.0
        self._due: list[tuple[float, Callable[[], None]]] = []

    def clock(self) -> float:
        return self.now

    def later(self, seconds: float, call: Callable[[], None]) -> None:
        self._due.append((self.now + seconds, call))

    def turn(self, seconds: float) -> None:
        end = self.now + seconds
        while due := [entry for entry in self._due if entry[0] <= end]:
            first = min(due, key=lambda entry: entry[0])
            self._due.remove(first)
            self.now = first[0]
            first[1]()
        self.now = end


class Flow:
    def __init__(self, *hand: int) -> None:
        self.hand: Hand = hand or (0,)
        self.counts = Counts()


def queues(world: World, limit: int, *, count: int = 8, length: int = 50) -> QueueSet:
    return QueueSet(Queuing(count, 1, length), limit, world.clock, world.later)


def ticket(flow: Flow, *work: float) -> Ticket:
    initial, final, lingers = (*work, 0, 0)[:3] if work else (1, 0, 0)
    return Ticket(flow, Work(int(initial), int(final), lingers))


def test_what_finds_seats_begins_at_once() -> None:
    world = World()
    levels = queues(world, 2)
    one, two, three = (ticket(Flow()) for _ in range(3))
    assert levels.ask(one)
    assert levels.ask(two)
    assert not levels.ask(three)
    assert (levels.executing, levels.waiting, levels.seats) == (2, 1, 2)
    levels.finish(one)
    assert not three.waiting
    assert (levels.executing, levels.waiting) == (2, 0)


def test_virtual_times_of_what_was_dispatched_and_of_what_is_next() -> None:
    world = World()
    levels = queues(world, 1)
    flows = [Flow(0), Flow(0), Flow(1)]
    first, second, third = (ticket(flow) for flow in flows)
    assert levels.ask(first)
    assert levels.next_starts() == levels.next_starts(discounted=True) == (0.0, 0.0)
    assert not levels.ask(second)
    world.turn(1.0)
    assert not levels.ask(third)
    assert levels.r == pytest.approx(1.0)
    assert levels.next_starts() == pytest.approx((GUESS, 1.0))
    assert levels.next_starts(discounted=True) == pytest.approx((0.0, 1.0))
    assert (levels.dispatch_r, levels.latest_s) == (0.0, 0.0)
    levels.finish(first)
    assert levels.dispatch_r == pytest.approx(1.0)
    assert levels.latest_s == pytest.approx(1.0)
    assert len(levels._queued) == 1


def test_who_waits_is_woken_once() -> None:
    world, woken = World(), []
    levels = queues(world, 1)
    first = ticket(Flow())
    levels.ask(first)
    second = Ticket(Flow(), Work(), lambda: woken.append(1))
    assert not levels.ask(second)
    assert not woken
    levels.finish(first)
    levels.finish(second)
    assert woken == [1]


def test_a_full_queue_rejects() -> None:
    world = World()
    levels = queues(world, 1, length=2)
    flow = Flow()
    for _ in range(3):
        levels.ask(ticket(flow))
    with pytest.raises(Rejected) as rejected:
        levels.ask(ticket(flow))
    assert rejected.value.reason == "queue-full"
    assert flow.counts.rejected == {"queue-full": 1}
    assert levels.ask(ticket(Flow(1))) is False, "another queue has room"


@pytest.mark.parametrize(
    ("limit", "used", "wanted", "fits"),
    [(2, 0, 1, True), (2, 2, 1, False), (2, 1, 2, False), (2, 0, 5, True), (2, 1, 5, False)],
)
def test_a_level_that_rejects_has_no_queues(limit: int, used: int, wanted: int, fits: bool) -> None:
    world = World()
    level = QueueSet(None, limit, world.clock, world.later)
    for _ in range(used):
        level.ask(ticket(Flow()))
    if fits:
        assert level.ask(ticket(Flow(), wanted))
        return
    with pytest.raises(Rejected, match="concurrency-limit"):
        level.ask(ticket(Flow(), wanted))


def test_an_exempt_level_lets_everybody_in() -> None:
    world = World()
    level = QueueSet(None, 0, world.clock, world.later, exempt=True)
    tickets = [ticket(Flow(), 7) for _ in range(20)]
    assert all(level.ask(t) for t in tickets)
    assert level.seats == 140
    assert level.demand().most == 140
    for t in tickets:
        level.finish(t)
    assert level.idle
    assert level.seats == 0


def test_queues_share_evenly_whoever_has_more_waiting() -> None:
    world, served = World(), Counter[str]()
    levels = queues(world, 1)
    flows = {"flood": Flow(0), "calm": Flow(1)}
    running = ticket(flows["flood"])
    levels.ask(running)
    owners = {running: "flood"}
    for i in range(60):
        names = ["flood", "calm"] if i < 20 else ["flood"]
        for name in names:
            one = ticket(flows[name])
            owners[one] = name
            try:
                levels.ask(one)
            except Rejected:
                del owners[one]
    for _ in range(30):
        world.turn(0.01)
        levels.finish(running)
        running = next(t for q in levels.queues.values() for t in q.executing)
        served[owners[running]] += 1
    assert served == {"flood": 15, "calm": 15}


def test_wide_requests_pay_for_their_seats() -> None:
    """Of two queues with as many requests, that whose requests take four seats gets a fifth of the
    turns, not half."""
    world, served = World(), Counter[int]()
    levels = queues(world, 4)
    narrow, wide = Flow(0), Flow(1)
    blocker = ticket(Flow(2), 4)
    levels.ask(blocker)
    for _ in range(40):
        levels.ask(ticket(narrow, 1))
        levels.ask(ticket(wide, 4))
    world.turn(0.003)
    levels.finish(blocker)
    while served.total() < 25:
        world.turn(0.003)
        running = [(q.index, t) for q in levels.queues.values() for t in q.executing]
        for index, one in running:
            served[index] += 1
            levels.finish(one)
    assert served[0] >= 3 * served[1]


def test_long_requests_are_paid_for_when_they_have_ended() -> None:
    world = World()
    levels = queues(world, 1)
    long, short = Flow(0), Flow(1)
    first = ticket(long)
    levels.ask(first)
    waiting = [ticket(long), ticket(short), ticket(short), ticket(short)]
    for one in waiting:
        levels.ask(one)
    world.turn(1.0)
    levels.finish(first)
    order = []
    while not levels.idle:
        running = next(t for q in levels.queues.values() for t in q.executing)
        order.append(waiting.index(running))
        world.turn(0.003)
        levels.finish(running)
    assert order == [1, 2, 3, 0]


def test_seats_linger_after_the_request() -> None:
    world = World()
    levels = queues(world, 3)
    change, next_one = ticket(Flow(), 1, 3, 0.5), ticket(Flow(1))
    levels.ask(change)
    assert levels.seats == 3
    assert not levels.ask(next_one)
    levels.finish(change)
    assert (levels.executing, levels.seats) == (0, 3)
    world.turn(0.4)
    assert next_one.waiting
    world.turn(0.2)
    assert not next_one.waiting
    assert levels.seats == 1


def test_lingering_on_few_seats_takes_longer() -> None:
    world = World()
    levels = queues(world, 2)
    change = ticket(Flow(), 1, 6, 0.5)
    levels.ask(change)
    assert (change.work.final, change.work.lingers) == (2, 1.5)


def test_who_leaves_frees_the_place() -> None:
    world = World()
    levels = queues(world, 1, length=1)
    running, waiting = ticket(Flow()), ticket(Flow())
    levels.ask(running)
    levels.ask(waiting)
    levels.withdraw(waiting)
    assert waiting.flow.counts.rejected == {"time-out": 1}
    assert (levels.waiting, levels.waiting_seats, levels.cancelled) == (0, 0, 1)
    assert levels.ask(ticket(Flow())) is False, "its place is free"
    levels.finish(running)
    assert levels.executing == 1


def test_a_higher_limit_lets_waiting_ones_in() -> None:
    world = World()
    levels = queues(world, 1)
    tickets = [ticket(Flow(i)) for i in range(4)]
    for one in tickets:
        levels.ask(one)
    levels.configure(levels.queuing, 3)
    assert [t.waiting for t in tickets] == [False, False, False, True]


def test_queues_that_are_no_longer_configured_run_empty() -> None:
    world = World()
    levels = queues(world, 1)
    running, waiting = ticket(Flow(5)), ticket(Flow(6))
    levels.ask(running)
    levels.ask(waiting)
    levels.configure(None, 1)
    with pytest.raises(Rejected):
        levels.ask(ticket(Flow()))
    levels.finish(running)
    assert not waiting.waiting
    levels.finish(waiting)
    assert levels.idle


def test_demand_is_weighed_by_time() -> None:
    world = World()
    levels = queues(world, 1)
    levels.demand()
    running = ticket(Flow())
    levels.ask(running)
    levels.ask(ticket(Flow()))
    world.turn(1)
    levels.finish(running)
    world.turn(3)
    seen = levels.demand()
    assert (seen.seconds, seen.most, seen.average) == (4, 2, 1.25)
    assert seen.deviation == pytest.approx(0.433, abs=0.001)


@given(st.integers(0, 2**64 - 1), st.integers(1, 300), st.data())
def test_a_hand_has_different_queues(number: int, deck: int, data: st.DataObject) -> None:
    size = data.draw(st.integers(1, min(deck, 8)))
    hand = deal(number, deck, size)
    assert len(set(hand)) == size
    assert all(0 <= card < deck for card in hand)


def test_hands_are_dealt_as_upstream() -> None:
    """The digits of 0 in falling bases are zeros: the first cards, in order; the largest digits
    deal the last ones downwards."""
    assert deal(0, 10, 3) == (0, 1, 2)
    assert deal(9 + 10 * (8 + 9 * 7), 10, 3) == (9, 8, 7)
    assert deal(3 + 10 * 3, 10, 2) == (3, 4)


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["ask", "finish", "leave", "pass", "limit"]),
        st.integers(0, 9),
        st.integers(1, 6),
    ),
    max_size=120,
)


@settings(max_examples=150, deadline=None)
@given(STEPS, st.integers(1, 6))
def test_every_request_is_served_rejected_or_withdrawn(
    steps: list[tuple[str, int, int]], limit: int
) -> None:
    world = World()
    levels = queues(world, limit, length=3)
    asked: list[Ticket] = []
    alive: list[Ticket] = []
    for what, which, size in steps:
        running = [t for t in alive if not t.waiting]
        waiting = [t for t in alive if t.waiting]
        if what == "ask":
            one = Ticket(Flow(which % 8), Work(size, size % 3, 0.01))
            try:
                levels.ask(one)
            except Rejected:
                continue
            asked.append(one)
            alive.append(one)
        elif what == "finish" and running:
            levels.finish(running[which % len(running)])
            alive.remove(running[which % len(running)])
        elif what == "leave" and waiting:
            levels.withdraw(waiting[which % len(waiting)])
            alive.remove(waiting[which % len(waiting)])
        elif what == "limit":
            levels.configure(levels.queuing, size)
        else:
            world.turn(0.005)
        _check(levels, alive)
    _run_empty(world, levels, alive)


def _check(levels: QueueSet, alive: list[Ticket]) -> None:
    running = [t for t in alive if not t.waiting]
    assert levels.executing == len(running)
    assert levels.waiting == len(alive) - len(running)
    assert levels.waiting_seats == sum(t.work.most for t in alive if t.waiting)
    assert levels.seats >= sum(t.work.most for t in running)
    queued = levels.queues.values()
    assert sum(len(q.waiting) for q in queued) == levels.waiting
    assert levels.seats == sum(q.seats for q in queued)
    if levels.waiting and not levels.executing and not levels.seats:
        raise AssertionError("something waits, and nothing is served")


def _run_empty(world: World, levels: QueueSet, alive: list[Ticket]) -> None:
    """Nobody starves: what waits is served when what runs ends."""
    for _ in range(len(alive) * 3 + 3):
        world.turn(0.05)
        for one in [t for t in alive if not t.waiting]:
            levels.finish(one)
            alive.remove(one)
    world.turn(1)
    assert not alive
    assert levels.idle
    assert levels.seats == 0


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 2**32), st.integers(1, 12))
def test_seats_are_never_exceeded(seed: int, limit: int) -> None:
    """Requests that fit into the limit never take more seats than it; wider ones run alone."""
    chance, world = random.Random(seed), World()
    levels = queues(world, limit)
    alive: list[Ticket] = []
    for _ in range(200):
        world.turn(chance.random() / 100)
        if chance.random() < 0.6:
            one = ticket(Flow(chance.randrange(8)), chance.randint(1, limit))
            try:
                levels.ask(one)
            except Rejected:
                continue
            alive.append(one)
        elif running := [t for t in alive if not t.waiting]:
            done = chance.choice(running)
            levels.finish(done)
            alive.remove(done)
        assert levels.seats <= limit
