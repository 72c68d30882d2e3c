"""ResourceSlice."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from apiserver.fielderrors import FieldErrors, FieldPath, invalid, required
from apiserver.kinds.base import Kind, Object, WriteContext
from apiserver.kinds.common import checks as c
from apiserver.kinds.common.volumesources import csi_driver_name
from apiserver.kinds.registration import register
from apiserver.meta.times import age

_SPEC = FieldPath("spec")


@register("resource.k8s.io", "ResourceSlice")
class ResourceSlice(Kind):
    def validate(self, obj: Object, context: WriteContext) -> FieldErrors:
        return list(_errors(obj.get("spec") or {}))

    def validate_update(self, obj: Object, old: Object, context: WriteContext) -> FieldErrors:
        new, before = obj.get("spec") or {}, old.get("spec") or {}
        errors = [e for name in ("driver", "nodeName") for e in c.immutable(new.get(name), before.get(name), _SPEC.child(name))]
        pools = [(s.get("pool") or {}).get("name") for s in (new, before)]
        return [*errors, *c.immutable(pools[0], pools[1], _SPEC.child("pool", "name"))]

    def fields(self, obj: Object) -> Mapping[str, str]:
        spec = obj.get("spec") or {}
        return {"spec.nodeName": spec.get("nodeName") or "", "spec.driver": spec.get("driver", "")}

    def cells(self, obj: Object, version: str, now: datetime) -> list[Any]:
        metadata, spec = obj["metadata"], obj.get("spec") or {}
        pool = (spec.get("pool") or {}).get("name", "")
        return [metadata["name"], spec.get("nodeName") or "", spec.get("driver", ""), pool, age(metadata.get("creationTimestamp"), now)]


def _errors(spec: Object) -> c.Errors:
    yield from csi_driver_name(spec.get("driver", ""), _SPEC.child("driver"))
    pool, path = spec.get("pool") or {}, _SPEC.child("pool")
    if not pool.get("name"):
        yield required(path.child("name"))
    if pool.get("resourceSliceCount", 0) <= 0:
        yield invalid(path.child("resourceSliceCount"), pool.get("resourceSliceCount", 0), c.NOT_POSITIVE)
    yield from c.non_negatives(pool, path, "generation")
    chosen = [m for m in ("nodeName", "nodeSelector", "allNodes", "perDeviceNodeSelection") if spec.get(m)]
    options = "`nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection`"
    if not chosen:
        yield required(_SPEC, f"exactly one of {options} is required")
    elif len(chosen) > 1:
        shown = f"{{{', '.join(chosen)}}}"
        yield invalid(_SPEC, shown, f"exactly one of {options} is required, but multiple fields are set")
    if spec.get("nodeName"):
        yield from c.dns_subdomain(spec["nodeName"], _SPEC.child("nodeName"))
