"""Addresses that were stored before they were checked strictly stay; none is added."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from apiserver.kinds.base import Kind, WriteContext
from apiserver.kinds.core import podstatus
from apiserver.kinds.core.endpoints import Endpoints
from apiserver.kinds.core.service import Service
from apiserver.kinds.networking.networkpolicy import NetworkPolicy
from apiserver.meta.objects import Object

CONTEXT = WriteContext("v1", datetime(2026, 1, 2, tzinfo=UTC))


def policy(*cidrs: str) -> Object:
    peers = [{"ipBlock": {"cidr": "10.0.0.0/8", "except": [cidr]}} for cidr in cidrs]
    return {"metadata": {"name": "p"}, "spec": {"ingress": [{"from": peers}]}}


def endpoints(*ips: str) -> Object:
    return {"metadata": {"name": "e"}, "subsets": [{"addresses": [{"ip": ip} for ip in ips]}]}


def service(*ips: str) -> Object:
    spec = {"type": "ExternalName", "externalName": "a.example", "sessionAffinity": "None"}
    return {"metadata": {"name": "s"}, "spec": {**spec, "externalIPs": list(ips)}}


def balanced(*ranges: str) -> Object:
    spec = {"type": "LoadBalancer", "allocateLoadBalancerNodePorts": True}
    spec |= {"sessionAffinity": "None", "externalTrafficPolicy": "Cluster"}
    spec |= {"internalTrafficPolicy": "Cluster", "ports": [{"port": 1, "targetPort": 1}]}
    spec["ports"][0] |= {"protocol": "TCP"}
    return {"metadata": {"name": "s"}, "spec": {**spec, "loadBalancerSourceRanges": list(ranges)}}


@pytest.mark.parametrize(
    ("kind", "stored", "more"),
    [
        (NetworkPolicy(), policy("10.0.0.1/16"), policy("10.0.0.1/16", "10.1.0.1/16")),
        (Endpoints(), endpoints("10.0.0.01"), endpoints("10.0.0.01", "10.0.0.2")),
        (Service(), service("10.0.0.01"), service("10.0.0.01", "10.0.0.02")),
        (Service(), balanced("10.0.0.1/16"), balanced("10.0.0.1/16", "10.1.0.1/16")),
    ],
)
def test_what_is_stored_passes(kind: Kind, stored: Object, more: Object) -> None:
    assert len(kind.validate_create(stored, CONTEXT)) == 1
    assert kind.validate_update(stored, stored, CONTEXT) == []
    assert len(kind.validate_update(more, stored, CONTEXT)) == 1


@pytest.mark.parametrize("field", ["podIPs", "hostIPs"])
def test_addresses_of_a_pods_status(field: str) -> None:
    def errors(ip: str, stored: str) -> list[str]:
        return [
            e.path
            for e in podstatus._addresses(
                {field: [{"ip": ip}]}, {field: [{"ip": stored}]} if stored else {}, field
            )
        ]

    assert errors("10.0.0.01", "10.0.0.01") == []
    assert errors("10.0.0.02", "10.0.0.01") == [f"status.{field}[0]"]
    assert errors("10.0.0.02", "") == [f"status.{field}[0]"]
