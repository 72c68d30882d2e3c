"""Pod status: what its writers may say (ValidatePodStatusUpdate, podStatusStrategy)."""

from __future__ import annotations

import ipaddress
from collections import Counter, deque
from collections.abc import Mapping, Sequence
from typing import Any

from apiserver.fielderrors import FieldPath, duplicate, forbidden, invalid, not_supported
from apiserver.kinds import formats
from apiserver.kinds.common import checks, podannotations
from apiserver.kinds.common.address_warnings import ip_warnings
from apiserver.kinds.common.addresses import ip_errors
from apiserver.meta.objects import Object, ReadOnlyObject

STATUS = checks.root("status")
_CONTAINERS = {
    "containerStatuses": "containers",
    "initContainerStatuses": "initContainers",
    "ephemeralContainerStatuses": "ephemeralContainers",
}
_LISTS = tuple(_CONTAINERS)
_OWN_CONDITIONS = ("PodScheduled", "Ready", "Initialized")


def default_status(status: Object) -> None:
    """podIP and hostIP are the older twins of the first entries of podIPs and hostIPs."""
    _sync(status, "podIP", "podIPs")


def _sync(status: Object, one: str, many: str) -> None:
    listed = status.get(many) or []
    if status.get(one) and (not listed or listed[0].get("ip") != status[one]):
        status[many] = [{"ip": status[one]}]
    elif listed and not status.get(one):
        status[one] = listed[0].get("ip", "")


def prepare(obj: Object, old: Object) -> None:
    """Old kubelets drop some of these: they keep what they were."""
    status, before = obj.setdefault("status", {}), old.get("status") or {}
    if not status.get("qosClass") and before.get("qosClass"):
        status["qosClass"] = before["qosClass"]
    if not status.get("observedGeneration") and before.get("observedGeneration"):
        status["observedGeneration"] = before["observedGeneration"]
    positions: dict[str, deque[int]] = {}
    for condition in before.get("conditions") or ():
        positions.setdefault(condition.get("type", ""), deque()).append(
            condition.get("observedGeneration", 0)
        )
    for condition in status.get("conditions") or ():
        earlier = positions.get(condition.get("type", ""))
        generation = earlier.popleft() if earlier else 0
        if not condition.get("observedGeneration") and generation:
            condition["observedGeneration"] = generation


def validate(obj: Object, old: Object) -> checks.Errors:
    status, before, spec = obj.get("status") or {}, old.get("status") or {}, obj["spec"]
    annotations = obj["metadata"].get("annotations"), old["metadata"].get("annotations")
    yield from podannotations.unchanged(*annotations, checks.root("metadata", "annotations"))
    yield from podannotations.validate(annotations[0], spec, checks.root("metadata", "annotations"))
    for i, condition in enumerate(status.get("conditions") or ()):
        if condition.get("type") not in _OWN_CONDITIONS:
            at = checks.root("metadata", "conditions").at(i).child("Type")
            yield from checks.qualified_name(condition.get("type", ""), at)
    nominated = status.get("nominatedNodeName")
    if nominated and nominated != before.get("nominatedNodeName"):
        yield from checks.dns_subdomain(nominated, STATUS.child("nominatedNodeName"))
    yield from checks.immutable(
        status.get("qosClass"), before.get("qosClass"), STATUS.child("qosClass")
    )
    yield from _all_stay_terminated(status, before, spec)
    yield from _claim_statuses(
        status.get("resourceClaimStatuses") or (), spec, STATUS.child("resourceClaimStatuses")
    )
    yield from _addresses(status, before, "podIPs")
    hosts = status.get("hostIPs") or []
    if hosts and hosts[0].get("ip") != status.get("hostIP", ""):
        yield invalid(
            STATUS.child("hostIPs").at(0).child("ip"),
            hosts[0].get("ip", ""),
            "must be equal to `hostIP`",
        )
    yield from _addresses(status, before, "hostIPs")
    yield from _container_details(status, spec)


def _all_stay_terminated(status: Object, before: Object, spec: Object) -> checks.Errors:
    sidecars = {
        c.get("name")
        for c in spec.get("initContainers") or ()
        if c.get("restartPolicy") == "Always"
    }
    for name in _LISTS:
        policy = "Never" if name == "ephemeralContainerStatuses" else spec.get("restartPolicy", "")
        exempt = sidecars if name == "initContainerStatuses" else set()
        yield from checks.few(
            _stay_terminated(
                status.get(name) or (), before.get(name) or (), policy, exempt, STATUS.child(name)
            )
        )


def _stay_terminated(
    new: Sequence[Mapping[str, Any]],
    old: Sequence[Mapping[str, Any]],
    policy: str,
    exempt: set[Any],
    path: FieldPath,
) -> checks.Errors:
    """A container that has ended for good does not run again."""
    if policy == "Always":
        return
    running = Counter(
        c.get("name") for c in new if (c.get("state") or {}).get("terminated") is None
    )
    for i, before in enumerate(old):
        ended = (before.get("state") or {}).get("terminated")
        if (
            ended is None
            or (ended.get("exitCode") and policy == "OnFailure")
            or before.get("name") in exempt
        ):
            continue
        for _ in range(running[before.get("name")]):
            yield forbidden(
                path.at(i).child("state"), "may not be transitioned to non-terminated state"
            )


def _claim_statuses(
    values: Sequence[Mapping[str, Any]], spec: Object, path: FieldPath
) -> checks.Errors:
    claim_names = {c.get("name") for c in spec.get("resourceClaims") or ()}
    seen: set[str] = set()
    for i, value in enumerate(values):
        name, at = value.get("name", ""), path.at(i).child("name")
        if name not in claim_names:
            yield invalid(at, name, "must match the name of an entry in `spec.resourceClaims`")
        if name in seen:
            yield duplicate(at, name)
        seen.add(name)
        if value.get("resourceClaimName") is not None:
            yield from checks.dns_subdomain(value["resourceClaimName"], at)


def _addresses(status: ReadOnlyObject, before: ReadOnlyObject, name: str) -> checks.Errors:
    """Those that the stored status has, too, pass whatever they are."""
    path = STATUS.child(name)
    ips, stored = ([value.get("ip", "") for value in s.get(name) or ()] for s in (status, before))
    for i, ip in enumerate(ips):
        yield from ip_errors(path.at(i), ip, stored)
    if len(ips) < 2:
        return
    families = {type(formats.parse_ip(ip)) for ip in ips} - {type(None)}
    if len(ips) > 2 or families != {ipaddress.IPv4Address, ipaddress.IPv6Address}:
        yield invalid(
            path, [{"IP": ip} for ip in ips], "may specify no more than one IP for each IP family"
        )
    seen: set[str] = set()
    for i, ip in enumerate(ips):
        if ip in seen:
            yield duplicate(path.at(i), {"IP": ip})
        seen.add(ip)


def _container_details(status: Object, spec: Object) -> checks.Errors:
    """Users and allocated devices of container statuses."""
    windows = (spec.get("os") or {}).get("name") == "windows"
    for name in _LISTS:
        containers = {c.get("name"): c for c in spec.get(_CONTAINERS[name]) or ()}
        for i, container in enumerate(status.get(name) or ()):
            at = STATUS.child(name).at(i)
            user = (container.get("user") or {}).get("linux")
            if user is not None and windows:
                yield forbidden(at.child("linux"), "cannot be set for a windows pod")
            elif user is not None:
                yield from checks.rule(
                    user.get("uid", 0), at.child("linux", "uid"), formats.user_id
                )
                yield from checks.rule(
                    user.get("gid", 0), at.child("linux", "gid"), formats.user_id
                )
            allocated = container.get("allocatedResourcesStatus") or ()
            if allocated and name == "ephemeralContainerStatuses":
                yield forbidden(
                    at.child("allocatedResourcesStatus"),
                    "must not be specified in container status",
                )
            elif container.get("name") in containers:
                yield from _allocated(
                    allocated, containers[container["name"]], at.child("allocatedResourcesStatus")
                )


def _allocated(
    values: Sequence[Mapping[str, Any]], container: Mapping[str, Any], path: FieldPath
) -> checks.Errors:
    resources = container.get("resources") or {}
    claims = {
        "/".join(filter(None, (f"claim:{c.get('name')}", c.get("request"))))
        for c in resources.get("claims") or ()
    }
    for i, value in enumerate(values):
        name = value.get("name", "")
        if name.startswith("claim:") and name not in claims:
            shape = "'claim:<claimName>/<request>' or 'claim:<claimName>' if request is empty"
            yield invalid(
                path.at(i).child("name"),
                name,
                f"must match one of the container's resource claims in a format {shape}",
            )
        elif not name.startswith("claim:") and name not in (resources.get("requests") or {}):
            yield invalid(
                path.at(i).child("name"),
                name,
                "must match one of the container's resource requests",
            )
        for j, device in enumerate(value.get("resources") or ()):
            if device.get("health", "") not in ("Healthy", "Unhealthy", "Unknown"):
                at = path.at(i).child("resources").at(j).child("health")
                yield not_supported(
                    at, device.get("health", ""), ["Healthy", "Unhealthy", "Unknown"]
                )


def warnings(obj: Object) -> list[str]:
    """Addresses in a spelling that not all programs read alike."""
    texts = []
    for field in ("podIPs", "hostIPs"):
        for i, address in enumerate((obj.get("status") or {}).get(field) or ()):
            texts += ip_warnings(STATUS.child(field).at(i).child("ip"), address.get("ip", ""))
    return texts
