from __future__ import annotations

import ipaddress
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apiserver.fielderrors import FieldPath
from apiserver.kinds.common.address_warnings import cidr_warnings, ip_warnings
from apiserver.kinds.common.addresses import (
    cidr_errors,
    endpoint_ip_errors,
    family,
    ip_errors,
    parse_cidr,
)
from apiserver.kinds.formats import parse_ip
from apiserver.meta import features


@given(st.ip_addresses())
def test_canonical_addresses_parse_and_are_not_warned_of(
    address: ipaddress.IPv4Address | ipaddress.IPv6Address,
) -> None:
    parsed = parse_ip(str(address))
    mapped = isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped
    assert parsed == (mapped or address)
    if not mapped:
        assert ip_warnings("p", str(address)) == []
        assert cidr_warnings("p", f"{address}/{address.max_prefixlen}") == []


@pytest.mark.parametrize(
    "text", ["", "1.2.3", "1.2.3.4.5", "256.1.1.1", "::1%eth0", "1.2.3.4/8", "0x1.1.1.1", "nope"]
)
def test_no_addresses(text: str) -> None:
    assert parse_ip(text) is None and family(text) == ""


@pytest.mark.parametrize(
    "text",
    [
        "10.0.0.0",
        "10.0.0.0/",
        "10.0.0.0/33",
        "10.0.0.0/-1",
        "10.0.0.0/255.0.0.0",
        "::/129",
        "::ffff:1.2.3.4/8",
    ],
)
def test_no_networks(text: str) -> None:
    assert parse_cidr(text) is None


def test_zeros_before_octets_are_decimal_and_host_bits_do_not_count() -> None:
    assert str(parse_ip("010.001.000.009")) == "10.1.0.9"
    assert str(parse_cidr("192.0.2.5/24")) == "192.0.2.0/24"


@pytest.mark.parametrize(
    ("text", "count"),
    [
        *(
            ("192.0.2.1", 0),
            ("2001:db8::1", 0),
            ("0.0.0.0", 1),
            ("127.0.0.1", 1),
            ("::1", 1),
            ("169.254.0.1", 1),
            ("fe80::1", 1),
        ),
        *(("224.0.0.1", 1), ("224.0.1.1", 0), ("ff02::1", 1), ("ff05::1", 0)),
    ],
)
def test_addresses_that_traffic_must_not_go_to(text: str, count: int) -> None:
    assert len(endpoint_ip_errors(FieldPath("p"), text)) == count


@pytest.mark.parametrize(
    ("cidr", "warning"),
    [
        (
            "192.0.2.5/24",
            'p: CIDR value "192.0.2.5/24" is ambiguous in this context (should be "192.0.2.0/24" '
            'or "192.0.2.5/32"?)',
        ),
        (
            "2001:DB8::/32",
            'p: IPv6 CIDR value "2001:DB8::/32" should be in RFC 5952 canonical format '
            '("2001:db8::/32")',
        ),
    ],
)
def test_cidrs_in_bad_form_are_warned_of(cidr: str, warning: str) -> None:
    assert cidr_warnings("p", cidr) == [warning]


@pytest.fixture(autouse=True)
def gates() -> Iterator[None]:
    yield
    features.activate({})


NO_IP = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"
NO_CIDR = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"
ZEROS = "must not have leading 0s"
LOOSE_IPS = {
    "010.0.0.1": ZEROS,
    "0000.0.0.1": ZEROS,
    "::ffff:10.0.0.01": ZEROS,
    "::ffff:10.0.0.1": "must not be an IPv4-mapped IPv6 address",
    "::FFFF:a00:1": "must not be an IPv4-mapped IPv6 address",
}
LOOSE_CIDRS = {
    "010.0.0.0/8": f"{ZEROS} in IP or prefix length",
    "10.0.0.0/08": f"{ZEROS} in IP or prefix length",
    "::ffff:10.0.0.0/104": "must not have an IPv4-mapped IPv6 address",
    "10.0.0.1/8": "must not have bits set beyond the prefix length",
    "2001:db8::1/64": "must not have bits set beyond the prefix length",
}


@pytest.mark.parametrize(
    ("text", "error"),
    [
        *LOOSE_IPS.items(),
        ("10.0.0.256", NO_IP),
        ("fe80::1%eth0", NO_IP),
        ("1" * 9000 + ".0.0.1", NO_IP),
        ("10.0.0.1", None),
        ("FE80:0::1", None),
    ],
)
def test_addresses_that_programs_read_differently_are_none(text: str, error: str | None) -> None:
    errors = ip_errors(FieldPath("p"), text)
    assert [e.detail for e in errors] == ([error] if error else [])
    assert ip_errors(FieldPath("p"), text, stored=[text]) == []


@pytest.mark.parametrize(
    ("text", "error"),
    [
        *LOOSE_CIDRS.items(),
        ("10.0.0.0", NO_CIDR),
        ("10.0.0.0/33", NO_CIDR),
        ("::/129", NO_CIDR),
        ("10.0.0.0/8", None),
        ("0.0.0.0/0", None),
        ("2001:DB8::/64", None),
    ],
)
def test_networks_that_programs_read_differently_are_none(text: str, error: str | None) -> None:
    errors = cidr_errors(FieldPath("p"), text)
    assert [e.detail for e in errors] == ([error] if error else [])
    assert cidr_errors(FieldPath("p"), text, stored=[text]) == []


def test_without_the_gate_they_are_taken() -> None:
    features.activate({"StrictIPCIDRValidation": False})
    assert [e for text in LOOSE_IPS for e in ip_errors(FieldPath("p"), text)] == []
    assert [e for text in LOOSE_CIDRS for e in cidr_errors(FieldPath("p"), text)] == []
