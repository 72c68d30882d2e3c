"""What Pods are to Services that select them: facts of both, without I/O (k8s.io/endpointslice
``utils.go`` and ``util/controller_utils.go``).

A Service without a selector, or one that is only a name, selects nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from apiserver.kinds.formats import parse_ip
from apiserver.meta.objects import Object, ReadOnlyObject

IPV4, IPV6 = "IPv4", "IPv6"
TRIGGER = "endpoints.kubernetes.io/last-change-trigger-time"
_ENDED = frozenset({"Failed", "Succeeded"})


class Pod(NamedTuple):
    """ports: of its containers, by name and protocol; ready_since: as the condition has it, "" for
    none."""

    namespace: str
    name: str
    uid: str
    labels: Mapping[str, str]
    addresses: Sequence[str]
    ports: Mapping[tuple[str, str], int]
    node: str
    hostname: str
    subdomain: str
    ready: bool
    ready_since: str
    terminating: bool

    def named(self, service: ReadOnlyObject) -> bool:
        """Whether its hostname is one below the Service's name."""
        return bool(self.hostname) and self.subdomain == service["metadata"]["name"]

    def addresses_of(self, family: str) -> list[str]:
        """In the form that all programs read alike."""
        parsed = [parse_ip(text) for text in self.addresses]
        wanted = 6 if family == IPV6 else 4
        return [str(ip) for ip in parsed if ip is not None and ip.version == wanted]

    @property
    def reference(self) -> Object:
        return {"kind": "Pod", "namespace": self.namespace, "name": self.name, "uid": self.uid}


def pod_of(obj: ReadOnlyObject) -> Pod | None:
    """None of a pod that has ended, or has no address yet."""
    metadata, spec, status = obj["metadata"], obj.get("spec") or {}, obj.get("status") or {}
    addresses = [entry.get("ip") or "" for entry in status.get("podIPs") or ()]
    if status.get("phase") in _ENDED or not (addresses or status.get("podIP")):
        return None
    conditions = status.get("conditions") or ()
    ready: Mapping[str, Any] = next((x for x in conditions if x.get("type") == "Ready"), {})
    return Pod(
        metadata.get("namespace", ""),
        metadata["name"],
        metadata["uid"],
        metadata.get("labels") or {},
        addresses,
        dict(_ports(spec)),
        spec.get("nodeName") or "",
        spec.get("hostname") or "",
        spec.get("subdomain") or "",
        ready.get("status") == "True",
        ready.get("lastTransitionTime") or "",
        bool(metadata.get("deletionTimestamp")),
    )


def _ports(spec: ReadOnlyObject) -> Iterator[tuple[tuple[str, str], int]]:
    """The first of a name counts, which comes last here: containers', then sidecars'."""
    sidecars = [x for x in spec.get("initContainers") or () if x.get("restartPolicy") == "Always"]
    ports = [p for x in (*(spec.get("containers") or ()), *sidecars) for p in x.get("ports") or ()]
    for port in reversed(ports):
        yield (port.get("name") or "", port.get("protocol") or "TCP"), port["containerPort"]


class Pods:
    """Those of a namespace, found by what Services select: of a selector's labels the one that
    fewest have leads to them."""

    def __init__(self, pods: Collection[Pod]) -> None:
        self._by: dict[tuple[str, str], list[Pod]] = {}
        for pod in pods:
            for label in pod.labels.items():
                self._by.setdefault(label, []).append(pod)

    def of(self, service: ReadOnlyObject) -> list[Pod]:
        selector = selector_of(service)
        if not selector:
            return []
        few = min((self._by.get(label, []) for label in selector.items()), key=len)
        wanted = selector.items()
        return [pod for pod in few if wanted <= pod.labels.items()]


def selector_of(service: ReadOnlyObject) -> Mapping[str, str]:
    """Empty for a Service whose endpoints nobody but its owner knows."""
    spec = service.get("spec") or {}
    return {} if spec.get("type") == "ExternalName" else spec.get("selector") or {}


def is_headless(service: ReadOnlyObject) -> bool:
    return (service["spec"].get("clusterIP") or "None") == "None"


def families(service: ReadOnlyObject) -> list[str]:
    """The types of addresses that its endpoints have."""
    spec = service["spec"]
    if known := [f for f in spec.get("ipFamilies") or () if f in (IPV4, IPV6)]:
        return known
    if is_headless(service):
        return [IPV4, IPV6]
    parsed = parse_ip(spec["clusterIP"])
    return [IPV6 if parsed is not None and parsed.version == 6 else IPV4]


def ports_of(service: ReadOnlyObject, pod: Pod) -> list[Object]:
    """The Service's ports, as the pod has them; those that it does not have are left out."""
    found = []
    for port in service["spec"].get("ports") or ():
        number, protocol = target(port, pod), port.get("protocol") or "TCP"
        if number is not None:
            one = {"name": port.get("name") or "", "port": number, "protocol": protocol}
            if "appProtocol" in port:
                one["appProtocol"] = port["appProtocol"]
            found.append(one)
    return found


def target(port: ReadOnlyObject, pod: Pod) -> int | None:
    """Where a port of a Service leads in the pod."""
    wanted = port.get("targetPort", port["port"])
    if isinstance(wanted, int):
        return wanted
    return pod.ports.get((wanted, port.get("protocol") or "TCP"))


def earliest(times: Collection[str]) -> str:
    """Of times of one form, RFC 3339 in UTC; "" where there is none."""
    return min((text for text in times if text), default="")
