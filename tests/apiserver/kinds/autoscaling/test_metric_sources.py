"""Sources of metrics and what is scaled, after validateMetrics of kubernetes 1.36.2."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.kindtools import cells, create


def told(**metric: Any) -> list[str]:
    spec = {
        "maxReplicas": 2,
        "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"},
        "metrics": [metric],
    }
    metadata = {"name": "h"}
    kind = {"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler"}
    return create({**kind, "metadata": metadata, "spec": spec}).messages


AMOUNT = {"type": "AverageValue", "averageValue": "1"}


def test_a_resource_of_a_container() -> None:
    at = "spec.metrics[0].containerResource"
    source = {"name": "pods", "container": "No Label", "target": AMOUNT}
    messages = told(type="ContainerResource", containerResource=source)
    assert messages[0] == (
        f'{at}.name: Invalid value: "pods": must be a standard resource for containers'
    )
    assert messages[1].startswith(f'{at}.container: Invalid value: "No Label": a lowercase')
    assert len(messages) == 2


def test_a_metric_of_pods() -> None:
    at = "spec.metrics[0].pods"
    selector = {"matchExpressions": [{"key": "no key", "operator": "Exists"}]}
    source: dict[str, Any] = {"metric": {"name": "m", "selector": selector}, "target": AMOUNT}
    assert told(type="Pods", pods=source) == []
    source["target"] = {"type": "AverageValue", "averageValue": "0"}
    assert told(type="Pods", pods=source) == [
        f'{at}.target.averageValue: Invalid value: "0": must be positive'
    ]


@pytest.mark.parametrize("kind", ["pods", "Neither"])
def test_a_type_that_does_not_exist_expects_no_source(kind: str) -> None:
    metric = {"name": "m"}
    described = {"kind": "Service", "name": "s"}
    at = "spec.metrics[0]"
    messages = told(
        type=kind,
        pods={"metric": metric, "target": AMOUNT},
        object={"metric": metric, "describedObject": described, "target": AMOUNT},
    )
    types = '"ContainerResource", "External", "Object", "Pods", "Resource"'
    assert sorted(messages) == [
        f"{at}.object: Forbidden: must populate the given metric source only",
        f"{at}.pods: Forbidden: must populate the given metric source only",
        f'{at}.type: Unsupported value: "{kind}": supported values: {types}',
        f'{at}.type: Unsupported value: "{kind}": supported values: {types}',
    ]


@pytest.mark.parametrize(
    ("version", "kind", "complaint"),
    [
        ("apps/v1", "Deployment", None),
        ("apps/", "Deployment", None),
        ("v1", "ReplicationController", None),
        ("/v1", "ReplicationController", None),
        ("", "Deployment", "apiVersion must specify API group"),
        ("v1", "Deployment", "apiVersion must specify API group"),
        ("/", "Deployment", "apiVersion must specify API group"),
        ("/v1", "Deployment", "apiVersion must specify API group"),
        ("a/b/c", "Deployment", "unexpected GroupVersion string: a/b/c"),
        ("//", "ReplicationController", "unexpected GroupVersion string: //"),
    ],
)
def test_what_is_scaled_is_of_an_api_group(version: str, kind: str, complaint: str | None) -> None:
    spec = {
        "maxReplicas": 2,
        "scaleTargetRef": {"apiVersion": version, "kind": kind, "name": "d"},
    }
    base = {"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler"}
    told = create({**base, "metadata": {"name": "h"}, "spec": spec}).messages
    assert told == (
        []
        if complaint is None
        else [f'spec.scaleTargetRef.apiVersion: Invalid value: "{version}": {complaint}']
    )


@pytest.mark.parametrize(
    ("kind", "target", "current", "cell"),
    [
        ("Pods", {"averageValue": "1"}, None, "<unknown>/1"),
        ("Pods", {"averageValue": "1"}, {}, "<nil>/1"),
        ("Pods", {"averageValue": "1"}, {"averageValue": "2"}, "2/1"),
        ("External", {"value": "1"}, None, "<unknown>/1"),
        ("External", {"value": "1"}, {}, "<nil>/1"),
        ("External", {"averageValue": "1"}, {}, "<unknown>/1 (avg)"),
        ("Object", {"value": "1"}, {"averageValue": "2"}, "<nil>/1"),
        ("Object", {"averageValue": "1"}, {"averageValue": "2"}, "2/1 (avg)"),
        ("Resource", {"averageValue": "1"}, None, "cpu: <unknown>/1"),
        ("Resource", {"averageValue": "1"}, {"averageUtilization": 3}, "cpu: <nil>/1"),
        ("Resource", {"averageUtilization": 1}, {"averageValue": "2"}, "cpu: <unknown>/1%"),
        ("ContainerResource", {"averageValue": "1"}, {}, "cpu: <nil>/1"),
    ],
)
def test_a_status_without_the_targets_number(
    kind: str, target: dict[str, Any], current: dict[str, Any] | None, cell: str
) -> None:
    """As fmt prints a Quantity that is a null pointer."""
    member = kind[:1].lower() + kind[1:]
    status = {} if current is None else {member: {"name": "cpu", "current": current}}
    hpa = {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": "h"},
        "spec": {"metrics": [{"type": kind, member: {"name": "cpu", "target": target}}]},
        "status": {"currentMetrics": [{"type": kind, **status}]},
    }
    assert cells(hpa)["Targets"] == cell
