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


def ended(exit_code: int, reason: str = "") -> dict[str, Any]:
    return {"state": {"terminated": {"exitCode": exit_code, "reason": reason}}}


READY = [{"type": "Ready", "status": "True"}]


@pytest.mark.parametrize(
    ("containers", "conditions", "shown"),
    [
        ([ended(0, "Completed"), ended(1, "Error")], [], "Error"),
        ([ended(0, "Completed"), ended(3), ended(1, "Error")], [], "ExitCode:3"),
        ([ended(0, "Completed"), RUNNING, ended(1, "Error")], [], "Error"),
        ([ended(0, "Completed"), RUNNING, ended(1, "Error")], READY, "Running"),
        ([ended(0, "Completed"), RUNNING], [], "NotReady"),
        ([ended(0, "Completed"), ended(0, "Done")], READY, "Completed"),
        (
            [
                ended(0, "Completed"),
                {"state": {"waiting": {"reason": "Back"}, "terminated": {"exitCode": 1}}},
            ],
            [],
            "Completed",
        ),
    ],
)
def test_a_completed_container_does_not_hide_one_that_failed(
    containers: list[dict[str, Any]], conditions: list[dict[str, str]], shown: str
) -> None:
    status = {"phase": "Running", "containerStatuses": containers, "conditions": conditions}
    assert pod(status)[1] == shown


@pytest.mark.parametrize(
    ("info", "shown"),
    [
        ({"kernelVersion": "6.1", "architecture": "arm64"}, "6.1 (arm64)"),
        ({"kernelVersion": "6.1"}, "6.1"),
        ({"architecture": "arm64"}, "<unknown> (arm64)"),
    ],
)
def test_a_node_names_its_architecture_with_its_kernel(info: dict[str, str], shown: str) -> None:
    row = cells("nodes", "", {"spec": {}, "status": {"nodeInfo": info}})
    assert row[7:] == ["<unknown>", shown, "<unknown>"]


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


@pytest.mark.parametrize(
    ("resource", "group", "key", "value", "shown"),
    [
        ("ingressclasses", "networking.k8s.io", "ingressclass", "true", "x (default)"),
        ("ingressclasses", "networking.k8s.io", "ingressclass", "yes", "x"),
        ("storageclasses", "storage.k8s.io", "storageclass", "true", "x (default)"),
        ("volumeattributesclasses", "storage.k8s.io", "volumeattributesclass.alpha", "true", "x"),
    ],
)
def test_which_classes_are_marked_as_the_default(
    resource: str, group: str, key: str, value: str, shown: str
) -> None:
    metadata = {"annotations": {f"{key}.kubernetes.io/is-default-class": value}}
    assert cells(resource, group, {"metadata": metadata})[0] == shown


@pytest.mark.parametrize(
    ("spec", "shown"),
    [
        ({}, "<unset>"),
        ({"volumeAttributesClassName": ""}, ""),
        ({"volumeAttributesClassName": "fast"}, "fast"),
    ],
)
def test_a_claim_may_ask_for_the_class_of_no_name(spec: dict[str, str], shown: str) -> None:
    assert cells("persistentvolumeclaims", "", {"spec": spec})[6] == shown


def test_the_first_condition_of_a_type_decides_on_a_job() -> None:
    def shown(*conditions: tuple[str, str]) -> Any:
        listed = [{"type": kind, "status": status} for kind, status in conditions]
        return cells("jobs", "batch", {"spec": {}, "status": {"conditions": listed}})[1]

    assert shown(("Complete", "False"), ("Complete", "True")) == "Running"
    assert shown(("Failed", "True"), ("Failed", "False")) == "Failed"
    assert shown(("SuccessCriteriaMet", "True"), ("FailureTarget", "True")) == "FailureTarget"


def test_the_controller_of_a_revision_is_shown_in_small_letters() -> None:
    owner = {"apiVersion": "Apps.Example/v1", "kind": "Set", "name": "N", "controller": True}
    row = cells("controllerrevisions", "apps", {"metadata": {"ownerReferences": [owner]}})
    assert row[1] == "set.apps.example/N"


@pytest.mark.parametrize(
    ("conditions", "shown"),
    [
        ([], "Unknown"),
        ([{"type": "Available", "status": "False", "reason": "Gone"}], "False (Gone)"),
        ([{"type": "Available", "status": "False"}], "False"),
        ([{"type": "Available", "status": "True", "reason": "Passed"}], "True"),
    ],
)
def test_whether_a_group_is_available(conditions: list[dict[str, str]], shown: str) -> None:
    obj = {"spec": {}, "status": {"conditions": conditions}}
    assert cells("apiservices", "apiregistration.k8s.io", obj)[2] == shown


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
