"""Annotations that carry version 2 through version 1, as anyone may write them."""

from __future__ import annotations

from typing import Any

import pytest

from apiserver.kinds.autoscaling.annotations import BEHAVIOR, CONDITIONS, CURRENT, METRICS, read
from apiserver.kinds.autoscaling.conversion import to_v1, to_v2

DEEP = "[" * 2000 + "]" * 2000


@pytest.mark.parametrize(
    ("key", "text"),
    [
        (METRICS, "no JSON"),
        (METRICS, DEEP),
        (METRICS, "[NaN]"),
        (METRICS, "{}"),
        (METRICS, "[1]"),
        (METRICS, '[{"type":5}]'),
        (METRICS, '[{"resource":5}]'),
        (METRICS, '[{"resource":{"name":5}}]'),
        (METRICS, '[{"resource":{"targetAverageUtilization":"5"}}]'),
        (METRICS, '[{"resource":{"targetAverageUtilization":5.5}}]'),
        (METRICS, '[{"resource":{"targetAverageUtilization":3000000000}}]'),
        (METRICS, '[{"resource":{"targetAverageValue":"much"}}]'),
        (METRICS, '[{"pods":{"metricName":["a"]}}]'),
        (METRICS, '[{"pods":{"selector":5}}]'),
        (METRICS, '[{"object":{"target":5}}]'),
        (METRICS, '[{"external":{"metricSelector":{"matchLabels":{"a":1}}}}]'),
        (CURRENT, '[{"resource":5}]'),
        (CONDITIONS, "[5]"),
        (CONDITIONS, '[{"lastTransitionTime":"yesterday"}]'),
        (BEHAVIOR, "[]"),
        (BEHAVIOR, '{"ScaleUp":5}'),
        (BEHAVIOR, '{"ScaleUp":{"Policies":5}}'),
        (BEHAVIOR, '{"ScaleUp":{"Policies":[5]}}'),
        (BEHAVIOR, '{"ScaleUp":{"Policies":[{"Type":5}]}}'),
        (BEHAVIOR, '{"ScaleDown":{"StabilizationWindowSeconds":"x"}}'),
    ],
)
def test_what_is_of_another_type_counts_for_nothing(key: str, text: str) -> None:
    plain: dict[str, Any] = {"metadata": {"name": "h"}, "spec": {"maxReplicas": 1}}
    noted = {**plain, "metadata": {"name": "h", "annotations": {key: text}}}
    assert read({key: text}, key) is None
    assert to_v2(noted) == to_v2(plain)


@pytest.mark.parametrize(
    ("key", "text", "value"),
    [
        (METRICS, '[null, {"type": null, "pods": null}]', [{}, {}]),
        (
            METRICS,
            '[{"Type": "Pods", "PODS": {"metricname": "m", "other": 1}}]',
            [{"type": "Pods", "pods": {"metricName": "m"}}],
        ),
        (
            METRICS,
            '[{"resource": {"targetAverageUtilization": 0, "targetAverageValue": "1000m"}}]',
            [{"resource": {"targetAverageUtilization": 0, "targetAverageValue": "1"}}],
        ),
        (
            CONDITIONS,
            '[{"type": "AbleToScale", "status": "True"}]',
            [{"type": "AbleToScale", "status": "True", "lastTransitionTime": None}],
        ),
        (BEHAVIOR, '{"ScaleUp": null, "ScaleDown": null}', {}),
        (
            BEHAVIOR,
            '{"scaleup": {"policies": [{"type": "Pods"}], "selectpolicy": null}}',
            {"ScaleUp": {"Policies": [{"Type": "Pods", "Value": 0, "PeriodSeconds": 0}]}},
        ),
    ],
)
def test_values_are_read_as_go_reads_them(key: str, text: str, value: Any) -> None:
    assert read({key: text}, key) == value


def test_an_object_that_lost_its_metadata_is_converted() -> None:
    spec = {"maxReplicas": 1}
    assert to_v2({"apiVersion": "autoscaling/v1", "spec": spec})["metadata"] == {}
    assert to_v1({"apiVersion": "autoscaling/v2", "spec": spec})["metadata"] == {}
