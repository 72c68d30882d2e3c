"""What core events and events.k8s.io events share: rules on the core form, table, selectable
fields.

Source: k8s.io/kubernetes ``apis/core/validation/events.go``, ``registry/core/event``.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from apiserver.fielderrors import FieldErrors, FieldPath, invalid, required
from apiserver.kinds.base import Kind, WriteContext
from apiserver.kinds.common import checks
from apiserver.kinds.common.eventforms import to_core
from apiserver.meta import names
from apiserver.meta.objects import Object
from apiserver.meta.times import age

_OBJECT_FIELDS = ("kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath")
_LONG = 128


class EventKind(Kind):
    """Events of both groups. A PUT creates. controller_path: what errors call the reporting
    controller; it is the only field that is named as in the group of the request."""

    controller_path = FieldPath("reportingController")
    generation = False
    allow_create_on_update = True
    dependents = "none"

    def validate(self, obj: Object, context: WriteContext) -> FieldErrors:
        return list(_sensible(to_core(obj), self.controller_path))

    def cells(self, obj: Object, version: str, now: datetime) -> list[Any]:
        event = to_core(obj)
        metadata, target, source = (
            event["metadata"],
            event.get("involvedObject") or {},
            event.get("source") or {},
        )
        series, when = event.get("series"), event.get("eventTime")
        first = age(event.get("firstTimestamp") or when, now)
        last = age(event.get("lastTimestamp"), now) if event.get("lastTimestamp") else first
        count = event.get("count", 0)
        if series is not None:
            last, count = age(series.get("lastObservedTime"), now), series.get("count", 0)
        elif count == 0:
            count = 1
        name = target.get("name", "")
        what = target.get("kind", "").lower()
        return [
            last,
            event.get("type", ""),
            event.get("reason", ""),
            f"{what}/{name}" if name else what,
            target.get("fieldPath", ""),
            _source(source, event),
            event.get("message", "").strip(),
            first,
            count,
            metadata.get("name", ""),
        ]

    def fields(self, obj: Object) -> Mapping[str, str]:
        event = to_core(obj)
        target, source = event.get("involvedObject") or {}, event.get("source") or {}
        selectable = {
            f"involvedObject.{field}": str(target.get(field, "")) for field in _OBJECT_FIELDS
        }
        component = event.get("reportingComponent", "")
        return selectable | {
            "reason": event.get("reason", ""),
            "reportingComponent": component,
            "source": source.get("component", "") or component,
            "type": event.get("type", ""),
        }


def _source(source: Mapping[str, Any], event: Object) -> str:
    component = source.get("component", "") or event.get("reportingComponent", "")
    instance = source.get("host", "") or event.get("reportingInstance", "")
    return f"{component}, {instance}" if instance else component


def _sensible(event: Object, controller_path: FieldPath) -> checks.Errors:
    """Rules for events of both forms."""
    own, target = (
        event["metadata"].get("namespace", ""),
        (event.get("involvedObject") or {}).get("namespace", ""),
    )
    if event.get("eventTime"):
        wrong = not target and own not in ("default", "kube-system")
    else:
        wrong = target != own if target else own not in ("", "default")
    if wrong:
        yield invalid(
            checks.root("involvedObject", "namespace"), target, "does not match event.namespace"
        )
    if event.get("eventTime"):
        yield from _new_style(event, controller_path)
    yield from checks.dns_subdomain(own, checks.root("namespace"))


def _new_style(event: Object, controller_path: FieldPath) -> checks.Errors:
    """What an event with an eventTime must say."""
    controller = event.get("reportingComponent", "")
    if not controller:
        yield required(controller_path)
    yield from checks.rule(controller, controller_path, names.qualified_name)
    for field in ("reportingInstance", "action", "reason"):
        if not event.get(field):
            yield required(checks.root(field))
        elif len(event[field].encode()) > _LONG:
            yield invalid(checks.root(field), "", f"can have at most {_LONG} characters")
    if len(event.get("message", "").encode()) > 1024:
        yield invalid(checks.root("message"), "", "can have at most 1024 characters")
