"""ServiceCIDR: a range that cluster IPs come from."""

from __future__ import annotations

import ipaddress
from datetime import datetime
from typing import Any

from apiserver.fielderrors import FieldErrors, FieldPath, invalid, required
from apiserver.golang.strconv import go_quote
from apiserver.kinds.base import STATUS_KEEPS_METADATA, Kind, WriteContext
from apiserver.kinds.common import checks as c
from apiserver.kinds.common.addresses import parse_cidr
from apiserver.kinds.common.internal import quote
from apiserver.kinds.registration import register
from apiserver.meta.objects import Object
from apiserver.meta.times import age

_CIDRS = FieldPath("spec.cidrs")


@register("networking.k8s.io", "ServiceCIDR")
class ServiceCIDR(Kind):
    metadata_again = False
    generation = False
    status = True
    status_keeps = STATUS_KEEPS_METADATA

    def validate_create(self, obj: Object, context: WriteContext) -> FieldErrors:
        return list(_cidrs_errors(obj))

    def validate_update(self, obj: Object, old: Object, context: WriteContext) -> FieldErrors:
        """Ranges stay; a second one may come, and is all that is validated again."""
        new, before = _cidrs(obj), _cidrs(old)
        second = len(before) == 1 and len(new) == 2
        if len(new) != len(before) and not second:
            return [invalid(_CIDRS, (obj.get("spec") or {}).get("cidrs"), c.IMMUTABLE)]
        changed = [
            invalid(_CIDRS.at(i), x, c.IMMUTABLE)
            for i, (x, y) in enumerate(zip(new, before, strict=False))
            if x != y
        ]
        return changed + (list(_cidrs_errors(obj)) if second else [])

    def cells(self, obj: Object, version: str, now: datetime) -> list[Any]:
        metadata = obj["metadata"]
        return [
            metadata["name"],
            ",".join(_cidrs(obj)),
            age(metadata.get("creationTimestamp"), now),
        ]


def _cidrs(obj: Object) -> list[str]:
    return (obj.get("spec") or {}).get("cidrs") or []


def _cidrs_errors(obj: Object) -> c.Errors:
    cidrs = _cidrs(obj)
    if not cidrs:
        yield required(_CIDRS, "at least one CIDR required")
        return
    if len(cidrs) > 2:
        yield invalid(
            _CIDRS,
            quote("networking.v1.ServiceCIDRSpec", obj["spec"]),
            "may only hold up to 2 values",
        )
        return
    for i, text in enumerate(cidrs):
        yield from _strict_cidr(text, _CIDRS.at(i))
    networks = [parse_cidr(text) for text in cidrs]
    if (
        len(networks) == 2
        and networks[0]
        and networks[1]
        and networks[0].version == networks[1].version
    ):
        why = (
            "may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and "
            "2001:db8::/64"
        )
        yield invalid(_CIDRS, cidrs, why)


def _strict_cidr(text: str, path: FieldPath) -> c.Errors:
    """Canonical: no host bits, no leading zeros, no IPv4 in IPv6."""
    network = parse_cidr(text)
    if network is None:
        yield invalid(path, text, "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)")
        return
    address, _, bits = text.partition("/")
    if ":" in address and ipaddress.ip_address(address).version == 6 and network.version == 4:
        yield invalid(path, text, "must not have an IPv4-mapped IPv6 address")
        return
    host = str(parse_cidr(f"{address}/{network.max_prefixlen}")).partition("/")[0]
    if host != str(network.network_address):
        yield invalid(path, text, "must not have bits set beyond the prefix length")
    elif f"{host}/{int(bits)}" != text:
        yield invalid(path, text, f"must be in canonical form ({go_quote(str(network))})")
