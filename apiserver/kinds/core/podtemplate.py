"""PodTemplate."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from apiserver.fielderrors import FieldErrors
from apiserver.kinds.base import Kind, WriteContext
from apiserver.kinds.common import (
    checks,
    disabled,
    poddefaults,
    podwarnings,
    selectors,
    table,
    templates,
)
from apiserver.kinds.registration import register
from apiserver.meta.objects import Object


@register("", "PodTemplate")
class PodTemplate(Kind):
    metadata_again = False
    returns_deleted = True
    takes_of_old = False

    def default(self, obj: Object, version: str) -> None:
        poddefaults.default_template(obj.setdefault("template", {}))

    def prepare_create(self, obj: Object, context: WriteContext) -> None:
        disabled.drop(obj["template"]["spec"])
        super().prepare_create(obj, context)

    def prepare_update(self, obj: Object, old: Object, context: WriteContext) -> None:
        disabled.drop(obj["template"]["spec"])
        super().prepare_update(obj, old, context)

    def count_generation(self, obj: Object, old: Object) -> None:
        if obj["template"] != old["template"]:
            obj["metadata"]["generation"] = old["metadata"].get("generation", 0) + 1

    def validate(self, obj: Object, context: WriteContext) -> FieldErrors:
        return list(templates.pod_template(obj["template"], checks.root("template")))

    def warnings(self, obj: Object, old: Object | None, context: WriteContext) -> list[str]:
        """About the template, again whenever an update raises the generation."""
        if old is not None and obj["metadata"].get("generation") == old["metadata"].get(
            "generation"
        ):
            return []
        return podwarnings.template(obj.get("template"), checks.root("template"))

    def cells(self, obj: Object, version: str, now: datetime) -> list[Any]:
        template = obj.get("template") or {}
        labels = (template.get("metadata") or {}).get("labels")
        return [
            table.name(obj),
            *table.containers(template.get("spec") or {}),
            selectors.show_labels(labels),
        ]
