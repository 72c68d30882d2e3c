"""ParseIPSloppy: Go's net.ParseIP before 1.17. (net/netip: tests of the CEL libraries.)"""

from __future__ import annotations

import pytest

from apiserver.golang.netip import is_cidr_sloppy, parse_ip_sloppy


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("1.2.3.4", "1.2.3.4"),
        ("001.02.3.00004", "1.2.3.4"),
        ("010.0.0.1", "10.0.0.1"),
        ("2001:DB8::1", "2001:db8::1"),
        ("64:ff9b::010.1.1.1", "64:ff9b::a01:101"),
    ],
)
def test_addresses(text: str, canonical: str) -> None:
    assert str(parse_ip_sloppy(text)) == canonical


@pytest.mark.parametrize(
    "text",
    [
        *("", "1.2.3", "1.2.3.256", "1.2.3.4.5", "1..3.4", "1.2.3.-4"),
        *("١.2.3.4", "fe80::1%eth0", ":::", "x", "1.2.3." + "1" * 5000),
    ],
    ids=lambda text: text[:12],
)
def test_what_is_no_address(text: str) -> None:
    assert parse_ip_sloppy(text) is None


@pytest.mark.parametrize("text", ["10.0.0.0/8", "010.0.0.1/32", "::/0", "::1/128", "::1.2.3.4/99"])
def test_cidrs(text: str) -> None:
    assert is_cidr_sloppy(text)


@pytest.mark.parametrize("text", ["10.0.0.0", "10.0.0.0/", "10.0.0.0/33", "::/129", "x/8", "::/-1"])
def test_what_is_no_cidr(text: str) -> None:
    assert not is_cidr_sloppy(text)
