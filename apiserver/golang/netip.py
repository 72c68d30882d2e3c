"""Go's reading of IP addresses and prefixes: package ``net/netip``, with its error texts, and
``ParseIPSloppy`` of k8s.io/utils, which is ``net.ParseIP`` as it was before Go 1.17."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import NamedTuple

from apiserver.golang.strconv import go_quote, whole

_HEX = frozenset("0123456789abcdefABCDEF")


class AddressError(ValueError):
    """The text is Go's."""


class Address(NamedTuple):
    """value: the address as a number; bits: 32 or 128; zone: of IPv6, "" without one."""

    value: int
    bits: int
    zone: str = ""

    def __str__(self) -> str:
        text = str(IPv4Address(self.value) if self.bits == 32 else IPv6Address(self.value))
        return f"{text}%{self.zone}" if self.zone else text

    @property
    def is_mapped(self) -> bool:
        """Whether it is an IPv4 address in IPv6 clothes (::ffff:0:0/96)."""
        return self.bits == 128 and self.value >> 32 == 0xFFFF

    def within(self, network: int, prefix: int) -> bool:
        return self.value >> (self.bits - prefix) == network >> (self.bits - prefix)

    @property
    def is_unspecified(self) -> bool:
        return self.value == 0

    @property
    def is_loopback(self) -> bool:
        return self.value >> 24 == 127 if self.bits == 32 else self.value == 1

    @property
    def is_multicast(self) -> bool:
        return self.value >> 28 == 0xE if self.bits == 32 else self.value >> 120 == 0xFF

    @property
    def is_link_local_multicast(self) -> bool:
        return (
            self.value >> 8 == 0xE00000 if self.bits == 32 else self.value >> 112 & 0xFF0F == 0xFF02
        )

    @property
    def is_link_local_unicast(self) -> bool:
        return self.value >> 16 == 0xA9FE if self.bits == 32 else self.value >> 118 == 0x3FA

    @property
    def is_global_unicast(self) -> bool:
        broadcast = self.bits == 32 and self.value == 0xFFFFFFFF
        return not (
            broadcast
            or self.is_unspecified
            or self.is_loopback
            or self.is_multicast
            or self.is_link_local_unicast
        )


class Prefix(NamedTuple):
    """An address with the number of its leading bits that count."""

    address: Address
    length: int

    def __str__(self) -> str:
        return f"{self.address}/{self.length}"

    def masked(self) -> Prefix:
        shift = self.address.bits - self.length
        return Prefix(Address(self.address.value >> shift << shift, self.address.bits), self.length)

    def contains(self, address: Address) -> bool:
        return address.bits == self.address.bits and address.within(self.address.value, self.length)

    def overlaps(self, other: Prefix) -> bool:
        shorter = min(self.length, other.length)
        return self.address.bits == other.address.bits and self.address.within(
            other.address.value, shorter
        )


def _error(text: str, message: str, at: str = "") -> AddressError:
    return AddressError(
        f"ParseAddr({go_quote(text)}): {message}" + (f" (at {go_quote(at)})" if at else "")
    )


def parse_address(text: str) -> Address:
    """Raises AddressError."""
    for c in text:
        if c == ".":
            return Address(_fields4(text, text), 32)
        if c == ":":
            return _parse6(text)
        if c == "%":
            raise _error(text, "missing IPv6 address")
    raise _error(text, "unable to parse IP")


def _fields4(text: str, part: str) -> int:
    """Four decimal fields; ``text`` is what the error shows."""
    fields: list[int] = []
    digits = ""
    for i, c in enumerate(part):
        if c in "0123456789":
            if digits == "0":
                raise _error(text, "IPv4 field has octet with leading zero")
            digits += c
            if int(digits) > 255:
                raise _error(text, "IPv4 field has value >255")
        elif c == ".":
            if i == 0 or i == len(part) - 1 or part[i - 1] == ".":
                raise _error(text, "IPv4 field must have at least one digit", part[i:])
            if len(fields) == 3:
                raise _error(text, "IPv4 address too long")
            fields.append(int(digits))
            digits = ""
        else:
            raise _error(text, "unexpected character", part[i:])
    if len(fields) < 3:
        raise _error(text, "IPv4 address too short")
    value = 0
    for number in [*fields, int(digits)]:
        value = value << 8 | number
    return value


def _parse6(text: str) -> Address:
    rest, percent, zone = text.partition("%")
    if percent and not zone:
        raise _error(text, "zone must be a non-empty string")
    groups: list[int] = []
    ellipsis = -1
    if rest.startswith("::"):
        ellipsis = 0
        rest = rest[2:]
        if not rest:
            return Address(0, 128, zone)
    while len(groups) < 8:
        length = _group_length(text, rest)
        if rest[length : length + 1] == ".":
            value = _embedded4(text, rest, groups, ellipsis)
            groups += [value >> 16, value & 0xFFFF]
            rest = ""
            break
        groups.append(int(rest[:length], 16))
        rest = rest[length:]
        if not rest:
            break
        rest = _after_colon(text, rest)
        if rest[0] == ":":
            if ellipsis >= 0:
                raise _error(text, "multiple :: in address", rest)
            ellipsis = len(groups)
            rest = rest[1:]
            if not rest:
                break
    if rest:
        raise _error(text, "trailing garbage after address", rest)
    return Address(_expand(text, groups, ellipsis), 128, zone)


def _group_length(text: str, rest: str) -> int:
    length = 0
    while length < len(rest) and rest[length] in _HEX:
        if length > 3:
            raise _error(text, "each group must have 4 or fewer digits", rest)
        length += 1
    if length == 0:
        raise _error(text, "each colon-separated field must have at least one digit", rest)
    return length


def _embedded4(text: str, rest: str, groups: list[int], ellipsis: int) -> int:
    if ellipsis < 0 and len(groups) != 6:
        raise _error(
            text, "embedded IPv4 address must replace the final 2 fields of the address", rest
        )
    if len(groups) > 6:
        raise _error(
            text, "too many hex fields to fit an embedded IPv4 at the end of the address", rest
        )
    return _fields4(text, rest)


def _after_colon(text: str, rest: str) -> str:
    if rest[0] != ":":
        raise _error(text, "unexpected character, want colon", rest)
    if len(rest) == 1:
        raise _error(text, "colon must be followed by more characters", rest)
    return rest[1:]


def _expand(text: str, groups: list[int], ellipsis: int) -> int:
    missing = 8 - len(groups)
    if missing and ellipsis < 0:
        raise _error(text, "address string too short")
    if not missing and ellipsis >= 0:
        raise _error(text, "the :: must expand to at least one field of zeros")
    value = 0
    for group in [*groups[: max(ellipsis, 0)], *[0] * missing, *groups[max(ellipsis, 0) :]]:
        value = value << 16 | group
    return value


def parse_prefix(text: str) -> Prefix:
    """Raises AddressError."""

    def error(message: str) -> AddressError:
        return AddressError(f"netip.ParsePrefix({go_quote(text)}): {message}")

    head, slash, bits = text.rpartition("/")
    if not slash:
        raise error("no '/'")
    try:
        address = parse_address(head)
    except AddressError as e:
        raise error(str(e)) from None
    if address.zone:
        raise error("IPv6 zones cannot be present in a prefix")
    if (
        not bits.isascii()
        or not bits.isdigit()
        or (len(bits) > 1 and bits[0] == "0")
        or len(bits) > 18
    ):
        raise error(f"bad bits after slash: {go_quote(bits)}")
    if int(bits) > address.bits:
        raise error("prefix length out of range")
    return Prefix(address, int(bits))


def parse_ip_sloppy(text: str) -> IPv4Address | IPv6Address | None:
    """None where it is no address. Octets may begin with zeros, which do not make them octal; zones
    are no part of addresses here. An IPv4 address in IPv6 clothes stays as it is."""
    if "%" in text:
        return None
    head, colon, tail = text.rpartition(":")
    if "." in tail:
        octets = [(octet, octet.lstrip("0")) for octet in tail.split(".")]
        if not all(o.isascii() and o.isdigit() and len(digits) <= 3 for o, digits in octets):
            return None
        text = head + colon + ".".join(digits or "0" for _, digits in octets)
    try:
        return ip_address(text)
    except ValueError:
        return None


def is_cidr_sloppy(text: str) -> bool:
    """Whether it is ``address/bits``, the address as in `parse_ip_sloppy`."""
    head, slash, bits = text.partition("/")
    address = parse_ip_sloppy(head)
    if address is None or not slash or not (bits.isascii() and bits.isdigit()):
        return False
    return whole(bits) <= address.max_prefixlen
