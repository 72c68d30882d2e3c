"""kubeconfig files: tenants become contexts, merging loses nothing of the user's."""

from __future__ import annotations

import base64

import pytest
import yaml

from controlplane.kubeconfig import (
    kubeconfig,
    merge,
    server_of,
    tenant_host_url,
    tenant_port_url,
)


def test_one_context_per_tenant_with_the_ca_inside() -> None:
    config = yaml.safe_load(
        kubeconfig("https://127.0.0.1:6443", b"PEM", ["default", "demo"], "admin", "secret")
    )
    assert [c["cluster"]["server"] for c in config["clusters"]] == [
        "https://127.0.0.1:6443",
        "https://127.0.0.1:6443/clusters/demo",
    ]
    assert {
        base64.b64decode(c["cluster"]["certificate-authority-data"]) for c in config["clusters"]
    } == {b"PEM"}
    assert config["current-context"] == "default"
    assert config["users"] == [{"name": "polyplane-admin", "user": {"token": "secret"}}]


def test_certificate_that_the_system_trusts_needs_no_ca() -> None:
    config = yaml.safe_load(
        kubeconfig("https://api.example.com", b"", ["default"], "admin", "secret")
    )
    assert config["clusters"][0]["cluster"] == {"server": "https://api.example.com"}


@pytest.mark.parametrize("tenants", [["default", "demo"], ["demo"]])
def test_the_address_is_read_back_without_the_tenant(tenants: list[str]) -> None:
    assert (
        server_of(kubeconfig("https://127.0.0.1:8443", b"PEM", tenants, "admin", "secret"))
        == "https://127.0.0.1:8443"
    )


@pytest.mark.parametrize("text", ["", "a: [", "clusters: []", "clusters: [{name: x}]"])
def test_no_address_is_read_out_of_other_files(text: str) -> None:
    assert server_of(text) == ""


@pytest.mark.parametrize(
    ("base", "server"),
    [
        ("https://127.0.0.1:6443", "https://demo.t.example.com:6443"),
        ("https://api.example.com", "https://demo.t.example.com"),
    ],
)
def test_a_host_names_the_tenant_where_there_is_a_domain(base: str, server: str) -> None:
    own = tenant_host_url(base, "demo", "t.example.com")
    assert own == server
    config = yaml.safe_load(kubeconfig(base, b"", ["demo"], "admin", "secret", own))
    assert config["clusters"][0]["cluster"] == {"server": server}


@pytest.mark.parametrize(
    ("base", "server"),
    [
        ("https://127.0.0.1:6443", "https://127.0.0.1:7001"),
        ("https://api.example.com", "https://api.example.com:7001"),
        ("https://[::1]:6443", "https://[::1]:7001"),
    ],
)
def test_a_port_names_the_tenant_that_has_one(base: str, server: str) -> None:
    assert tenant_port_url(base, 7001) == server


def test_merge_keeps_the_users_entries_and_repeats_harmlessly() -> None:
    ours = yaml.safe_load(
        kubeconfig("https://127.0.0.1:6443", b"PEM", ["default", "demo"], "admin", "secret")
    )
    mine = {
        "contexts": [{"name": "default", "context": {"cluster": "work"}}],
        "clusters": None,
        "current-context": "default",
        "preferences": {"a": 1},
    }
    once = merge(mine, ours)
    assert [c["name"] for c in once["contexts"]] == [
        "default",
        "polyplane-default",
        "polyplane-demo",
    ]
    assert once["contexts"][0] == mine["contexts"][0]
    assert once["current-context"] == "default"
    assert once["preferences"] == {"a": 1}
    assert merge(once, ours) == once
    assert merge({}, ours)["current-context"] == "polyplane-default"
