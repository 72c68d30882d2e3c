"""Which ranges give addresses, and which address comes of them."""

from __future__ import annotations

from typing import Any

import pytest

from apiserver.kinds.core.service_allocation import AllocationFailed, assign, needs
from apiserver.kinds.core.service_ranges import FINALIZER, range_of, ready_ranges


def cidr(name: str, *cidrs: str, ready: str = "", going: bool = False, kept: bool = True) -> Any:
    metadata: dict[str, Any] = {"name": name, "uid": f"uid-{name}"}
    if going:
        metadata["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    if kept:
        metadata["finalizers"] = [FINALIZER]
    conditions = [{"type": "Ready", "status": ready}] if ready else []
    return {
        "metadata": metadata,
        "spec": {"cidrs": list(cidrs)},
        "status": {"conditions": conditions},
    }


DEFAULT = "10.0.0.0/16"


@pytest.mark.parametrize(
    ("objects", "networks"),
    [
        ([], [DEFAULT]),
        ([cidr("kubernetes", "10.9.0.0/24")], ["10.9.0.0/24"]),
        ([cidr("kubernetes", "10.9.0.0/24", going=True)], []),
        (
            [cidr("b", "10.2.0.0/24"), cidr("a", "10.1.0.0/24")],
            [DEFAULT, "10.1.0.0/24", "10.2.0.0/24"],
        ),
        ([cidr("a", "10.1.0.0/24", ready="True")], [DEFAULT, "10.1.0.0/24"]),
        ([cidr("a", "10.1.0.0/24", ready="False")], [DEFAULT]),
        ([cidr("a", "10.1.0.0/24", ready="Unknown")], [DEFAULT]),
        ([cidr("a", "10.1.0.0/24", going=True)], [DEFAULT]),
        ([cidr("a", "fd00::/64", "10.1.0.0/24")], [DEFAULT, "10.1.0.0/24"]),
        ([cidr("a", "nonsense")], [DEFAULT]),
    ],
)
def test_which_ranges_count(objects: list[Any], networks: list[str]) -> None:
    assert [str(r.network) for r in ready_ranges(objects)] == networks


def test_a_range_knows_whether_it_may_go() -> None:
    ranges = ready_ranges([cidr("a", "10.1.0.0/24"), cidr("b", "10.2.0.0/24", kept=False)])
    assert [(r.uid, r.protected) for r in ranges] == [("", True), ("uid-a", True), ("uid-b", False)]
    found = range_of(ranges, "10.2.0.9")
    assert found is not None and found.uid == "uid-b" and range_of(ranges, "10.3.0.1") is None


def asked(address: str = "") -> Any:
    spec = {
        "type": "ClusterIP",
        **({"clusterIP": address, "clusterIPs": [address]} if address else {}),
    }
    return {"metadata": {"name": "s"}, "spec": spec}


@pytest.mark.parametrize(
    ("address", "cidrs", "why"),
    [
        ("10.1.0.5", ["10.1.0.0/24"], ""),
        (
            "10.1.0.0",
            ["10.1.0.0/24"],
            "the provided IP (10.1.0.0) is not in the valid range. The range of valid",
        ),
        ("10.1.0.255", ["10.1.0.0/24"], "not in the valid range"),
        ("10.1.0.0", ["10.1.0.0/24", "10.0.0.0/8"], ""),
        ("10.2.0.5", ["10.1.0.0/24"], "the provided network does not match the current range"),
        ("10.1.0.9", ["10.1.0.0/24"], "provided IP is already allocated"),
        ("10.1.0.1", ["10.1.0.0/32"], "the provided network does not match the current range"),
        ("10.1.0.0", ["10.1.0.0/32"], "not in the valid range"),
    ],
)
def test_an_address_that_is_asked_for(address: str, cidrs: list[str], why: str) -> None:
    ranges = ready_ranges([cidr(f"c{i}", text) for i, text in enumerate(cidrs)])[1:]
    service = asked(address)
    errors = assign(service, needs(service, None), {"10.1.0.9"}, (), ranges=ranges)
    assert [why in str(e) for e in errors] == ([True] if why else [])


def test_the_next_range_gives_one_when_the_first_is_full() -> None:
    ranges = ready_ranges(
        [cidr("a", "10.1.0.0/30"), cidr("b", "10.2.0.0/31"), cidr("c", "10.3.0.0/30")]
    )
    used: set[str] = set()
    for _ in range(4):
        service = asked()
        assert not assign(service, needs(service, None), used, (), ranges=ranges[1:])
        used.add(service["spec"]["clusterIP"])
    assert used == {"10.1.0.1", "10.1.0.2", "10.3.0.1", "10.3.0.2"}
    service = asked()
    with pytest.raises(AllocationFailed, match="range is full"):
        assign(service, needs(service, None), used, (), ranges=ranges[1:])
