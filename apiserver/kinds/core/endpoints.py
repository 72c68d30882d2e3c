"""Endpoints."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from apiserver.fielderrors import FieldErrors, FieldPath, required
from apiserver.kinds.base import Kind, WriteContext
from apiserver.kinds.common import checks as c
from apiserver.kinds.common.address_warnings import ip_warnings
from apiserver.kinds.common.addresses import PROTOCOLS, endpoint_ip_errors, ip_errors
from apiserver.kinds.registration import register
from apiserver.meta.objects import Object
from apiserver.meta.times import age

_SHOWN = 3
_MANAGED_BY, _CONTROLLER = "endpoints.kubernetes.io/managed-by", "endpoint-controller"


@register("", "Endpoints")
class Endpoints(Kind):
    allow_create_on_update = True
    generation = False

    def default(self, obj: Object, version: str) -> None:
        for subset in obj.get("subsets") or []:
            for port in subset.get("ports") or []:
                port["protocol"] = port.get("protocol") or "TCP"

    def validate_create(self, obj: Object, context: WriteContext) -> FieldErrors:
        return [
            e
            for i, subset in enumerate(obj.get("subsets") or [])
            for e in _subset(subset, FieldPath("subsets").at(i))
        ]

    def validate_update(self, obj: Object, old: Object, context: WriteContext) -> FieldErrors:
        """Subsets that nobody changes pass whatever they are."""
        errors = self.validate_create(obj, context)
        same = bool(errors) and (obj.get("subsets") or []) == (old.get("subsets") or [])
        return [] if same else errors

    def warnings(self, obj: Object, old: Object | None, context: WriteContext) -> list[str]:
        """The controller is not warned of what Services made it write."""
        if (obj["metadata"].get("labels") or {}).get(_MANAGED_BY) == _CONTROLLER:
            return []
        out = []
        for i, subset in enumerate(obj.get("subsets") or []):
            for member in ("addresses", "notReadyAddresses"):
                for j, address in enumerate(subset.get(member) or []):
                    out += ip_warnings(f"subsets[{i}].{member}[{j}].ip", address.get("ip", ""))
        return out

    def cells(self, obj: Object, version: str, now: datetime) -> list[Any]:
        metadata = obj["metadata"]
        return [
            metadata["name"],
            _cell(obj.get("subsets") or []),
            age(metadata.get("creationTimestamp"), now),
        ]


def _subset(subset: Object, path: FieldPath) -> c.Errors:
    ports = subset.get("ports") or []
    if not subset.get("addresses") and not subset.get("notReadyAddresses"):
        yield required(path, "must specify `addresses` or `notReadyAddresses`")
    for member in ("addresses", "notReadyAddresses"):
        for i, address in enumerate(subset.get(member) or []):
            yield from _address(address, path.child(member).at(i))
    for i, port in enumerate(ports):
        yield from _port(port, len(ports) > 1, path.child("ports").at(i))


def _address(address: Object, path: FieldPath) -> c.Errors:
    ip = address.get("ip", "")
    yield from ip_errors(path.child("ip"), ip)
    if address.get("hostname"):
        yield from c.dns_label(address["hostname"], path.child("hostname"))
    if address.get("nodeName") is not None:
        yield from c.dns_subdomain(address["nodeName"], path.child("nodeName"))
    yield from endpoint_ip_errors(path.child("ip"), ip)


def _port(port: Object, needs_name: bool, path: FieldPath) -> c.Errors:
    if port.get("name"):
        yield from c.dns_label(port["name"], path.child("name"))
    elif needs_name:
        yield required(path.child("name"))
    yield from c.port_number(port.get("port", 0), path.child("port"))
    yield from c.one_of(port.get("protocol"), path.child("protocol"), PROTOCOLS)
    if port.get("appProtocol") is not None:
        yield from c.qualified_name(port["appProtocol"], path.child("appProtocol"))


def _cell(subsets: list[Object]) -> str:
    """At most three endpoints, and how many more."""
    addresses: list[str] = []
    for subset in subsets:
        ips = [a.get("ip", "") for a in subset.get("addresses") or []]
        ports = subset.get("ports") or []
        if not ports:
            addresses += ips
        for port in ports:
            addresses += [
                f"[{ip}]:{port.get('port', 0)}" if ":" in ip else f"{ip}:{port.get('port', 0)}"
                for ip in ips
            ]
    if not subsets:
        return "<none>"
    more = f" + {len(addresses) - _SHOWN} more..." if len(addresses) > _SHOWN else ""
    return ",".join(addresses[:_SHOWN]) + more
