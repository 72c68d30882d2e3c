"""ControllerRevision: a snapshot that never changes (k8s.io/kubernetes
``registry/apps/controllerrevision``)."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from apiserver.fielderrors import FieldErrors, GoSyntax, go_json, invalid, required
from apiserver.kinds.base import Kind, WriteContext
from apiserver.kinds.common import checks, table
from apiserver.kinds.registration import register
from apiserver.meta.objects import Object, controller_of
from apiserver.meta.raw import RawObject, compact


@register("apps", "ControllerRevision")
class ControllerRevision(Kind):
    generation = False
    raw_fields = ("data",)

    def validate(self, obj: Object, context: WriteContext) -> FieldErrors:
        return list(checks.non_negative(obj.get("revision", 0), checks.root("revision")))

    def validate_create(self, obj: Object, context: WriteContext) -> FieldErrors:
        data = obj.get("data")
        if data is None:
            return [required(checks.root("data"), "data is mandatory")]
        if not isinstance(data, dict):
            return [required(checks.root("data"), "data must be a valid JSON object")]
        return []

    def validate_update(self, obj: Object, old: Object, context: WriteContext) -> FieldErrors:
        """Another spelling is another value."""
        data = obj.get("data")
        if data == old.get("data"):
            return []
        text = compact(data.text) if isinstance(data, RawObject) else go_json(data)
        return [invalid(checks.root("data"), GoSyntax(text), checks.IMMUTABLE)]

    def cells(self, obj: Object, version: str, now: datetime) -> list[Any]:
        owner = controller_of(obj)
        controller = "<none>"
        if owner is not None:
            group = owner.get("apiVersion", "").rpartition("/")[0].lower()
            kind = owner.get("kind", "").lower()
            controller = (
                f"{kind}.{group}/{owner.get('name', '')}"
                if group
                else f"{kind}/{owner.get('name', '')}"
            )
        return [table.name(obj), controller, obj.get("revision", 0), table.created(obj, now)]
