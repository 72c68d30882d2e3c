"""core/v1 Event."""

from __future__ import annotations

from apiserver.kinds.base import Object
from apiserver.kinds.common.eventforms import to_core
from apiserver.kinds.common.eventkind import EventKind
from apiserver.kinds.registration import register


@register("", "Event")
class Event(EventKind):
    def convert(self, obj: Object, to: str) -> Object:
        return {**to_core(obj)}
