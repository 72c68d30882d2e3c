"""NetworkPolicy."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from apiserver.fielderrors import (
    FieldErrors,
    FieldPath,
    forbidden,
    invalid,
    not_supported,
    required,
)
from apiserver.kinds.base import Kind, WriteContext
from apiserver.kinds.common import checks as c
from apiserver.kinds.common import selectors
from apiserver.kinds.common.address_warnings import cidr_warnings
from apiserver.kinds.common.addresses import cidr_errors, parse_cidr
from apiserver.kinds.declarative import tags as t
from apiserver.kinds.declarative.declared import Declared
from apiserver.kinds.declarative.run import covered
from apiserver.kinds.registration import register
from apiserver.meta.objects import Object
from apiserver.meta.times import age
from apiserver.schema.labelselector import validate_label_selector

_SPEC = FieldPath("spec")
_PROTOCOLS = ["TCP", "UDP", "SCTP"]
_TYPES = ["Ingress", "Egress"]
_DIRECTIONS = (("ingress", "from"), ("egress", "to"))


@register("networking.k8s.io", "NetworkPolicy")
class NetworkPolicy(Kind):
    metadata_again = False
    deep_generation = True
    declared = Declared(
        {f"spec.{direction}": [t.alpha(t.optional())] for direction, _ in _DIRECTIONS}
        | {
            f"spec.{direction}[*].{member}": [t.alpha(t.optional())]
            for direction, member in _DIRECTIONS
        }
        | {
            f"spec.{direction}[*].{member}[*].ipBlock": [t.alpha(t.optional())]
            for direction, member in _DIRECTIONS
        }
        | {
            f"spec.{direction}[*].{member}[*].ipBlock.cidr": [t.alpha(t.required())]
            for direction, member in _DIRECTIONS
        }
    )

    def default(self, obj: Object, version: str) -> None:
        spec = obj.setdefault("spec", {})
        for direction, _ in _DIRECTIONS:
            for rule in spec.get(direction) or []:
                for port in rule.get("ports") or []:
                    if port.get("protocol") is None:
                        port["protocol"] = "TCP"
        if not spec.get("policyTypes"):
            spec["policyTypes"] = _TYPES[:] if spec.get("egress") else ["Ingress"]

    def validate_create(self, obj: Object, context: WriteContext) -> FieldErrors:
        return list(_spec_errors(obj.get("spec") or {}, frozenset()))

    def validate_update(self, obj: Object, old: Object, context: WriteContext) -> FieldErrors:
        """CIDRs that were there pass whatever they are."""
        blocks = [peer.get("ipBlock") or {} for _, peer in _peers(old.get("spec") or {})]
        stored = frozenset(
            text for b in blocks for text in (b.get("cidr", ""), *(b.get("except") or ()))
        )
        return list(_spec_errors(obj.get("spec") or {}, stored))

    def warnings(self, obj: Object, old: Object | None, context: WriteContext) -> list[str]:
        out = []
        for path, peer in _peers(obj.get("spec") or {}):
            block, at = peer.get("ipBlock"), path.child("ipBlock")
            if block is not None:
                out += cidr_warnings(at.child("cidr"), block.get("cidr", ""))
                for i, cidr in enumerate(block.get("except") or []):
                    out += cidr_warnings(at.child("except").at(i), cidr)
        return out

    def cells(self, obj: Object, version: str, now: datetime) -> list[Any]:
        metadata = obj["metadata"]
        selector = (obj.get("spec") or {}).get("podSelector") or {}
        return [
            metadata["name"],
            selectors.show(selector),
            age(metadata.get("creationTimestamp"), now),
        ]


def _peers(spec: Object) -> Iterator[tuple[FieldPath, Object]]:
    for direction, member in _DIRECTIONS:
        for i, rule in enumerate(spec.get(direction) or []):
            for j, peer in enumerate(rule.get(member) or []):
                yield _SPEC.child(direction).at(i).child(member).at(j), peer


def _spec_errors(spec: Object, stored: frozenset[str]) -> c.Errors:
    yield from validate_label_selector(spec.get("podSelector") or {}, _SPEC.child("podSelector"))
    for direction, _ in _DIRECTIONS:
        for i, rule in enumerate(spec.get(direction) or []):
            for j, port in enumerate(rule.get("ports") or []):
                yield from _port(port, _SPEC.child(direction).at(i).child("ports").at(j))
    for path, peer in _peers(spec):
        yield from _peer(peer, stored, path)
    types = spec.get("policyTypes") or []
    if len(types) > len(_TYPES):
        yield invalid(
            _SPEC.child("policyTypes"), types, "may not specify more than two policyTypes"
        )
        return
    for i, name in enumerate(types):
        if name not in _TYPES:
            yield not_supported(_SPEC.child("policyTypes").at(i), name, _TYPES)


def _port(port: Object, path: FieldPath) -> c.Errors:
    yield from c.optional_one_of(port.get("protocol"), path.child("protocol"), _PROTOCOLS)
    value, end, at = port.get("port"), port.get("endPort"), path.child("endPort")
    if value is None:
        if end is not None:
            yield invalid(at, end, "may not be specified when `port` is not specified")
        return
    if end is not None and isinstance(value, str):
        yield invalid(at, end, "may not be specified when `port` is non-numeric")
    elif end is not None:
        if end < value:
            yield invalid(at, value, "must be greater than or equal to `port`")
        yield from c.port_number(end, at)
    yield from c.port(value, path.child("port"))


def _peer(peer: Object, stored: frozenset[str], path: FieldPath) -> c.Errors:
    kinds = [m for m in ("podSelector", "namespaceSelector", "ipBlock") if peer.get(m) is not None]
    for member in kinds:
        if member == "ipBlock":
            yield from _ip_block(peer[member], stored, path.child(member))
        else:
            yield from validate_label_selector(peer[member], path.child(member))
    if not kinds:
        yield required(path, "must specify a peer")
    elif len(kinds) > 1 and "ipBlock" in kinds:
        yield forbidden(path, "may not specify both ipBlock and another peer")


def _ip_block(block: Object, stored: frozenset[str], path: FieldPath) -> c.Errors:
    """``stored``: CIDRs that the stored policy has."""
    text = block.get("cidr", "")
    if not text:
        yield from covered([required(path.child("cidr"))])
        return
    yield from cidr_errors(path.child("cidr"), text, stored)
    network = parse_cidr(text)
    for i, inner in enumerate(block.get("except") or [] if network else []):
        at = path.child("except").at(i)
        yield from cidr_errors(at, inner, stored)
        hole = parse_cidr(inner)
        if hole is None or network is None:
            continue
        if (
            hole.version != network.version
            or hole.network_address not in network
            or network.prefixlen >= hole.prefixlen
        ):
            yield invalid(at, inner, "must be a strict subset of `cidr`")
