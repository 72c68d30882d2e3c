"""PodDisruptionBudget."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from apiserver.fielderrors import FieldErrors, FieldPath, GoSyntax, invalid
from apiserver.kinds.base import Kind, WriteContext
from apiserver.kinds.common import checks as c
from apiserver.kinds.common import metaconditions
from apiserver.kinds.common.internal import quote
from apiserver.kinds.declarative import tags as t
from apiserver.kinds.declarative.declared import Declared
from apiserver.kinds.registration import register
from apiserver.meta.objects import Object
from apiserver.meta.times import age
from apiserver.schema.labelselector import validate_label_selector

_MATCHES_ALL = "pdb.kubernetes.io/deprecated-v1beta1-empty-selector-match"
"""The key with which v1beta1's selectors that select nothing, or everything, are told from v1's."""
_COUNTS = ("disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods")


def _one_bound(spec: Object, path: FieldPath) -> c.Errors:
    if spec.get("minAvailable") is not None and spec.get("maxUnavailable") is not None:
        yield invalid(path, _quoted(spec), "minAvailable and maxUnavailable cannot be both set")


def _pods(value: int | str, path: FieldPath) -> c.Errors:
    yield from c.percent_or_number(value, path)
    yield from c.not_above_100_percent(value, path)


def _selects_nothing(selector: Object) -> bool:
    """In the words that v1beta1's empty selector was carried over with."""
    given = {k: v for k, v in selector.items() if v}
    (first, *more) = given.pop("matchExpressions")
    words = {"key": _MATCHES_ALL, "operator": "Exists"}
    return not more and not given and {k: v for k, v in first.items() if v} == words


def _quoted(spec: Object) -> GoSyntax:
    return quote("policy.v1.PodDisruptionBudgetSpec", spec)


@register("policy", "PodDisruptionBudget")
class PodDisruptionBudget(Kind):
    metadata_create = False
    metadata_update = False
    metadata_again = False
    allow_unconditional_update = False
    status = True
    declared = Declared(
        {
            "": [t.supports_subresource("/status")],
            "spec": [t.custom(_one_bound)],
            "spec.minAvailable": [t.optional(), t.custom(_pods)],
            "spec.maxUnavailable": [t.optional(), t.custom(_pods)],
            "spec.selector": [t.optional(), t.custom(validate_label_selector)],
            "spec.unhealthyPodEvictionPolicy": [
                t.optional(),
                t.enum("AlwaysAllow", "IfHealthyBudget"),
            ],
            **{f"status.{count}": [t.minimum(0)] for count in _COUNTS},
        }
    )

    def default(self, obj: Object, version: str) -> None:
        selector = (obj.get("spec") or {}).get("selector") or {}
        expressions = selector.get("matchExpressions") or []
        left = [x for x in expressions if x.get("key") != _MATCHES_ALL]
        if len(left) == len(expressions) or _selects_nothing(selector):
            return
        if left:
            selector["matchExpressions"] = left
        else:
            del selector["matchExpressions"]

    def prepare_create(self, obj: Object, context: WriteContext) -> None:
        super().prepare_create(obj, context)
        obj["status"] = dict.fromkeys(_COUNTS, 0)

    def validate_status_update(
        self, obj: Object, old: Object, context: WriteContext
    ) -> FieldErrors:
        conditions = metaconditions.conditions_of(obj)
        return list(metaconditions.validate(conditions, FieldPath("status.conditions")))

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
