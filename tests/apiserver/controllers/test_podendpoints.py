"""What pods are to Services."""

from __future__ import annotations

from typing import Any

import pytest

from apiserver.controllers.podendpoints import Pods, families, pod_of, ports_of, target
from apiserver.meta.objects import Object


def pod(name: str = "p", *, spec: Object | None = None, **status: Any) -> Object:
    metadata = {"name": name, "namespace": "ns", "uid": f"u-{name}", "labels": {"app": "web"}}
    ready = {"type": "Ready", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}
    base = {"podIP": "10.0.0.1", "podIPs": [{"ip": "10.0.0.1"}], "conditions": [ready]}
    return {"metadata": metadata, "spec": spec or {}, "status": {**base, **status}}


def service(**spec: Any) -> Object:
    return {"metadata": {"name": "s"}, "spec": {"selector": {"app": "web"}, **spec}}


@pytest.mark.parametrize("phase", ["Failed", "Succeeded"])
def test_a_pod_that_has_ended_is_none(phase: str) -> None:
    assert pod_of(pod(phase=phase)) is None


def test_a_pod_without_an_address_is_none() -> None:
    assert pod_of(pod(podIP=None, podIPs=[])) is None
    assert pod_of(pod(podIPs=[])) is not None, "by the older member"


def test_addresses_are_written_alike() -> None:
    found = pod_of(
        pod(podIPs=[{"ip": "010.0.0.1"}, {"ip": "FD00::0:1"}, {"ip": "::ffff:10.0.0.2"}])
    )
    assert found is not None
    assert found.addresses_of("IPv4") == ["10.0.0.1", "10.0.0.2"]
    assert found.addresses_of("IPv6") == ["fd00::1"]


def container(name: str, port: int, **more: Any) -> Object:
    return {"ports": [{"name": name, "containerPort": port, **more}]}


def test_a_named_port_is_the_first_of_that_name_and_protocol() -> None:
    sidecar = {**container("http", 3), "restartPolicy": "Always"}
    spec = {
        "containers": [container("http", 1, protocol="UDP"), container("http", 2)],
        "initContainers": [container("init", 9), sidecar, {**sidecar, **container("side", 4)}],
    }
    found = pod_of(pod(spec=spec))
    assert found is not None
    named = {"port": 80, "targetPort": "http"}
    assert target(named, found) == 2
    assert target({**named, "protocol": "UDP"}, found) == 1
    assert target({"port": 80, "targetPort": "side"}, found) == 4
    assert target({"port": 80, "targetPort": "init"}, found) is None, "no sidecar"
    assert target({"port": 80, "targetPort": 8080}, found) == 8080
    assert target({"port": 80}, found) == 80


def test_ports_that_a_pod_lacks_are_left_out() -> None:
    found = pod_of(pod(spec={"containers": [container("http", 8080)]}))
    assert found is not None
    ports = [
        {"name": "a", "port": 80, "targetPort": "http", "appProtocol": "h2c"},
        {"name": "b", "port": 81, "targetPort": "absent"},
    ]
    wanted = {"name": "a", "port": 8080, "protocol": "TCP", "appProtocol": "h2c"}
    assert ports_of(service(ports=ports), found) == [wanted]


@pytest.mark.parametrize(
    ("selector", "found"),
    [
        ({"app": "web"}, ["a", "b"]),
        ({"app": "web", "tier": "x"}, ["b"]),
        ({"app": "web", "tier": "y"}, []),
        ({"app": "other"}, []),
        ({}, []),
    ],
)
def test_who_is_selected(selector: dict[str, str], found: list[str]) -> None:
    a, b, c = pod("a"), pod("b"), pod("c")
    b["metadata"]["labels"] = {"app": "web", "tier": "x"}
    c["metadata"]["labels"] = {"app": "none", "tier": "y"}
    known = [p for p in map(pod_of, (a, b, c)) if p is not None]
    assert [p.name for p in Pods(known).of(service(selector=selector))] == found
    outside = service(selector=selector, type="ExternalName")
    assert Pods(known).of(outside) == []


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"ipFamilies": ["IPv6", "IPv4"]}, ["IPv6", "IPv4"]),
        ({"clusterIP": "10.0.0.1"}, ["IPv4"]),
        ({"clusterIP": "fd00::1"}, ["IPv6"]),
        ({"clusterIP": "None"}, ["IPv4", "IPv6"]),
    ],
)
def test_families(spec: Object, expected: list[str]) -> None:
    assert families(service(**spec)) == expected
