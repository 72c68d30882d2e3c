"""IP addresses and CIDRs as the older fields of the API take them, which is more loosely than
Python does.

Source: k8s.io/apimachinery ``util/validation/ip.go`` and k8s.io/utils ``net`` (ParseIPSloppy: IPv4
octets may begin with zeros).
"""

from __future__ import annotations

import ipaddress
from collections.abc import Collection

from apiserver.fielderrors import FieldErrors, FieldPath, invalid
from apiserver.golang.netip import is_cidr_sloppy
from apiserver.golang.strconv import go_quote
from apiserver.kinds import formats
from apiserver.kinds.common import checks
from apiserver.kinds.formats import Address, parse_ip

Network = ipaddress.IPv4Network | ipaddress.IPv6Network

IPV4, IPV6 = "IPv4", "IPv6"
_MAPPED_BITS = 96
"""What comes before an IPv4 address in IPv6."""
PROTOCOLS = ["SCTP", "TCP", "UDP"]


def parse_cidr(text: str) -> Network | None:
    """The network of ``address/bits`` (the address's own host bits do not count), or None."""
    address, slash, bits = text.partition("/")
    parsed = parse_ip(address)
    if parsed is None or not slash or not bits.isascii() or not bits.isdigit():
        return None
    if parsed.version == 4 and ":" in address:
        return None
    try:
        return ipaddress.ip_network(f"{parsed}/{bits}", strict=False)
    except ValueError:
        return None


def family(text: str) -> str:
    """ "IPv4", "IPv6", or "" when it is no address."""
    parsed = parse_ip(text)
    if parsed is None:
        return ""
    return IPV4 if parsed.version == 4 else IPV6


def ip_errors(path: FieldPath, text: str, stored: Collection[str] = ()) -> FieldErrors:
    """``stored``: values that the stored object has already, which pass whatever they are."""
    return [] if text in stored else list(checks.rule(text, path, formats.ip))


def cidr_errors(path: FieldPath, text: str, stored: Collection[str] = ()) -> FieldErrors:
    return [] if text in stored else list(checks.rule(text, path, formats.cidr))


def endpoint_ip_errors(path: FieldPath, text: str) -> FieldErrors:
    """An address that traffic may be sent to: neither unspecified, loopback nor link-local."""
    address = parse_ip(text)
    if address is None:
        return [invalid(path, text, "must be a valid IP address")]
    errors: FieldErrors = []
    if address.is_unspecified:
        errors.append(invalid(path, text, f"may not be unspecified ({text})"))
    if address.is_loopback:
        errors.append(
            invalid(path, text, "may not be in the loopback range (127.0.0.0/8, ::1/128)")
        )
    if address.is_link_local:
        errors.append(
            invalid(path, text, "may not be in the link-local range (169.254.0.0/16, fe80::/10)")
        )
    if _link_local_multicast(address):
        errors.append(
            invalid(
                path, text, "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)"
            )
        )
    return errors


def interface_address_errors(text: str, path: FieldPath) -> checks.Errors:
    """An address of a machine with its network's length (IsValidInterfaceAddress)."""
    address, _, bits = text.partition("/")
    parsed = parse_ip(address)
    if parsed is None or not is_cidr_sloppy(text):
        why = "must be a valid address in CIDR form, (e.g. 10.9.8.7/24 or 2001:db8::1/64)"
        yield invalid(path, text, why)
        return
    length = int(bits)
    if parsed.version == 4 and length > parsed.max_prefixlen:
        length -= _MAPPED_BITS
    standard = f"{parsed}/{length}"
    if text != standard:
        yield invalid(path, text, f"must be in canonical form ({go_quote(standard)})")


def _link_local_multicast(address: Address) -> bool:
    packed = address.packed
    if address.version == 4:
        return packed[:3] == b"\xe0\x00\x00"
    return packed[0] == 0xFF and packed[1] & 0x0F == 0x02


def hostname_errors(hostname: str, path: FieldPath) -> FieldErrors:
    """A DNS name that is no IP address; "" passes."""
    if not hostname:
        return []
    errors = list(checks.dns_subdomain(hostname, path))
    if parse_ip(hostname) is not None:
        errors.append(invalid(path, hostname, "must be a DNS name, not an IP address"))
    return errors
