"""ComponentStatus: made up on the fly, never stored."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from apiserver.kinds.base import Kind
from apiserver.kinds.registration import register
from apiserver.meta.objects import Object


@register("", "ComponentStatus")
class ComponentStatus(Kind):
    generation = False

    def cells(self, obj: Object, version: str, now: datetime) -> list[Any]:
        healthy = next((x for x in obj.get("conditions") or [] if x.get("type") == "Healthy"), None)
        if healthy is None:
            return [obj["metadata"]["name"], "Unknown", "", ""]
        status = "Healthy" if healthy.get("status") == "True" else "Unhealthy"
        return [
            obj["metadata"]["name"],
            status,
            healthy.get("message", ""),
            healthy.get("error", ""),
        ]
