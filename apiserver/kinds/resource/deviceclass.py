"""DeviceClass."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from apiserver.fielderrors import FieldErrors, FieldPath, invalid
from apiserver.kinds.base import Kind, WriteContext
from apiserver.kinds.common import checks as c
from apiserver.kinds.common.namerules import long_name
from apiserver.kinds.common.resources import is_extended
from apiserver.kinds.declarative import tags as t
from apiserver.kinds.declarative.declared import Declared
from apiserver.kinds.declarative.run import NAME_RULES, covered
from apiserver.kinds.registration import register
from apiserver.kinds.resource import devices as d
from apiserver.kinds.resource.requests import OPAQUE_DRIVER, at_most
from apiserver.meta.objects import Object
from apiserver.meta.times import age

_EXTENDED = "k8s-extended-resource-name"


@register("resource.k8s.io", "DeviceClass")
class DeviceClass(Kind):
    returns_deleted = True
    name_rule = staticmethod(long_name)
    raw_fields = ("spec.config[].opaque.parameters",)
    declared = Declared(
        {
            "metadata": NAME_RULES,
            "spec.selectors": at_most(32),
            "spec.config": at_most(d.MOST_CONFIGS),
            "spec.config[*].opaque.driver": OPAQUE_DRIVER,
            "spec.extendedResourceName": [t.alpha(t.optional()), t.alpha(t.format(_EXTENDED))],
        }
    )

    def validate(self, obj: Object, context: WriteContext) -> FieldErrors:
        return list(_errors(obj.get("spec") or {}, FieldPath("spec")))

    def cells(self, obj: Object, version: str, now: datetime) -> list[Any]:
        metadata = obj["metadata"]
        return [metadata["name"], age(metadata.get("creationTimestamp"), now)]


def _errors(spec: Object, path: FieldPath) -> c.Errors:
    yield from d.selectors(spec.get("selectors"), path.child("selectors"))
    yield from d.each(spec.get("config"), d.MOST_CONFIGS, d.configuration, path.child("config"))
    extended = spec.get("extendedResourceName")
    if extended is not None and not is_extended(extended):
        wrong = invalid(
            path.child("extendedResourceName"), extended, "must be a valid extended resource name"
        )
        yield from covered([wrong], f"format={_EXTENDED}")
