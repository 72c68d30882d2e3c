"""PodDisruptionBudget."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from apiserver.fielderrors import FieldErrors, FieldPath, GoSyntax, invalid
from apiserver.kinds.base import Kind, Object, WriteContext
from apiserver.kinds.common import checks as c
from apiserver.kinds.common import selectors
from apiserver.kinds.common.gostruct import show
from apiserver.kinds.registration import register
from apiserver.meta.times import age

_SPEC = FieldPath("spec")
_COUNTS = ("disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods")


@register("policy", "PodDisruptionBudget")
class PodDisruptionBudget(Kind):
    allow_unconditional_update = False
    status = True

    def prepare_create(self, obj: Object, context: WriteContext) -> None:
        super().prepare_create(obj, context)
        obj["status"] = dict.fromkeys(_COUNTS, 0)

    def validate(self, obj: Object, context: WriteContext) -> FieldErrors:
        return list(_errors(obj.get("spec") or {}))

    def validate_status_update(self, obj: Object, old: Object, context: WriteContext) -> FieldErrors:
        return list(c.non_negatives(obj.get("status") or {}, FieldPath("status"), *_COUNTS))

    def cells(self, obj: Object, version: str, now: datetime) -> list[Any]:
        metadata, spec = obj["metadata"], obj.get("spec") or {}
        least, most = spec.get("minAvailable"), spec.get("maxUnavailable")
        return [
            metadata["name"],
            "N/A" if least is None else str(least),
            "N/A" if most is None else str(most),
            (obj.get("status") or {}).get("disruptionsAllowed", 0),
            age(metadata.get("creationTimestamp"), now),
        ]


def _errors(spec: Object) -> c.Errors:
    least, most = spec.get("minAvailable"), spec.get("maxUnavailable")
    if least is not None and most is not None:
        yield invalid(_SPEC, _shown(spec), "minAvailable and maxUnavailable cannot be both set")
    for name, value in (("minAvailable", least), ("maxUnavailable", most)):
        yield from c.percent_or_number(value, _SPEC.child(name))
        yield from c.not_above_100_percent(value, _SPEC.child(name))
    yield from selectors.validate(spec.get("selector"), _SPEC.child("selector"))
    policies = ["AlwaysAllow", "IfHealthyBudget"]
    yield from c.optional_one_of(spec.get("unhealthyPodEvictionPolicy"), _SPEC.child("unhealthyPodEvictionPolicy"), policies)


def _shown(spec: Object) -> GoSyntax:
    return show(spec, ("minAvailable", "selector", "maxUnavailable", "unhealthyPodEvictionPolicy"))
