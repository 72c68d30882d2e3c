"""Role: rules in one namespace."""

from __future__ import annotations

from apiserver.fielderrors import FieldErrors
from apiserver.kinds.base import Kind, WriteContext
from apiserver.kinds.common import namerules
from apiserver.kinds.rbac.rules import DECLARED_ROLE, GROUP, rule_errors
from apiserver.kinds.registration import register
from apiserver.meta.objects import Object


@register(GROUP, "Role")
class Role(Kind):
    allow_create_on_update = True
    generation = False
    declared = DECLARED_ROLE
    name_rule = staticmethod(namerules.path_segment)

    def default(self, obj: Object, version: str) -> None:
        obj.setdefault("rules", None)

    def validate(self, obj: Object, context: WriteContext) -> FieldErrors:
        return list(rule_errors(obj.get("rules"), namespaced=True))
