"""ObjectSearch: which objects have a text in them. Answered, never stored."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from apiserver.kinds.base import Kind
from apiserver.kinds.registration import register
from apiserver.meta.objects import Object

GROUP = "search.polyplane.dev"


@register(GROUP, "ObjectSearch")
class ObjectSearch(Kind):
    def cells(self, obj: Object, version: str, now: datetime) -> list[Any]:
        status = obj.get("status") or {}
        found, more = len(status.get("items") or ()), "continue" in status
        return [obj["spec"].get("text", ""), found, more, status.get("incomplete", False)]
