"""Subsets of Endpoints: the cases of kubernetes' repacking, truncation, and of Services."""

from __future__ import annotations

from typing import Any

import pytest

from apiserver.controllers.podendpoints import pod_of
from apiserver.controllers.subsets import MOST, count, equal, of_service, repack, truncate
from apiserver.meta.objects import Object

HTTP, DNS = {"name": "http", "port": 80}, {"name": "dns", "port": 53}


def at(ip: str, uid: str = "") -> Object:
    return {"ip": ip, **({"targetRef": {"uid": uid}} if uid else {})}


@pytest.mark.parametrize(
    ("subsets", "expected"),
    [
        ([], []),
        (
            [{"addresses": [at("1")], "ports": [HTTP]}, {"addresses": [at("1")], "ports": [DNS]}],
            [{"addresses": [at("1")], "ports": [DNS, HTTP]}],
        ),
        (
            [{"addresses": [at("2")], "ports": [HTTP]}, {"addresses": [at("1")], "ports": [HTTP]}],
            [{"addresses": [at("1"), at("2")], "ports": [HTTP]}],
        ),
        # one that is said to be not ready is not
        (
            [
                {"addresses": [at("1")], "ports": [HTTP]},
                {"notReadyAddresses": [at("1")], "ports": [HTTP]},
            ],
            [{"notReadyAddresses": [at("1")], "ports": [HTTP]}],
        ),
        (
            [
                {"notReadyAddresses": [at("1")], "ports": [HTTP]},
                {"addresses": [at("1")], "ports": [HTTP]},
            ],
            [{"notReadyAddresses": [at("1")], "ports": [HTTP]}],
        ),
        # two pods of one address are two
        (
            [{"addresses": [at("1", "b"), at("1", "a")], "ports": [HTTP]}],
            [{"addresses": [at("1", "a"), at("1", "b")], "ports": [HTTP]}],
        ),
        ([{"addresses": [at("1")]}], [{"addresses": [at("1")]}]),
        # no port beside a port: together, as the addresses are the same
        (
            [{"addresses": [at("1")]}, {"addresses": [at("1")], "ports": [HTTP]}],
            [{"addresses": [at("1")], "ports": [HTTP]}],
        ),
    ],
)
def test_repacking(subsets: list[Object], expected: list[Object]) -> None:
    assert repack(subsets) == expected
    assert repack(repack(subsets)) == expected


def test_order_and_versions_of_pods_make_no_difference() -> None:
    some = [{"addresses": [at("1", "a"), at("2", "b")], "ports": [HTTP, DNS]}]
    seen = at("1", "a")
    seen["targetRef"]["resourceVersion"] = "7"
    others = [{"addresses": [at("2", "b"), seen], "ports": [DNS, HTTP]}]
    assert equal(some, others)
    assert not equal(some, [{"addresses": [at("1", "a")], "ports": [HTTP, DNS]}])


def many(member: str, number: int, port: Object) -> Object:
    return {member: [at(f"{port['port']}-{i}") for i in range(number)], "ports": [port]}


@pytest.mark.parametrize(
    ("ready", "not_ready", "kept"),
    [
        ((300, 300), (100, 100), None),
        ((900, 600), (100, 100), ((600, 400), (0, 0))),
        ((400, 200), (300, 600), ((400, 200), (134, 266))),
    ],
)
def test_more_than_fit(ready: Any, not_ready: Any, kept: Any) -> None:
    subsets = [
        {**many("addresses", r, port), "notReadyAddresses": [at(f"n{i}") for i in range(n)]}
        for r, n, port in zip(ready, not_ready, (HTTP, DNS), strict=True)
    ]
    found, is_cut = truncate(subsets)
    if kept is None:
        assert (found, is_cut) == (subsets, False)
        return
    assert is_cut and count(found) == MOST
    numbers = [[len(s.get(m) or ()) for s in found] for m in ("addresses", "notReadyAddresses")]
    assert tuple(map(tuple, numbers)) == kept


def pod(name: str, ready: bool = True, **more: Any) -> Any:
    metadata = {"name": name, "namespace": "ns", "uid": f"u-{name}", **more}
    condition = {"type": "Ready", "status": str(ready)}
    ips = [{"ip": "10.0.0.1"}, {"ip": "fd00::1"}]
    status = {"podIP": "10.0.0.1", "podIPs": ips, "conditions": [condition]}
    spec = {"hostname": "h", "subdomain": "s", "nodeName": "n"}
    found = pod_of({"metadata": metadata, "spec": spec, "status": status})
    assert found is not None
    return found


def service(**spec: Any) -> Object:
    ports = [{"name": "http", "port": 80, "targetPort": 8080}]
    whole = {"clusterIP": "10.9.0.1", "ipFamilies": ["IPv4"], "ports": ports, **spec}
    return {"metadata": {"name": "s"}, "spec": whole}


REFERENCE = {"kind": "Pod", "namespace": "ns", "name": "p", "uid": "u-p"}
ADDRESS = {"ip": "10.0.0.1", "targetRef": REFERENCE, "nodeName": "n", "hostname": "h"}
PORTS = [{"name": "http", "port": 8080, "protocol": "TCP"}]


@pytest.mark.parametrize(
    ("spec", "one", "expected"),
    [
        ({}, {}, [{"addresses": [ADDRESS], "ports": PORTS}]),
        ({}, {"ready": False}, [{"notReadyAddresses": [ADDRESS], "ports": PORTS}]),
        (
            {"publishNotReadyAddresses": True},
            {"ready": False},
            [{"addresses": [ADDRESS], "ports": PORTS}],
        ),
        ({}, {"deletionTimestamp": "2026-01-01T00:00:00Z"}, []),
        (
            {"publishNotReadyAddresses": True},
            {"deletionTimestamp": "2026-01-01T00:00:00Z"},
            [{"addresses": [ADDRESS], "ports": PORTS}],
        ),
        (
            {"ipFamilies": ["IPv6", "IPv4"]},
            {},
            [{"addresses": [{**ADDRESS, "ip": "fd00::1"}], "ports": PORTS}],
        ),
        ({"clusterIP": "None", "ports": []}, {}, [{"addresses": [ADDRESS]}]),
        ({"clusterIP": "None", "ports": [], "ipFamilies": []}, {}, [{"addresses": [ADDRESS]}]),
        ({"ports": []}, {}, []),
    ],
)
def test_what_a_service_leads_to(spec: Object, one: Object, expected: list[Object]) -> None:
    assert of_service(service(**spec), [pod("p", **one)]) == expected
