"""VolumeAttributesClass."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from apiserver.fielderrors import FieldErrors, forbidden, required
from apiserver.kinds.base import Kind, WriteContext
from apiserver.kinds.registration import register
from apiserver.kinds.storage.storageclass import parameter_errors, provisioner_errors
from apiserver.meta.objects import Object
from apiserver.meta.times import age


@register("storage.k8s.io", "VolumeAttributesClass")
class VolumeAttributesClass(Kind):
    returns_deleted = True
    generation = False

    def validate(self, obj: Object, context: WriteContext) -> FieldErrors:
        driver = obj.get("driverName", "")
        errors = list(provisioner_errors(driver, "driverName")) if driver else []
        if not driver:
            errors.append(required("driverName"))
        if not obj.get("parameters"):
            errors.append(required("parameters", "must contain at least one key/value pair"))
        return [*errors, *parameter_errors(obj.get("parameters"))]

    def validate_update(self, obj: Object, old: Object, context: WriteContext) -> FieldErrors:
        return [
            forbidden(name, f"updates to {name} are forbidden.")
            for name in ("driverName", "parameters")
            if (obj.get(name) or None) != (old.get(name) or None)
        ]

    def cells(self, obj: Object, version: str, now: datetime) -> list[Any]:
        metadata = obj["metadata"]
        driver = obj.get("driverName", "")
        return [metadata["name"], driver, age(metadata.get("creationTimestamp"), now)]
