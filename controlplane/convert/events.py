"""Events to events.k8s.io/v1. It refuses new events with the members ``deprecated...``, which
v1beta1 took: what they say moves to the members that replace them."""

from __future__ import annotations

from typing import Any

from apiserver.meta.objects import Object
from controlplane.convert.rule import Conversion, as_object, rename


def event(conversion: Conversion) -> None:
    obj = conversion.obj
    for old, new in (
        ("involvedObject", "regarding"),
        ("message", "note"),
        ("source", "deprecatedSource"),
        ("count", "deprecatedCount"),
    ):
        rename(obj, old, new)
    for old, new in (
        ("firstTimestamp", "deprecatedFirstTimestamp"),
        ("lastTimestamp", "deprecatedLastTimestamp"),
    ):
        rename(obj, old, new)
    first, last, count = (
        obj.pop(f"deprecated{name}", None) for name in ("FirstTimestamp", "LastTimestamp", "Count")
    )
    if "eventTime" not in obj and (first or last):
        obj["eventTime"] = _micro(first or last)
    series = as_object(obj, "series")
    if series is not None:
        series.pop("state", None)
    elif isinstance(count, int) and count > 1:
        obj["series"] = {"count": count, "lastObservedTime": _micro(last or obj.get("eventTime"))}
    _reporter(obj)
    for name in ("action", "reason", "reportingController", "reportingInstance"):
        if not obj.get(name):
            conversion.note(f"{name}: required of new events now; write it")
    if obj.get("type") not in ("Normal", "Warning"):
        conversion.note("type: must be Normal or Warning now")


def _reporter(obj: Object) -> None:
    source = obj.pop("deprecatedSource", None)
    if not isinstance(source, dict):
        return
    for old, new in (("component", "reportingController"), ("host", "reportingInstance")):
        if source.get(old) and not obj.get(new):
            obj[new] = source[old]


def _micro(value: Any) -> Any:
    """A Time as a MicroTime."""
    return (
        f"{value[:-1]}.000000Z"
        if isinstance(value, str) and value.endswith("Z") and "." not in value
        else value
    )
