"""Formats of single values that `apiserver.meta.names` does not know: ranges, ids and IP addresses.

Each function takes a value and returns what is wrong with it, in kube-apiserver's words (k8s.io/apimachinery ``util/validation``).
"""

from __future__ import annotations

import ipaddress

from apiserver.meta.names import range_error

MAX_ID = 0x7FFFFFFF


def in_range(value: int, low: int, high: int) -> list[str]:
    return [] if low <= value <= high else [range_error(low, high)]


def user_id(value: int) -> list[str]:
    """Also for groups: what fits in a signed 32-bit integer."""
    return in_range(value, 0, MAX_ID)


def parse_ip(value: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """Go's ParseIPSloppy: leading zeros in IPv4 octets are decimal; no zones."""
    if "%" in value:
        return None
    head, dot, tail = value.rpartition(":")
    if "." in tail:
        octets = tail.split(".")
        if not all(o.isascii() and o.isdigit() for o in octets):
            return None
        value = head + dot + ".".join(str(int(o)) for o in octets)
    try:
        return ipaddress.ip_address(value)
    except ValueError:
        return None


def ip(value: str) -> list[str]:
    return [] if parse_ip(value) is not None else ["must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"]


def cidr(value: str) -> list[str]:
    address, _, bits = value.partition("/")
    parsed = parse_ip(address)
    if parsed is None or not (bits.isascii() and bits.isdigit()) or int(bits) > parsed.max_prefixlen:
        return ["must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"]
    return []


def ip_warnings(value: str, path: str) -> list[str]:
    """For an address in a spelling that not all programs read alike (GetWarningsForIP)."""
    parsed = parse_ip(value)
    if parsed is None or str(parsed) == value:
        return []
    if parsed.version == 4 or ":" not in str(parsed):
        why = f'non-standard IP address "{value}" will be considered invalid in a future Kubernetes release: use "{parsed}"'
        return [f"{path}: {why}"]
    return [f'{path}: IPv6 address "{value}" should be in RFC 5952 canonical format ("{parsed}")']
