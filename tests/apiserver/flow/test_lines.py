"""Which of a tenant's jobs is next: what the server does itself, exempt requests, levels by their
shares, flows."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from apiserver.flow.lines import UNSORTED, Lines, Place

ANN, BOB = Place("workload-low", 100, False, 1), Place("workload-low", 100, False, 2)
SYSTEM = Place("system", 30, False, 1)
ROOT, PROBE = Place("exempt", 0, True, 1), Place("exempt", 0, True, 2)
PLACES = [None, UNSORTED, ANN, BOB, SYSTEM, ROOT, PROBE]


class Job:
    def __init__(self, place: Place | None) -> None:
        self.place = place


def put(lines: Lines[Job], place: Place | None, number: int = 1) -> list[Job]:
    jobs = [Job(place) for _ in range(number)]
    for job in jobs:
        lines.add(place, job)
    return jobs


def served(lines: Lines[Job], number: int, seconds: float = 1.0) -> list[Place | None]:
    places = []
    for _ in range(number):
        places.append(lines.next().place)
        lines.spent(places[-1], seconds)
    return places


def test_a_flow_that_was_idle_is_next_however_much_another_has_waiting() -> None:
    lines: Lines[Job] = Lines()
    put(lines, ANN, 50)
    assert lines.next().place == ANN
    put(lines, BOB)
    lines.spent(ANN, 5)
    assert served(lines, 2) == [BOB, ANN]


def test_so_is_a_level_that_was_idle() -> None:
    lines: Lines[Job] = Lines()
    put(lines, ANN, 50)
    put(lines, BOB, 50)
    assert lines.next().place == ANN
    put(lines, SYSTEM)
    lines.spent(ANN, 1)
    assert served(lines, 2) == [SYSTEM, BOB]


def test_levels_share_time_by_their_shares_however_many_flows_they_have() -> None:
    lines: Lines[Job] = Lines()
    for place in (ANN, BOB, SYSTEM):
        put(lines, place, 200)
    counts = Counter(served(lines, 130))
    assert abs(counts[SYSTEM] - 30) <= 1
    assert abs(counts[ANN] - counts[BOB]) <= 1


def test_who_asks_for_long_jobs_has_fewer_of_them() -> None:
    lines: Lines[Job] = Lines()
    put(lines, ANN, 50)
    put(lines, BOB, 50)
    seconds: Counter[Place] = Counter()
    for _ in range(40):
        place = lines.next().place
        assert place is not None
        took = 10 if place == ANN else 1
        lines.spent(place, took)
        seconds[place] += took
    assert abs(seconds[ANN] - seconds[BOB]) <= 10


def test_what_is_exempt_comes_first_and_flows_of_it_take_turns() -> None:
    lines: Lines[Job] = Lines()
    put(lines, SYSTEM, 5)
    put(lines, ANN, 5)
    put(lines, ROOT, 4)
    put(lines, PROBE, 1)
    assert served(lines, 6)[:5] == [ROOT, PROBE, ROOT, ROOT, ROOT]


def test_the_server_itself_is_kept_waiting_by_nobody_and_keeps_nobody_waiting() -> None:
    """Neither by what is exempt, which comes before all other requests."""
    for flood in (ANN, ROOT):
        lines: Lines[Job] = Lines()
        put(lines, flood, 50)
        assert lines.next().place == flood
        put(lines, None, 50)
        lines.spent(flood, 1)
        assert served(lines, 4) == [None, flood, None, flood]


def test_nothing_is_kept_of_levels_that_have_nothing() -> None:
    lines: Lines[Job] = Lines()
    (one, two) = put(lines, ANN)[0], put(lines, SYSTEM)[0]
    lines.drop(SYSTEM, two)
    assert lines.next() is one
    assert set(lines._flows) == {"workload-low"}
    lines.spent(ANN, 1)
    assert not lines._flows and not lines


class Fair(RuleBasedStateMachine):
    """passed: of each first job of a flow, turns that others had that were not its right to wait
    for."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: Lines[Job] = Lines()
        self.queues: dict[Place | None, list[Job]] = {place: [] for place in PLACES}
        self.running: Job | None = None

    @rule(place=st.sampled_from(PLACES))
    def ask(self, place: Place | None) -> None:
        self.queues[place] += put(self.lines, place)

    @precondition(lambda self: self.running is None and any(self.queues.values()))
    @rule()
    def begin(self) -> None:
        job = self.running = self.lines.next()
        assert self.queues[job.place].pop(0) is job, "the jobs of a flow stay in their order"
        if job.place is not None and not job.place.exempt:
            assert not self.queues[ROOT] and not self.queues[PROBE]

    @precondition(lambda self: self.running is not None)
    @rule(seconds=st.sampled_from([0.0, 0.1, 1.0, 10.0]))
    def end(self, seconds: float) -> None:
        assert self.running is not None
        self.lines.spent(self.running.place, seconds)
        self.running = None

    @precondition(lambda self: any(self.queues.values()))
    @rule(data=st.data())
    def leave(self, data: st.DataObject) -> None:
        job = data.draw(st.sampled_from([job for queue in self.queues.values() for job in queue]))
        self.queues[job.place].remove(job)
        self.lines.drop(job.place, job)

    @invariant()
    def nothing_is_lost(self) -> None:
        if self.running is None:
            assert bool(self.lines) == any(self.queues.values())
        busy = {p.level for p, queue in self.queues.items() if p and queue and not p.exempt}
        if self.running and self.running.place and not self.running.place.exempt:
            busy.add(self.running.place.level)
        assert set(self.lines._flows) == busy


TestFair = Fair.TestCase


@given(
    floods=st.lists(st.sampled_from([ANN, SYSTEM, UNSORTED, ROOT, None]), unique=True, max_size=5),
    before=st.integers(0, 60),
    newcomer=st.sampled_from([BOB, Place("batch", 5, False, 7), PROBE]),
    seconds=st.floats(0.001, 100),
)
def test_a_newcomer_waits_for_a_job_of_each_that_comes_before_him_at_most(
    floods: list[Place | None], before: int, newcomer: Place, seconds: float
) -> None:
    """Whatever the others have had and still have waiting: one of the server's own for each of a
    request, one of each other flow of his level, and where his level was idle one of each level.
    Exempt requests wait for none but exempt ones."""
    lines: Lines[Job] = Lines()
    for place in floods:
        put(lines, place, 100)
    served(lines, before if floods else 0, seconds)
    put(lines, newcomer)
    order = served(lines, 1 + 100 * len(floods) - (before if floods else 0), seconds)
    at = order.index(newcomer)
    own = order[:at].count(None)
    assert own <= 1 + (at - own), "the server's own and requests take turns"
    assert order[:at].count(ANN) <= 1 or newcomer.level != ANN.level
    if newcomer.exempt:
        assert set(order[:at]) <= {None, ROOT} and order[:at].count(ROOT) <= 1
    elif newcomer.level == "batch" and ROOT not in floods:
        assert max(Counter(p for p in order[:at] if p).values(), default=0) <= 1
