"""The slices of one Endpoints object (kubernetes ``pkg/controller/endpointslicemirroring``,
reconciler.go and utils.go), without I/O: one for each family of addresses and set of ports."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from apiserver.controllers.correlation import Said
from apiserver.controllers.podendpoints import IPV4, IPV6, TRIGGER
from apiserver.controllers.slicing import (
    MANAGED_BY,
    SERVICE_NAME,
    Identity,
    Ports,
    Slice,
    identity,
    key_of_ports,
    same,
)
from apiserver.controllers.subsets import NOT_READY, READY, repack
from apiserver.kinds.formats import parse_ip
from apiserver.meta.names import derived_name
from apiserver.meta.objects import Object, ReadOnlyObject
from apiserver.storage.interface import Record

CONTROLLER = "endpointslicemirroring-controller.k8s.io"
MOST = 1000
"""Addresses of one subset."""
_SKIP = "endpointslice.kubernetes.io/skip-mirror"
_LEADER = "control-plane.alpha.kubernetes.io/leader"
_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
_Group = tuple[str, Ports]


def may_be_mirrored(endpoints: ReadOnlyObject) -> bool:
    metadata = endpoints["metadata"]
    skipped = (metadata.get("labels") or {}).get(_SKIP) == "true"
    return not skipped and _LEADER not in (metadata.get("annotations") or {})


class Mirroring(NamedTuple):
    """create: with the family of each."""

    create: Sequence[tuple[str, Slice]]
    update: Sequence[Slice]
    delete: Sequence[Object]


@dataclass(slots=True)
class Mirror:
    """slices: those of the controller that there are; taken: names of all slices of the namespace;
    invalid, too_many: addresses that are left out."""

    record: Record
    endpoints: Object
    slices: Sequence[Object]
    taken: set[str]
    invalid: int = 0
    too_many: int = 0
    _ports: dict[_Group, list[Object]] = field(default_factory=dict)

    def plan(self) -> Mirroring:
        wanted = self._wanted()
        existing: dict[_Group, list[Object]] = {}
        for slice_ in self.slices:
            group = slice_.get("addressType", ""), key_of_ports(slice_.get("ports"))
            existing.setdefault(group, []).append(slice_)
        create: list[tuple[str, Slice]] = []
        update: list[Slice] = []
        delete: list[Object] = []
        for group, desired in wanted.items():
            there = existing.pop(group, [])
            delete += there[1:]
            one = Slice(self._ports[group], list(desired.values()), there[0] if there else None)
            if not there:
                create.append((group[0], one))
            elif not self._is_right(there[0], desired):
                update.append(one)
        delete += [slice_ for left in existing.values() for slice_ in left]
        return _recycled(create, update, delete)

    def _wanted(self) -> dict[_Group, dict[Identity, Object]]:
        self.invalid = self.too_many = 0
        wanted: dict[_Group, dict[Identity, Object]] = {}
        for subset in repack(self.endpoints.get("subsets") or ()):
            ports = [_port(port) for port in subset.get("ports") or ()]
            added = 0
            for address, ready in _addresses(subset):
                if added >= MOST:
                    self.too_many += 1
                    continue
                family, endpoint = _endpoint(address, ready)
                if not family:
                    self.invalid += 1
                    continue
                added += 1
                group = family, key_of_ports(ports)
                self._ports.setdefault(group, ports)
                wanted.setdefault(group, {})[identity(endpoint)] = endpoint
        return wanted

    def _is_right(self, slice_: ReadOnlyObject, desired: dict[Identity, Object]) -> bool:
        metadata, endpoints = slice_["metadata"], slice_.get("endpoints") or ()
        there = {identity(e): e for e in endpoints}
        owned = any(
            ref.get("uid") == self.endpoints["metadata"]["uid"]
            for ref in metadata.get("ownerReferences") or ()
        )
        return (
            there.keys() == desired.keys()
            and len(endpoints) == len(desired)
            and all(same(endpoint, there[which]) for which, endpoint in desired.items())
            and (metadata.get("labels") or {}) == self.metadata["labels"]
            and (metadata.get("annotations") or {}) == self.metadata["annotations"]
            and owned
        )

    @property
    def metadata(self) -> dict[str, Any]:
        """What the Endpoints say of themselves, and whose the slices are."""
        own = self.endpoints["metadata"]
        annotations = own.get("annotations") or {}
        owner = {"name": own["name"], "uid": own["uid"], "controller": True}
        kind = {"apiVersion": "v1", "kind": "Endpoints"}
        names = {SERVICE_NAME: own["name"], MANAGED_BY: CONTROLLER}
        return {
            "labels": {**(own.get("labels") or {}), **names},
            "annotations": {k: v for k, v in annotations.items() if k not in (TRIGGER, _APPLIED)},
            "ownerReferences": [{**kind, **owner, "blockOwnerDeletion": True}],
        }

    def new_name(self, family: str, one: Slice) -> str:
        """The same in every worker that makes this slice at this moment: one of them gets it, and
        the others look again."""
        about = (self.endpoints["metadata"]["uid"], family, repr(key_of_ports(one.ports)))
        number = 0
        while (name := derived_name(f"{self.record.key.name}-", *about, str(number))) in self.taken:
            number += 1
        self.taken.add(name)
        return name

    def said(self) -> Iterator[Said]:
        if self.invalid:
            text = f"Skipped {self.invalid} invalid IP addresses when mirroring to EndpointSlices"
            yield Said("Warning", "InvalidIPAddress", text)
        if self.too_many:
            text = (
                f"A max of {MOST} addresses can be mirrored to EndpointSlices per Endpoints "
                f"subset. {self.too_many + self.invalid} addresses were skipped"
            )
            yield Said("Warning", "TooManyAddressesToMirror", text)


def _recycled(
    create: list[tuple[str, Slice]], update: list[Slice], delete: list[Object]
) -> Mirroring:
    """A slice that would go becomes one of its family that would be made."""
    made = []
    for family, one in create:
        old = next((s for s in delete if s.get("addressType") == family), None)
        if old is None:
            made.append((family, one))
            continue
        delete.remove(old)
        update.append(Slice(one.ports, one.endpoints, old))
    return Mirroring(made, update, delete)


def _addresses(subset: ReadOnlyObject) -> Iterator[tuple[ReadOnlyObject, bool]]:
    for member, ready in ((READY, True), (NOT_READY, False)):
        for address in subset.get(member) or ():
            yield address, ready


def _endpoint(address: ReadOnlyObject, ready: bool) -> tuple[str, Object]:
    """("", nothing) where it is no address."""
    ip = parse_ip(address.get("ip") or "")
    if ip is None:
        return "", {}
    endpoint: Object = {"addresses": [str(ip)], "conditions": {"ready": ready}}
    for member in ("targetRef", "nodeName"):
        if member in address:
            endpoint[member] = address[member]
    if address.get("hostname"):
        endpoint["hostname"] = address["hostname"]
    return IPV4 if ip.version == 4 else IPV6, endpoint


def _port(port: ReadOnlyObject) -> Object:
    found = {"name": "", "protocol": "TCP", **port}
    return {m: found[m] for m in ("name", "port", "protocol", "appProtocol") if m in found}
