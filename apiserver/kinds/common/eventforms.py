"""The two forms of one event: core/v1, and events.k8s.io/v1, which gave half of the fields new
names, and which writes the count of a series even when it is 0.

Source: k8s.io/kubernetes ``apis/events/v1/conversion.go``. Nothing is lost either way. Storage may
hold either form.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from apiserver.meta.objects import Object

CORE, EVENTS = "v1", "events.k8s.io/v1"
_NEW_NAMES = {
    "involvedObject": "regarding",
    "message": "note",
    "reportingComponent": "reportingController",
    "source": "deprecatedSource",
    "firstTimestamp": "deprecatedFirstTimestamp",
    "lastTimestamp": "deprecatedLastTimestamp",
    "count": "deprecatedCount",
}
_OLD_NAMES = {new: old for old, new in _NEW_NAMES.items()}
_CORE_ALWAYS: Mapping[str, Any] = {
    "involvedObject": {},
    "source": {},
    "firstTimestamp": None,
    "lastTimestamp": None,
    "eventTime": None,
    "reportingComponent": "",
    "reportingInstance": "",
}
_EVENTS_ALWAYS: Mapping[str, Any] = {
    "eventTime": None,
    "regarding": {},
    "deprecatedSource": {},
    "deprecatedFirstTimestamp": None,
    "deprecatedLastTimestamp": None,
}


def to_core(obj: Object) -> Object:
    if obj.get("apiVersion") == CORE:
        return obj
    out = _renamed(obj, _OLD_NAMES, _CORE_ALWAYS, CORE)
    series = out.get("series")
    if series is not None and not series.get("count"):
        out["series"] = {k: v for k, v in series.items() if k != "count"}
    return out


def to_events(obj: Object) -> Object:
    if obj.get("apiVersion") == EVENTS:
        return obj
    out = _renamed(obj, _NEW_NAMES, _EVENTS_ALWAYS, EVENTS)
    if out.get("series") is not None:
        out["series"] = {"count": 0, **out["series"]}
    return out


def _renamed(
    obj: Object, names: Mapping[str, str], always: Mapping[str, Any], api_version: str
) -> Object:
    """``always``: members that this form writes even when they are empty; other empty ones it
    leaves out, but for objects that are pointers in Go (``related: {}``)."""
    out: Object = {
        **always,
        **{names.get(k, k): v for k, v in obj.items()},
        "apiVersion": api_version,
    }
    return {k: v for k, v in out.items() if k in always or v not in (None, "")}
