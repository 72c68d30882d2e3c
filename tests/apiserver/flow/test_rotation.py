"""Whose turn it is: tenants get equal time, whatever they have waiting."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from apiserver.flow.rotation import Rotation


def test_time_is_shared_not_turns() -> None:
    rotation: Rotation[int, int] = Rotation()
    for i in range(100):
        rotation.add(1, i)
        rotation.add(2, i)
    spent = Counter[int]()
    for _ in range(44):
        tenant, _ = rotation.next()
        took = 10 if tenant == 1 else 1
        rotation.spent(tenant, took)
        spent[tenant] += took
    assert abs(spent[1] - spent[2]) <= 10


def test_who_was_idle_waits_for_one_piece_and_saves_nothing_up() -> None:
    rotation: Rotation[int, str] = Rotation()
    for i in range(50):
        rotation.add(1, f"flood {i}")
    for _ in range(10):
        tenant, _ = rotation.next()
        rotation.spent(tenant, 1)
    rotation.add(2, "a")
    rotation.add(2, "b")
    order = []
    for _ in range(4):
        tenant, job = rotation.next()
        order.append(job)
        rotation.spent(tenant, 1)
    assert "a" in order[:2]
    assert order[2:].count("b") == 1
    assert order[1:3] != ["a", "b"], "the time before was not saved up"


def test_who_took_long_waits_although_it_left() -> None:
    rotation: Rotation[int, str] = Rotation()
    rotation.add(1, "long")
    assert rotation.next() == (1, "long")
    rotation.add(2, "short")
    rotation.spent(1, 5)
    rotation.add(1, "again")
    order = []
    for _ in range(4):
        tenant, job = rotation.next()
        order.append(job)
        rotation.spent(tenant, 1)
        if tenant == 2:
            rotation.add(2, "short")
    assert order == ["short"] * 4


def test_one_tenants_jobs_stay_in_their_order() -> None:
    rotation: Rotation[int, int] = Rotation()
    done: list[int] = []
    rotation.add(1, 0)
    while rotation:
        tenant, job = rotation.next()
        if job < 5:
            rotation.add(1, job + 1)
        done.append(job)
        rotation.spent(tenant, 0.1)
    assert done == list(range(6))


def test_who_takes_back_the_last_that_waits_is_as_if_it_had_been_done() -> None:
    rotation: Rotation[str, int] = Rotation()
    for job in (1, 2, 3):
        rotation.add("a", job)
    rotation.add("b", 1)
    rotation.drop("a", 2)
    assert rotation.next() == ("a", 1)
    rotation.drop("a", 3)
    assert "a" in rotation, "it is being served"
    rotation.spent("a", 5)
    rotation.drop("b", 1)
    assert not rotation and "a" not in rotation and "b" not in rotation
    rotation.add("a", 4)
    rotation.add("b", 2)
    assert rotation.next() == ("b", 2), "what a took is not forgotten"


@given(st.lists(st.tuples(st.integers(1, 5), st.floats(0.001, 1)), max_size=60))
def test_everything_has_its_turn(jobs: list[tuple[int, float]]) -> None:
    rotation: Rotation[int, float] = Rotation()
    for tenant, seconds in jobs:
        rotation.add(tenant, seconds)
    seen = []
    while rotation:
        tenant, seconds = rotation.next()
        rotation.spent(tenant, seconds)
        seen.append((tenant, seconds))
    for tenant in range(1, 6):
        own = [job for job in jobs if job[0] == tenant]
        assert [job for job in seen if job[0] == tenant] == own
