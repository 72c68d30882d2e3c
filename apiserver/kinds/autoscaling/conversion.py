"""HorizontalPodAutoscaler v1 and v2. v1 has one number for cpu; everything else of v2 travels in
annotations, as JSON.

Source: k8s.io/kubernetes ``apis/autoscaling/v1/conversion.go``. The member order inside the
annotations is that of the Go types, because clients compare annotations as text. ``behavior`` is
written with the member names of the internal type, which has no JSON tags.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from apiserver.kinds.autoscaling.annotations import (
    ANNOTATIONS,
    BEHAVIOR,
    CONDITIONS,
    CURRENT,
    METRICS,
    read,
)
from apiserver.meta.objects import Object

CPU_TARGET = 80
"""Percent, where nothing else is to be gone by."""
_MEMBERS = ("object", "pods", "resource", "containerResource", "external")
_CONDITION = ("type", "status", "lastTransitionTime", "reason", "message", "observedGeneration")
_REFERENCE = ("kind", "name", "apiVersion")
_POLICY = (("Type", "type"), ("Value", "value"), ("PeriodSeconds", "periodSeconds"))


def cpu_metric(utilization: int) -> Object:
    target = {"type": "Utilization", "averageUtilization": utilization}
    return {"type": "Resource", "resource": {"name": "cpu", "target": target}}


def to_v1(obj: Object) -> Object:
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    annotations = _annotations(obj)
    metrics = spec.get("metrics") or []
    others = [m for m in metrics if not _is_cpu_utilization(m)]
    if others:
        annotations[METRICS] = _dump([_metric_v1(m, "target") for m in others])
    if spec.get("behavior") is not None:
        annotations[BEHAVIOR] = _dump(_behavior_v1(spec["behavior"]))
    if status.get("currentMetrics"):
        annotations[CURRENT] = _dump([_metric_v1(m, "current") for m in status["currentMetrics"]])
    if status.get("conditions"):
        annotations[CONDITIONS] = _dump(
            [{k: c[k] for k in _CONDITION if k in c} for c in status["conditions"]]
        )
    new_spec = {k: v for k, v in spec.items() if k not in ("metrics", "behavior")}
    cpu = next(
        (m["resource"]["target"]["averageUtilization"] for m in metrics if _is_cpu_utilization(m)),
        None,
    )
    if cpu is not None:
        new_spec["targetCPUUtilizationPercentage"] = cpu
    new_status = {k: v for k, v in status.items() if k not in ("currentMetrics", "conditions")}
    new_status.setdefault("currentReplicas", 0)
    current = [_utilization(m) for m in status.get("currentMetrics") or ()]
    known = [used for used in current if used is not None]
    if known:
        new_status["currentCPUUtilizationPercentage"] = known[-1]
    return _rebuilt(obj, "autoscaling/v1", annotations, new_spec, new_status)


def to_v2(obj: Object) -> Object:
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    annotations = _annotations(obj)
    new_spec = {k: v for k, v in spec.items() if k != "targetCPUUtilizationPercentage"}
    metrics = [_metric_v2(m, "target") for m in read(annotations, METRICS) or ()]
    cpu = spec.get("targetCPUUtilizationPercentage")
    if cpu is not None or not metrics:
        metrics.append(cpu_metric(CPU_TARGET if cpu is None else cpu))
    new_spec["metrics"] = metrics
    behavior = read(annotations, BEHAVIOR)
    if behavior:
        new_spec["behavior"] = _behavior_v2(behavior)
    new_status = {k: v for k, v in status.items() if k != "currentCPUUtilizationPercentage"}
    listed = read(annotations, CURRENT)
    current = [_metric_v2(m, "current") for m in listed or ()]
    used = status.get("currentCPUUtilizationPercentage")
    if used is not None and listed is None:
        current = [
            {
                "type": "Resource",
                "resource": {"name": "cpu", "current": {"averageUtilization": used}},
            }
        ]
    new_status["currentMetrics"] = current or None
    conditions = read(annotations, CONDITIONS)
    if conditions:
        new_status["conditions"] = conditions
    if not new_status.get("currentReplicas"):
        new_status.pop("currentReplicas", None)
    new_status.setdefault("desiredReplicas", 0)
    kept = {k: v for k, v in annotations.items() if k not in ANNOTATIONS}
    return _rebuilt(obj, "autoscaling/v2", kept, new_spec, new_status)


def _metadata(obj: Object) -> Object:
    """What an apply takes away from an object may leave it without."""
    return obj.get("metadata") or {}


def _annotations(obj: Object) -> dict[str, Any]:
    return dict(_metadata(obj).get("annotations") or {})


def _rebuilt(
    obj: Object, api_version: str, annotations: Mapping[str, str], spec: Object, status: Object
) -> Object:
    metadata = {k: v for k, v in _metadata(obj).items() if k != "annotations"}
    if annotations:
        metadata["annotations"] = dict(annotations)
    return {**obj, "apiVersion": api_version, "metadata": metadata, "spec": spec, "status": status}


def _dump(value: Any) -> str:
    """Go's json.Marshal: compact, and HTML's special characters escaped."""
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _is_cpu_utilization(metric: Mapping[str, Any]) -> bool:
    resource = metric.get("resource") or {}
    return (
        metric.get("type") == "Resource"
        and resource.get("name") == "cpu"
        and (resource.get("target") or {}).get("averageUtilization") is not None
    )


def _utilization(metric: Mapping[str, Any]) -> int | None:
    """The current cpu utilization that a metric's status tells."""
    resource = metric.get("resource") or {}
    if metric.get("type") != "Resource" or resource.get("name") != "cpu":
        return None
    utilization: int | None = (resource.get("current") or {}).get("averageUtilization")
    return utilization


def _metric_v1(metric: Mapping[str, Any], part: str) -> Object:
    """``part``: "target" in specs, "current" in statuses."""
    out: Object = {"type": metric.get("type", "")}
    for member in _MEMBERS:
        if metric.get(member) is not None:
            out[member] = _source_v1(member, metric[member], part)
    return out


def _source_v1(member: str, source: Mapping[str, Any], part: str) -> Object:
    numbers, metric = source.get(part) or {}, source.get("metric") or {}
    average, value = f"{part}AverageValue", f"{part}Value"
    name, selector = metric.get("name", ""), metric.get("selector")
    nothing = "0" if part == "current" else None
    rows: Sequence[tuple[str, Any]]
    if member == "object":
        ref = source.get("describedObject") or {}
        target = {k: ref[k] for k in _REFERENCE if ref.get(k)}
        rows = (
            ("target", target),
            ("metricName", name),
            (value, numbers.get("value", "0")),
            ("selector", selector),
            ("averageValue", numbers.get("averageValue")),
        )
    elif member == "pods":
        rows = (
            ("metricName", name),
            (average, numbers.get("averageValue", "0")),
            ("selector", selector),
        )
    elif member == "external":
        rows = (
            ("metricName", name),
            ("metricSelector", selector),
            (value, numbers.get("value", nothing)),
            (average, numbers.get("averageValue")),
        )
    else:
        utilization = f"{part}AverageUtilization"
        rows = (
            ("name", source.get("name", "")),
            (utilization, numbers.get("averageUtilization")),
            (average, numbers.get("averageValue", nothing)),
            ("container", source.get("container")),
        )
    return {k: v for k, v in rows if v is not None}


def _metric_v2(metric: Mapping[str, Any], part: str) -> Object:
    out: Object = {"type": metric.get("type", "")}
    for member in _MEMBERS:
        if metric.get(member) is not None:
            out[member] = _source_v2(member, metric[member], part)
    return out


def _numbers_v2(member: str, source: Mapping[str, Any], part: str) -> Object:
    """What is not given is 0 where v1 has no way to leave it out. The type of a target follows from
    what is given."""
    use, value = source.get(f"{part}AverageUtilization"), source.get(f"{part}Value")
    average = source.get("averageValue" if member == "object" else f"{part}AverageValue")
    if part == "target":
        if member == "object" and average is None:
            value = value or "0"
        elif member == "object":
            value = None if value == "0" else value
        elif member == "pods":
            average = average or "0"
    elif member in ("object", "external"):
        value = value or "0"
    else:
        average = average or "0"
    numbers = {"averageUtilization": use, "value": value, "averageValue": average}
    given = {k: v for k, v in numbers.items() if v is not None}
    return {"type": _target_type(member, given), **given} if part == "target" else given


def _target_type(member: str, given: Object) -> str:
    if member in ("resource", "containerResource"):
        return "Utilization" if "averageUtilization" in given else "AverageValue"
    if member == "object":
        return "AverageValue" if "averageValue" in given else "Value"
    return "Value" if member == "external" and "value" in given else "AverageValue"


def _source_v2(member: str, source: Mapping[str, Any], part: str) -> Object:
    numbers = _numbers_v2(member, source, part)
    if member in ("resource", "containerResource"):
        own = {k: source[k] for k in ("name", "container") if source.get(k)}
        return {**own, part: numbers}
    selector = source.get("metricSelector") if member == "external" else source.get("selector")
    metric = {
        "name": source.get("metricName", ""),
        **({"selector": selector} if selector is not None else {}),
    }
    described = {"describedObject": source.get("target") or {}} if member == "object" else {}
    return {**described, "metric": metric, part: numbers}


def _behavior_v1(behavior: Mapping[str, Any]) -> Object:
    return {
        name: _rules_v1(behavior.get(member))
        for name, member in (("ScaleUp", "scaleUp"), ("ScaleDown", "scaleDown"))
    }


def _rules_v1(rules: Mapping[str, Any] | None) -> Object | None:
    if rules is None:
        return None
    policies = rules.get("policies")
    return {
        "StabilizationWindowSeconds": rules.get("stabilizationWindowSeconds"),
        "SelectPolicy": rules.get("selectPolicy"),
        "Policies": None
        if policies is None
        else [{go: p.get(name) for go, name in _POLICY} for p in policies],
        "Tolerance": rules.get("tolerance"),
    }


def _behavior_v2(behavior: Mapping[str, Any]) -> Object:
    rules = {
        member: _rules_v2(behavior.get(name))
        for name, member in (("ScaleUp", "scaleUp"), ("ScaleDown", "scaleDown"))
    }
    return {k: v for k, v in rules.items() if v is not None}


def _rules_v2(rules: Mapping[str, Any] | None) -> Object | None:
    if rules is None:
        return None
    policies = rules.get("Policies")
    behavior_rules = {
        "stabilizationWindowSeconds": rules.get("StabilizationWindowSeconds"),
        "selectPolicy": rules.get("SelectPolicy"),
        "policies": None
        if policies is None
        else [{name: p.get(go) for go, name in _POLICY} for p in policies],
        "tolerance": rules.get("Tolerance"),
    }
    return {k: v for k, v in behavior_rules.items() if v is not None}
