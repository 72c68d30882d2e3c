"""Whose turn it is: a model of tenants that ask for more than they get, and what each may count
on."""

from __future__ import annotations

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from apiserver.flow.lines import Place
from apiserver.registry.offload import Asker
from apiserver.registry.scope import Tenant
from apiserver.registry.turns import Full, Limits, Turns

LIMITS = Limits(places=3, waiting=6, waiting_bytes=100)
TENANTS = st.integers(1, 5)
ANN, BOB = Place("low", 10, False, 1), Place("low", 10, False, 2)
SYSTEM, ROOT = Place("system", 3, False, 1), Place("exempt", 0, True, 1)
PLACES = st.sampled_from([ANN, BOB, SYSTEM, ROOT, None])


def asks(tenant: int, place: Place | None = ANN, size: int = 1) -> Asker:
    return Asker(Tenant(tenant, ""), size, place=place)


class Job:
    def __init__(self, asker: Asker) -> None:
        self.asker, self.tenant = asker, asker.tenant.id


class Fair(RuleBasedStateMachine):
    """queues: by tenant and place. passed: of tenants that could begin something all the while, who
    has had a turn since."""

    def __init__(self) -> None:
        super().__init__()
        self.turns: Turns[Job] = Turns(LIMITS)
        self.queues: dict[int, dict[Place | None, list[Job]]] = {}
        self.running: list[Job] = []
        self.resting: list[Job] = []
        self.passed: dict[int, set[int]] = {}

    def waiting(self, tenant: int) -> list[Job]:
        return [job for queue in self.queues.get(tenant, {}).values() for job in queue]

    def eligible(self) -> set[int]:
        busy = {job.tenant for job in self.running + self.resting}
        return {tenant for tenant in self.queues if self.waiting(tenant)} - busy

    def fits(self, asker: Asker) -> bool:
        """Exempt requests may have what is free, others as much as they leave free."""
        waiting = [job for job in self.waiting(asker.tenant.id) if job.asker.place is not None]
        own = [job for job in waiting if job.asker.place == asker.place != ROOT]
        size = sum(job.asker.size for job in waiting + own) + asker.size
        few = len(waiting) + len(own) < LIMITS.waiting
        return asker.place is None or not waiting or (few and size <= LIMITS.waiting_bytes)

    @rule(tenant=TENANTS, place=PLACES, size=st.integers(1, 150))
    def ask(self, tenant: int, place: Place | None, size: int) -> None:
        job = Job(asks(tenant, place, size))
        if not self.fits(job.asker):
            with pytest.raises(Full):
                self.turns.add(job.asker, job)
        else:
            self.turns.add(job.asker, job)
            self.queues.setdefault(tenant, {}).setdefault(place, []).append(job)

    @rule()
    def begin(self) -> None:
        eligible, job = self.eligible(), self.turns.next()
        if job is None:
            assert len(self.running) == LIMITS.places or not eligible, (
                "a place is free, and somebody may have it"
            )
            return
        assert job.tenant in eligible, "no tenant has two places"
        assert self.queues[job.tenant][job.asker.place].pop(0) is job, "each flow in its order"
        self.running.append(job)
        assert len(self.running) <= LIMITS.places
        self.passed = {other: self.passed.get(other, set()) for other in eligible - {job.tenant}}
        for passed in self.passed.values():
            assert job.tenant not in passed, "nobody has two turns while another waits for one"
            passed.add(job.tenant)

    @precondition(lambda self: self.running)
    @rule(data=st.data(), seconds=st.sampled_from([0.0, 0.1, 3.0]), rests=st.booleans())
    def end(self, data: st.DataObject, seconds: float, rests: bool) -> None:
        job = data.draw(st.sampled_from(self.running))
        self.running.remove(job)
        self.turns.done(job.asker, seconds, rests=rests)
        if rests:
            self.resting.append(job)

    @precondition(lambda self: self.resting)
    @rule(data=st.data())
    def rested(self, data: st.DataObject) -> None:
        job = data.draw(st.sampled_from(self.resting))
        self.resting.remove(job)
        self.turns.rested(job.tenant)

    @precondition(lambda self: any(map(self.waiting, self.queues)))
    @rule(data=st.data())
    def leave(self, data: st.DataObject) -> None:
        job = data.draw(st.sampled_from([j for t in self.queues for j in self.waiting(t)]))
        self.queues[job.tenant][job.asker.place].remove(job)
        self.turns.drop(job.asker, job)
        if not self.waiting(job.tenant):
            self.passed.pop(job.tenant, None)  # who asks again afterwards comes anew

    @invariant()
    def nothing_is_lost(self) -> None:
        assert self.turns.waiting == sum(len(self.waiting(tenant)) for tenant in self.queues)
        assert self.turns.running == len(self.running)
        kept = {job.tenant for job in self.running + self.resting}
        assert set(self.turns._tenants) == kept | {t for t in self.queues if self.waiting(t)}


TestFair = Fair.TestCase


def test_who_takes_all_back_and_asks_again_comes_behind_the_others() -> None:
    turns: Turns[str] = Turns(LIMITS)
    turns.add(asks(4), "4")
    turns.add(asks(1), "taken back")
    assert turns.next() == "4"
    turns.done(asks(4), 0.0)
    turns.drop(asks(1), "taken back")
    turns.add(asks(4), "4 again")
    turns.add(asks(1), "1")
    assert [turns.next(), turns.next()] == ["4 again", "1"]


def test_a_tenant_leaves_a_place_to_others() -> None:
    turns: Turns[str] = Turns(Limits(places=2, waiting=20, waiting_bytes=100))
    for i in range(8):
        turns.add(asks(1), f"crd {i}")
    assert [turns.next(), turns.next()] == ["crd 0", None]
    turns.add(asks(2), "config map")
    assert turns.next() == "config map"


def test_a_tenant_that_rests_keeps_nobody_else_from_its_place() -> None:
    turns: Turns[str] = Turns(Limits(places=1, waiting=10, waiting_bytes=100))
    for job in ("first", "second"):
        turns.add(asks(1), job)
    assert turns.next() == "first"
    turns.done(asks(1), 1, rests=True)
    assert turns.next() is None
    turns.add(asks(2), "another's")
    assert turns.next() == "another's"
    turns.done(asks(2), 1)
    turns.rested(1)
    assert turns.next() == "second"


def test_a_flow_that_floods_leaves_room_and_turns_to_others_of_its_tenant() -> None:
    turns: Turns[str] = Turns(Limits(places=2, waiting=100, waiting_bytes=10_000))
    for i in range(50):
        turns.add(asks(1), f"large {i}")
    with pytest.raises(Full):
        turns.add(asks(1), "one too many")
    assert turns.next() == "large 0"
    turns.add(asks(1, BOB), "bob's")
    turns.add(asks(1, SYSTEM), "system's")
    turns.add(asks(1, ROOT), "root's")
    order = []
    for asker in (asks(1), asks(1, ROOT), asks(1, SYSTEM), asks(1, BOB)):
        turns.done(asker, 1)
        order.append(turns.next())
    assert order == ["root's", "system's", "bob's", "large 1"]


def test_bytes_are_bounded_as_jobs_are() -> None:
    turns: Turns[str] = Turns(Limits(places=1, waiting=100, waiting_bytes=60))
    turns.add(asks(1, ANN, 30), "ann's")
    with pytest.raises(Full):
        turns.add(asks(1, ANN, 1), "ann's second")
    turns.add(asks(1, BOB, 15), "half of what is left")
    with pytest.raises(Full):
        turns.add(asks(1, SYSTEM, 16), "more than there is")
    turns.add(asks(1, ROOT, 15), "all that is left")
    turns.add(asks(1, None, 1000), "the server's own")
    turns.add(asks(1, ANN, 1000), "of a watch that runs", bounded=False)


def test_nothing_is_kept_of_tenants_that_have_nothing() -> None:
    turns: Turns[str] = Turns(LIMITS)
    turns.add(asks(1), "a")
    turns.add(asks(2), "b")
    turns.drop(asks(2), "b")
    assert turns.next() == "a"
    turns.done(asks(1), 1)
    assert not turns._tenants
