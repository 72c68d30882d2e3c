"""HorizontalPodAutoscaler, v1 and v2, stored as v2 (k8s.io/kubernetes
``registry/autoscaling/horizontalpodautoscaler``)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from apiserver.fielderrors import FieldErrors, invalid, required
from apiserver.kinds.autoscaling import amounts, behavior, metrics
from apiserver.kinds.autoscaling.annotations import ANNOTATIONS, BEHAVIOR
from apiserver.kinds.autoscaling.conversion import CPU_TARGET, cpu_metric, to_v1, to_v2
from apiserver.kinds.autoscaling.targets import show_targets
from apiserver.kinds.base import Kind, WriteContext
from apiserver.kinds.common import checks, table
from apiserver.kinds.common.objectmeta import drop_annotations, without_annotations
from apiserver.kinds.declarative import tags as t
from apiserver.kinds.declarative.declared import Declared
from apiserver.kinds.declarative.run import covered
from apiserver.kinds.registration import register
from apiserver.meta.objects import Object

SPEC = checks.root("spec")
Prepare = Callable[[Object, Object, WriteContext], None]


@register("autoscaling", "HorizontalPodAutoscaler")
class HorizontalPodAutoscaler(Kind):
    metadata_again = False
    takes_of_old = False
    status = True
    generation = False
    declared = Declared(
        {
            "": [t.supports_subresource("/status")],
            "spec.minReplicas": [
                t.alpha(t.optional()),
                t.alpha(t.if_enabled("HPAScaleToZero", t.minimum(0))),
                t.alpha(t.if_disabled("HPAScaleToZero", t.minimum(1))),
            ],
            "spec.maxReplicas": [t.alpha(t.required()), t.alpha(t.minimum(1))],
            "status.currentReplicas": [t.minimum(0)],
            "status.desiredReplicas": [t.minimum(0)],
        }
    )

    def default(self, obj: Object, version: str) -> None:
        spec = obj.setdefault("spec", {})
        if spec.get("minReplicas") is None:
            spec["minReplicas"] = 1
        if version == "v1":
            _through_v2(obj)
            return
        drop_annotations(obj["metadata"], ANNOTATIONS)
        if not spec.get("metrics"):
            spec["metrics"] = [cpu_metric(CPU_TARGET)]
        if spec.get("behavior") is not None:
            behavior.default(spec["behavior"])

    def prepare_create(self, obj: Object, context: WriteContext) -> None:
        super().prepare_create(obj, context)
        _drop_status_annotations(obj, context)
        _complete_behavior(obj, context)

    def prepare_update(self, obj: Object, old: Object, context: WriteContext) -> None:
        self._prepare_as_v2(super().prepare_update, obj, old, context)
        _complete_behavior(obj, context)

    def prepare_status_update(self, obj: Object, old: Object, context: WriteContext) -> None:
        self._prepare_as_v2(super().prepare_status_update, obj, old, context)

    def _prepare_as_v2(
        self, prepare: Prepare, obj: Object, old: Object, context: WriteContext
    ) -> None:
        """Annotations of v1 are spec and status, and stay or go with them."""
        if context.version == "v2":
            prepare(obj, old, context)
            return
        as_v2 = to_v2(obj)
        prepare(as_v2, to_v2(old), context)
        obj.clear()
        obj.update(to_v1(as_v2))

    def validate(self, obj: Object, context: WriteContext) -> FieldErrors:
        if context.version == "v1":
            return []
        return list(behavior.validate_empties(context.empties, SPEC.child("behavior")))

    def validate_create(self, obj: Object, context: WriteContext) -> FieldErrors:
        return list(_spec(self.convert(obj, "v2")["spec"]))

    def validate_update(self, obj: Object, old: Object, context: WriteContext) -> FieldErrors:
        return list(_spec(self.convert(obj, "v2")["spec"], self.convert(old, "v2")["spec"]))

    def convert(self, obj: Object, to: str) -> Object:
        if obj.get("apiVersion") == f"autoscaling/{to}":
            return {**obj}
        return to_v1(obj) if to == "v1" else to_v2(obj)

    def compared(self, obj: Object) -> Object:
        return amounts.compared(obj)

    def unconverted(self, obj: Object) -> Object:
        return without_annotations(obj, ANNOTATIONS)

    def cells(self, obj: Object, version: str, now: datetime) -> list[Any]:
        hpa = self.convert(obj, "v2")
        spec, status = hpa["spec"], hpa.get("status") or {}
        ref = spec.get("scaleTargetRef") or {}
        low = spec.get("minReplicas")
        return [
            table.name(obj),
            f"{ref.get('kind', '')}/{ref.get('name', '')}",
            show_targets(spec.get("metrics") or (), status.get("currentMetrics") or ()),
            "<unset>" if low is None else str(low),
            spec.get("maxReplicas", 0),
            status.get("currentReplicas", 0),
            table.created(obj, now),
        ]


def _complete_behavior(obj: Object, context: WriteContext) -> None:
    """Of v1: the object is stored as v2, and reading it back applies that version's defaults.
    What validation refuses stays as it was sent."""
    if context.version != "v1" or BEHAVIOR not in (obj["metadata"].get("annotations") or {}):
        return
    stored = to_v2(obj)
    given = stored["spec"].get("behavior") or {}
    if given and all(rules.get("policies") is not None for rules in given.values()):
        behavior.default(given)
        obj.update(to_v1(stored))


def _through_v2(obj: Object) -> None:
    """In place: an object of v1 as the internal type, which is as v2 is, gives it back."""
    through = to_v1(to_v2(obj))
    obj.clear()
    obj.update(through)


def _drop_status_annotations(obj: Object, context: WriteContext) -> None:
    """A new object has no status, also not in v1's annotations."""
    annotations = obj["metadata"].get("annotations") or {}
    stale = {
        k for k in ANNOTATIONS & annotations.keys() if k.endswith(("current-metrics", "conditions"))
    }
    if context.version == "v1" and stale:
        obj["metadata"]["annotations"] = {k: v for k, v in annotations.items() if k not in stale}


def _spec(spec: Mapping[str, Any], old: Mapping[str, Any] | None = None) -> checks.Errors:
    """``old``: the spec as it is stored; None on create."""
    low, high = spec.get("minReplicas"), spec.get("maxReplicas", 0)
    if low is not None and low < 1:
        yield from covered(
            [invalid(SPEC.child("minReplicas"), low, "must be greater than or equal to 1")],
            "minimum",
        )
    if not high:
        yield from covered([required(SPEC.child("maxReplicas"), "must be set and greater than 0")])
    elif high < 1:
        yield from covered(
            [invalid(SPEC.child("maxReplicas"), high, "must be greater than or equal to 1")],
            "minimum",
        )
    if low is not None and high < low:
        yield invalid(
            SPEC.child("maxReplicas"), high, "must be greater than or equal to `minReplicas`"
        )
    yield from metrics.scaled(
        spec.get("scaleTargetRef") or {},
        SPEC.child("scaleTargetRef"),
        None if old is None else old.get("scaleTargetRef") or {},
    )
    yield from metrics.validate(spec.get("metrics") or (), SPEC.child("metrics"), low)
    yield from behavior.validate(spec.get("behavior"), SPEC.child("behavior"))
