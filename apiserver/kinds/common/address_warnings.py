"""Warnings about addresses that are valid, but not in the form that they should have
(k8s.io/apimachinery ``util/validation/ip.go``)."""

from __future__ import annotations

from apiserver.golang.strconv import go_quote
from apiserver.kinds.common.addresses import parse_cidr
from apiserver.kinds.formats import is_standard, parse_ip


def ip_warnings(path: str, value: str) -> list[str]:
    address = parse_ip(value)
    if address is None:
        return []
    if not is_standard(value):
        return [
            f"{path}: non-standard IP address {go_quote(value)} is invalid: use "
            f"{go_quote(str(address))}"
        ]
    if address.version == 6 and str(address) != value:
        return [
            f"{path}: IPv6 address {go_quote(value)} should be in RFC 5952 canonical format "
            f"({go_quote(str(address))})"
        ]
    return []


def cidr_warnings(path: str, value: str) -> list[str]:
    network = parse_cidr(value)
    text, _, bits = value.partition("/")
    address = parse_ip(text)
    if network is None or address is None:
        return []
    network_text, out = go_quote(str(network)), []
    if address != network.network_address:
        single = go_quote(f"{address}/{network.max_prefixlen}")
        out.append(
            f"{path}: CIDR value {go_quote(value)} is ambiguous in this context (should be "
            f"{network_text} "
            f"or {single}?)"
        )
    if not is_standard(text) or (len(bits) > 1 and bits.startswith("0")):
        out.append(
            f"{path}: non-standard CIDR value {go_quote(value)} is invalid: use {network_text}"
        )
    elif address.version == 6 and f"{address}/{int(bits)}" != value:
        out.append(
            f"{path}: IPv6 CIDR value {go_quote(value)} should be in RFC 5952 canonical format "
            f"({network_text})"
        )
    return out
