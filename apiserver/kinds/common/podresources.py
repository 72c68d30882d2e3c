"""Resources of a pod as a whole: sums over its containers, pod-level requests and limits
(KEP-2837), and its QoS class.

Sources: k8s.io/component-helpers ``resource/helpers.go``, k8s.io/kubernetes
``apis/core/helper/qos``, ``apis/core/v1/defaults.go``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from apiserver.kinds.common import resources
from apiserver.meta.quantity import Quantity, parse_quantity

Spec = Mapping[str, Any]
Amounts = dict[str, Quantity]
_QOS = ("cpu", "memory")


def is_sidecar(container: Mapping[str, Any]) -> bool:
    """An init container that keeps running."""
    return container.get("restartPolicy") == "Always"


def amounts(container: Mapping[str, Any], kind: str) -> Amounts:
    """``kind``: "requests" or "limits"."""
    listed = (container.get("resources") or {}).get(kind) or {}
    return {name: parse_quantity(value) for name, value in listed.items()}


def total(spec: Spec, kind: str) -> Amounts:
    """What all containers need at once: running ones together, or the most that one init container
    and the sidecars before it need."""
    running: Amounts = {}
    for container in spec.get("containers") or ():
        _add(running, amounts(container, kind))
    sidecars: Amounts = {}
    starting: Amounts = {}
    for container in spec.get("initContainers") or ():
        needed = amounts(container, kind)
        if is_sidecar(container):
            _add(running, needed)
            _add(sidecars, needed)
            needed = {name: sidecars[name] for name in needed}
        else:
            needed = {
                name: amount + sidecars[name] if name in sidecars else amount
                for name, amount in needed.items()
            }
        _raise(
            starting,
            needed,
            # what the sidecars need of anything else has been seen to with the last of them that
            # needs
            # it
        )
    _raise(running, starting)
    return running


def whole(spec: Spec, kind: str) -> Amounts:
    """What the pod says for itself, or its containers' sum, and the overhead of its runtime (on
    limits only where there is one)."""
    amount = {**total(spec, kind), **amounts(spec, kind)}
    for name, text in (spec.get("overhead") or {}).items():
        if name in amount:
            amount[name] = amount[name] + parse_quantity(text)
        elif kind == "requests":
            amount[name] = parse_quantity(text)
    return amount


def _add(into: Amounts, more: Amounts) -> None:
    for name, value in more.items():
        into[name] = into[name] + value if name in into else value


def _raise(into: Amounts, floor: Amounts) -> None:
    for name, value in floor.items():
        if name not in into or value > into[name]:
            into[name] = value


def is_pod_level(name: str) -> bool:
    return name in ("cpu", "memory") or resources.is_hugepages(name)


def default_pod_level(spec: dict[str, Any]) -> None:
    """Completes spec.resources from its containers, where the client gave a part of it."""
    given = spec.get("resources")
    if not given:
        return
    limits, requests = dict(given.get("limits") or {}), dict(given.get("requests") or {})
    if not limits and not requests:
        return
    for name, value in total(spec, "limits").items():
        if resources.is_hugepages(name) and name not in requests:
            limits.setdefault(name, str(value))
    if limits:
        for name, value in total(spec, "requests").items():
            if is_pod_level(name) and resources.may_overcommit(name):
                requests.setdefault(name, str(value))
        for name, value in limits.items():
            if is_pod_level(name):
                requests.setdefault(name, value)
    given.update(
        {kind: listed for kind, listed in (("limits", limits), ("requests", requests)) if listed}
    )


def qos_class(spec: Spec) -> str:
    """Guaranteed: every container limits cpu and memory to what it requests; BestEffort: none asks
    for any; else Burstable."""
    parts: Iterable[Mapping[str, Any]] = [
        *(spec.get("containers") or ()),
        *(spec.get("initContainers") or ()),
    ]
    if (spec.get("resources") or {}).keys() & {"limits", "requests"}:
        parts = [spec]
    requests: Amounts = {}
    limits: Amounts = {}
    guaranteed = True
    for part in parts:
        requested = {
            k: v for k, v in amounts(part, "requests").items() if k in _QOS and not v.is_zero
        }
        limited = {k: v for k, v in amounts(part, "limits").items() if k in _QOS and not v.is_zero}
        _add(requests, requested)
        _add(limits, limited)
        guaranteed = guaranteed and limited.keys() == set(_QOS)
    if not requests and not limits:
        return "BestEffort"
    return "Guaranteed" if guaranteed and requests == limits else "Burstable"
