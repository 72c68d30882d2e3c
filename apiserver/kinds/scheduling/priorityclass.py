"""PriorityClass."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from apiserver.errors import Forbidden
from apiserver.fielderrors import FieldErrors, FieldPath, forbidden
from apiserver.kinds.base import Kind, WriteContext
from apiserver.kinds.common import checks as c
from apiserver.kinds.registration import register
from apiserver.meta.gvk import GroupResource
from apiserver.meta.objects import Object
from apiserver.meta.times import age

_GROUP = "scheduling.k8s.io"
_HIGHEST = 1_000_000_000
_SYSTEM = {"system-node-critical": 2_000_001_000, "system-cluster-critical": 2_000_000_000}


@register(_GROUP, "PriorityClass")
class PriorityClass(Kind):
    metadata_again = False

    def default(self, obj: Object, version: str) -> None:
        if obj.get("preemptionPolicy") is None:
            obj["preemptionPolicy"] = "PreemptLowerPriority"

    def count_generation(self, obj: Object, old: Object) -> None:
        """It stays what it was at creation."""
        if "generation" in old["metadata"]:
            obj["metadata"]["generation"] = old["metadata"]["generation"]

    def validate_create(self, obj: Object, context: WriteContext) -> FieldErrors:
        return list(_errors(obj))

    def validate_update(self, obj: Object, old: Object, context: WriteContext) -> FieldErrors:
        errors: FieldErrors = []
        if obj.get("value", 0) != old.get("value", 0):
            errors.append(forbidden("value", "may not be changed in an update."))
        return [
            *errors,
            *c.immutable(
                obj.get("preemptionPolicy"),
                old.get("preemptionPolicy"),
                FieldPath("preemptionPolicy"),
            ),
        ]

    def validate_delete(self, obj: Object, context: WriteContext) -> FieldErrors:
        """Raises Forbidden for the classes of the system."""
        name = obj["metadata"]["name"]
        if name in _SYSTEM:
            why = "this is a system priority class and cannot be deleted"
            raise Forbidden(GroupResource(_GROUP, "priorityclasses"), name, why)
        return []

    def cells(self, obj: Object, version: str, now: datetime) -> list[Any]:
        metadata = obj["metadata"]
        return [
            metadata["name"],
            obj.get("value", 0),
            bool(obj.get("globalDefault")),
            age(metadata.get("creationTimestamp"), now),
            obj.get("preemptionPolicy") or "PreemptLowerPriority",
        ]


def _errors(obj: Object) -> c.Errors:
    name, value = obj["metadata"].get("name", ""), obj.get("value", 0)
    if name.startswith("system-"):
        why = _not_system(name, value, bool(obj.get("globalDefault")))
        if why:
            reserved = (
                "priority class names with 'system-' prefix are reserved for system use "
                "only. error: "
            )
            yield forbidden("metadata.name", reserved + why)
    elif value > _HIGHEST:
        yield forbidden("value", f"maximum allowed value of a user defined priority is {_HIGHEST}")
    yield from c.one_of(
        obj.get("preemptionPolicy"),
        FieldPath("preemptionPolicy"),
        ["PreemptLowerPriority", "Never"],
    )


def _not_system(name: str, value: int, default: bool) -> str:
    if name not in _SYSTEM:
        return f"{name} is not a known system priority class"
    if value != _SYSTEM[name]:
        return f"value of {name} PriorityClass must be {_SYSTEM[name]}"
    return f"globalDefault of {name} PriorityClass must be false" if default else ""
