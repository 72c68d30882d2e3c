"""ObjectCount: how many objects there are of each resource. Answered, never stored."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from apiserver.kinds.base import Kind
from apiserver.kinds.registration import register
from apiserver.meta.objects import Object

GROUP = "search.polyplane.dev"


@register(GROUP, "ObjectCount")
class ObjectCount(Kind):
    def cells(self, obj: Object, version: str, now: datetime) -> list[Any]:
        spec, status = obj.get("spec") or {}, obj.get("status") or {}
        counted, hidden = (len(status.get(name) or ()) for name in ("counts", "hidden"))
        return [spec.get("namespace", ""), counted, hidden]
