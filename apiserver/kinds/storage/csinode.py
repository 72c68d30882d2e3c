"""CSINode."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from apiserver.fielderrors import FieldErrors, FieldPath, duplicate, invalid, required
from apiserver.kinds.base import Kind, WriteContext
from apiserver.kinds.common import checks as c
from apiserver.kinds.common.internal import quote
from apiserver.kinds.common.volumesources import csi_driver_name
from apiserver.kinds.registration import register
from apiserver.meta.equality import semantic_equal
from apiserver.meta.objects import Object, seen_before
from apiserver.meta.times import age

_DRIVERS = FieldPath("spec.drivers")
_LONGEST_NODE_ID = 256


@register("storage.k8s.io", "CSINode")
class CSINode(Kind):
    allow_unconditional_update = False
    returns_deleted = True
    generation = False
    metadata_update = False

    def validate(self, obj: Object, context: WriteContext) -> FieldErrors:
        seen: set[str] = set()
        return [
            e
            for i, driver in enumerate(_drivers(obj))
            for e in _driver(driver, _DRIVERS.at(i), seen)
        ]

    def validate_update(self, obj: Object, old: Object, context: WriteContext) -> FieldErrors:
        """Drivers come and go, but do not change (their allocatable may)."""
        drivers: dict[str, list[Object]] = {}
        for driver in _drivers(obj):
            drivers.setdefault(driver.get("name", ""), []).append(_fixed(driver))
        return [
            invalid(_DRIVERS, quote("storage.v1.CSINodeDriver", driver), c.IMMUTABLE)
            for before in _drivers(old)
            for driver in drivers.get(before.get("name", ""), ())
            if not semantic_equal(driver, _fixed(before))
        ]

    def cells(self, obj: Object, version: str, now: datetime) -> list[Any]:
        metadata = obj["metadata"]
        return [metadata["name"], len(_drivers(obj)), age(metadata.get("creationTimestamp"), now)]


def _drivers(obj: Object) -> list[Object]:
    return (obj.get("spec") or {}).get("drivers") or []


def _fixed(driver: Object) -> Object:
    return {k: v for k, v in driver.items() if k != "allocatable"}


def _driver(driver: Object, path: FieldPath, seen: set[str]) -> c.Errors:
    name, node, keys = (
        driver.get("name", ""),
        driver.get("nodeID", ""),
        driver.get("topologyKeys") or [],
    )
    yield from csi_driver_name(name, path.child("name"))
    if not node:
        yield required(path.child("nodeID"))
    if len(node.encode()) > _LONGEST_NODE_ID:
        why = f"must be {_LONGEST_NODE_ID} characters or less"
        yield invalid(path.child("nodeID"), node, why)
    yield from c.non_negative(
        (driver.get("allocatable") or {}).get("count"), path.child("allocatable", "count")
    )
    if name in seen:
        yield duplicate(path.child("name"), name)
    seen.add(name)
    for key, again in zip(keys, seen_before(keys), strict=True):
        if not key:
            yield required(path)
        if again:
            yield duplicate(path, key)
        yield from c.qualified_name(key, path)
