"""DependentReview: who names an object as its owner. Answered, never stored."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from apiserver.kinds.base import Kind
from apiserver.kinds.registration import register
from apiserver.meta.objects import Object

GROUP = "relations.polyplane.dev"


@register(GROUP, "DependentReview")
class DependentReview(Kind):
    def cells(self, obj: Object, version: str, now: datetime) -> list[Any]:
        status = obj.get("status") or {}
        count = len(status.get("dependents") or ())
        return [obj["spec"].get("uid", ""), count, status.get("incomplete", False)]
