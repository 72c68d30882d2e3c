"""Binding: puts a pod on a node (``pods/<name>/binding``)."""

from __future__ import annotations

from apiserver.fielderrors import FieldErrors, not_supported, required
from apiserver.kinds.base import Kind, WriteContext
from apiserver.kinds.registration import register
from apiserver.meta.objects import Object


@register("", "Binding")
class Binding(Kind):
    generation = False

    def validate(self, obj: Object, context: WriteContext) -> FieldErrors:
        target = obj.get("target") or {}
        errors: FieldErrors = []
        if target.get("kind") and target["kind"] != "Node":
            errors.append(not_supported("target.kind", target["kind"], ["Node", "<empty>"]))
        if not target.get("name"):
            errors.append(required("target.name"))
        return errors
