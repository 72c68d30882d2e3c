"""ConfigMaps, secrets, namespaces, nodes and leases."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from tests.support.kindtools import NOW, cells, changed, create, resource_of, update


def made(kind: str, api_version: str = "v1", **members: Any) -> dict[str, Any]:
    return {"apiVersion": api_version, "kind": kind, "metadata": {"name": "x"}, **members}


def encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def test_data_of_a_config_map() -> None:
    result = create(made("ConfigMap", data={"a": "1", "b/c": "2"}, binaryData={"a": "AA=="}))
    assert result.messages == [
        'data[a]: Invalid value: "a": duplicate of key present in binaryData',
        'data[b/c]: Invalid value: "b/c": a valid config key must consist of alphanumeric '
        "characters, '-', '_' or '.' "
        "(e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is "
        "'[-._a-zA-Z0-9]+')",
    ]
    assert (
        cells(create(made("ConfigMap", data={"a": "1"}, binaryData={"b": "AA=="})).obj)["Data"] == 2
    )


@pytest.mark.parametrize(("size", "fits"), [(1024 * 1024, True), (1024 * 1024 + 1, False)])
def test_size_counts_bytes_of_text_and_of_decoded_data(size: int, fits: bool) -> None:
    text = "é" * (size // 4)
    rest = base64.b64encode(b"x" * (size - 2 * (size // 4))).decode()
    assert (
        create(made("ConfigMap", data={"a": text}, binaryData={"b": rest})).errors == []
    ) is fits


@pytest.mark.parametrize("kind", ["ConfigMap", "Secret"])
def test_immutable_data(kind: str) -> None:
    old = create(made(kind, data={"a": "AA=="}, immutable=True)).obj
    assert (
        update({**old, "metadata": {**old["metadata"], "labels": {"l": "v"}}}, old).messages == []
    )
    assert update({**old, "data": {"a": "BB=="}}, old).messages == [
        "data: Forbidden: field is immutable when `immutable` is set"
    ]
    assert update({**old, "immutable": False}, old).messages == [
        "immutable: Forbidden: field is immutable when `immutable` is set"
    ]


def test_string_data_becomes_data() -> None:
    obj = create(made("Secret", data={"a": "AA==", "b": "AA=="}, stringData={"a": "é"})).obj
    assert obj["data"] == {"a": encoded("é"), "b": "AA=="}
    assert obj["type"] == "Opaque"
    assert "stringData" not in obj


@pytest.mark.parametrize(
    ("type_", "data", "messages"),
    [
        ("kubernetes.io/basic-auth", {}, ["data[%s]: Required value", "data[%s]: Required value"]),
        ("kubernetes.io/basic-auth", {"username": ""}, []),
        ("kubernetes.io/ssh-auth", {"ssh-privatekey": ""}, ["data[%s]: Required value"]),
        ("kubernetes.io/dockercfg", {}, ["data[.dockercfg]: Required value"]),
        (
            "kubernetes.io/dockerconfigjson",
            {".dockerconfigjson": encoded(json.dumps({"auths": {}}))},
            [],
        ),
        (
            "kubernetes.io/tls",
            {},
            ["data[tls.crt]: Required value", "data[tls.key]: Required value"],
        ),
        ("example.com/own", {}, []),
    ],
)
def test_types_of_secrets_ask_for_keys(
    type_: str, data: dict[str, str], messages: list[str]
) -> None:
    got = create(made("Secret", type=type_, data=data)).messages
    assert len(got) == len(messages)
    assert all(
        g == m or ("%s" in m and g.startswith("data[") and g.endswith("]: Required value"))
        for g, m in zip(got, messages, strict=True)
    )


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("100Mi", "invalid character 'M' after top-level value"),
        ('{"a":1,}', "invalid character '}' looking for beginning of object key string"),
        ("nul", "invalid character ' ' in literal null (expecting 'l')"),
        ('{"a":', "unexpected end of JSON input"),
    ],
)
def test_a_docker_config_that_is_no_json_is_told_of_as_go_reads_it(
    text: str, complaint: str
) -> None:
    data = {".dockerconfigjson": encoded(text)}
    assert create(made("Secret", type="kubernetes.io/dockerconfigjson", data=data)).messages == [
        f'data[.dockerconfigjson]: Invalid value: "<secret contents redacted>": {complaint}'
    ]


def test_type_of_a_secret_stays() -> None:
    old = create(made("Secret", type="a/b")).obj
    assert update({**old, "type": "a/c"}, old).messages == [
        'type: Invalid value: "a/c": field is immutable'
    ]


def test_namespaces_carry_their_name_and_finalizer() -> None:
    obj = create(
        made("Namespace", spec={"finalizers": ["a/b"]}, status={"phase": "Terminating"})
    ).obj
    assert obj["metadata"]["labels"] == {"kubernetes.io/metadata.name": "x"}
    assert obj["spec"] == {"finalizers": ["a/b", "kubernetes"]}
    assert obj["status"] == {"phase": "Active"}
    resource, _ = resource_of(obj)
    assert resource.hooks.fields(obj) == {"status.phase": "Active"}


def test_updates_leave_the_finalizers_of_a_namespace_to_finalize() -> None:
    old = create(made("Namespace")).obj
    wanted = {**old, "spec": {"finalizers": []}}
    assert update(wanted, old).obj["spec"] == {"finalizers": ["kubernetes"]}
    assert update(wanted, old, "finalize").obj["spec"].get("finalizers") in ([], None)
    assert update({**old, "spec": {"finalizers": ["b"]}}, old, "finalize").messages == [
        'spec.finalizers[0]: Invalid value: "b": name is neither a standard finalizer name nor is '
        "it fully qualified"
    ]


def test_phase_of_a_namespace_follows_its_deletion() -> None:
    old = create(made("Namespace")).obj
    assert update({**old, "status": {"phase": "Terminating"}}, old, "status").messages == [
        "status.Phase: Invalid value: \"Terminating\": may only be 'Active' if `deletionTimestamp` "
        "is empty"
    ]


def test_node_rows_and_fields() -> None:
    obj = create(made("Node", spec={"unschedulable": True})).obj
    obj["metadata"]["labels"] = {"node-role.kubernetes.io/worker": "", "kubernetes.io/role": "edge"}
    obj["status"] = {
        "conditions": [{"type": "Ready", "status": "True"}],
        "nodeInfo": {"kubeletVersion": "v1"},
        "addresses": [],
    }
    row = cells(obj)
    assert (row["Status"], row["Roles"], row["Version"]) == (
        "Ready,SchedulingDisabled",
        "edge,worker",
        "v1",
    )
    assert (row["Internal-IP"], row["OS-Image"]) == ("<none>", "<unknown>")
    resource, _ = resource_of(obj)
    assert resource.hooks.fields(obj)["spec.unschedulable"] == "true"


def test_node_taints_are_unique() -> None:
    taint = {"key": "a", "value": "b", "effect": "NoSchedule"}
    [message] = create(made("Node", spec={"taints": [taint, taint]})).messages
    assert message.startswith("metadata.taints[1]: Duplicate value")


def test_pod_cidrs_of_a_node_are_set_once() -> None:
    old = create(made("Node")).obj
    new = changed(old, podCIDR="10.0.0.0/24", podCIDRs=["10.0.0.0/24"])
    assert update(new, old).messages == []
    other = changed(old, podCIDR="10.0.1.0/24", podCIDRs=["10.0.1.0/24"])
    assert [m.partition(":")[0] for m in update(other, new).messages] == ["spec.podCIDRs"]


def test_leases() -> None:
    lease = made(
        "Lease",
        "coordination.k8s.io/v1",
        spec={
            "leaseDurationSeconds": 0,
            "leaseTransitions": -1,
            "strategy": "OldestEmulationVersion",
        },
    )
    result = create(lease)
    assert result.messages == [
        "spec.leaseDurationSeconds: Invalid value: 0: must be greater than 0",
        "spec.leaseTransitions: Invalid value: -1: must be greater than or equal to 0",
    ]
    assert "strategy" not in result.obj["spec"]
    assert (
        cells(create(made("Lease", "coordination.k8s.io/v1", spec={"holderIdentity": "h"})).obj)[
            "Holder"
        ]
        == "h"
    )


def test_ages_are_told_from_now() -> None:
    obj = create(made("ConfigMap")).obj
    assert NOW.minute == 4
    assert cells(obj)["Age"] == "4m5s"
