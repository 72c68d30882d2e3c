"""RuntimeClass."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from apiserver.fielderrors import FieldErrors, FieldPath, GoSyntax, duplicate, required
from apiserver.kinds.base import Kind, Object, WriteContext
from apiserver.kinds.common import checks as c
from apiserver.kinds.common import resources, scheduling
from apiserver.kinds.common.gostruct import show
from apiserver.kinds.registration import register
from apiserver.meta.times import age


@register("node.k8s.io", "RuntimeClass")
class RuntimeClass(Kind):
    allow_unconditional_update = False
    generation = False

    def validate(self, obj: Object, context: WriteContext) -> FieldErrors:
        return list(_errors(obj))

    def validate_update(self, obj: Object, old: Object, context: WriteContext) -> FieldErrors:
        return list(c.immutable(obj.get("handler"), old.get("handler"), FieldPath("handler")))

    def cells(self, obj: Object, version: str, now: datetime) -> list[Any]:
        metadata = obj["metadata"]
        return [metadata["name"], obj.get("handler", ""), age(metadata.get("creationTimestamp"), now)]


def _errors(obj: Object) -> c.Errors:
    if not obj.get("handler"):
        yield required("handler")
    else:
        yield from c.dns_label(obj["handler"], FieldPath("handler"))
    overhead = obj.get("overhead")
    if overhead is not None:
        yield from resources.requirements({"limits": overhead.get("podFixed") or {}}, FieldPath("overhead"))
    plan, path = obj.get("scheduling"), FieldPath("scheduling")
    if plan is not None:
        yield from c.labels(plan.get("nodeSelector"), path.child("nodeSelector"))
        tolerations = plan.get("tolerations") or []
        yield from scheduling.tolerations(tolerations, path.child("tolerations"))
        for i, toleration in enumerate(tolerations):
            if toleration in tolerations[:i]:
                yield duplicate(path.child("tolerations").at(i), _shown(toleration))


def _shown(toleration: Object) -> GoSyntax:
    members = ("key", "operator", "value", "effect", "tolerationSeconds")
    return show(toleration, members, key="", operator="", value="", effect="")
