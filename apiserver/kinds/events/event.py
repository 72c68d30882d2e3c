"""events.k8s.io/v1 Event: stricter on creation, and only its series may change."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from apiserver.fielderrors import FieldErrors, FieldPath, invalid, required
from apiserver.kinds.base import WriteContext
from apiserver.kinds.common import checks
from apiserver.kinds.common.eventforms import to_core, to_events
from apiserver.kinds.common.eventkind import EventKind
from apiserver.kinds.common.internal import quote
from apiserver.kinds.registration import register
from apiserver.meta.objects import Object

_UNSET = "needs to be unset"
_FIXED = (
    "involvedObject",
    "reason",
    "message",
    "source",
    "firstTimestamp",
    "lastTimestamp",
    "count",
    "reason",
    "type",
    "eventTime",
    "action",
    "related",
    "reportingController",
    "reportingInstance",
)
_STRUCTS = {
    "involvedObject": partial(quote, "core.v1.ObjectReference"),
    "related": partial(quote, "core.v1.ObjectReference"),
    "source": partial(quote, "core.v1.EventSource"),
}
_ZERO: Mapping[str, Any] = {
    "involvedObject": {},
    "source": {},
    "count": 0,
    **dict.fromkeys(("reason", "message", "type", "action"), ""),
    **dict.fromkeys(("reportingComponent", "reportingInstance"), ""),
}
"""What an absent member of the core form is; the others are null, and ``related: {}`` is not."""


@register("events.k8s.io", "Event")
class Event(EventKind):
    metadata_again = False

    def convert(self, obj: Object, to: str) -> Object:
        return {**to_events(obj)}

    def validate_create(self, obj: Object, context: WriteContext) -> FieldErrors:
        return list(_created(to_core(obj)))

    def validate_update(self, obj: Object, old: Object, context: WriteContext) -> FieldErrors:
        new, before = to_core(obj), to_core(old)
        errors = list(_series(new)) if new.get("series") != before.get("series") else []
        for field in _FIXED:
            member = "reportingComponent" if field == "reportingController" else field
            errors += checks.immutable(
                _member(new, member),
                _member(before, member),
                checks.root(field),
                quote=_STRUCTS.get(field),
            )
        return errors

    def field_alias(self, version: str, name: str) -> str:
        """Selectors use the new names; the fields are kept by the old ones."""
        if name.startswith("regarding."):
            return "involvedObject." + name.removeprefix("regarding.")
        return {
            "reportingController": "reportingComponent",
            "reason": "reason",
            "type": "type",
        }.get(name, "")


def _member(event: Object, name: str) -> Any:
    value = event.get(name)
    return _ZERO.get(name) if value is None else value


def _created(event: Object) -> checks.Errors:
    yield from _series(event)
    if not event.get("eventTime"):
        yield required(checks.root("eventTime"))
    if event.get("type") not in ("Normal", "Warning"):
        yield invalid(checks.root("type"), "", f"has invalid value: {event.get('type', '')}")
    source = event.get("source") or {}
    for field, value in (
        ("firstTimestamp", event.get("firstTimestamp")),
        ("lastTimestamp", event.get("lastTimestamp")),
        ("count", event.get("count")),
        ("source", source.get("component") or source.get("host")),
    ):
        if value:
            yield invalid(checks.root(field), "", _UNSET)


def _series(event: Object) -> checks.Errors:
    series = event.get("series")
    if series is None:
        return
    if series.get("count", 0) < 2:
        yield invalid(FieldPath("series.count"), "", "should be at least 2")
    if not series.get("lastObservedTime"):
        yield required(FieldPath("series.lastObservedTime"))
