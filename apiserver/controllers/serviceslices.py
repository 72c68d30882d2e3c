"""The EndpointSlices of one Service that selects pods: which there are to be, and what they say
(k8s.io/endpointslice ``reconciler.go``)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from apiserver.controllers.actions import Actions
from apiserver.controllers.podendpoints import (
    TRIGGER,
    Pod,
    earliest,
    is_headless,
    ports_of,
)
from apiserver.controllers.slicing import (
    HEADLESS,
    MANAGED_BY,
    RESERVED,
    SERVICE_NAME,
    Plan,
    Ports,
    Slice,
    Wanted,
    deal,
    hint,
    identity,
    key_of_ports,
    same,
)
from apiserver.meta.gvk import GroupResource
from apiserver.meta.names import derived_name
from apiserver.meta.objects import Object, ReadOnlyObject
from apiserver.registry.scope import Tenant
from apiserver.storage.interface import Record

CONTROLLER = "endpointslice-controller.k8s.io"
NODES = GroupResource("", "nodes")
ZONE = "topology.kubernetes.io/zone"
_DISTRIBUTIONS = frozenset({"PreferClose", "PreferSameZone", "PreferSameNode"})
_HINTS = ("service.kubernetes.io/topology-aware-hints", "service.kubernetes.io/topology-mode")


class Zones:
    """Of the nodes of a tenant, each asked for once."""

    def __init__(self, actions: Actions, tenant: Tenant) -> None:
        self._lookup = actions.registry.lookup(tenant)
        self._zones: dict[str, str | None] = {"": None}

    async def of(self, node: str) -> str | None:
        """ "" for one without a zone, None where there is no such node."""
        if node not in self._zones:
            found = await self._lookup.get(NODES, "", node)
            labels: Mapping[str, str] = (found or {"metadata": {}})["metadata"].get("labels") or {}
            self._zones[node] = None if found is None else labels.get(ZONE, "")
        return self._zones[node]


class _Left(NamedTuple):
    pod: str
    node: str


@dataclass(slots=True)
class ServiceSlices:
    """What is made of one Service in one look. slices: those of the controller that it has; taken:
    names of all slices of the namespace."""

    record: Record
    service: Object
    slices: Sequence[Object]
    taken: set[str]
    zones: Zones
    changed: set[str] = field(default_factory=set)
    without_node: list[_Left] = field(default_factory=list)

    async def plan(self, family: str, pods: Sequence[Pod]) -> Plan:
        existing = [s for s in self.slices if s.get("addressType") == family]
        own = [s for s in existing if self._is_owner(s)]
        foreign = [s for s in existing if not self._is_owner(s)]
        before = {identity(e): e for s in own for e in s.get("endpoints") or ()}
        wanted: dict[Ports, Wanted] = {}
        for pod in pods:
            ports = ports_of(self.service, pod)
            group = wanted.setdefault(key_of_ports(ports), Wanted(ports, {}))
            endpoint = await self._endpoint(family, pod)
            if endpoint is not None and endpoint["addresses"]:
                known = before.get(which := identity(endpoint))
                if known is None or not same(endpoint, known):
                    self.changed.add(pod.ready_since)
                group.endpoints[which] = endpoint
        plan = deal(wanted, own, self.labels, foreign)
        hint(plan, self._distribution)
        return plan

    async def _endpoint(self, family: str, pod: Pod) -> Object | None:
        """None where the pod's node is not there, unless pods count that are not ready."""
        unready = bool(self.service["spec"].get("publishNotReadyAddresses"))
        zone = await self.zones.of(pod.node)
        if zone is None and not unready:
            self.without_node.append(_Left(pod.name, pod.node))
            return None
        endpoint: dict[str, Any] = {
            "addresses": pod.addresses_of(family),
            "conditions": {
                "ready": unready or (pod.ready and not pod.terminating),
                "serving": pod.ready,
                "terminating": pod.terminating,
            },
            "targetRef": pod.reference,
        }
        if pod.node:
            endpoint["nodeName"] = pod.node
        if zone:
            endpoint["zone"] = zone
        if pod.named(self.service):
            endpoint["hostname"] = pod.hostname
        return endpoint

    @property
    def _distribution(self) -> str:
        annotations = self.service["metadata"].get("annotations") or {}
        mode = next((annotations[name] for name in _HINTS if name in annotations), "")
        wanted: str = self.service["spec"].get("trafficDistribution") or ""
        return wanted if wanted in _DISTRIBUTIONS and mode not in ("Auto", "auto") else ""

    @property
    def labels(self) -> dict[str, str]:
        metadata = self.service["metadata"]
        labels = {k: v for k, v in (metadata.get("labels") or {}).items() if k not in RESERVED}
        if is_headless(self.service):
            labels[HEADLESS] = ""
        return {**labels, SERVICE_NAME: metadata["name"], MANAGED_BY: CONTROLLER}

    @property
    def owner(self) -> Object:
        metadata = self.service["metadata"]
        whose = {"name": metadata["name"], "uid": metadata["uid"]}
        kind = {"apiVersion": "v1", "kind": "Service"}
        return {**kind, **whose, "controller": True, "blockOwnerDeletion": True}

    def _is_owner(self, slice_: ReadOnlyObject) -> bool:
        return any(
            (ref.get("uid"), ref.get("kind"), ref.get("apiVersion"))
            == (self.service["metadata"]["uid"], "Service", "v1")
            for ref in slice_["metadata"].get("ownerReferences") or ()
        )

    def annotations(self, before: Mapping[str, str]) -> dict[str, str]:
        """With the time of what led to the change: the Service's own where there was nothing yet,
        else of the pods that changed, as far as they tell one. Upstream remembers what it saw."""
        told = {name: text for name, text in before.items() if name != TRIGGER}
        since = self.service["metadata"].get("creationTimestamp", "")
        when = earliest(self.changed) if self.slices else since
        return {**told, TRIGGER: when} if when else told

    def new_name(self, family: str, one: Slice) -> str:
        """The same in every worker that makes this slice at this moment: one of them gets it, and
        the others look again."""
        about = (self.service["metadata"]["uid"], family, repr(key_of_ports(one.ports)))
        number = 0
        while (name := derived_name(f"{self.record.key.name}-", *about, str(number))) in self.taken:
            number += 1
        self.taken.add(name)
        return name

    def trouble(self) -> str:
        """As upstream tells it."""
        key = self.record.key
        of = f"Service {key.namespace}/{key.name}"
        lines = dict.fromkeys(
            f"skipping Pod {pod} for {of}: Node {node} Not Found" for pod, node in self.without_node
        )
        if not lines:
            return ""
        text = ", ".join(lines)
        told = f"[{text}]" if len(lines) > 1 else text
        return f"Error updating Endpoint Slices for {of}: {told}"
