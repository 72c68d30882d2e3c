"""Subsets of Endpoints, without I/O (kubernetes ``pkg/api/v1/endpoints``, ``pkg/controller/
endpoint``): addresses that have the same ports stand together.

Upstream puts them in the order of hashes of how Go prints them; here they are in their own order.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import orjson

from apiserver.controllers.podendpoints import Pod, families, target
from apiserver.kinds.common.addresses import family as family_of
from apiserver.meta.objects import Object, ReadOnlyObject

MOST = 1000
"""Addresses of one Endpoints object."""
READY, NOT_READY = "addresses", "notReadyAddresses"
_Which = tuple[str, str]


def of_service(service: ReadOnlyObject, pods: Sequence[Pod]) -> list[Object]:
    """What the Service's Endpoints are to have, whole."""
    spec = service["spec"]
    unready, ports = bool(spec.get("publishNotReadyAddresses")), spec.get("ports") or ()
    subsets: list[Object] = []
    for pod in pods:
        address = _address(service, pod)
        if address is None or (pod.terminating and not unready):
            continue
        member = READY if unready or pod.ready else NOT_READY
        if not ports and spec.get("clusterIP") == "None":
            subsets.append({member: [address]})
        for port in ports:
            if (number := target(port, pod)) is not None:
                subsets.append({member: [address], "ports": [_port(port, number)]})
    return repack(subsets)


def _address(service: ReadOnlyObject, pod: Pod) -> Object | None:
    """Of the Service's first family."""
    known, spec = families(service), service["spec"]
    family = known[0]
    if len(known) > 1 and not spec.get("ipFamilies"):
        family = family_of(pod.addresses[0]) if pod.addresses else family
    found = pod.addresses_of(family)
    if not found:
        return None
    address: Object = {"ip": found[0], "targetRef": pod.reference}
    if pod.node:
        address["nodeName"] = pod.node
    if pod.named(service):
        address["hostname"] = pod.hostname
    return address


def _port(port: ReadOnlyObject, number: int) -> Object:
    found = {"port": number, "protocol": port.get("protocol") or "TCP"}
    for member in ("name", "appProtocol"):
        if port.get(member):
            found[member] = port[member]
    return found


def repack(subsets: Iterable[ReadOnlyObject]) -> list[Object]:
    """The same addresses by ports, each address of a port once; who is said to be not ready is
    not."""
    addresses: dict[_Which, Object] = {}
    by_port: dict[bytes, dict[_Which, bool]] = {}
    for subset in subsets:
        keys = [_bytes(port) for port in subset.get("ports") or ()] or [b""]
        for member in (READY, NOT_READY):
            for address in subset.get(member) or ():
                which = _which(address)
                addresses.setdefault(which, dict(address))
                for key in keys:
                    states = by_port.setdefault(key, {})
                    states[which] = states.get(which, True) and member == READY
    together: dict[tuple[tuple[_Which, bool], ...], list[bytes]] = {}
    for key, states in by_port.items():
        together.setdefault(tuple(sorted(states.items())), []).append(key)
    return [
        _subset(states, sorted(key for key in keys if key), addresses)
        for states, keys in sorted(together.items(), key=lambda one: (one[0], sorted(one[1])))
    ]


def _subset(
    states: Sequence[tuple[_Which, bool]], ports: Sequence[bytes], addresses: dict[_Which, Object]
) -> Object:
    parts: dict[str, Any] = {
        READY: [addresses[which] for which, ready in states if ready],
        NOT_READY: [addresses[which] for which, ready in states if not ready],
        "ports": [orjson.loads(port) for port in ports],
    }
    return {member: found for member, found in parts.items() if found}


def _which(address: ReadOnlyObject) -> _Which:
    return address.get("ip") or "", (address.get("targetRef") or {}).get("uid") or ""


def _bytes(port: ReadOnlyObject) -> bytes:
    said = {member: value for member, value in port.items() if value not in (None, "")}
    return orjson.dumps(said, option=orjson.OPT_SORT_KEYS)


def equal(some: Iterable[ReadOnlyObject], others: Iterable[ReadOnlyObject]) -> bool:
    """Whatever their order; versions of pods do not count."""
    return _plain(some) == _plain(others)


def _plain(subsets: Iterable[ReadOnlyObject]) -> list[Object]:
    packed = repack(subsets)
    for subset in packed:
        for address in (*subset.get(READY, ()), *subset.get(NOT_READY, ())):
            if "targetRef" in address:
                reference = address["targetRef"]
                address["targetRef"] = {
                    k: v for k, v in reference.items() if k != "resourceVersion"
                }
    return packed


def count(subsets: Iterable[ReadOnlyObject]) -> int:
    return sum(len(s.get(READY) or ()) + len(s.get(NOT_READY) or ()) for s in subsets)


def truncate(subsets: Sequence[ReadOnlyObject]) -> tuple[list[Object], bool]:
    """At most `MOST` addresses, those that are ready first, each subset in proportion; whether any
    were left out."""
    if count(subsets) <= MOST:
        return [dict(s) for s in subsets], False
    ready = sum(len(s.get(READY) or ()) for s in subsets)
    cut_ready = ready > MOST
    member = READY if cut_ready else NOT_READY
    room = MOST if cut_ready else MOST - ready
    total, left = sum(len(s.get(member) or ()) for s in subsets), room
    cut = []
    for subset in subsets:
        part = list(subset.get(member) or ())
        part = part[: min(math.ceil(len(part) / total * room), left)]
        left -= len(part)
        one = {**subset, member: part, **({NOT_READY: []} if cut_ready else {})}
        cut.append({name: found for name, found in one.items() if found})
    return cut, True
