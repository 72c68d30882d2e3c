"""Sources of metrics, after validateMetrics of kubernetes 1.34."""

from __future__ import annotations

from typing import Any

from tests.support.kindtools import create


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
