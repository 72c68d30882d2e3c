"""VolumeAttributesClass."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from apiserver.fielderrors import FieldErrors, FieldPath, required
from apiserver.kinds.base import Kind, Object, WriteContext
from apiserver.kinds.common import checks as c
from apiserver.kinds.common.volumesources import csi_driver_name
from apiserver.kinds.registration import register
from apiserver.kinds.storage.storageclass import parameter_errors
from apiserver.meta.times import age

_DEFAULT = "volumeattributesclass.alpha.kubernetes.io/is-default-class"


@register("storage.k8s.io", "VolumeAttributesClass")
class VolumeAttributesClass(Kind):
    returns_deleted = True
    generation = False

    def validate(self, obj: Object, context: WriteContext) -> FieldErrors:
        errors = list(csi_driver_name(obj.get("driverName", ""), FieldPath("driverName")))
        if not obj.get("parameters"):
            errors.append(required("parameters", "must contain at least one key/value pair"))
        return [*errors, *parameter_errors(obj.get("parameters"), 512)]

    def validate_update(self, obj: Object, old: Object, context: WriteContext) -> FieldErrors:
        return [e for name in ("driverName", "parameters") for e in c.immutable(obj.get(name), old.get(name), FieldPath(name))]

    def cells(self, obj: Object, version: str, now: datetime) -> list[Any]:
        metadata = obj["metadata"]
        default = (metadata.get("annotations") or {}).get(_DEFAULT) == "true"
        name = f"{metadata['name']} (default)" if default else metadata["name"]
        return [name, obj.get("driverName", ""), age(metadata.get("creationTimestamp"), now)]
