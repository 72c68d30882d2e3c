"""Warnings about pods and templates: what is deprecated, ineffective or ambiguous
(k8s.io/kubernetes ``api/pod/warnings.go``)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from heapq import merge
from itertools import islice

from apiserver.codec.strict import MOST_WARNINGS
from apiserver.fielderrors import FieldPath
from apiserver.golang.strconv import go_quote
from apiserver.kinds.common import nodelabels, overlaps, podannotations
from apiserver.kinds.common.address_warnings import ip_warnings
from apiserver.kinds.common.scheduling import PREFERRED, REQUIRED
from apiserver.kinds.common.visit import visit_containers
from apiserver.meta.objects import ReadOnlyObject
from apiserver.meta.quantity import parse_quantity

_NO_SELECTOR = "a null labelSelector results in matching no pod"
_ANNOTATIONS = {
    "scheduler.alpha.kubernetes.io/critical-pod": (
        'non-functional in v1.16+; use the "priorityClassName" field instead'
    ),
    "security.alpha.kubernetes.io/sysctls": (
        'non-functional in v1.11+; use the "sysctls" field instead'
    ),
    "security.alpha.kubernetes.io/unsafe-sysctls": (
        'non-functional in v1.11+; use the "sysctls" field instead'
    ),
}
_VOLUMES = {
    "photonPersistentDisk": (
        "photonPersistentDisk",
        "deprecated in v1.11, non-functional in v1.16+",
    ),
    "gitRepo": ("gitRepo", "deprecated in v1.11, and disabled by default in v1.33+"),
    "scaleIO": ("scaleIO", "deprecated in v1.16, non-functional in v1.22+"),
    "flocker": ("flocker", "deprecated in v1.22, non-functional in v1.25+"),
    "storageos": ("storageOS", "deprecated in v1.22, non-functional in v1.25+"),
    "quobyte": ("quobyte", "deprecated in v1.22, non-functional in v1.25+"),
    "glusterfs": ("glusterfs", "deprecated in v1.25, non-functional in v1.26+"),
    "cephfs": ("cephfs", "deprecated in v1.28, non-functional in v1.31+"),
    "rbd": ("rbd", "deprecated in v1.28, non-functional in v1.31+"),
}
_WHOLE_BYTES = ("memory", "ephemeral-storage")


def pod(obj: ReadOnlyObject, path: FieldPath) -> Iterator[str]:
    """``obj``: with metadata and spec. ``path``: "" for a pod, the template's path otherwise."""
    metadata, spec = obj.get("metadata") or {}, obj.get("spec") or {}
    at = path.child("spec")
    yield from _node_choice(spec, at)
    yield from _annotations(metadata, spec, path)
    yield from _volumes(spec, at.child("volumes"))
    yield from _lists(spec, at)
    yield from _fractions(spec.get("overhead") or {}, at.child("overhead"))
    for container, where in visit_containers(spec, at):
        yield from _container(container, where)
    yield from islice(_ports(spec, at), MOST_WARNINGS)
    yield from _port_names(spec, at)
    if (spec.get("terminationGracePeriodSeconds") or 0) < 0:
        yield (
            f"{at.child('terminationGracePeriodSeconds')}: must be >= 0; negative values are "
            "invalid and will be treated as 1"
        )
    yield from _pod_affinity(spec.get("affinity") or {}, at.child("affinity"))


def template(obj: ReadOnlyObject | None, path: FieldPath) -> list[str]:
    return list(pod(obj or {}, path))


def _node_choice(spec: ReadOnlyObject, path: FieldPath) -> Iterator[str]:
    for key in sorted(spec.get("nodeSelector") or ()):
        if key in nodelabels.DEPRECATED:
            yield f"{path.child('nodeSelector').key(key)}: {nodelabels.DEPRECATED[key]}"
    node = (spec.get("affinity") or {}).get("nodeAffinity") or {}
    at = path.child("affinity", "nodeAffinity")
    for i, term in enumerate((node.get(REQUIRED) or {}).get("nodeSelectorTerms") or ()):
        yield from nodelabels.selector_term(term, at.child(REQUIRED, "nodeSelectorTerms").at(i))
    for i, term in enumerate(node.get(PREFERRED) or ()):
        yield from nodelabels.selector_term(
            term.get("preference") or {}, at.child(PREFERRED).at(i).child("preference")
        )
    for i, constraint in enumerate(spec.get("topologySpreadConstraints") or ()):
        where, key = (
            path.child("topologySpreadConstraints").at(i),
            constraint.get("topologyKey", ""),
        )
        if key in nodelabels.DEPRECATED:
            yield f"{where.child('topologyKey')}: {key} is {nodelabels.DEPRECATED[key]}"
        if constraint.get("labelSelector") is None:
            yield f"{where.child('labelSelector')}: {_NO_SELECTOR}"


def _annotations(metadata: ReadOnlyObject, spec: ReadOnlyObject, path: FieldPath) -> Iterator[str]:
    given, at = metadata.get("annotations") or {}, path.child("metadata", "annotations")
    for key, text in _ANNOTATIONS.items():
        if key in given:
            yield f"{at.key(key)}: {text}"
    context = spec.get("securityContext") or {}
    seccomp = 'non-functional in v1.27+; use the "seccompProfile" field instead'
    if context.get("seccompProfile") is None and podannotations.SECCOMP_POD in given:
        yield f"{at.key(podannotations.SECCOMP_POD)}: {seccomp}"
    for container, _ in visit_containers(spec, path):
        own, name = container.get("securityContext") or {}, container.get("name", "")
        key = podannotations.SECCOMP_CONTAINER + name
        if own.get("seccompProfile") is None and key in given:
            yield f"{at.key(key)}: {seccomp}"
        key = podannotations.APPARMOR + name
        # A pod's own annotations are copied into fields, which warns by itself.
        if (
            path
            and key in given
            and own.get("appArmorProfile") is None
            and context.get("appArmorProfile") is None
        ):
            yield f'{at.key(key)}: deprecated since v1.30; use the "appArmorProfile" field instead'


def _volumes(spec: ReadOnlyObject, path: FieldPath) -> Iterator[str]:
    volumes = spec.get("volumes") or ()
    for i, volume in enumerate(volumes):
        for field, (volume_type, text) in _VOLUMES.items():
            if volume.get(field) is not None:
                yield f"{path.at(i).child(volume_type)}: {text}"
        claim = ((volume.get("ephemeral") or {}).get("volumeClaimTemplate") or {}).get("spec") or {}
        yield from claim_amounts(
            claim, path.at(i).child("ephemeral", "volumeClaimTemplate", "spec")
        )
    yield from islice(overlaps.volume_warnings(volumes), MOST_WARNINGS)


def claim_amounts(spec: ReadOnlyObject, path: FieldPath) -> Iterator[str]:
    """Fractions of bytes that a claim asks for."""
    for kind in ("requests", "limits"):
        value = ((spec.get("resources") or {}).get(kind) or {}).get("storage")
        if value is not None and parse_quantity(value).scaled(-3) % 1000:
            at = path.child("resources", kind).key("storage")
            yield f"{at}: fractional byte value {go_quote(value)} is invalid, must be an integer"


def _lists(spec: ReadOnlyObject, path: FieldPath) -> Iterator[str]:
    for field, member, name in (("hostAliases", "ip", "ip"), ("imagePullSecrets", "name", "name")):
        seen: set[str] = set()
        for i, item in enumerate(spec.get(field) or ()):
            value = item.get(member, "")
            if value in seen:
                yield f"{path.child(field).at(i).child(member)}: duplicate {name} {go_quote(value)}"
            seen.add(value)
    for i, secret in enumerate(spec.get("imagePullSecrets") or ()):
        if not secret.get("name"):
            yield f'{path.child("imagePullSecrets").at(i).child("name")}: invalid empty name ""'
    servers = path.child("dnsConfig", "nameservers")
    for i, server in enumerate((spec.get("dnsConfig") or {}).get("nameservers") or ()):
        yield from ip_warnings(servers.at(i), server)
    for i, alias in enumerate(spec.get("hostAliases") or ()):
        yield from ip_warnings(path.child("hostAliases").at(i).child("ip"), alias.get("ip", ""))


def _fractions(amounts: ReadOnlyObject, path: FieldPath) -> Iterator[str]:
    for name in _WHOLE_BYTES:
        if name in amounts and parse_quantity(amounts[name]).scaled(-3) % 1000:
            yield (
                f"{path.key(name)}: fractional byte value {go_quote(amounts[name])} is invalid, "
                "must be an integer"
            )


def _container(container: ReadOnlyObject, path: FieldPath) -> Iterator[str]:
    for kind in ("limits", "requests"):
        yield from _fractions(
            (container.get("resources") or {}).get(kind) or {}, path.child("resources", kind)
        )
    seen: set[str] = set()
    for i, variable in enumerate(container.get("env") or ()):
        name, value = variable.get("name", ""), variable.get("value", "")
        reference = f"$({name})"
        hides = (
            variable.get("valueFrom") is not None or value == reference or reference not in value
        )
        if name in seen and hides:
            yield (
                f"{path.child('env').at(i)}: hides previous definition of {go_quote(name)}, which "
                "may be dropped when using apply"
            )
        seen.add(name)


def _ports(spec: ReadOnlyObject, path: FieldPath) -> Iterator[str]:
    ports_by_key: dict[tuple[int, str], _Ports] = {}
    for container, where in visit_containers(spec, path):
        for i, port in enumerate(container.get("ports") or ()):
            at = where.child("ports").at(i)
            if port.get("hostIP") and not port.get("hostPort"):
                port_text = (
                    port.get("name", ""),
                    0,
                    port.get("containerPort", 0),
                    port.get("protocol", ""),
                    port["hostIP"],
                )
                yield (
                    (
                        f"{at}: hostIP set without hostPort: "
                        f"{{Name:%s HostPort:%d ContainerPort:%d Protocol:%s HostIP:%s}}"
                    )
                    % port_text
                )
            others = ports_by_key.setdefault(
                (port.get("containerPort", 0), port.get("protocol", "")), _Ports()
            )
            for kind, other_at in others.conflicts(port):
                yield f"{at}: {kind} port definition with {other_at}"
            others.add(at, port)


def _port_names(spec: ReadOnlyObject, path: FieldPath) -> Iterator[str]:
    """Within a container a name stands for one port; a pod's may share some."""
    first: dict[str, FieldPath] = {}
    for container, where in visit_containers(spec, path):
        for i, port in enumerate(container.get("ports") or ()):
            name, at = port.get("name", ""), where.child("ports").at(i)
            if name in first:
                yield (
                    f"{at}: duplicate port name {go_quote(name)} with {first[name]}, services and "
                    f"probes that select ports by name will use {first[name]}"
                )
            elif name:
                first[name] = at


class _Ports:
    """Definitions of one container port, found by the host's side of them: each may conflict with
    all before it, or with none."""

    def __init__(self) -> None:
        self._all: list[tuple[int, FieldPath, str, int]] = []
        self._by_port: dict[int, list[tuple[int, FieldPath, str, int]]] = {}
        self._by_address: dict[tuple[int, str], list[tuple[int, FieldPath, str, int]]] = {}

    def add(self, at: FieldPath, port: ReadOnlyObject) -> None:
        ip, number = port.get("hostIP", ""), port.get("hostPort", 0)
        entry = (len(self._all), at, ip, number)
        self._all.append(entry)
        self._by_port.setdefault(number, []).append(entry)
        self._by_address.setdefault((number, ip), []).append(entry)

    def conflicts(self, port: ReadOnlyObject) -> Iterator[tuple[str, FieldPath]]:
        """(what kind, with which), in order; only entries that do conflict are looked at."""
        ip, number = port.get("hostIP", ""), port.get("hostPort", 0)
        if not number:
            candidates: Iterable[tuple[int, FieldPath, str, int]] = self._all
        elif not ip:
            candidates = merge(self._by_port.get(0, ()), self._by_port.get(number, ()))
        else:
            same, any_address = (self._by_address.get((number, text), ()) for text in (ip, ""))
            candidates = merge(self._by_port.get(0, ()), same, any_address)
        for _, at, other_ip, other in candidates:
            if (ip, number) == (other_ip, other):
                yield "duplicate", at
            else:
                yield "overlapping" if not number or not other else "dangerously ambiguous", at


def _pod_affinity(affinity: ReadOnlyObject, path: FieldPath) -> Iterator[str]:
    for kind in ("podAffinity", "podAntiAffinity"):
        rules = affinity.get(kind) or {}
        for i, term in enumerate(rules.get(REQUIRED) or ()):
            if term.get("labelSelector") is None:
                yield f"{path.child(kind, REQUIRED).at(i).child('labelSelector')}: {_NO_SELECTOR}"
        for i, weighted in enumerate(rules.get(PREFERRED) or ()):
            if (weighted.get("podAffinityTerm") or {}).get("labelSelector") is None:
                term = path.child(kind, PREFERRED).at(i).child("podAffinityTerm", "labelSelector")
                yield f"{term}: {_NO_SELECTOR}"
