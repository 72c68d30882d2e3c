"""Nodes, after ValidateNode and ValidateNodeUpdate of kubernetes 1.35."""

from __future__ import annotations

import copy
from typing import Any

from tests.support.kindtools import create, update


def node(status: dict[str, Any] | None = None, **spec: Any) -> dict[str, Any]:
    metadata = {"name": "n"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": metadata,
        "spec": spec,
        "status": status or {},
    }


def test_features_are_sorted_names() -> None:
    at = "status.declaredFeatures"
    assert create(node({"declaredFeatures": ["A", "A/b", "B"]})).messages == []
    assert create(node({"declaredFeatures": ["B", "A", "A", "small"]})).messages == [
        f'{at}[1]: Invalid value: "A": list must be sorted alphabetically',
        f'{at}[2]: Duplicate value: "A"',
        f'{at}[3]: Invalid value: "small": invalid feature name "small": must start with an '
        "UpperCamelCase segment, with subsequent segments separated by '/' (e.g., MyFeature or "
        "MyFeature/mySubFeature), and contain only alphanumeric characters and slashes",
    ]
    long = "A" * 254
    assert create(node({"declaredFeatures": [long]})).messages == [
        f'{at}[0]: Invalid value: "{long}": invalid feature name "{long}": must be no more than '
        "253 characters"
    ]


def test_swap_is_some_or_unknown() -> None:
    assert create(node({"nodeInfo": {"swap": {"capacity": 0}}})).messages == [
        "metadata.nodeSwapStatus.capacity: Invalid value: 0: must be greater than zero"
    ]
    assert create(node({"nodeInfo": {"swap": {}}})).messages == []


def test_ranges_of_both_families() -> None:
    why = "may specify no more than one CIDR for each IP family"
    twice = ["10.1.0.0/16", "10.1.0.0/16"]
    assert create(node(podCIDRs=twice)).messages == [
        f'spec.podCIDRs: Invalid value: ["10.1.0.0/16","10.1.0.0/16"]: {why}'
    ]
    assert create(node(podCIDRs=["x", "fd00::/64"])).messages[-1] == (
        f'spec.podCIDRs: Invalid value: ["x","fd00::/64"]: {why}'
    )


def test_an_update_is_asked_of_its_taints_twice() -> None:
    old = create(node()).obj
    wanted = copy.deepcopy(old)
    wanted["spec"]["taints"] = [{"key": "k", "effect": "Sometimes"}]
    told = update(wanted, old).messages
    assert len(told) == 2 and len(set(told)) == 1


def test_no_configuration_of_the_kubelet_is_kept() -> None:
    made = create(node({"config": {"error": "e"}}, configSource={"configMap": {"name": "m"}}))
    assert "configSource" not in made.obj["spec"] and "config" not in made.obj["status"]
