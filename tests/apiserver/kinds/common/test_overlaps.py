"""Warnings about pods after pkg/api/pod/warnings.go of kubernetes 1.34."""

from __future__ import annotations

from typing import Any

from tests.support.kindtools import create, pod


def told(*volumes: dict[str, Any], **spec: Any) -> list[str]:
    return create(pod(volumes=[{"name": "v", **v} for v in volumes], **spec)).warnings


def items(*paths: str) -> list[dict[str, str]]:
    return [{"key": "k", "path": path} for path in paths]


def test_files_of_one_source() -> None:
    assert told({"configMap": {"name": "m", "items": items("a/b", "c", "a/b/c", "ab")}}) == [
        'volume "v" (ConfigMap "m"): overlapping paths: "a/b/c" with "a/b"'
    ]
    assert told({"secret": {"secretName": "s", "items": items("a/b", "a/c/", "a")}}) == [
        'volume "v" (Secret "s"): overlapping paths: "a" with "a/b"',
        'volume "v" (Secret "s"): overlapping paths: "a" with "a/c"',
    ]
    field = {"fieldRef": {"fieldPath": "metadata.name"}}
    files = [{"path": "x", **field}, {"path": "x", **field}]
    assert told({"downwardAPI": {"items": files}}) == [
        'volume "v" (DownwardAPI): overlapping paths: "x" with "x"'
    ]


def test_files_of_several_sources() -> None:
    sources = [
        {"configMap": {"name": "m", "items": items("token", "d/e")}},
        {"serviceAccountToken": {"path": "token"}},
        {"secret": {"name": "s", "items": items("d")}},
        {"secret": {"name": "whole"}},
    ]
    projected = {"projected": {"sources": sources}}
    beginning = 'volume "v" (Projected): overlapping paths: '
    assert told(projected, serviceAccountName="a")[-2:] == [
        beginning + '"token" (ServiceAccountToken) with "token" (ConfigMap "m")',
        beginning + '"d" (Secret "s") with "d/e" (ConfigMap "m")',
    ]
    assert told({"projected": {"sources": [{}]}}) == [
        'volume "v" (Projected) has no sources provided'
    ]


def test_names_of_ports_are_a_pods() -> None:
    def container(name: str) -> dict[str, Any]:
        ports = [{"name": "web", "containerPort": len(name)}]
        return {"name": name, "image": "i", "ports": ports}

    first = "spec.containers[0].ports[0]"
    assert told(containers=[container("a"), container("bc")]) == [
        f'spec.containers[1].ports[0]: duplicate port name "web" with {first}, services and probes '
        f"that select ports by name will use {first}"
    ]


def test_addresses_have_one_form() -> None:
    why = 'IPv6 address "fd00::0:1" should be in RFC 5952 canonical format ("fd00::1")'
    config = {"nameservers": ["fd00::0:1"]}
    assert told(dnsConfig=config, hostAliases=[{"ip": "fd00::0:1"}]) == [
        f"spec.dnsConfig.nameservers[0]: {why}",
        f"spec.hostAliases[0].ip: {why}",
    ]
