"""Warnings about addresses that are valid, but not in the form that they should have (k8s.io/apimachinery ``util/validation/ip.go``)."""

from __future__ import annotations

import ipaddress

from apiserver.fielderrors import go_quote
from apiserver.kinds.networking.addresses import parse_cidr, parse_ip

_FUTURE = "will be considered invalid in a future Kubernetes release"


def ip_warnings(path: str, value: str) -> list[str]:
    address = parse_ip(value)
    if address is None:
        return []
    if not _standard(value):
        return [f"{path}: non-standard IP address {go_quote(value)} {_FUTURE}: use {go_quote(str(address))}"]
    if address.version == 6 and str(address) != value:
        return [f"{path}: IPv6 address {go_quote(value)} should be in RFC 5952 canonical format ({go_quote(str(address))})"]
    return []


def cidr_warnings(path: str, value: str) -> list[str]:
    network = parse_cidr(value)
    text, _, bits = value.partition("/")
    address = parse_ip(text)
    if network is None or address is None:
        return []
    shown, out = go_quote(str(network)), []
    if address != network.network_address:
        single = go_quote(f"{address}/{network.max_prefixlen}")
        out.append(f"{path}: CIDR value {go_quote(value)} is ambiguous in this context (should be {shown} or {single}?)")
    if not _standard(text) or (len(bits) > 1 and bits.startswith("0")):
        out.append(f"{path}: non-standard CIDR value {go_quote(value)} {_FUTURE}: use {shown}")
    elif address.version == 6 and f"{address}/{int(bits)}" != value:
        out.append(f"{path}: IPv6 CIDR value {go_quote(value)} should be in RFC 5952 canonical format ({shown})")
    return out


def _standard(text: str) -> bool:
    """Neither zeros before IPv4 octets nor an IPv4 address in IPv6 clothes."""
    try:
        found = ipaddress.ip_address(text)
    except ValueError:
        return False
    return not (isinstance(found, ipaddress.IPv6Address) and found.ipv4_mapped)
