"""Where webhooks may be: what hides an address inside another is judged by both."""

from __future__ import annotations

import ipaddress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from admission.webhooks.addresses import DENIED, AddressPolicy, networks

METADATA = "169.254.169.254"
V4 = ipaddress.IPv4Address


def embedded(address: str) -> dict[str, str]:
    """All ways to write an IPv4 address as an IPv6 address that routers or translators know."""
    number = int(V4(address))
    high, low = number >> 16, number & 0xFFFF
    hidden = number ^ 0xFFFFFFFF
    return {
        "itself": address,
        "mapped": f"::ffff:{address}",
        "compatible": f"::{address}",
        "translated": f"::ffff:0:{address}",
        "NAT64": f"64:ff9b::{address}",
        "6to4": f"2002:{high:x}:{low:x}::1",
        "Teredo server": f"2001:0:{high:x}:{low:x}:0:0:f7f7:f7f7",
        "Teredo client": f"2001:0:808:808:0:0:{hidden >> 16:x}:{hidden & 0xFFFF:x}",
        "ISATAP": f"2600:1:2:3:0:5efe:{high:x}:{low:x}",
        "ISATAP, global": f"2600:1:2:3:200:5efe:{high:x}:{low:x}",
    }


@pytest.mark.parametrize("form", embedded(METADATA))
@pytest.mark.parametrize(
    "address",
    [
        METADATA,
        "168.63.129.16",
        "100.100.100.200",
        "192.0.0.192",
        "0.0.0.7",
        "224.0.0.1",
        "255.255.255.255",
    ],
)
def test_no_form_of_a_denied_ipv4_address_is_let_through(address: str, form: str) -> None:
    assert not AddressPolicy().permits(embedded(address)[form])


@pytest.mark.parametrize("form", embedded("127.0.0.1"))
def test_no_form_of_loopback_is_let_through_where_loopback_is_not(form: str) -> None:
    assert not AddressPolicy(loopback=False).permits(embedded("127.0.0.1")[form])


@pytest.mark.parametrize("form", embedded("8.8.4.4"))
def test_forms_of_other_addresses_are(form: str) -> None:
    assert AddressPolicy(loopback=False).permits(embedded("8.8.4.4")[form])


@given(st.ip_addresses(v=4), st.sampled_from(sorted(embedded(METADATA))))
def test_every_form_is_judged_as_the_address_itself(address: V4, form: str) -> None:
    policy = AddressPolicy(denied=networks(["10.0.0.0/8", "128.0.0.0/1"]), loopback=False)
    if policy.permits(str(address)) and "Teredo" not in form:
        assert policy.permits(embedded(str(address))[form])
    if not policy.permits(str(address)):
        assert not policy.permits(embedded(str(address))[form])


@pytest.mark.parametrize(
    ("address", "what"),
    [
        ("64:ff9b:1::a9fe:a9fe", "local translation, /96"),
        ("64:ff9b:1:a9fe:a9:fe00::", "local translation, /48"),
        ("64:ff9b:1:ffff:ffff:ffff:ffff:ffff", "local translation, its end"),
        ("100::1", "discarded"),
        ("100:0:0:1::1", "dummy"),
        ("2001:2::1", "benchmarks"),
        ("5f00::1", "segment routing"),
        ("fe80::a9fe:a9fe", "link-local"),
        ("fe80::1%eth0", "link-local with a zone"),
        ("fec0::1", "site-local"),
        ("ff02::1", "multicast"),
        ("::", "unspecified"),
        ("fd00:ec2::254", "AWS"),
        ("fd20:ce::254", "Google Cloud"),
        ("fd00:c1::a9fe:a9fe", "Oracle Cloud"),
        ("fd00:42::42", "Scaleway"),
    ],
)
def test_special_purposes(address: str, what: str) -> None:
    assert not AddressPolicy().permits(address), what


@pytest.mark.parametrize(
    "address",
    [
        "10.1.2.3",
        "192.168.0.1",
        "172.16.0.1",
        "fd12:3456::1",
        "2600::1",
        "93.184.216.34",
        "64:ff9b:2::1",
    ],
)
def test_ordinary_addresses(address: str) -> None:
    assert AddressPolicy(loopback=False).permits(address)


def test_loopback_is_a_decision_of_its_own() -> None:
    for address in ("127.0.0.1", "127.9.9.9", "::1", "::ffff:127.0.0.1"):
        assert AddressPolicy(loopback=True).permits(address) and not AddressPolicy(
            loopback=False
        ).permits(address)


def test_exceptions_name_what_they_let_through() -> None:
    nat64 = "64:ff9b::169.254.7.7"
    assert not AddressPolicy(allowed=networks(["64:ff9b::/96"])).permits(nat64), (
        "the address behind it is not allowed"
    )
    assert AddressPolicy(allowed=networks(["169.254.7.7/32"])).permits(nat64)


def test_the_list_is_in_order_and_says_nothing_twice() -> None:
    parsed = networks(DENIED)
    assert list(parsed) == sorted(parsed, key=lambda n: (n.version, int(n.network_address)))
    assert not [
        (a, b)
        for a in parsed
        for b in parsed
        if a is not b and a.version == b.version and a.subnet_of(b)
    ]  # type: ignore[arg-type]
