"""What updates of claims and volumes may change, after ValidatePersistentVolumeClaimUpdate and
ValidatePersistentVolumeUpdate of kubernetes 1.35."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from tests.support.kindtools import create, update

NOTE = "volume.beta.kubernetes.io/storage-class"
ATTRIBUTES = "volumeAttributesClassName"
OPTIONS = "volume.beta.kubernetes.io/mount-options"


def claim(note: str | None = None, **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "c", "annotations": {} if note is None else {NOTE: note}},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "1Gi"}},
            **spec,
        },
    }


@pytest.mark.parametrize(
    ("before", "after", "wanted", "expected"),
    [
        ("gold", None, "gold", []),
        ("gold", "gold", "gold", []),
        (None, None, "gold", []),
        ("gold", "gold", "iron", ["spec"]),
        ("gold", None, "iron", ["metadata.annotations." + NOTE, "spec"]),
    ],
)
def test_a_class_moves_from_the_annotation_to_the_field(
    before: str | None, after: str | None, wanted: str, expected: list[str]
) -> None:
    old = create(claim(before)).obj
    new = copy.deepcopy(old)
    new["metadata"]["annotations"] = {} if after is None else {NOTE: after}
    new["spec"]["storageClassName"] = wanted
    assert [e.path for e in update(new, old).errors] == expected


@pytest.mark.parametrize(
    ("applied", "wanted", "expected"),
    [
        (None, None, []),
        ("gold", "iron", []),
        ("gold", None, ["nil"]),
        ("gold", "", ["empty string"]),
    ],
)
def test_attributes_that_a_volume_has(
    applied: str | None, wanted: str | None, expected: list[str]
) -> None:
    old = create(claim(**{ATTRIBUTES: "gold"})).obj
    old["status"] = {"phase": "Bound", "currentVolumeAttributesClassName": applied}
    new = copy.deepcopy(old)
    new["spec"][ATTRIBUTES] = wanted
    assert update(new, old).messages == [
        f"spec.{ATTRIBUTES}: Forbidden: update to {what} is forbidden when "
        "status.currentVolumeAttributesClassName is not nil"
        for what in expected
    ]


def test_the_states_of_a_resize() -> None:
    old = create(claim()).obj
    new = copy.deepcopy(old)
    new["status"] = {
        "allocatedResourceStatuses": {"storage": "NodeResizePending", "cpu": "Later"},
        "allocatedResources": {"storage": "-1", "x.io/y": "1", "no name": "1"},
    }
    at, states = "status.allocatedResourceStatuses", "status.allocatedResources"
    told = update(new, old, "status").messages
    assert told[:2] == [
        f'{at}: Unsupported value: "cpu": supported values: "storage"',
        f'{at}: Unsupported value: "cpu": supported values: "ControllerResizeInProgress", '
        '"ControllerResizeInfeasible", "NodeResizeInProgress", "NodeResizeInfeasible", '
        '"NodeResizePending"',
    ]
    assert told[2].startswith(f'{states}: Invalid value: "no name"')
    assert told[3:] == [f"{states}[storage]: Invalid value: -1: must be a valid resource quantity"]


def volume(*keys: str, **spec: Any) -> dict[str, Any]:
    expressions = [{"key": key, "operator": "Exists"} for key in keys]
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": "v"},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "capacity": {"storage": "1Gi"},
            "csi": {"driver": "d.io", "volumeHandle": "h"},
            "nodeAffinity": {
                "required": {"nodeSelectorTerms": [{"matchExpressions": expressions}]}
            },
            **spec,
        },
    }


def test_labels_of_nodes_may_become_stable_ones() -> None:
    old = create(volume("beta.kubernetes.io/os", "x.io/y")).obj

    def told(*keys: str) -> list[str]:
        wanted = create(volume(*keys)).obj
        return [e.path for e in update({**wanted, "metadata": old["metadata"]}, old).errors]

    assert told("kubernetes.io/os", "x.io/y") == []
    assert told("kubernetes.io/arch", "x.io/y") == ["nodeAffinity"]
    assert told("kubernetes.io/os") == ["nodeAffinity"]


def test_a_volume_keeps_some_class_of_attributes() -> None:
    old = create(volume(**{ATTRIBUTES: "gold"})).obj
    new = copy.deepcopy(old)
    new["spec"][ATTRIBUTES] = "iron"
    assert update(new, old).messages == []
    del new["spec"][ATTRIBUTES]
    assert update(new, old).messages == [
        f"spec.{ATTRIBUTES}: Forbidden: update from non-nil value to nil is forbidden"
    ]


@pytest.mark.parametrize(
    ("source", "refused"),
    [({"nfs": {"server": "s", "path": "/"}}, []), ({"hostPath": {"path": "/x"}}, [OPTIONS])],
)
def test_mount_options_are_for_volumes_that_are_mounted_with_some(
    source: dict[str, Any], refused: list[str]
) -> None:
    volume = {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": "v", "annotations": {OPTIONS: "ro"}},
        "spec": {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], **source},
    }
    made = create(volume)
    expected = ["metadata.annotations." + name for name in refused]
    assert [e.path for e in made.errors] == expected
    assert [e.path for e in update(copy.deepcopy(made.obj), made.obj).errors] == expected
