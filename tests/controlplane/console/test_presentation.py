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
