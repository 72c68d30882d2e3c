from __future__ import annotations

import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apiserver.fielderrors import FieldPath
from apiserver.kinds.networking.address_warnings import cidr_warnings, ip_warnings
from apiserver.kinds.networking.addresses import endpoint_ip_errors, family, parse_cidr, parse_ip


@given(st.ip_addresses())
def test_canonical_addresses_parse_and_are_not_warned_of(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> None:
    parsed = parse_ip(str(address))
    mapped = isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped
    assert parsed == (mapped or address)
    if not mapped:
        assert ip_warnings("p", str(address)) == []
        assert cidr_warnings("p", f"{address}/{address.max_prefixlen}") == []


@pytest.mark.parametrize("text", ["", "1.2.3", "1.2.3.4.5", "256.1.1.1", "::1%eth0", "1.2.3.4/8", "0x1.1.1.1", "nope"])
def test_no_addresses(text: str) -> None:
    assert parse_ip(text) is None and family(text) == ""


@pytest.mark.parametrize(
    "text", ["10.0.0.0", "10.0.0.0/", "10.0.0.0/33", "10.0.0.0/-1", "10.0.0.0/255.0.0.0", "::/129", "::ffff:1.2.3.4/8"]
)
def test_no_networks(text: str) -> None:
    assert parse_cidr(text) is None


def test_zeros_before_octets_are_decimal_and_host_bits_do_not_count() -> None:
    assert str(parse_ip("010.001.000.009")) == "10.1.0.9"
    assert str(parse_cidr("192.0.2.5/24")) == "192.0.2.0/24"


@pytest.mark.parametrize(
    ("text", "count"),
    [
        *(("192.0.2.1", 0), ("2001:db8::1", 0), ("0.0.0.0", 1), ("127.0.0.1", 1), ("::1", 1), ("169.254.0.1", 1), ("fe80::1", 1)),
        *(("224.0.0.1", 1), ("224.0.1.1", 0), ("ff02::1", 1), ("ff05::1", 0)),
    ],
)
def test_addresses_that_traffic_must_not_go_to(text: str, count: int) -> None:
    assert len(endpoint_ip_errors(FieldPath("p"), text)) == count


@pytest.mark.parametrize(
    ("cidr", "warning"),
    [
        ("192.0.2.5/24", 'p: CIDR value "192.0.2.5/24" is ambiguous in this context (should be "192.0.2.0/24" or "192.0.2.5/32"?)'),
        ("2001:DB8::/32", 'p: IPv6 CIDR value "2001:DB8::/32" should be in RFC 5952 canonical format ("2001:db8::/32")'),
    ],
)
def test_cidrs_in_bad_form_are_warned_of(cidr: str, warning: str) -> None:
    assert cidr_warnings("p", cidr) == [warning]
