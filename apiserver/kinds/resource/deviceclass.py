"""DeviceClass."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from apiserver.kinds.base import Kind, Object
from apiserver.kinds.registration import register
from apiserver.meta.times import age


@register("resource.k8s.io", "DeviceClass")
class DeviceClass(Kind):
    def cells(self, obj: Object, version: str, now: datetime) -> list[Any]:
        metadata = obj["metadata"]
        return [metadata["name"], age(metadata.get("creationTimestamp"), now)]
