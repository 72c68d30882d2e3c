"""core/v1 Event."""

from __future__ import annotations

from apiserver.fielderrors import FieldPath
from apiserver.kinds.common.eventforms import to_core
from apiserver.kinds.common.eventkind import EventKind
from apiserver.kinds.registration import register
from apiserver.meta.objects import Object


@register("", "Event")
class Event(EventKind):
    controller_path = FieldPath("reportingComponent")
    metadata_create = False
    metadata_update = False
    metadata_again = False

    def convert(self, obj: Object, to: str) -> Object:
        return {**to_core(obj)}
