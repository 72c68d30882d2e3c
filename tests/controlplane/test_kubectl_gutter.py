"""YAML with a gutter: every line of an object, each with its field."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import yaml

from controlplane.kubectl import show
from controlplane.kubectl.gutter import lines, picks

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
OBJECT: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "p", "finalizers": ["e.org/x"], "labels": {"a.b/c": "1"}},
    "spec": {
        "containers": [
            {"name": "x", "image": "x:1", "args": ["1", "2"], "ports": [{"containerPort": 80}]},
            {"name": 'y"]', "image": "y:1", "command": []},
        ]
    },
}
X, Y = '.spec.containers[name="x"]', '.spec.containers[name="y\\"]"]'
PORT = f'{X}.ports[containerPort=80,protocol="TCP"]'
PATHS = [
    '.metadata.finalizers[="e.org/x"]',
    ".metadata.labels.a.b/c",
    f"{X}.name",
    f"{X}.image",
    f"{X}.args",
    f"{PORT}.containerPort",
    f"{Y}.name",
    f"{Y}.image",
    f"{Y}.command",
]


def test_the_lines_are_the_object() -> None:
    text = "\n".join(line.text for line in lines(OBJECT, PATHS))
    assert yaml.safe_load(text) == OBJECT
    without = "\n".join(line.text for line in lines(OBJECT, []))
    assert yaml.safe_load(without) == OBJECT


def test_every_field_has_its_lines() -> None:
    found: dict[str, list[str]] = {}
    for line in lines(OBJECT, PATHS):
        found.setdefault(line.path, []).append(line.text.strip())
    assert {path: found[path] for path in PATHS} == {
        PATHS[0]: ["- e.org/x"],
        PATHS[1]: ["a.b/c: '1'"],
        PATHS[2]: ["- name: x"],
        PATHS[3]: ["image: x:1"],
        PATHS[4]: ["args:", "- '1'", "- '2'"],
        PATHS[5]: ["- containerPort: 80"],
        PATHS[6]: ['- name: y"]'],
        PATHS[7]: ["image: y:1"],
        PATHS[8]: ["command: []"],
    }


def test_an_item_is_picked_by_all_of_its_keys() -> None:
    port = {"containerPort": 80, "protocol": "UDP"}
    assert picks('[containerPort=80,protocol="UDP"]', port)
    assert not picks('[containerPort=80,protocol="TCP"]', port)
    assert not picks('[containerPort=81,protocol="UDP"]', port)
    assert picks('[containerPort=80,protocol="TCP"]', {"containerPort": 80})
    assert picks('[="a,b"]', "a,b") and not picks('[="a"]', "b")


def test_blame_shows_a_field_once_and_what_is_older() -> None:
    field = {"path": ".data.a", "revision": "7", "manager": "me", "operation": "Apply"}
    field["time"] = "2026-01-01T11:00:00.000000Z"
    told = {"fields": [field, {"path": ".data.b"}], "message": "before the retained history"}
    obj = {"data": {"a": "1\n2\n", "b": "x"}, "metadata": {"managedFields": []}}
    text = show.blame({"object": obj}, told, NOW)
    rows = text.splitlines()
    assert rows[1].split() == ["|", "data:"]
    assert rows[2].split()[:5] == ["7", "60m", "me", "(apply)", "|"]
    assert rows[3].split()[0] == "|"
    assert any(row.split()[:2] == ["older", "|"] for row in rows)
    assert rows[-1] == "# before the retained history"


def test_ages() -> None:
    def at(time: str) -> str:
        return show.age(time, NOW)

    assert at("2026-01-01T11:59:59Z") == "1s"
    assert at("2026-01-01T11:00:00.5Z") == "59m"
    assert at("2026-01-01T01:00:00Z") == "11h"
    assert at("2025-12-01T12:00:00Z") == "31d"
    assert (at("2027-01-01T00:00:00Z"), at("")) == ("0s", "")


def test_a_deletion_says_that_there_is_such_an_object_again() -> None:
    gone = {
        "metadata": {"name": "7"},
        "objectRef": {"name": "web"},
        "resource": "configmaps",
        "type": "DELETED",
        "time": "2026-01-01T00:00:00.000000Z",
    }
    assert "again" not in show.history([gone])
    assert "there is one again" in show.history([gone | {"present": True}])
