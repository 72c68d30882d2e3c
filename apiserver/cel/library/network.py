"""IP addresses and networks: types net.IP and net.CIDR (k8s.io/apiserver ``pkg/cel/library/ip.go``,
``cidr.go``)."""

from __future__ import annotations

from typing import Final

from apiserver.cel.decls import functions, merge, overload
from apiserver.cel.errors import EvalError, no_such_overload
from apiserver.cel.types import Type, opaque_type
from apiserver.effort import spend
from apiserver.golang.netip import Address, AddressError, Prefix, parse_address, parse_prefix
from apiserver.golang.strconv import go_quote

IP_TYPE: Final = opaque_type("net.IP")
CIDR_TYPE: Final = opaque_type("net.CIDR")


class IP:
    __slots__ = ("address",)
    cel_type: Final = IP_TYPE
    cel_unit_equality: Final = True

    def __init__(self, address: Address) -> None:
        self.address = address

    @property
    def cel_size(self) -> int:
        return self.address.bits // 8

    def __eq__(self, other: object) -> bool:
        return isinstance(other, IP) and other.address == self.address

    def __hash__(self) -> int:
        return hash(self.address)

    def __str__(self) -> str:
        return str(self.address)


class CIDR:
    __slots__ = ("prefix",)
    cel_type: Final = CIDR_TYPE
    cel_unit_equality: Final = True

    def __init__(self, prefix: Prefix) -> None:
        self.prefix = prefix

    @property
    def cel_size(self) -> int:
        return -(-self.prefix.length // 8)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, CIDR) and other.prefix == self.prefix

    def __hash__(self) -> int:
        return hash(self.prefix)

    def __str__(self) -> str:
        return str(self.prefix)


def _ip(text: str) -> IP:
    spend(3 * len(text))
    try:
        address = parse_address(text)
    except AddressError as e:
        raise EvalError(
            f"IP Address {go_quote(text)} parse error during conversion from string: {e}"
        ) from None
    if address.zone:
        raise EvalError(f"IP address {go_quote(text)} with zone value is not allowed")
    if address.is_mapped:
        raise EvalError(f"IPv4-mapped IPv6 address {go_quote(text)} is not allowed")
    return IP(address)


_CONVERSION = "network address parse error during conversion from string"


def _cidr(text: str) -> CIDR:
    spend(3 * len(text))
    try:
        prefix = parse_prefix(text)
    except AddressError as e:
        raise EvalError(f"{_CONVERSION}: {_CONVERSION}: {e}") from None
    if prefix.address.is_mapped:
        raise EvalError(f"{_CONVERSION}: IPv4-mapped IPv6 address {go_quote(text)} is not allowed")
    return CIDR(prefix)


def _is_ip(text: str) -> bool:
    try:
        _ip(text)
    except EvalError:
        return False
    return True


def _is_cidr(text: str) -> bool:
    try:
        _cidr(text)
    except EvalError:
        return False
    return True


def _contains_ip_text(cidr: CIDR, text: str) -> bool:
    try:
        return cidr.prefix.contains(_ip(text).address)
    except EvalError:
        raise no_such_overload() from None


def _contains_cidr(cidr: CIDR, other: CIDR) -> bool:
    return cidr.prefix.overlaps(other.prefix) and cidr.prefix.length <= other.prefix.length


_T: Final[dict[str, Type]] = {"IP": IP_TYPE, "CIDR": CIDR_TYPE}

IP_FUNCTIONS = functions(
    overload("string_to_ip", "ip(string) -> IP", _ip, _T),
    overload("ip_family", "IP.family() -> int", lambda i: 4 if i.address.bits == 32 else 6, _T),
    overload("ip_is_canonical", "ip.isCanonical(string) -> bool", lambda s: str(_ip(s)) == s, _T),
    overload(
        "ip_is_unspecified", "IP.isUnspecified() -> bool", lambda i: i.address.is_unspecified, _T
    ),
    overload("ip_is_loopback", "IP.isLoopback() -> bool", lambda i: i.address.is_loopback, _T),
    overload(
        "ip_is_link_local_multicast",
        "IP.isLinkLocalMulticast() -> bool",
        lambda i: i.address.is_link_local_multicast,
        _T,
    ),
    overload(
        "ip_is_link_local_unicast",
        "IP.isLinkLocalUnicast() -> bool",
        lambda i: i.address.is_link_local_unicast,
        _T,
    ),
    overload(
        "ip_is_global_unicast",
        "IP.isGlobalUnicast() -> bool",
        lambda i: i.address.is_global_unicast,
        _T,
    ),
    overload("is_ip", "isIP(string) -> bool", _is_ip, _T),
    overload("ip_to_string", "string(IP) -> string", str, _T),
)

CIDR_FUNCTIONS = functions(
    overload("string_to_cidr", "cidr(string) -> CIDR", _cidr, _T),
    overload("cidr_contains_ip_string", "CIDR.containsIP(string) -> bool", _contains_ip_text, _T),
    overload(
        "cidr_contains_ip_ip",
        "CIDR.containsIP(IP) -> bool",
        lambda c, i: c.prefix.contains(i.address),
        _T,
    ),
    overload(
        "cidr_contains_cidr_string",
        "CIDR.containsCIDR(string) -> bool",
        lambda c, s: _contains_cidr(c, _cidr(s)),
        _T,
    ),
    overload("cidr_contains_cidr", "CIDR.containsCIDR(CIDR) -> bool", _contains_cidr, _T),
    overload("cidr_ip", "CIDR.ip() -> IP", lambda c: IP(c.prefix.address), _T),
    overload("cidr_prefix_length", "CIDR.prefixLength() -> int", lambda c: c.prefix.length, _T),
    overload("cidr_masked", "CIDR.masked() -> CIDR", lambda c: CIDR(c.prefix.masked()), _T),
    overload("is_cidr", "isCIDR(string) -> bool", _is_cidr, _T),
    overload("cidr_to_string", "string(CIDR) -> string", str, _T),
)

NETWORK = merge(IP_FUNCTIONS, CIDR_FUNCTIONS)
