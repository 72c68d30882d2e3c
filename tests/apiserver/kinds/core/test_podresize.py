"""pods/resize, after ValidatePodResize of kubernetes 1.35."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from tests.support.kindtools import create, pod, update

ONLY = "spec: Forbidden: only cpu and memory resources"


def container(name: str = "c", cpu: str = "1", **members: Any) -> dict[str, Any]:
    return {
        "name": name,
        "image": "i",
        "resources": {"requests": {"cpu": cpu}, "limits": {"cpu": "8"}},
        **members,
    }


def told(before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    """The errors of a resize of a pod from one spec to the other."""
    old = create(pod(**before)).obj
    wanted = copy.deepcopy(old)
    wanted["spec"] = {**old["spec"], **copy.deepcopy(after)}
    return update(wanted, old, "resize").messages


def test_containers_stay_where_they_are() -> None:
    two = [container("a"), container("b")]
    assert told({"containers": two}, {"containers": two[:1]}) == [
        "spec.containers: Forbidden: containers may not be added or removed on resize"
    ]
    why = "containers may not be renamed or reordered on resize"
    assert told({"containers": two}, {"containers": two[::-1]}) == [
        f"spec.containers[{i}].name: Forbidden: {why}" for i in range(2)
    ]
    assert told(
        {"containers": two[:1], "initContainers": two[1:]}, {"initContainers": [container("z")]}
    ) == [
        "spec.initContainers[0].name: Forbidden: initContainers may not be renamed or reordered on "
        "resize"
    ]


def test_of_a_pod_that_cannot_be_resized_nothing_else_is_said() -> None:
    before = {"os": {"name": "windows"}, "containers": [container()]}
    after = {"containers": [container(image="", cpu="-1")]}
    assert told(before, after) == ["[]: Forbidden: windows pods cannot be resized"]


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ({"requests": {"cpu": "2"}}, {"requests": {"cpu": "3"}}, []),
        ({"requests": {"cpu": "2"}}, {"requests": {"cpu": "2", "memory": "1Gi"}}, []),
        (None, {"requests": {"cpu": "3"}}, []),
        (
            {"requests": {"cpu": "2"}},
            None,
            ["spec.resources: Forbidden: pod-level resources cannot be removed"],
        ),
        (
            {"requests": {"cpu": "2", "memory": "1Gi"}, "limits": {"cpu": "9", "memory": "1Gi"}},
            {"requests": {"cpu": "2", "memory": "1Gi"}, "limits": {"cpu": "9"}},
            ["spec.resources.limits: Forbidden: pod-level resource limits cannot be removed"],
        ),
        (
            {"requests": {"cpu": "2"}},
            {"requests": {"cpu": "2", "hugepages-2Mi": "2Mi"}, "limits": {"hugepages-2Mi": "2Mi"}},
            [f"{ONLY} are mutable at pod-level"],
        ),
    ],
)
def test_resources_of_the_whole_pod(
    before: dict[str, Any] | None, after: dict[str, Any] | None, expected: list[str]
) -> None:
    spec: dict[str, Any] = {"containers": [container()]}
    if before is not None:
        spec["resources"] = before
    old = create(pod(**spec)).obj
    wanted = copy.deepcopy(old)
    wanted["spec"].pop("resources", None)
    if after is not None:
        wanted["spec"]["resources"] = after
    made = update(wanted, old, "resize")
    assert made.messages == expected
    assert made.obj["spec"].get("resources", {}).get("requests") == (after or {}).get("requests")


def test_amounts_in_another_spelling_are_the_same() -> None:
    one, other = ({"requests": {"x.io/y": n}, "limits": {"x.io/y": n}} for n in ("2000", "2k"))
    assert (
        told(
            {"containers": [{"name": "c", "image": "i", "resources": one}]},
            {"containers": [{"name": "c", "image": "i", "resources": other}]},
        )
        == []
    )


def test_only_sidecars_among_init_containers_can_be_resized() -> None:
    before = {
        "containers": [container()],
        "initContainers": [container("i"), container("s", restartPolicy="Always")],
    }
    assert (
        told(
            before,
            {"initContainers": [container("i"), container("s", "2", restartPolicy="Always")]},
        )
        == []
    )
    more = {"requests": {"cpu": "1", "x.io/y": "1"}, "limits": {"cpu": "8", "x.io/y": "1"}}
    assert told(
        before,
        {
            "initContainers": [
                container("i", "2"),
                container("s", restartPolicy="Always", resources=more),
            ]
        },
    ) == [
        "spec: Forbidden: resources for non-sidecar init containers are immutable",
        f"{ONLY} for sidecar containers are mutable",
    ]


@pytest.mark.parametrize("subresource", ["resize", "ephemeralcontainers"])
def test_of_the_metadata_a_part_of_a_pod_writes_what_status_does(subresource: str) -> None:
    old = create(pod()).obj
    old["metadata"].update(generateName="x-", labels={"a": "b"})
    wanted = copy.deepcopy(old)
    wanted["metadata"].update(generateName="y-", labels={"c": "d"}, finalizers=["x.io/y"])
    metadata = update(wanted, old, subresource).obj["metadata"]
    assert (metadata["generateName"], metadata["labels"]) == ("y-", {"a": "b"})
    assert "finalizers" not in metadata
    del wanted["metadata"]["generateName"]
    assert "generateName" not in update(wanted, old, subresource).obj["metadata"]


def test_where_containers_come_or_go_the_status_is_the_one_that_was_sent() -> None:
    old = create(pod(containers=[container()])).obj
    wanted = {**copy.deepcopy(old), "status": {}}
    wanted["spec"]["containers"] = [{"name": "c", "image": "i"}, {"name": "d", "image": "i"}]
    assert (
        'spec: Invalid value: "": Pod QOS Class may not change as a result of resizing'
        in update(wanted, old, "resize").messages
    )
