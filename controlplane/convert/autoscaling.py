"""HorizontalPodAutoscalers of autoscaling/v2beta1 and v2beta2 to autoscaling/v2."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from apiserver.meta.objects import Object
from controlplane.convert.rule import Conversion, as_list, as_object


def metrics(conversion: Conversion) -> None:
    """Targets have a type and a place of their own since v2beta2; metrics are named by name and
    selector. v2 has the form of v2beta2."""
    for metric in as_list(conversion.spec.get("metrics")):
        for source, change in _SOURCES.items():
            member = as_object(metric, source)
            if member is not None:
                change(member)
    _drop_status(conversion)


def _drop_status(conversion: Conversion) -> None:
    if conversion.obj.pop("status", None) is not None:
        conversion.note("status: left out; the controller writes it anew")


def _resource(source: Object) -> None:
    _target(source, utilization="targetAverageUtilization", average="targetAverageValue")


def _pods(source: Object) -> None:
    _metric(source, "selector")
    _target(source, average="targetAverageValue")


def _object(source: Object) -> None:
    old = as_object(source, "target")
    if old is not None and "kind" in old:
        source["describedObject"] = source.pop("target")
    _metric(source, "selector")
    _target(source, value="targetValue", average="averageValue")


def _external(source: Object) -> None:
    _metric(source, "metricSelector")
    _target(source, value="targetValue", average="targetAverageValue")


def _metric(source: Object, selector: str) -> None:
    if "metricName" not in source:
        return
    metric: Object = {"name": source.pop("metricName")}
    if selector in source:
        metric["selector"] = source.pop(selector)
    source["metric"] = metric


def _target(source: Object, *, utilization: str = "", value: str = "", average: str = "") -> None:
    """The strongest of the old members decides the type, as the old versions' conversion did:
    averages before values."""
    target: dict[str, Any] = {}
    for old, new in (
        (value, "value"),
        (average, "averageValue"),
        (utilization, "averageUtilization"),
    ):
        if old and old in source:
            target[new] = source.pop(old)
    if not target:
        return
    kinds = {"averageUtilization": "Utilization", "averageValue": "AverageValue", "value": "Value"}
    kind = next(kinds[name] for name in kinds if name in target)
    source["target"] = {"type": kind, **target}


_SOURCES: dict[str, Callable[[Object], None]] = {
    "resource": _resource,
    "containerResource": _resource,
    "pods": _pods,
    "object": _object,
    "external": _external,
}
