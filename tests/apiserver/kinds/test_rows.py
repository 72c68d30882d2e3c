"""Table rows of kinds whose cells follow more than one member (k8s.io/kubernetes
``printers/internalversion``)."""

from __future__ import annotations

from typing import Any

import pytest

from apiserver.codec.table import table_row
from apiserver.kinds.admissionregistration.policies import param_ref_cell
from apiserver.kinds.catalog import resources
from apiserver.meta.gvk import GroupResource
from tests.support.kindtools import NOW


def cells(resource: str, group: str, obj: dict[str, Any]) -> list[Any]:
    found = resources()[GroupResource(group, resource)]
    metadata = {"name": "x", "creationTimestamp": "2026-01-02T03:03:55Z", **obj.get("metadata", {})}
    return found.hooks.cells({**obj, "metadata": metadata}, next(iter(found.versions)), NOW)


def pod(status: dict[str, Any], metadata: dict[str, Any] | None = None) -> list[Any]:
    spec = {
        "containers": [{"name": "c"}],
        "initContainers": [
            {"name": "side", "restartPolicy": "Always"},
            {"name": "init"},
            {"name": "later", "restartPolicy": "Always"},
        ],
    }
    return cells("pods", "", {"metadata": metadata or {}, "spec": spec, "status": status})[1:4]


SIDE = {"name": "side", "started": True, "ready": True, "restartCount": 1, "state": {"running": {}}}
LATER = {
    "name": "later",
    "started": True,
    "ready": True,
    "restartCount": 4,
    "state": {"running": {}},
}
FAILED = {"name": "init", "restartCount": 2, "state": {"terminated": {"exitCode": 1, "signal": 9}}}
RUNNING = {"name": "c", "ready": True, "state": {"running": {}}}


@pytest.mark.parametrize(
    ("status", "row"),
    [
        ({"initContainerStatuses": [SIDE, FAILED, LATER]}, ["1/3", "Init:Signal:9", "3"]),
        (
            {
                "initContainerStatuses": [SIDE, FAILED, LATER],
                "conditions": [{"type": "Initialized", "status": "True"}],
                "containerStatuses": [RUNNING],
            },
            ["2/3", "Init:Signal:9", "1"],
        ),
        (
            {
                "phase": "Running",
                "initContainerStatuses": [SIDE, LATER],
                "containerStatuses": [RUNNING],
            },
            ["3/3", "Running", "5"],
        ),
    ],
)
def test_init_containers(status: dict[str, Any], row: list[Any]) -> None:
    assert pod(status) == row


@pytest.mark.parametrize(
    ("status", "shown"),
    [({"phase": "Running"}, "Terminating"), ({"phase": "Succeeded"}, "Succeeded")],
)
def test_a_pod_that_has_ended_does_not_terminate(status: dict[str, Any], shown: str) -> None:
    assert pod(status, {"deletionTimestamp": "2026-01-02T03:04:00Z"})[1] == shown


def test_rows_of_ended_pods_say_so() -> None:
    hooks = resources()[GroupResource("", "pods")].hooks
    obj = {"metadata": {"name": "x"}, "status": {"phase": "Failed"}}
    row = table_row(obj, [], "None", conditions=hooks.row_conditions(obj))
    assert row == {
        "cells": [],
        "conditions": [
            {
                "type": "Completed",
                "status": "True",
                "reason": "Failed",
                "message": "The pod failed.",
            }
        ],
        "object": None,
    }
    assert "conditions" not in table_row(
        obj, [], "None", conditions=hooks.row_conditions({"status": {"phase": "Running"}})
    )


@pytest.mark.parametrize(
    ("rules", "shown"),
    [
        ([], "*"),
        ([{}], "*"),
        ([{"host": "a"}, {"host": "b"}, {"host": "c"}], "a,b,c"),
        ([{"host": "a"}, {"host": "b"}, {"host": "c"}, {}], "a,b,c + 1 more..."),
        ([{}, {"host": "b"}, {"host": "c"}, {"host": "d"}], "b,c,d"),
    ],
)
def test_hosts_of_an_ingress(rules: list[dict[str, str]], shown: str) -> None:
    assert cells("ingresses", "networking.k8s.io", {"spec": {"rules": rules}})[2] == shown


def test_ingress_knows_no_annotation_and_sorts_addresses() -> None:
    status = {
        "loadBalancer": {
            "ingress": [
                {"ip": "10.0.0.2"},
                {"hostname": "a"},
                {"ip": "10.0.0.1"},
                {"ip": "10.0.0.2"},
                {},
            ]
        }
    }
    metadata = {"annotations": {"kubernetes.io/ingress.class": "old"}}
    row = cells(
        "ingresses", "networking.k8s.io", {"metadata": metadata, "spec": {}, "status": status}
    )
    assert (row[1], row[3]) == ("<none>", "10.0.0.1,10.0.0.2,a")


def test_ports_of_an_endpoint_slice_are_numbers_or_names() -> None:
    obj = {"addressType": "IPv4", "ports": [{"name": "http"}, {"name": "", "port": 80}]}
    assert cells("endpointslices", "discovery.k8s.io", obj)[1:4] == ["IPv4", "http,80", "<unset>"]
    assert cells("endpointslices", "discovery.k8s.io", {"ports": [{"name": ""}]})[2] == "<unset>"


def test_exempt_levels_show_no_shares() -> None:
    row = cells(
        "prioritylevelconfigurations",
        "flowcontrol.apiserver.k8s.io",
        {"spec": {"type": "Exempt", "exempt": {}}},
    )
    assert row[1:6] == ["Exempt", "<none>", "<none>", "<none>", "<none>"]


def test_flow_schemas_are_listed_as_requests_try_them() -> None:
    order = resources()[
        GroupResource("flowcontrol.apiserver.k8s.io", "flowschemas")
    ].hooks.row_order
    listed: list[dict[str, Any]] = [
        {"metadata": {"name": n}, "spec": {"matchingPrecedence": p}}
        for n, p in (("a", 900), ("z", 1), ("b", 900))
    ]
    assert order is not None
    assert [o["metadata"]["name"] for o in sorted(listed, key=order)] == ["z", "a", "b"]


def test_default_attribute_classes_are_marked() -> None:
    metadata = {
        "annotations": {"volumeattributesclass.alpha.kubernetes.io/is-default-class": "true"}
    }
    assert (
        cells("volumeattributesclasses", "storage.k8s.io", {"metadata": metadata})[0]
        == "x (default)"
    )


def test_addresses_have_an_age_without_a_column() -> None:
    obj = {"spec": {"parentRef": {"group": "G", "resource": "r", "namespace": "n", "name": "m"}}}
    assert cells("ipaddresses", "networking.k8s.io", obj) == ["x", "r.g/n/m", "10s"]


@pytest.mark.parametrize(
    ("ref", "shown"),
    [
        (None, "<unset>"),
        ({"name": "p"}, "*/p"),
        ({"name": "p", "namespace": "n"}, "n/p"),
        (
            {
                "selector": {
                    "matchLabels": {"b": "2", "a": "1"},
                    "matchExpressions": [{"key": "k", "operator": "In", "values": ["x", "y"]}],
                }
            },
            "&LabelSelector{MatchLabels:map[string]string{a: 1,b: 2,},"
            "MatchExpressions:[]LabelSelectorRequirement{LabelSelectorRequirement{Key:k,"
            "Operator:In,Values:[x y],},},}",
        ),
    ],
)
def test_parameters_of_a_policy_binding(ref: dict[str, Any] | None, shown: str) -> None:
    assert param_ref_cell({"paramRef": ref} if ref is not None else {}) == shown
