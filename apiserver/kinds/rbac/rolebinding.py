"""RoleBinding: gives a role to subjects in one namespace."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from apiserver.fielderrors import FieldErrors
from apiserver.kinds.base import Kind, WriteContext
from apiserver.kinds.common import namerules
from apiserver.kinds.rbac.rules import (
    DECLARED_BINDING,
    GROUP,
    binding_errors,
    binding_update_errors,
    default_binding,
    subject_cells,
)
from apiserver.kinds.registration import register
from apiserver.meta.objects import Object
from apiserver.meta.times import age


@register(GROUP, "RoleBinding")
class RoleBinding(Kind):
    allow_create_on_update = True
    generation = False
    declared = DECLARED_BINDING
    name_rule = staticmethod(namerules.path_segment)

    def default(self, obj: Object, version: str) -> None:
        default_binding(obj)

    def validate(self, obj: Object, context: WriteContext) -> FieldErrors:
        return list(binding_errors(obj, namespaced=True))

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
