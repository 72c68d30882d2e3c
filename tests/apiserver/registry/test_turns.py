"""Whose turn it is: a model of tenants that ask for more than they get, and what each may count
on."""

from __future__ import annotations

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from apiserver.registry.turns import Full, Limits, Turns

LIMITS = Limits(places=3, share=2, waiting=4, waiting_bytes=100)
TENANTS = st.integers(1, 5)


class Job:
    """passed: turns that others got since it was the first of its tenant and could have begun."""

    def __init__(self, tenant: int, size: int) -> None:
        self.tenant, self.size, self.passed = tenant, size, 0


class Fair(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.turns: Turns[Job] = Turns(LIMITS)
        self.queues: dict[int, list[Job]] = {}
        self.running: list[Job] = []
        self.resting: list[Job] = []

    def taken(self, tenant: int) -> int:
        return sum(job.tenant == tenant for job in self.running + self.resting)

    def eligible(self) -> list[Job]:
        return [
            queue[0]
            for tenant, queue in self.queues.items()
            if queue and self.taken(tenant) < LIMITS.share
        ]

    @rule(tenant=TENANTS, size=st.integers(1, 150))
    def ask(self, tenant: int, size: int) -> None:
        queue = self.queues.setdefault(tenant, [])
        job = Job(tenant, size)
        fits = (
            len(queue) < LIMITS.waiting
            and sum(j.size for j in queue) + size <= LIMITS.waiting_bytes
        )
        if queue and not fits:
            with pytest.raises(Full):
                self.turns.add(tenant, job, size)
        else:
            self.turns.add(tenant, job, size)
            queue.append(job)

    @rule()
    def begin(self) -> None:
        eligible, job = self.eligible(), self.turns.next()
        if job is None:
            assert len(self.running) == LIMITS.places or not eligible, (
                "a place is free, and somebody may have it"
            )
            return
        assert job in eligible, "each tenant's jobs in their order, and no more than its share"
        self.queues[job.tenant].remove(job)
        self.running.append(job)
        assert len(self.running) <= LIMITS.places
        for other in eligible:
            if other is not job:
                other.passed += 1
                rivals = {j.tenant for queue in self.queues.values() for j in queue} | {
                    j.tenant for j in self.running
                }
                assert other.passed <= len(rivals) * LIMITS.share, (
                    "nobody is passed over for longer than a round"
                )

    @precondition(lambda self: self.running)
    @rule(data=st.data(), rests=st.booleans())
    def end(self, data: st.DataObject, rests: bool) -> None:
        job = data.draw(st.sampled_from(self.running))
        self.running.remove(job)
        self.turns.done(job.tenant, rests=rests)
        if rests:
            self.resting.append(job)

    @precondition(lambda self: self.resting)
    @rule(data=st.data())
    def rested(self, data: st.DataObject) -> None:
        job = data.draw(st.sampled_from(self.resting))
        self.resting.remove(job)
        self.turns.rested(job.tenant)

    @precondition(lambda self: any(self.queues.values()))
    @rule(data=st.data())
    def leave(self, data: st.DataObject) -> None:
        job = data.draw(st.sampled_from([j for queue in self.queues.values() for j in queue]))
        self.queues[job.tenant].remove(job)
        self.turns.drop(job.tenant, job)

    @invariant()
    def nothing_is_lost(self) -> None:
        assert self.turns.waiting == sum(map(len, self.queues.values()))
        assert self.turns.running == len(self.running)


TestFair = Fair.TestCase


def test_a_tenant_leaves_a_place_to_others() -> None:
    turns: Turns[str] = Turns(Limits(places=2, share=1, waiting=10, waiting_bytes=100))
    for i in range(8):
        turns.add(1, f"crd {i}", 1)
    assert [turns.next(), turns.next()] == ["crd 0", None]
    turns.add(2, "config map", 1)
    assert turns.next() == "config map"


def test_a_tenant_that_rests_keeps_nobody_else_from_its_place() -> None:
    turns: Turns[str] = Turns(Limits(places=1, share=1, waiting=10, waiting_bytes=100))
    for job in ("first", "second"):
        turns.add(1, job, 1)
    assert turns.next() == "first"
    turns.done(1, rests=True)
    assert turns.next() is None
    turns.add(2, "another's", 1)
    assert turns.next() == "another's"
    turns.done(2)
    turns.rested(1)
    assert turns.next() == "second"


def test_nothing_is_kept_of_tenants_that_have_nothing() -> None:
    turns: Turns[str] = Turns(LIMITS)
    turns.add(1, "a", 1)
    turns.add(2, "b", 1)
    turns.drop(2, "b")
    assert turns.next() == "a"
    turns.done(1)
    assert not turns._tenants
