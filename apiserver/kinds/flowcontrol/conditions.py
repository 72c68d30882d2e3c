"""The status of flow-control objects: nobody sets it with a create, and no two conditions have the
same type."""

from __future__ import annotations

from apiserver.fielderrors import FieldErrors, FieldPath, duplicate, required
from apiserver.kinds.base import STATUS_KEEPS_METADATA, Kind, WriteContext
from apiserver.kinds.common import checks as c
from apiserver.meta.objects import Object


class FlowControlKind(Kind):
    metadata_update = False
    status = True
    status_keeps = ("generateName", *STATUS_KEEPS_METADATA)

    def prepare_create(self, obj: Object, context: WriteContext) -> None:
        super().prepare_create(obj, context)
        obj["status"] = {}

    def validate_status_update(
        self, obj: Object, old: Object, context: WriteContext
    ) -> FieldErrors:
        return list(_condition_errors(obj))


def _condition_errors(obj: Object) -> c.Errors:
    seen: set[str] = set()
    for i, condition in enumerate((obj.get("status") or {}).get("conditions") or []):
        path, kind = FieldPath("status.conditions").at(i), condition.get("type", "")
        if not kind:
            yield required(path.child("type"))
        if kind in seen:
            yield duplicate(path.child("type"), kind)
        seen.add(kind)
