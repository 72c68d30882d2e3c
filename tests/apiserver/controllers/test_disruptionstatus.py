"""What a budget's status says of its pods, as kube-controller-manager counts them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from apiserver.controllers.disruptionstatus import (
    Expected,
    Pod,
    SyncFailed,
    asks_scales,
    differ,
    expected,
    failed,
    seconds_until_stale,
    selected,
    settled,
)
from apiserver.meta.objects import Object
from apiserver.meta.times import format_time

NOW = datetime(2026, 5, 4, 3, 2, 1, tzinfo=UTC)


def pod(name: str = "p", *, ready: bool = True, deleted: bool = False) -> Pod:
    return Pod(name, f"{name}-uid", {}, None, deleted, ready)


def budget(generation: int = 1, **status: Any) -> Object:
    return {"metadata": {"name": "b", "generation": generation}, "status": status}


def ago(seconds: float) -> str:
    return format_time(NOW - timedelta(seconds=seconds))


@pytest.mark.parametrize(
    ("spec", "count", "wanted"),
    [
        ({"minAvailable": 2}, 3, (3, 2)),
        ({"minAvailable": 5}, 3, (3, 5)),
        ({"minAvailable": 0}, 3, (3, 0)),
        ({"minAvailable": "50%"}, 3, (3, 2)),
        ({"minAvailable": "100%"}, 3, (3, 3)),
        ({"minAvailable": "0%"}, 3, (3, 0)),
        ({"maxUnavailable": 1}, 3, (3, 2)),
        ({"maxUnavailable": 5}, 3, (3, 0)),
        ({"maxUnavailable": 0}, 3, (3, 3)),
        ({"maxUnavailable": "50%"}, 3, (3, 1)),
        ({"maxUnavailable": "1%"}, 3, (3, 2)),
        ({"maxUnavailable": "50%"}, 0, (0, 0)),
        ({}, 3, (0, 0)),
    ],
    ids=str,
)
def test_how_many_pods_a_budget_wants(spec: Object, count: int, wanted: tuple[int, int]) -> None:
    assert expected(spec, count) == wanted


def test_a_selector_that_nobody_can_read_selects_no_pods() -> None:
    odd = {"matchExpressions": [{"key": "app", "operator": "Like", "values": ["x"]}]}
    with pytest.raises(SyncFailed, match="selector"):
        selected({"spec": {"selector": odd}}, [pod()])


@pytest.mark.parametrize(
    ("spec", "asks"),
    [
        ({"minAvailable": 1}, False),
        ({"minAvailable": 0}, False),
        ({"minAvailable": "1%"}, True),
        ({"maxUnavailable": 0}, True),
        ({"maxUnavailable": "1%"}, True),
        ({}, False),
    ],
    ids=str,
)
def test_what_of_a_budget_rests_on_controllers(spec: Object, asks: bool) -> None:
    assert asks_scales(spec) is asks


def test_a_new_budget_gets_all_of_its_status() -> None:
    pods = [pod("a"), pod("b"), pod("c", ready=False), pod("d", deleted=True)]
    status, again = settled(budget(3), pods, Expected(4, 1), NOW)
    assert again is None
    assert status == {
        "observedGeneration": 3,
        "disruptionsAllowed": 1,
        "currentHealthy": 2,
        "desiredHealthy": 1,
        "expectedPods": 4,
        "conditions": [
            {
                "type": "DisruptionAllowed",
                "status": "True",
                "observedGeneration": 3,
                "lastTransitionTime": format_time(NOW),
                "reason": "SufficientPods",
                "message": "",
            }
        ],
    }


@pytest.mark.parametrize(
    ("healthy", "wanted", "allowed"),
    [
        (3, Expected(3, 2), 1),
        (2, Expected(3, 2), 0),
        (1, Expected(3, 2), 0),
        (3, Expected(0, 0), 0),
        (0, Expected(3, 0), 0),
    ],
    ids=str,
)
def test_how_many_may_be_disrupted(healthy: int, wanted: Expected, allowed: int) -> None:
    status, _ = settled(budget(), [pod(str(i)) for i in range(healthy)], wanted, NOW)
    assert status["disruptionsAllowed"] == allowed
    (said,) = status["conditions"]
    assert (said["status"], said["reason"]) == (
        ("True", "SufficientPods") if allowed else ("False", "InsufficientPods")
    )


@pytest.mark.parametrize(("before", "kept"), [("False", True), ("True", False)])
def test_the_time_of_a_condition_is_that_of_its_state(before: str, kept: bool) -> None:
    other = {"type": "example.com/Mine", "status": "True", "reason": "R", "message": ""}
    old = {
        "type": "DisruptionAllowed",
        "status": before,
        "reason": "SyncFailed",
        "message": "why",
        "observedGeneration": 1,
        "lastTransitionTime": ago(60),
    }
    status, _ = settled(budget(2, conditions=[old, other]), [], Expected(0, 0), NOW)
    assert status["conditions"] == [
        {
            **old,
            "status": "False",
            "reason": "InsufficientPods",
            "message": "",
            "observedGeneration": 2,
            "lastTransitionTime": ago(60 if kept else 0),
        },
        other,
    ]


def test_pods_that_evictions_have_paid_for_count_as_gone_for_two_minutes() -> None:
    noted = {
        "new": ago(10),
        "older": ago(90),
        "late": ago(121),
        "going": ago(10),
        "absent": ago(10),
    }
    pods = [pod("new"), pod("older"), pod("late"), pod("going", deleted=True), pod("other")]
    status, again = settled(budget(disruptedPods=noted), pods, Expected(5, 1), NOW)
    assert status["disruptedPods"] == {"new": ago(10), "older": ago(90)}
    assert status["currentHealthy"] == 2  # late and other
    assert again == 30


def test_a_note_without_a_time_is_an_old_one() -> None:
    status, again = settled(budget(disruptedPods={"p": None}), [pod()], Expected(1, 0), NOW)
    assert (status["currentHealthy"], again) == (1, None)
    assert "disruptedPods" not in status


def test_a_budget_that_cannot_be_counted_allows_nothing_and_keeps_the_rest() -> None:
    before = {"disruptionsAllowed": 2, "currentHealthy": 4, "observedGeneration": 1}
    status = failed(budget(2, **before), "why", NOW)
    assert status == {
        **before,
        "disruptionsAllowed": 0,
        "conditions": [
            {
                "type": "DisruptionAllowed",
                "status": "False",
                "observedGeneration": 1,
                "lastTransitionTime": format_time(NOW),
                "reason": "SyncFailed",
                "message": "why",
            }
        ],
    }


def test_what_is_empty_makes_no_difference() -> None:
    condition = {"type": "T", "status": "True"}
    stored = {"currentHealthy": 1, "conditions": [condition]}
    same = {
        "currentHealthy": 1,
        "expectedPods": 0,
        "disruptedPods": {},
        "conditions": [{**condition, "message": ""}],
    }
    assert not differ(stored, same)
    assert not differ({}, {"conditions": []})
    assert differ(stored, {**same, "expectedPods": 1})
    assert differ(stored, {**same, "conditions": [{**condition, "message": "m"}]})


def marked(*, deleted: bool = False, phase: str = "Running", **condition: Any) -> Object:
    said = {"type": "DisruptionTarget", "status": "True", "lastTransitionTime": ago(30)}
    metadata = {"name": "p", **({"deletionTimestamp": ago(1)} if deleted else {})}
    return {"metadata": metadata, "status": {"phase": phase, "conditions": [{**said, **condition}]}}


@pytest.mark.parametrize(
    ("obj", "left"),
    [
        (marked(), 90),
        (marked(lastTransitionTime=ago(150)), -30),
        (marked(lastTransitionTime=None), 0),
        (marked(status="False"), None),
        (marked(type="Ready"), None),
        (marked(reason="TerminationByKubelet"), None),
        (marked(reason="EvictionByEvictionAPI"), 90),
        (marked(deleted=True), None),
        (marked(phase="Succeeded"), None),
        (marked(phase="Failed"), None),
        (marked(phase="Pending"), 90),
        ({"metadata": {"name": "p"}}, None),
    ],
)
def test_when_a_pod_that_stays_is_no_target_any_more(obj: Object, left: float | None) -> None:
    assert seconds_until_stale(obj, NOW) == left
