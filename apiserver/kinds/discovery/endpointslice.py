"""EndpointSlice."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from apiserver.fielderrors import FieldErrors, FieldPath, duplicate, invalid, required, too_many
from apiserver.kinds.base import Kind, WriteContext
from apiserver.kinds.common import checks as c
from apiserver.kinds.common.address_warnings import ip_warnings
from apiserver.kinds.common.addresses import PROTOCOLS, endpoint_ip_errors, family, ip_errors
from apiserver.kinds.declarative import tags as t
from apiserver.kinds.declarative.declared import Declared
from apiserver.kinds.declarative.run import covered
from apiserver.kinds.formats import canonical_ip
from apiserver.kinds.registration import register
from apiserver.meta.objects import Object
from apiserver.meta.times import age

_TYPES = ["FQDN", "IPv4", "IPv6"]
_MOST_ENDPOINTS, _MOST_ADDRESSES, _MOST_PORTS, _MOST_HINTS = 1000, 100, 20000, 8
_SHOWN = 3
_CONTROLLERS = ("endpointslice-controller.k8s.io", "endpointslicemirroring-controller.k8s.io")


@register("discovery.k8s.io", "EndpointSlice")
class EndpointSlice(Kind):
    metadata_update = False
    declared = Declared(
        {
            "addressType": [
                t.alpha(t.required()),
                t.alpha(t.immutable()),
                t.alpha(t.enum(*_TYPES)),
            ],
            "endpoints": [t.alpha(t.optional())],
            "endpoints[*].addresses": [
                t.alpha(t.required()),
                t.alpha(t.max_items(_MOST_ADDRESSES)),
            ],
        }
    )

    def default(self, obj: Object, version: str) -> None:
        for port in obj.get("ports") or []:
            if port.get("name") is None:
                port["name"] = ""
            if port.get("protocol") is None:
                port["protocol"] = "TCP"

    def prepare_create(self, obj: Object, context: WriteContext) -> None:
        super().prepare_create(obj, context)
        _drop_topology(obj)

    def prepare_update(self, obj: Object, old: Object, context: WriteContext) -> None:
        """Labels count as a change too: they say which service the slice belongs to. So does the
        topology that is dropped then."""
        generation = old["metadata"].get("generation", 0)
        generation += _counted(obj) != _counted(old)
        if generation:
            obj["metadata"]["generation"] = generation
        if (obj.get("endpoints") or []) != (old.get("endpoints") or []):
            _drop_topology(obj)

    def validate(self, obj: Object, context: WriteContext) -> FieldErrors:
        kind, path = obj.get("addressType", ""), FieldPath("addressType")
        return [
            *covered(c.one_of(kind, path, _TYPES)),
            *_ports(obj.get("ports") or []),
        ]

    def validate_create(self, obj: Object, context: WriteContext) -> FieldErrors:
        return list(_endpoints(obj.get("endpoints") or [], obj.get("addressType", "")))

    def validate_update(self, obj: Object, old: Object, context: WriteContext) -> FieldErrors:
        """Endpoints that stay as they are are not looked at again (ratcheting)."""
        kind, path = obj.get("addressType", ""), FieldPath("addressType")
        endpoints, before = obj.get("endpoints") or [], old.get("endpoints") or []
        return [
            *(_endpoints(endpoints, kind) if endpoints != before else ()),
            *covered(c.immutable(kind, old.get("addressType", ""), path), "immutable"),
        ]

    def warnings(self, obj: Object, old: Object | None, context: WriteContext) -> list[str]:
        texts = []
        if old is None and obj.get("addressType") == "FQDN":
            texts = ["spec.addressType: FQDN endpoints are deprecated"]
        labels = obj["metadata"].get("labels") or {}
        if labels.get("endpointslice.kubernetes.io/managed-by") in _CONTROLLERS:
            return texts
        endpoints = obj.get("endpoints") or []
        return texts + [
            warning
            for i, endpoint in enumerate(endpoints)
            for j, address in enumerate(endpoint.get("addresses") or [])
            for warning in ip_warnings(f"endpoints[{i}].addresses[{j}]", address)
        ]

    def cells(self, obj: Object, version: str, now: datetime) -> list[Any]:
        metadata = obj["metadata"]
        ports = [
            str(p["port"]) if p.get("port") is not None else p.get("name") or ""
            for p in obj.get("ports") or []
        ]
        addresses = [a for e in obj.get("endpoints") or [] for a in e.get("addresses") or []]
        row = [_shortened(ports), _shortened(addresses)]
        return [
            metadata["name"],
            obj.get("addressType", ""),
            *row,
            age(metadata.get("creationTimestamp"), now),
        ]


def _shortened(items: list[str]) -> str:
    more = f" + {len(items) - _SHOWN} more..." if len(items) > _SHOWN else ""
    return ",".join(items[:_SHOWN]) + more or "<unset>"


def _drop_topology(obj: Object) -> None:
    """v1 can only read it."""
    for endpoint in obj.get("endpoints") or []:
        endpoint.pop("deprecatedTopology", None)


def _counted(obj: Object) -> Object:
    """An empty list is none, as it is once it has been stored."""
    return {
        **{k: v or None for k, v in obj.items() if k != "metadata"},
        "labels": obj["metadata"].get("labels") or {},
    }


def _ports(ports: list[Object]) -> c.Errors:
    if len(ports) > _MOST_PORTS:
        yield too_many("ports", len(ports), _MOST_PORTS)
        return
    seen: set[str] = set()
    for i, port in enumerate(ports):
        path, name = FieldPath("ports").at(i), port.get("name") or ""
        if name:
            yield from c.dns_label(name, path.child("name"))
        if name in seen:
            yield duplicate(path.child("name"), name)
        seen.add(name)
        yield from c.one_of(port.get("protocol"), path.child("protocol"), PROTOCOLS, empty=True)
        if port.get("appProtocol") is not None:
            yield from c.qualified_name(port["appProtocol"], path.child("appProtocol"))


def _endpoints(endpoints: list[Object], kind: str) -> c.Errors:
    if len(endpoints) > _MOST_ENDPOINTS:
        yield too_many("endpoints", len(endpoints), _MOST_ENDPOINTS)
        return
    for i, endpoint in enumerate(endpoints):
        path = FieldPath("endpoints").at(i)
        yield from _addresses(endpoint.get("addresses") or [], kind, path.child("addresses"))
        if endpoint.get("nodeName") is not None:
            yield from c.dns_subdomain(endpoint["nodeName"], path.child("nodeName"))
        if endpoint.get("hostname") is not None:
            yield from c.dns_label(endpoint["hostname"], path.child("hostname"))
        hints, at = endpoint.get("hints") or {}, path.child("hints")
        zones, nodes = hints.get("forZones") or [], hints.get("forNodes") or []
        yield from _hints(zones, at.child("forZones"))
        if len(zones) <= _MOST_HINTS:
            yield from _hints(nodes, at.child("forNodes"))


def _addresses(addresses: list[str], kind: str, path: FieldPath) -> c.Errors:
    if not addresses:
        yield from covered([required(path, "must contain at least 1 address")])
    elif len(addresses) > _MOST_ADDRESSES:
        yield from covered([too_many(path, len(addresses), _MOST_ADDRESSES)], "maxItems")
    for i, address in enumerate(addresses):
        at = path.at(i)
        if kind in ("IPv4", "IPv6"):
            if kind == "IPv6":  # not in all the forms that older fields take
                wrong = list(c.rule(address, at, canonical_ip))
            else:
                wrong = ip_errors(at, address)
            yield from wrong
            if not wrong:
                if family(address) != kind:
                    yield invalid(path, address, f"must be an {kind} address")
                yield from endpoint_ip_errors(at, address)
        elif kind == "FQDN":
            yield from _domain(address, at)


def _domain(name: str, path: FieldPath) -> c.Errors:
    """A fully qualified domain name, with or without the final dot."""
    if not name:
        yield required(path)
        return
    bare = name.removesuffix(".")
    wrong = list(c.dns_subdomain(bare, path))
    yield from wrong
    if not wrong and "." not in bare:
        yield invalid(path, name, "should be a domain with at least two segments separated by dots")


def _hints(hints: list[Object], path: FieldPath) -> c.Errors:
    if len(hints) > _MOST_HINTS:
        yield too_many(path, len(hints), _MOST_HINTS)
        return
    seen: set[str] = set()
    for i, hint in enumerate(hints):
        name = hint.get("name", "")
        if name in seen:
            yield duplicate(path.at(i).child("name"), name)
        seen.add(name)
        check = c.label_value if path.endswith("forZones") else c.dns_subdomain
        yield from check(name, path.at(i).child("name"))
