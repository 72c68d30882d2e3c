"""StorageVersionMigration: the wish that all objects of a resource be stored in today's version.

Source: kubernetes ``pkg/apis/storagemigration/validation``, ``pkg/registry/storagemigration``.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from apiserver.fielderrors import FieldErrors, FieldPath, invalid, required
from apiserver.kinds.base import STATUS_KEEPS_METADATA, Kind, WriteContext
from apiserver.kinds.common import checks as c
from apiserver.kinds.common import metaconditions
from apiserver.kinds.common.internal import quote
from apiserver.kinds.registration import register
from apiserver.meta import names
from apiserver.meta.objects import Object

RUNNING, SUCCEEDED, FAILED = "Running", "Succeeded", "Failed"
_RESOURCE = FieldPath("spec.resource")
_CONDITIONS, _VERSION = FieldPath("status.conditions"), FieldPath("status.resourceVersion")


@register("storagemigration.k8s.io", "StorageVersionMigration")
class StorageVersionMigration(Kind):
    allow_unconditional_update = False
    generation = False
    status = True
    status_keeps = STATUS_KEEPS_METADATA

    def validate(self, obj: Object, context: WriteContext) -> FieldErrors:
        return list(_resource(_spec_resource(obj)))

    def validate_update(self, obj: Object, old: Object, context: WriteContext) -> FieldErrors:
        def quoted_spec(spec: Any) -> Any:
            return quote("storagemigration.v1beta1.StorageVersionMigrationSpec", spec)

        new, before = _spec(obj), _spec(old)
        return list(c.immutable(new, before, FieldPath("spec"), quote=quoted_spec))

    def validate_status_update(
        self, obj: Object, old: Object, context: WriteContext
    ) -> FieldErrors:
        conditions = metaconditions.conditions_of(obj)
        return [
            *_version(_seen_at(obj), _seen_at(old)),
            *metaconditions.validate(conditions, _CONDITIONS),
            *(
                invalid(_CONDITIONS, metaconditions.quoted_list(conditions), why)
                for why in _contradictions(obj, old)
            ),
        ]

    def cells(self, obj: Object, version: str, now: datetime) -> list[Any]:
        resource = _spec_resource(obj)
        parts = [resource.get("resource", ""), resource.get("group", "")]
        states = (RUNNING, FAILED, SUCCEEDED)
        reached = [
            x["type"]
            for x in metaconditions.conditions_of(obj)
            if x.get("type") in states and x.get("status") == "True"
        ]
        return [
            obj["metadata"]["name"],
            ".".join(part for part in parts if part),
            reached[-1] if reached else "Unknown",
        ]


def _spec(obj: Object) -> Object:
    """With what Go adds."""
    resource = _spec_resource(obj)
    return {"resource": {m: resource.get(m, "") for m in ("group", "resource")}}


def _spec_resource(obj: Object) -> Object:
    return (obj.get("spec") or {}).get("resource") or {}


def _seen_at(obj: Object) -> str:
    text: str = (obj.get("status") or {}).get("resourceVersion") or ""
    return text


def _resource(resource: Object) -> c.Errors:
    """Group and name as an APIService and a definition have them."""
    name, group = resource.get("resource") or "", resource.get("group") or ""
    path = _RESOURCE.child("resource")
    if not name:
        yield required(path, "resource is required to be set")
    elif texts := names.dns1035_label(name):
        yield invalid(path, name, ",".join(texts))
    if group and (texts := names.dns1123_subdomain(group)):
        yield invalid(_RESOURCE.child("group"), group, ",".join(texts))


def _version(new: str, old: str) -> c.Errors:
    """Absent until the migration begins, the same from then on."""
    if new and (not (new.isascii() and new.isdigit()) or new.startswith("0")):
        yield invalid(_VERSION, new, f"resource version is not well formed: {new}")
    if old and new != old:
        yield invalid(_VERSION, new, c.IMMUTABLE)


def _contradictions(obj: Object, old: Object) -> list[str]:
    """A migration that has ended stays ended, one way or the other; whether it says that it runs
    does not matter."""
    succeeded, failed = (metaconditions.holds(obj, kind) for kind in (SUCCEEDED, FAILED))
    contradictions = {
        "Both success and failed conditions cannot be true at the same time": succeeded and failed,
        "Success condition cannot be set to false once it is true": (
            metaconditions.holds(old, SUCCEEDED) and not succeeded
        ),
        "Failed condition cannot be set to false once it is true": (
            metaconditions.holds(old, FAILED) and not failed
        ),
    }
    return [why for why, is_so in contradictions.items() if is_so]
