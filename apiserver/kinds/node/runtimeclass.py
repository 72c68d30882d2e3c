"""RuntimeClass."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from apiserver.fielderrors import FieldErrors, FieldPath, GoSyntax, duplicate, required
from apiserver.kinds.base import Kind, WriteContext
from apiserver.kinds.common import checks as c
from apiserver.kinds.common import nodelabels, resources, scheduling
from apiserver.kinds.common.internal import quote
from apiserver.kinds.declarative import tags as t
from apiserver.kinds.declarative.declared import Declared
from apiserver.kinds.declarative.run import covered
from apiserver.kinds.registration import register
from apiserver.meta.objects import Object, seen_before
from apiserver.meta.times import age
from apiserver.schema.labelselector import validate_labels


@register("node.k8s.io", "RuntimeClass")
class RuntimeClass(Kind):
    allow_create_on_update = True
    allow_unconditional_update = False
    generation = False
    standard_finalizers = False
    declared = Declared(
        {
            "handler": [
                t.alpha(t.required()),
                t.alpha(t.immutable()),
                t.alpha(t.format("k8s-short-name")),
            ]
        }
    )

    def validate(self, obj: Object, context: WriteContext) -> FieldErrors:
        return list(_errors(obj))

    def validate_update(self, obj: Object, old: Object, context: WriteContext) -> FieldErrors:
        return list(
            covered(
                c.immutable(obj.get("handler"), old.get("handler"), FieldPath("handler")),
                "immutable",
            )
        )

    def warnings(self, obj: Object, old: Object | None, context: WriteContext) -> list[str]:
        chosen = (obj.get("scheduling") or {}).get("nodeSelector") or {}
        return [
            f"scheduling.nodeSelector: {nodelabels.DEPRECATED[key]}"
            for key in sorted(chosen)
            if key in nodelabels.DEPRECATED
        ]

    def cells(self, obj: Object, version: str, now: datetime) -> list[Any]:
        metadata = obj["metadata"]
        return [
            metadata["name"],
            obj.get("handler", ""),
            age(metadata.get("creationTimestamp"), now),
        ]


def _errors(obj: Object) -> c.Errors:
    if not obj.get("handler"):
        yield from covered([required("handler")])
    else:
        yield from covered(
            c.dns_label(obj["handler"], FieldPath("handler")), "format=k8s-short-name"
        )
    overhead = obj.get("overhead")
    if overhead is not None:
        yield from resources.requirements(
            {"limits": overhead.get("podFixed") or {}}, FieldPath("overhead")
        )
    plan, path = obj.get("scheduling"), FieldPath("scheduling")
    if plan is not None:
        yield from validate_labels(plan.get("nodeSelector"), path.child("nodeSelector"))
        tolerations = plan.get("tolerations") or []
        yield from scheduling.tolerations(tolerations, path.child("tolerations"))
        for i, (toleration, again) in enumerate(
            zip(tolerations, seen_before(map(_key, tolerations)), strict=True)
        ):
            if again:
                yield duplicate(path.child("tolerations").at(i), _quoted(toleration))


def _key(toleration: Object) -> tuple[str, ...]:
    """What makes two tolerations the same one: not how long they last."""
    return tuple(toleration.get(member) or "" for member in ("key", "operator", "value", "effect"))


def _quoted(toleration: Object) -> GoSyntax:
    return quote("core.v1.Toleration", toleration)
