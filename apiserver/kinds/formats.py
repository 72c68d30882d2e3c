"""Formats of single values that `apiserver.meta.names` does not know: ranges, ids and IP addresses.

Each function takes a value and returns what is wrong with it, in kube-apiserver's words
(k8s.io/apimachinery ``util/validation``).
"""

from __future__ import annotations

import ipaddress

from apiserver.golang.netip import is_cidr_sloppy, parse_ip_sloppy
from apiserver.golang.strconv import go_quote
from apiserver.meta import features
from apiserver.meta.names import range_error

MAX_ID = 0x7FFFFFFF


def in_range(value: int, low: int, high: int) -> list[str]:
    return [] if low <= value <= high else [range_error(low, high)]


def user_id(value: int) -> list[str]:
    """Also for groups: what fits in a signed 32-bit integer."""
    return in_range(value, 0, MAX_ID)


Address = ipaddress.IPv4Address | ipaddress.IPv6Address


def parse_ip(text: str) -> Address | None:
    """Go's ParseIPSloppy: zeros before the octets of IPv4 do not count, there are no zones
    (``fe80::1%eth0``), and IPv4-mapped IPv6 counts as IPv4."""
    address = parse_ip_sloppy(text)
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return mapped or address


def ip(value: str) -> list[str]:
    """Of a field that is older than strict validation (IsValidIPForLegacyField)."""
    return _ip(value, strict=features.enabled("StrictIPCIDRValidation"))


def canonical_ip(value: str, prefix: bool = False) -> list[str]:
    """Of newer fields (IsValidIP): written in the one way that RFC 5952 recommends."""
    wrong = _ip(value, strict=True)
    if wrong or (text := str(ipaddress.ip_address(value))) == value:
        return wrong
    return [f"must be in canonical form ({go_quote(text)})"]


def _ip(value: str, *, strict: bool) -> list[str]:
    if parse_ip_sloppy(value) is None:
        return ["must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"]
    if not strict:
        return []
    address = _exact(value)
    if address is None:
        return ["must not have leading 0s"]
    return ["must not be an IPv4-mapped IPv6 address"] if is_mapped(address) else []


def cidr(value: str) -> list[str]:
    """Likewise (IsValidCIDRForLegacyField)."""
    if not is_cidr_sloppy(value):
        return ["must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"]
    if not features.enabled("StrictIPCIDRValidation"):
        return []
    text, _, bits = value.partition("/")
    address = _exact(text)
    if address is None or (bits.startswith("0") and bits != "0"):
        return ["must not have leading 0s in IP or prefix length"]
    if is_mapped(address):
        return ["must not have an IPv4-mapped IPv6 address"]
    network = ipaddress.ip_network(f"{address}/{bits}", strict=False)
    if network.network_address != address:
        return ["must not have bits set beyond the prefix length"]
    return []


def _exact(text: str) -> Address | None:
    """Of what `parse_ip_sloppy` takes, the address that all programs read alike."""
    try:
        return ipaddress.ip_address(text)
    except ValueError:
        return None


def is_mapped(address: Address) -> bool:
    """Whether it is an IPv4-mapped IPv6 address (``::ffff:192.0.2.1``)."""
    return isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped is not None


def is_standard(text: str) -> bool:
    """Whether strict validation takes it: no zeros before IPv4 octets, not IPv4-mapped IPv6."""
    address = _exact(text)
    return address is not None and not is_mapped(address)
