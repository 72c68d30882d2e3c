"""ResourceClaimTemplate."""

from __future__ import annotations

from datetime import datetime
from functools import partial
from typing import Any

from apiserver.fielderrors import FieldErrors, FieldPath
from apiserver.kinds.base import Kind, WriteContext
from apiserver.kinds.common import checks as c
from apiserver.kinds.common.alike import alike
from apiserver.kinds.common.claims import template_metadata
from apiserver.kinds.common.internal import quote
from apiserver.kinds.declarative.declared import Declared
from apiserver.kinds.declarative.tree import under
from apiserver.kinds.registration import register
from apiserver.kinds.resource.requests import CLAIM_RULES, claim_errors, default_claim
from apiserver.meta.objects import Object
from apiserver.meta.times import age


@register("resource.k8s.io", "ResourceClaimTemplate")
class ResourceClaimTemplate(Kind):
    returns_deleted = True
    generation = False
    raw_fields = ("spec.spec.devices.config[].opaque.parameters",)
    declared = Declared(under("spec.spec", CLAIM_RULES))

    def default(self, obj: Object, version: str) -> None:
        default_claim(obj.setdefault("spec", {}).setdefault("spec", {}))

    def validate(self, obj: Object, context: WriteContext) -> FieldErrors:
        spec, path = obj.get("spec") or {}, FieldPath("spec")
        return [
            *template_metadata(spec.get("metadata") or {}, path.child("metadata")),
            *claim_errors(spec.get("spec") or {}, path.child("spec")),
        ]

    def validate_update(self, obj: Object, old: Object, context: WriteContext) -> FieldErrors:
        spec, quoted = (
            obj.get("spec") or {},
            partial(quote, "resource.v1.ResourceClaimTemplateSpec"),
        )
        same, before = (
            partial(alike, "resource.v1.ResourceClaimTemplateSpec"),
            old.get("spec") or {},
        )
        return list(c.immutable(spec, before, FieldPath("spec"), quote=quoted, same=same))

    def cells(self, obj: Object, version: str, now: datetime) -> list[Any]:
        metadata = obj["metadata"]
        return [metadata["name"], age(metadata.get("creationTimestamp"), now)]
