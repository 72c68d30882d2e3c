from __future__ import annotations

import copy
from datetime import UTC, datetime
from typing import Any

import pytest

from apiserver.kinds.base import WriteContext
from apiserver.kinds.core.persistentvolume import PersistentVolume
from apiserver.kinds.core.persistentvolumeclaim import PersistentVolumeClaim
from apiserver.meta.objects import Object

NOW = datetime(2026, 1, 1, tzinfo=UTC)
CONTEXT = WriteContext("v1", NOW)
CLAIM = PersistentVolumeClaim()
NOTE = "volume.beta.kubernetes.io/storage-class"


def claim(
    size: str = "1Gi", phase: str = "Pending", capacity: str = "", note: str = "", **spec: Any
) -> Object:
    status: Object = {"phase": phase} | ({"capacity": {"storage": capacity}} if capacity else {})
    return {
        "metadata": {"name": "c", "annotations": {NOTE: note} if note else {}},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": size}},
            "volumeMode": "Filesystem",
            **spec,
        },
        "status": status,
    }


def changes(new: Object, old: Object) -> list[tuple[str, str]]:
    found = CLAIM.validate_update(copy.deepcopy(new), copy.deepcopy(old), CONTEXT)
    return [(e.path, e.detail.splitlines()[0]) for e in found]


IMMUTABLE = (
    "spec",
    "spec is immutable after creation except resources.requests and volumeAttributesClassName for "
    "bound claims",
)
SHRUNK = ("spec.resources.requests.storage", "field can not be less than status.capacity")


@pytest.mark.parametrize(
    ("new", "old", "errors"),
    [
        (claim("2Gi"), claim(), [IMMUTABLE]),
        (claim("2Gi", "Bound"), claim("1Gi", "Bound"), []),
        (claim("1024Mi"), claim("1Gi"), []),
        (claim("2Gi", "Bound"), claim("3Gi", "Bound", "1Gi"), []),
        (claim("1Gi", "Bound"), claim("3Gi", "Bound", "2Gi"), [SHRUNK]),
        (claim(volumeName="v"), claim(), []),
        (claim(volumeName="w"), claim(volumeName="v"), [IMMUTABLE]),
        (claim(storageClassName="a"), claim(), []),
        (claim(storageClassName="b"), claim(storageClassName="a"), [IMMUTABLE]),
        (claim(storageClassName="a"), claim(note="a"), []),
        (
            claim(storageClassName="b"),
            claim(note="a"),
            [IMMUTABLE, (f"metadata.annotations.{NOTE}", "field is immutable")],
        ),
        (
            claim("1Gi", "Bound", volumeAttributesClassName="b"),
            claim("1Gi", "Bound", volumeAttributesClassName="a"),
            [],
        ),
        (claim(volumeMode="Block"), claim(), [IMMUTABLE, ("volumeMode", "field is immutable")]),
    ],
)
def test_what_may_change_of_a_claim(
    new: Object, old: Object, errors: list[tuple[str, str]]
) -> None:
    assert sorted(changes(new, old)) == sorted(errors)


def test_a_refused_change_shows_the_difference() -> None:
    (error,) = CLAIM.validate_update(claim(accessModes=["ReadWriteMany"]), claim(), CONTEXT)
    assert error.detail.split("\n", 1)[1] == (
        '@@ -1,6 +1,6 @@\n {\n  "AccessModes": [\n-  "ReadWriteOnce"\n+  "ReadWriteMany"\n  ],\n  '
        '"Selector": null,\n  "Resources": {\n'
    )


def test_data_sources_say_the_same() -> None:
    old_way = claim(dataSource={"kind": "PersistentVolumeClaim", "name": "x"})
    CLAIM.prepare_create(old_way, CONTEXT)
    assert old_way["spec"]["dataSourceRef"] == old_way["spec"]["dataSource"]
    elsewhere = claim(
        dataSourceRef={"kind": "PersistentVolumeClaim", "name": "x", "namespace": "other"}
    )
    CLAIM.prepare_create(elsewhere, CONTEXT)
    assert "dataSource" not in elsewhere["spec"]


def test_the_columns_of_a_claim() -> None:
    bound = claim("5Gi", "Bound", "4Gi", volumeName="v", storageClassName="fast")
    bound["status"]["accessModes"] = ["ReadWriteMany", "ReadWriteOnce"]
    bound["metadata"] |= {"creationTimestamp": "2025-12-31T00:00:00Z"}
    assert CLAIM.cells(bound, "v1", NOW) == [
        "c",
        "Bound",
        "v",
        "4Gi",
        "RWO,RWX",
        "fast",
        "<unset>",
        "24h",
        "Filesystem",
    ]
    bound["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    assert CLAIM.cells(bound, "v1", NOW)[1] == "Terminating"


def test_a_volume_notes_when_its_phase_moved() -> None:
    kind = PersistentVolume()
    old: Object = {
        "metadata": {"name": "v"},
        "spec": {},
        "status": {"phase": "Pending", "lastPhaseTransitionTime": "2025-01-01T00:00:00Z"},
    }
    moved, same = copy.deepcopy(old), copy.deepcopy(old)
    moved["status"]["phase"] = "Available"
    kind.prepare_status_update(moved, old, CONTEXT)
    kind.prepare_status_update(same, old, CONTEXT)
    assert moved["status"]["lastPhaseTransitionTime"] == "2026-01-01T00:00:00Z"
    assert same["status"] == old["status"]
