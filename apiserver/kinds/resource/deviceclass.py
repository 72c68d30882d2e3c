"""DeviceClass."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from apiserver.kinds.base import Kind, Object
from apiserver.kinds.common.volumesources import csi_driver_name
from apiserver.kinds.declarative import tags as t
from apiserver.kinds.declarative.declared import Declared
from apiserver.kinds.declarative.run import NAME_RULES
from apiserver.kinds.registration import register
from apiserver.meta.times import age


@register("resource.k8s.io", "DeviceClass")
class DeviceClass(Kind):
    declared = Declared(
        {
            "metadata": NAME_RULES,
            "spec.selectors": [t.optional(), t.max_items(32)],
            "spec.config": [t.optional(), t.max_items(32)],
            "spec.config[*].opaque.driver": [t.custom(csi_driver_name)],
            "spec.extendedResourceName": [t.optional(), t.format("k8s-extended-resource-name")],
        }
    )

    def cells(self, obj: Object, version: str, now: datetime) -> list[Any]:
        metadata = obj["metadata"]
        return [metadata["name"], age(metadata.get("creationTimestamp"), now)]
