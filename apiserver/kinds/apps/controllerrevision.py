"""ControllerRevision: a snapshot that never changes (k8s.io/kubernetes ``registry/apps/controllerrevision``)."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from apiserver.fielderrors import FieldErrors, required
from apiserver.kinds.base import Kind, Object, WriteContext
from apiserver.kinds.common import checks, table
from apiserver.kinds.registration import register
from apiserver.meta.objects import controller_of


@register("apps", "ControllerRevision")
class ControllerRevision(Kind):
    generation = False

    def validate(self, obj: Object, context: WriteContext) -> FieldErrors:
        errors = [required(checks.root("data"), "data is mandatory")] if obj.get("data") is None else []
        return errors + list(checks.non_negative(obj.get("revision", 0), checks.root("revision")))

    def validate_update(self, obj: Object, old: Object, context: WriteContext) -> FieldErrors:
        return list(checks.immutable(obj.get("data"), old.get("data"), checks.root("data")))

    def cells(self, obj: Object, version: str, now: datetime) -> list[Any]:
        owner = controller_of(obj)
        shown = "<none>"
        if owner is not None:
            group = owner.get("apiVersion", "").rpartition("/")[0]
            kind = owner.get("kind", "").lower()
            shown = f"{kind}.{group}/{owner.get('name', '')}" if group else f"{kind}/{owner.get('name', '')}"
        return [table.name(obj), shown, obj.get("revision", 0), table.created(obj, now)]
