from __future__ import annotations

from typing import Any

import pytest

from apiserver.kinds.common.metaconditions import condition
from tests.support.kindtools import NOW, cells, create, update
from tests.support.switches import serve


@pytest.fixture(autouse=True)
def switched_on(monkeypatch: pytest.MonkeyPatch) -> None:
    serve(monkeypatch, "storagemigration.k8s.io", "v1beta1")


def migration(resource: str = "widgets", group: str = "example.com", **status: Any) -> Any:
    return {
        "apiVersion": "storagemigration.k8s.io/v1beta1",
        "kind": "StorageVersionMigration",
        "metadata": {"name": "m"},
        "spec": {"resource": {"group": group, "resource": resource}},
        **({"status": status} if status else {}),
    }


def ran(*true: str, at: str = "7", **false: str) -> Any:
    """With these conditions; ``false``: type → another status."""
    states = {**dict.fromkeys(true, "True"), **false}
    found = [condition(kind, state, "Why", "", NOW) for kind, state in states.items()]
    return migration(resourceVersion=at, conditions=found)


def test_a_status_comes_from_nobody_who_creates_one() -> None:
    assert create(ran("Succeeded")).obj["status"] == {}


@pytest.mark.parametrize(
    ("resource", "group", "wrong"),
    [
        ("widgets", "example.com", []),
        ("configmaps", "", []),
        (
            "",
            "example.com",
            ["spec.resource.resource: Required value: resource is required to be set"],
        ),
        ("a.b", "", ["spec.resource.resource"]),
        ("1a", "", ["spec.resource.resource"]),
        ("widgets", "A", ["spec.resource.group"]),
    ],
)
def test_what_it_names(resource: str, group: str, wrong: list[str]) -> None:
    messages = create(migration(resource, group)).messages
    assert len(messages) == len(wrong)
    assert all(m.startswith(start) for m, start in zip(messages, wrong, strict=True))


def test_what_it_names_stays() -> None:
    stored = create(migration()).obj
    assert update(migration(), stored).messages == []
    (message,) = update(migration("gadgets"), stored).messages
    assert message == (
        'spec: Invalid value: {"Resource":{"group":"example.com","resource":"gadgets"}}: '
        "field is immutable"
    )


BOTH = "Both success and failed conditions cannot be true at the same time"
LOST = "Success condition cannot be set to false once it is true"
MENDED = "Failed condition cannot be set to false once it is true"


@pytest.mark.parametrize(
    ("before", "after", "reasons"),
    [
        (migration(), ran("Running"), []),
        (ran("Running"), ran("Succeeded", Running="False"), []),
        (ran("Running"), ran("Failed"), []),
        (ran("Succeeded", Running="False"), ran("Succeeded"), []),
        (ran("Running"), ran("Succeeded", "Failed"), [BOTH]),
        (ran("Running"), ran("Succeeded", "Running"), []),
        (ran("Running"), ran("Failed", "Running"), []),
        (ran("Succeeded"), ran("Running"), [LOST]),
        (ran("Succeeded"), ran("Failed"), [LOST]),
        (ran("Failed"), ran("Succeeded"), [MENDED]),
        (ran("Failed"), ran(Failed="Unknown"), [MENDED]),
        (ran("Running"), ran("Running", at="8"), ["field is immutable"]),
        (migration(), ran(at=""), []),
        (ran("Running"), ran("Running", at=""), ["field is immutable"]),
        (migration(), ran(at="0"), ["resource version is not well formed: 0"]),
        (migration(), ran(at="07"), ["resource version is not well formed: 07"]),
        (migration(), ran(at="1x"), ["resource version is not well formed: 1x"]),
        (migration(), ran(Running="Perhaps"), ['supported values: "False", "True", "Unknown"']),
    ],
)
def test_which_states_follow_which(before: Any, after: Any, reasons: list[str]) -> None:
    messages = update(after, before, "status").messages
    assert [m.endswith(r) for m, r in zip(messages, reasons, strict=True)] == [True] * len(reasons)


def test_conditions_are_those_of_all_kinds() -> None:
    twice = ran("Running")
    twice["status"]["conditions"] *= 2
    twice["status"]["conditions"][1] = {"type": "Running", "status": "True"}
    assert update(twice, migration(), "status").messages == [
        'status.conditions[1].type: Duplicate value: "Running"',
        "status.conditions[1].lastTransitionTime: Required value",
        "status.conditions[1].reason: Required value",
    ]


def test_its_row_names_the_resource() -> None:
    assert cells(create(migration()).obj) == {
        "Name": "m",
        "Resource": "widgets.example.com",
        "Status": "Unknown",
    }
    assert cells(create(migration("pods", "")).obj)["Resource"] == "pods"


@pytest.mark.parametrize(
    ("obj", "shown"),
    [
        (ran("Running"), "Running"),
        (ran(Running="False"), "Unknown"),
        (ran("Failed", Running="False"), "Failed"),
        (ran("Succeeded", Running="False"), "Succeeded"),
        (ran("Noticed"), "Unknown"),
    ],
)
def test_its_row_says_how_far_it_is(obj: Any, shown: str) -> None:
    assert cells(obj)["Status"] == shown
