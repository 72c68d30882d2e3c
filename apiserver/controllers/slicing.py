"""How endpoints are dealt to EndpointSlices, without I/O (k8s.io/endpointslice ``reconciler.go``).

Slices of one Service and family that have the same ports are filled together: what is in one stays
there, what is new goes where something changes anyway, else into the slice that it fills best. So
few slices are written, and none is moved about. In what upstream takes as a Go map gives it, here
the first comes first.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from apiserver.meta.objects import Object, ReadOnlyObject

MOST = 100
"""Endpoints of one slice."""
SERVICE_NAME = "kubernetes.io/service-name"
MANAGED_BY = "endpointslice.kubernetes.io/managed-by"
HEADLESS = "service.kubernetes.io/headless"
RESERVED = frozenset({SERVICE_NAME, MANAGED_BY, HEADLESS})
"""Labels that say whose a slice is."""
Ports = tuple[tuple[str, str, int, str], ...]
Identity = tuple[tuple[str, ...], str, str, str]
_BEYOND = ("nodeName", "zone", "conditions", "targetRef")


def key_of_ports(ports: Iterable[ReadOnlyObject] | None) -> Ports:
    """The same for ports in another order."""
    return tuple(
        sorted(
            (p.get("name") or "", p.get("protocol") or "TCP", p.get("port") or 0,
             p.get("appProtocol") or "")
            for p in ports or ()
        )
    )  # fmt: skip


def identity(endpoint: ReadOnlyObject) -> Identity:
    """By what an endpoint is known again when the rest of it changes."""
    target = endpoint.get("targetRef") or {}
    return (
        tuple(sorted(endpoint.get("addresses") or ())),
        endpoint.get("hostname") or "",
        target.get("namespace") or "",
        target.get("name") or "",
    )


def same(one: ReadOnlyObject, other: ReadOnlyObject) -> bool:
    """Of two with one identity: whether the rest of them is the same, too."""
    return all(_part(one, member) == _part(other, member) for member in _BEYOND)


def _part(endpoint: ReadOnlyObject, member: str) -> Any:
    value = endpoint.get(member)
    if member == "targetRef" and value:
        return {k: v for k, v in value.items() if k != "resourceVersion"}
    return value or None


class Wanted(NamedTuple):
    """Endpoints with the same ports."""

    ports: Sequence[Object]
    endpoints: dict[Identity, Object]


@dataclass(slots=True)
class Slice:
    """One slice as it is to be. before: as it is stored, None where it is to be made; anew: with
    another's name, labels and owner are set, too."""

    ports: Sequence[Object]
    endpoints: list[Object]
    before: ReadOnlyObject | None = None
    anew: bool = False


@dataclass(slots=True)
class Plan:
    create: list[Slice] = field(default_factory=list)
    update: list[Slice] = field(default_factory=list)
    delete: list[ReadOnlyObject] = field(default_factory=list)
    keep: list[ReadOnlyObject] = field(default_factory=list)


def deal(
    wanted: Mapping[Ports, Wanted],
    existing: Sequence[ReadOnlyObject],
    labels: Mapping[str, str],
    foreign: Sequence[ReadOnlyObject] = (),
) -> Plan:
    """existing: slices of one family; labels: those that they are to have; foreign: slices that
    another Service of this name has left, which go."""
    plan = Plan()
    by_ports: dict[Ports, list[ReadOnlyObject]] = {}
    for slice_ in existing:
        by_ports.setdefault(key_of_ports(slice_.get("ports")), []).append(slice_)
    for ports, group in wanted.items():
        _deal_group(plan, group, by_ports.pop(ports, []), labels)
    for left in by_ports.values():
        plan.delete += left
    if not plan.create and not plan.update and not plan.keep:
        _hold_the_place(plan, labels)
    _recycle(plan)
    plan.delete += foreign
    return plan


def _hold_the_place(plan: Plan, labels: Mapping[str, str]) -> None:
    """A Service without endpoints has one slice that says so."""
    if len(plan.delete) == 1:
        (only,) = plan.delete
        empty = not (only.get("ports") or only.get("endpoints"))
        if empty and (only["metadata"].get("labels") or {}) == labels:
            plan.keep, plan.delete = plan.delete, []
            return
    plan.create.append(Slice([], []))


def _deal_group(
    plan: Plan, group: Wanted, existing: Sequence[ReadOnlyObject], labels: Mapping[str, str]
) -> None:
    left = dict(group.endpoints)
    unchanged: list[ReadOnlyObject] = []
    changed: list[Slice] = []
    for slice_ in existing:
        ports, before = slice_.get("ports") or [], slice_.get("endpoints") or []
        kept = [(old, left.pop(i)) for old in before if (i := identity(old)) in left]
        if len(kept) != len(before) or not all(same(old, new) for old, new in kept):
            if kept:
                changed.append(Slice(ports, [new for _, new in kept], slice_))
            else:
                plan.delete.append(slice_)
        elif _own(slice_["metadata"].get("labels") or {}) != _own(labels):
            changed.append(Slice(ports, list(before), slice_))
        else:
            unchanged.append(slice_)
    rest = list(left.values())
    for one in sorted(changed, key=lambda s: -len(s.endpoints)):
        _fill(one, rest)
    while rest:
        one = _fitting(unchanged, len(rest)) or Slice(group.ports, [])
        if one.before is not None:
            unchanged.remove(one.before)
            changed.append(one)
        else:
            plan.create.append(one)
        _fill(one, rest)
    plan.update += changed
    plan.keep += unchanged


def _own(labels: Mapping[str, str]) -> dict[str, str]:
    """Those that come from the Service, or from anybody."""
    return {name: value for name, value in labels.items() if name not in RESERVED}


def _fill(one: Slice, rest: list[Object]) -> None:
    room = max(MOST - len(one.endpoints), 0)
    one.endpoints += rest[:room]
    del rest[:room]


def _fitting(unchanged: Sequence[ReadOnlyObject], number: int) -> Slice | None:
    """The slice that is nearest to full with so many more."""
    if number >= MOST:
        return None
    fitting = [
        (room, i)
        for i, slice_ in enumerate(unchanged)
        if 0 <= (room := MOST - number - len(slice_.get("endpoints") or ())) < MOST
    ]
    if not fitting:
        return None
    slice_ = unchanged[min(fitting)[1]]
    return Slice(slice_.get("ports") or [], list(slice_.get("endpoints") or ()), slice_)


def _recycle(plan: Plan) -> None:
    """A slice that would go becomes one that would be made."""
    while plan.create and plan.delete:
        one = plan.create.pop()
        plan.update.append(Slice(one.ports, one.endpoints, plan.delete.pop(0), anew=True))


# --- hints ----------------------------------------------------------------------------------------
def hint(plan: Plan, distribution: str) -> None:
    """Writes the hints that spec.trafficDistribution asks for, "" for none, into what is written;
    what is not, and has others, is written (``trafficdist.go``)."""
    for slice_ in list(plan.keep):
        endpoints = [_hinted(e, distribution) for e in slice_.get("endpoints") or ()]
        if endpoints != (slice_.get("endpoints") or []):
            plan.keep.remove(slice_)
            plan.update.append(Slice(slice_.get("ports") or [], endpoints, slice_))
    for one in (*plan.create, *plan.update):
        one.endpoints = [_hinted(e, distribution) for e in one.endpoints]


def _hinted(endpoint: ReadOnlyObject, distribution: str) -> Object:
    """Of endpoints that are not ready, hints stay what they were as long as there is something to
    hint at."""
    ready = (endpoint.get("conditions") or {}).get("ready")
    if distribution and not ready:
        return dict(endpoint)
    hints: Object = {}
    if distribution and (zone := endpoint.get("zone")):
        hints["forZones"] = [{"name": zone}]
    if distribution == "PreferSameNode" and (node := endpoint.get("nodeName")):
        hints["forNodes"] = [{"name": node}]
    bare = {member: value for member, value in endpoint.items() if member != "hints"}
    return {**bare, "hints": hints} if hints else bare
