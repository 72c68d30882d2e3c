from __future__ import annotations

import copy
from typing import Any

import pytest

from tests.support.kindtools import create, update


def endpoints(*addresses: str, **hints: Any) -> dict[str, Any]:
    return {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {"name": "e"},
        "addressType": "IPv4",
        "endpoints": [{"addresses": [address], "hints": hints} for address in addresses],
    }


def test_only_endpoints_that_stay_are_not_looked_at_again() -> None:
    old = create(endpoints("1.2.3.4")).obj
    old["endpoints"][0]["addresses"] = ["1.2.3.04"]
    new = copy.deepcopy(old)
    new["metadata"]["labels"] = {"a": "b"}
    assert update(new, old).messages == []
    new["endpoints"].append({"addresses": ["1.2.3.5"]})
    assert [e.path for e in update(new, old).errors] == ["endpoints[0].addresses[0]"]


def test_too_many_zones_hide_nodes() -> None:
    zones = [{"name": f"z{i}"} for i in range(9)]
    made = create(endpoints("1.2.3.4", forZones=zones, forNodes=[{"name": "Not a node"}]))
    assert [e.path for e in made.errors] == ["endpoints[0].hints.forZones"]


def test_names_as_addresses_are_warned_of_once() -> None:
    made = create({**endpoints("example.com"), "addressType": "FQDN"})
    assert made.warnings == ["spec.addressType: FQDN endpoints are deprecated"]
    assert update(copy.deepcopy(made.obj), made.obj).warnings == []


def test_controllers_are_not_warned_of_addresses() -> None:
    wanted = {**endpoints("2001:DB8::1"), "addressType": "IPv6"}
    old = create(wanted).obj
    new = copy.deepcopy(old)
    new["metadata"]["annotations"] = {"a": "b"}
    assert len(update(new, old).warnings) == 1
    name = "endpointslice-controller.k8s.io"
    new["metadata"]["labels"] = {"endpointslice.kubernetes.io/managed-by": name}
    assert update(new, old).warnings == []


def test_a_protocol_that_is_sent_empty_is_none_of_the_supported_ones() -> None:
    obj = {**endpoints("1.2.3.4"), "ports": [{"name": "a", "protocol": ""}, {"name": "b"}]}
    assert create(obj).messages == [
        'ports[0].protocol: Unsupported value: "": supported values: "SCTP", "TCP", "UDP"'
    ]


@pytest.mark.parametrize(
    ("address", "why"),
    [
        ("2001:db8::1", ""),
        ("1.2.3.4", "must be an IPv6 address"),
        ("2001:DB8::1", 'must be in canonical form ("2001:db8::1")'),
        ("1:0::1", 'must be in canonical form ("1::1")'),
        ("::ffff:1.2.3.4", "must not be an IPv4-mapped IPv6 address"),
        ("01.2.3.4", "must not have leading 0s"),
        ("x", "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"),
    ],
)
def test_addresses_of_ipv6_are_canonical(address: str, why: str) -> None:
    """kubernetes pkg/apis/discovery/validation: IsValidIP, where IPv4 has the legacy rule."""
    made = create({**endpoints(address), "addressType": "IPv6"})
    assert [e.detail for e in made.errors] == ([why] if why else [])
