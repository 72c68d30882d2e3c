"""Stored objects as people read them."""

from __future__ import annotations

import yaml

from controlplane.console.presentation import as_yaml, field_paths


def test_yaml_reads_back_in_kubectls_order_and_keeps_lines() -> None:
    obj = {
        "kind": "ConfigMap",
        "data": {"a": "x\ny\n"},
        "metadata": {"name": "n", "managedFields": [{}]},
        "apiVersion": "v1",
    }
    text = as_yaml(obj)
    assert list(yaml.safe_load(text)) == ["apiVersion", "kind", "metadata", "data"]
    assert yaml.safe_load(text)["data"] == obj["data"]
    assert "a: |\n" in text
    assert "managedFields" not in text


def test_secret_of_another_group_is_no_secret() -> None:
    assert "eA==" in as_yaml(
        {"apiVersion": "example.com/v1", "kind": "Secret", "metadata": {}, "data": {"a": "eA=="}}
    )


def test_what_is_in_a_template_is_not_shown() -> None:
    secret = {"apiVersion": "v1", "kind": "Secret", "stringData": {"a": "hunter2"}}
    applied = "kubectl.kubernetes.io/last-applied-configuration"
    template = {
        "apiVersion": "tenancy.polyplane.dev/v1",
        "kind": "TenantTemplate",
        "metadata": {
            "name": "t",
            "annotations": {applied: "hunter2", "b": "c"},
        },
        "spec": {"objects": [secret, secret]},
    }
    shown = yaml.safe_load(as_yaml(template))
    assert "hunter2" not in str(shown) and shown["metadata"]["annotations"]["b"] == "c"
    assert shown["spec"] == {"objects": "(2, not shown)"}
    assert "hunter2" in as_yaml({**template, "apiVersion": "example.com/v1"})


def test_field_paths_name_keys_values_and_indexes() -> None:
    fields = {
        "f:spec": {
            "f:ports": {".": {}, 'k:{"port":80}': {".": {}, "f:name": {}}},
            "f:list": {'v:"x"': {}, "i:0": {}},
        },
        "f:data": {},
    }
    assert field_paths(fields) == [
        ".spec.ports",
        '.spec.ports[{"port":80}]',
        '.spec.ports[{"port":80}].name',
        '.spec.list["x"]',
        ".spec.list[0]",
        ".data",
    ]
