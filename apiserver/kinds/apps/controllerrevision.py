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


@register("apps", "ControllerRevision")
class ControllerRevision(Kind):
    generation = False

    def validate(self, obj: Object, context: WriteContext) -> FieldErrors:
        data, errors = obj.get("data"), []
        if data is None:
            errors = [required(checks.root("data"), "data is mandatory")]
        elif not isinstance(data, dict):
            errors = [required(checks.root("data"), "data must be a valid JSON object")]
        return errors + list(checks.non_negative(obj.get("revision", 0), checks.root("revision")))

    def validate_update(self, obj: Object, old: Object, context: WriteContext) -> FieldErrors:
        """Quoted with its members as they were sent."""
        if obj.get("data") == old.get("data"):
            return []
        data_text = GoSyntax(go_json(obj.get("data")))
        return [invalid(checks.root("data"), data_text, checks.IMMUTABLE)]

    def cells(self, obj: Object, version: str, now: datetime) -> list[Any]:
        owner = controller_of(obj)
        controller = "<none>"
        if owner is not None:
            group = owner.get("apiVersion", "").rpartition("/")[0]
            kind = owner.get("kind", "").lower()
            controller = (
                f"{kind}.{group}/{owner.get('name', '')}"
                if group
                else f"{kind}/{owner.get('name', '')}"
            )
        return [table.name(obj), controller, obj.get("revision", 0), table.created(obj, now)]
