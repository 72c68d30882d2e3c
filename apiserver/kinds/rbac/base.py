"""What the two kinds of roles share, and the two kinds of bindings."""

from __future__ import annotations

from datetime import datetime
from typing import Any, ClassVar

from apiserver.fielderrors import FieldErrors
from apiserver.kinds.base import Kind, WriteContext
from apiserver.kinds.common import namerules
from apiserver.kinds.rbac.rules import (
    DECLARED_BINDING,
    DECLARED_ROLE,
    binding_errors,
    binding_update_errors,
    default_binding,
    rule_errors,
    subject_cells,
)
from apiserver.meta.objects import Object
from apiserver.meta.times import age


class RbacKind(Kind):
    """Names may hold anything that fits into a path (``system:node``)."""

    allow_create_on_update = True
    generation = False
    name_rule = staticmethod(namerules.path_segment)
    of_namespace: ClassVar[bool]
    """Whether it grants in its namespace, or everywhere."""


class RoleKind(RbacKind):
    declared = DECLARED_ROLE

    def default(self, obj: Object, version: str) -> None:
        obj.setdefault("rules", None)

    def validate(self, obj: Object, context: WriteContext) -> FieldErrors:
        return list(rule_errors(obj.get("rules"), namespaced=self.of_namespace))


class BindingKind(RbacKind):
    declared = DECLARED_BINDING

    def default(self, obj: Object, version: str) -> None:
        default_binding(obj)

    def validate(self, obj: Object, context: WriteContext) -> FieldErrors:
        return list(binding_errors(obj, namespaced=self.of_namespace))

    def validate_update(self, obj: Object, old: Object, context: WriteContext) -> FieldErrors:
        return list(binding_update_errors(obj, old))

    def cells(self, obj: Object, version: str, now: datetime) -> list[Any]:
        metadata, ref = obj["metadata"], obj["roleRef"]
        role = f"{ref.get('kind', '')}/{ref.get('name', '')}"
        return [
            metadata["name"],
            role,
            age(metadata.get("creationTimestamp"), now),
            *subject_cells(obj),
        ]
