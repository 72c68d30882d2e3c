"""Managers on their way between a Scale and its parent."""

from __future__ import annotations

from typing import Any

from apiserver.fieldmanager.fieldpath import path_of
from apiserver.fieldmanager.scale import replicas_path, to_parent, to_scale

PATHS = {"apps/v1": path_of("spec", "replicas"), "apps/v2": None}
TIME = "2026-01-01T00:00:00Z"


def entry(name: str, operation: str, version: str, fields: Any, **more: Any) -> dict[str, Any]:
    return {
        "manager": name,
        "operation": operation,
        "apiVersion": version,
        "fieldsType": "FieldsV1",
        "fieldsV1": fields,
        **more,
    }


REPLICAS = {"f:spec": {"f:replicas": {}}}
BOTH = {"f:spec": {"f:replicas": {}, "f:x": {}}}
PARENT = [
    entry("applier", "Apply", "apps/v1", BOTH, time=TIME),
    entry("other", "Apply", "apps/v2", BOTH, time=TIME),
    entry("updater", "Update", "apps/v1", {"f:spec": {"f:x": {}}}, time=TIME),
]


def test_a_scale_has_those_who_own_the_replicas() -> None:
    assert to_scale(PARENT, PATHS) == [
        entry("applier", "Apply", "autoscaling/v1", REPLICAS, time=TIME)
    ]
    assert to_scale(None, PATHS) == []


def test_who_kept_the_replicas_stays_as_it_was() -> None:
    assert to_parent(PARENT, to_scale(PARENT, PATHS), "apps/v1", PATHS) == PARENT


def test_who_lost_the_replicas_keeps_the_rest_and_the_taker_has_no_time() -> None:
    taken = [entry("scaler", "Update", "autoscaling/v1", REPLICAS, time=TIME, subresource="scale")]
    assert to_parent(PARENT, taken, "apps/v1", PATHS) == [
        entry("applier", "Apply", "apps/v1", {"f:spec": {"f:x": {}}}, time=TIME),
        PARENT[1],
        entry("scaler", "Update", "apps/v1", REPLICAS, subresource="scale"),
        PARENT[2],
    ]


def test_who_owned_nothing_but_the_replicas_goes() -> None:
    parent = [entry("applier", "Apply", "apps/v1", REPLICAS, time=TIME)]
    assert to_parent(parent, [], "apps/v1", PATHS) == []


def test_versions_that_are_gone_lose_their_managers() -> None:
    assert to_parent([entry("m", "Apply", "apps/v0", BOTH)], [], "apps/v1", PATHS) == []


def test_paths_of_definitions() -> None:
    assert replicas_path(".spec.size.count") == path_of("spec", "size", "count")
