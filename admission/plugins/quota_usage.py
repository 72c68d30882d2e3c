"""What one object uses of a ResourceQuota's resources, and which of them a quota may count for it.

Source: kubernetes ``pkg/quota/v1/evaluator/core`` (pods, services, claims of storage and devices)
and ``k8s.io/apiserver/pkg/quota/v1/generic`` (counts of everything else). Pure; ``Usage`` maps
quota resource names to amounts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime, timedelta

from apiserver.kinds.common import podresources
from apiserver.kinds.common.resources import is_extended, is_hugepages
from apiserver.kinds.core.volume_cells import storage_class
from apiserver.meta.gvk import GroupResource
from apiserver.meta.objects import Object
from apiserver.meta.quantity import Quantity, parse_quantity
from apiserver.meta.times import parse_time

Usage = dict[str, Quantity]

PODS, SERVICES, CLAIMS = (
    GroupResource("", r) for r in ("pods", "services", "persistentvolumeclaims")
)
DEVICE_CLAIMS = GroupResource("resource.k8s.io", "resourceclaims")
ONE = Quantity(1)
_COMPUTE = ("cpu", "memory", "ephemeral-storage")
_REQUIRED = frozenset(
    {"cpu", "memory", "requests.cpu", "requests.memory", "limits.cpu", "limits.memory"}
)
_COUNTED = {
    GroupResource("", r): r
    for r in (
        "configmaps",
        "secrets",
        "replicationcontrollers",
        "resourcequotas",
        "services",
        "persistentvolumeclaims",
    )
}
_CLASS_SUFFIX = ".storageclass.storage.k8s.io/"
_DEVICES_SUFFIX = ".deviceclass.resource.k8s.io/devices"
_MOST_DEVICES = 32
"""What a request for all devices counts as: no allocation holds more."""


def count_name(resource: GroupResource) -> str:
    """``count/deployments.apps``."""
    return f"count/{resource}"


def usage(resource: GroupResource, obj: Object, now: datetime) -> Usage:
    """Everything that this object uses."""
    used: Usage = {count_name(resource): ONE}
    if resource == PODS:
        if pod_counts(obj, now):
            used |= {"pods": ONE, **_pod_compute(obj.get("spec") or {})}
    elif resource in _COUNTED:
        used[_COUNTED[resource]] = ONE
    if resource == SERVICES:
        used |= _service(obj.get("spec") or {})
    elif resource == CLAIMS:
        used |= _claim(obj)
    elif resource == DEVICE_CLAIMS:
        used |= _devices(obj)
    return used


def counted(resource: GroupResource) -> set[str]:
    """Those names under which each object of the resource counts as one, whatever it is like."""
    return {name for name in (count_name(resource), _COUNTED.get(resource)) if name}


def parsed(amounts: Mapping[str, str]) -> Usage:
    return {name: parse_quantity(text) for name, text in amounts.items()}


def matching(resource: GroupResource, names: Iterable[str]) -> list[str]:
    """Those quota resources that an object of ``resource`` can use, sorted."""
    plain = counted(resource)
    fits = _FITS.get(resource)
    return sorted(name for name in names if name in plain or (fits is not None and fits(name)))


def _pod_resource(name: str) -> bool:
    if name in ("pods", *_COMPUTE) or is_hugepages(name):
        return True
    kind, _, rest = name.partition(".")
    if kind == "limits":
        return rest in _COMPUTE
    return kind == "requests" and (rest in _COMPUTE or is_hugepages(rest) or is_extended(rest))


def _claim_resource(name: str) -> bool:
    return name == "requests.storage" or _CLASS_SUFFIX in name


def _device_resource(name: str) -> bool:
    return name.endswith(_DEVICES_SUFFIX)


def _service_resource(name: str) -> bool:
    return name in ("services.nodeports", "services.loadbalancers")


_FITS: Mapping[GroupResource, Callable[[str], bool]] = {
    PODS: _pod_resource,
    SERVICES: _service_resource,
    CLAIMS: _claim_resource,
    DEVICE_CLAIMS: _device_resource,
}


# --- pods -----------------------------------------------------------------------------------------
def pod_counts(pod: Object, now: datetime) -> bool:
    """Whether the pod still uses anything: not finished, and not past its grace period."""
    if (pod.get("status") or {}).get("phase") in ("Succeeded", "Failed"):
        return False
    metadata = pod["metadata"]
    deleted, grace = metadata.get("deletionTimestamp"), metadata.get("deletionGracePeriodSeconds")
    if deleted is None or grace is None:
        return True
    return now <= parse_time(deleted) + timedelta(seconds=grace)


def _pod_compute(spec: Object) -> Usage:
    requests, limits = (podresources.whole(spec, member) for member in ("requests", "limits"))
    return _compute(requests, limits)


def _compute(requests: Mapping[str, Quantity], limits: Mapping[str, Quantity]) -> Usage:
    used: Usage = {}
    for name, amount in requests.items():
        if name in _COMPUTE or is_hugepages(name):
            used |= {name: amount, f"requests.{name}": amount}
        elif is_extended(name):
            used[f"requests.{name}"] = amount
    for name, amount in limits.items():
        if name in _COMPUTE:
            used[f"limits.{name}"] = amount
    return used


def missing_requirements(pod: Object, names: Iterable[str]) -> str:
    """A quota on cpu or memory wants every container to say how much: what is not said, or "". A
    pod that says for itself what it needs, of whatever it may, need not say more."""
    spec = pod.get("spec") or {}
    own = [podresources.amounts(spec, member) for member in ("requests", "limits")]
    if any(podresources.is_pod_level(name) for amounts in own for name in amounts):
        return ""
    required = _REQUIRED & set(names)
    lacking: dict[str, list[str]] = {}
    for container in [*(spec.get("containers") or []), *(spec.get("initContainers") or [])]:
        said = _compute(
            podresources.amounts(container, "requests"), podresources.amounts(container, "limits")
        )
        for name in required - set(said):
            lacking.setdefault(name, []).append(container.get("name", ""))
    if not lacking:
        return ""
    return "must specify " + "; ".join(
        f"{name} for: {','.join(sorted(lacking[name]))}" for name in sorted(lacking)
    )


# --- services and claims --------------------------------------------------------------------------
def _service(spec: Object) -> Usage:
    kind, ports = spec.get("type"), spec.get("ports") or []
    balanced = kind == "LoadBalancer"
    node_ports = len(ports) if kind == "NodePort" or balanced else 0
    if balanced and spec.get("allocateLoadBalancerNodePorts") is False:
        node_ports = sum(1 for port in ports if port.get("nodePort"))
    return {
        "services.nodeports": Quantity(node_ports),
        "services.loadbalancers": Quantity(int(balanced)),
    }


def _claim(claim: Object) -> Usage:
    spec = claim.get("spec") or {}
    used: Usage = {}
    if name := storage_class(claim):
        used[f"{name}{_CLASS_SUFFIX}persistentvolumeclaims"] = ONE
    text = ((spec.get("resources") or {}).get("requests") or {}).get("storage")
    if text is not None:
        amount = _whole(parse_quantity(text))
        used["requests.storage"] = amount
        if name:
            used[f"{name}{_CLASS_SUFFIX}requests.storage"] = amount
    return used


def _whole(amount: Quantity) -> Quantity:
    """Fractions of a byte count as one."""
    return amount if amount.scaled(-3) % 1000 == 0 else Quantity(amount.scaled(0), 0, amount.format)


# --- devices --------------------------------------------------------------------------------------
def _devices(claim: Object) -> Usage:
    """By class. Of a request that takes the first of several that can be had, each class counts
    with the most that it may come to."""
    total: Counter[str] = Counter()
    for request in ((claim.get("spec") or {}).get("devices") or {}).get("requests") or ():
        several = request.get("firstAvailable") or [request.get("exactly") or {}]
        most: dict[str, int] = {}
        for exactly in several:
            name = exactly.get("deviceClassName") or ""
            most[name] = max(most.get(name, 0), _count(exactly))
        total.update(most)
    return {f"{name}{_DEVICES_SUFFIX}": Quantity(n) for name, n in total.items() if n}


def _count(exactly: Object) -> int:
    """Of a mode that is not known, nothing counts."""
    mode: str = exactly.get("allocationMode") or ""
    count_by_mode = {"ExactCount": exactly.get("count") or 0, "All": _MOST_DEVICES}
    return count_by_mode.get(mode, 0)
