"""What version 1 of HorizontalPodAutoscaler keeps of version 2 in annotations: JSON that anyone may
write. It is read as Go reads it into the types below; what does not fit them is as if it were not
there.

Source: k8s.io/kubernetes ``apis/autoscaling/v1/conversion.go``; the types of metrics are those of
k8s.io/api ``autoscaling/v1``, of the behavior the internal ones, which have no JSON tags.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

import orjson

from apiserver.schema.builtin import definition
from apiserver.schema.decode import decode
from apiserver.schema.decode_errors import DecodeError
from apiserver.schema.definitions import QUANTITY
from apiserver.schema.types import Schema

METRICS = "autoscaling.alpha.kubernetes.io/metrics"
CURRENT = "autoscaling.alpha.kubernetes.io/current-metrics"
CONDITIONS = "autoscaling.alpha.kubernetes.io/conditions"
BEHAVIOR = "autoscaling.alpha.kubernetes.io/behavior"
_TOLERANCES = {
    f"autoscaling.alpha.kubernetes.io/scale-{direction}-tolerance" for direction in ("down", "up")
}
ANNOTATIONS = frozenset({METRICS, CURRENT, CONDITIONS, BEHAVIOR, *_TOLERANCES})
"""None of these is an annotation of version 2."""

_API = "io.k8s.api.autoscaling.v2."
_SELECTOR = "io.k8s.apimachinery.pkg.apis.meta.v1.LabelSelector"


def read(annotations: Mapping[str, str], key: str) -> Any:
    """The annotation's value: members that were left out or are null are absent. None where there
    is no value of the annotation's type."""
    text = annotations.get(key)
    if text is None:
        return None
    schema = _type_of(key)
    try:
        return decode(schema, _renamed(schema, orjson.loads(text))).value
    except (ValueError, DecodeError):
        return None


def _renamed(schema: Schema, value: Any) -> Any:
    """Members called as the type calls them: encoding/json does not ask for their case."""
    if type(value) is list and schema.items is not None:
        return [_renamed(schema.items, item) for item in value]
    if type(value) is not dict or schema.properties is None:
        return value
    folded = {name.lower(): name for name in schema.properties}
    renamed = {}
    for name, member in value.items():
        declared = folded.get(name.lower())
        if declared is not None:
            renamed[declared] = _renamed(schema.properties[declared], member)
    return renamed


@cache
def _type_of(key: str) -> Schema:
    if key == BEHAVIOR:
        return _behavior()
    if key == CONDITIONS:
        return _list(definition(_API + "HorizontalPodAutoscalerCondition"))
    return _list(_metric("target" if key == METRICS else "current"))


def _list(items: Schema) -> Schema:
    return Schema(builtin=True, type="array", items=items)


def _struct(**members: Schema) -> Schema:
    return Schema(builtin=True, type="object", properties=members, go_omit="e", go_pointer=True)


def _text() -> Schema:
    return Schema(builtin=True, type="string", go_type="string", go_omit="e", go_pointer=True)


def _int32() -> Schema:
    return Schema(
        builtin=True, type="integer", format="int32", go_type="int32", go_omit="e", go_pointer=True
    )


def _shared(name: str) -> Schema:
    """A type that has a definition, as a pointer."""
    schema = definition(name)
    return Schema(
        builtin=True,
        type=schema.type,
        special=schema.special,
        properties=schema.properties,
        go_type=schema.go_type,
        go_struct=schema.go_struct,
        go_omit="e",
        go_pointer=True,
    )


def _metric(part: str) -> Schema:
    """``part``: "target" in specs, "current" in statuses."""
    value, average = f"{part}Value", f"{part}AverageValue"
    quantity, selector = _shared(QUANTITY), _shared(_SELECTOR)
    resource = {
        "name": _text(),
        f"{part}AverageUtilization": _int32(),
        average: quantity,
        "container": _text(),
    }
    return _struct(
        type=_text(),
        object=_struct(
            target=_shared(_API + "CrossVersionObjectReference"),
            metricName=_text(),
            selector=selector,
            averageValue=quantity,
            **{value: quantity},
        ),
        pods=_struct(metricName=_text(), selector=selector, **{average: quantity}),
        resource=_struct(**resource),
        containerResource=_struct(**resource),
        external=_struct(
            metricName=_text(), metricSelector=selector, **{value: quantity, average: quantity}
        ),
    )


def _behavior() -> Schema:
    number = Schema(builtin=True, type="integer", format="int32", go_type="int32")
    policy = Schema(
        builtin=True,
        type="object",
        properties={
            "Type": Schema(builtin=True, type="string", go_type="string"),
            "Value": number,
            "PeriodSeconds": number,
        },
    )
    policies = _list(policy)
    policies.go_omit, policies.go_pointer = "e", True
    rules = _struct(
        StabilizationWindowSeconds=_int32(),
        SelectPolicy=_text(),
        Policies=policies,
        Tolerance=_shared(QUANTITY),
    )
    return _struct(ScaleUp=rules, ScaleDown=rules)
