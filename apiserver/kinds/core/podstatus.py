"""Pod status: what its writers may say (ValidatePodStatusUpdate, podStatusStrategy)."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any

from apiserver.fielderrors import (
    FieldPath,
    duplicate,
    forbidden,
    internal,
    invalid,
    not_supported,
    required,
)
from apiserver.kinds import formats
from apiserver.kinds.common import checks, podannotations
from apiserver.kinds.common.address_warnings import ip_warnings
from apiserver.kinds.common.addresses import IPV4, IPV6, family, ip_errors
from apiserver.kinds.common.amounts import round_requirements, round_up
from apiserver.kinds.core import podrestarts
from apiserver.meta.objects import Object, ReadOnlyObject

STATUS = checks.root("status")
_CONTAINERS = {
    "containerStatuses": "containers",
    "initContainerStatuses": "initContainers",
    "ephemeralContainerStatuses": "ephemeralContainers",
}
_LISTS = tuple(_CONTAINERS)
_OWN_CONDITIONS = ("PodScheduled", "Ready", "Initialized")
_HEALTH = ("Healthy", "Unhealthy", "Unknown")
_MAPPING = ("containerName", "resourceName", "requestName")
_NO_CONTAINER = (
    "must match the name of an entry in spec.initContainers.name or spec.containers.name"
)
_NO_RESOURCE = (
    "must match the extended resource name of an entry in "
    "spec.initContainers.resources.requests or spec.containers.resources.requests"
)


def default_status(status: Object) -> None:
    """podIP and hostIP are the older twins of the first entries of podIPs and hostIPs."""
    _sync(status, "podIP", "podIPs")
    round_up(status.get("allocatedResources"))
    round_requirements(status.get("resources"))
    for name in _LISTS:
        for container in status.get(name) or ():
            round_up(container.get("allocatedResources"))
            round_requirements(container.get("resources"))


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
        at = STATUS.child("conditions").at(i)
        yield from _generation(condition, at)
        if condition.get("type") not in _OWN_CONDITIONS:
            yield from checks.qualified_name(condition.get("type", ""), at.child("Type"))
    yield from _nomination(status, before, spec)
    yield from _generation(status, STATUS)
    yield from checks.immutable(
        status.get("qosClass"), before.get("qosClass"), STATUS.child("qosClass")
    )
    yield from podrestarts.stay_terminated(status, before, spec, STATUS)
    yield from _claim_statuses(
        status.get("resourceClaimStatuses") or (), spec, STATUS.child("resourceClaimStatuses")
    )
    yield from _extended_claim(
        status.get("extendedResourceClaimStatus"), spec, STATUS.child("extendedResourceClaimStatus")
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


def _generation(holder: Mapping[str, Any], path: FieldPath) -> checks.Errors:
    generation = holder.get("observedGeneration") or 0
    if generation < 0:
        yield invalid(
            path.child("observedGeneration"), generation, "must be a non-negative integer"
        )


def _nomination(status: Object, before: Object, spec: Object) -> checks.Errors:
    """A pod that has its node is nominated for none."""
    nominated, path = status.get("nominatedNodeName"), STATUS.child("nominatedNodeName")
    if not nominated or nominated == before.get("nominatedNodeName"):
        return
    yield from checks.dns_subdomain(nominated, path)
    if spec.get("nodeName"):
        yield forbidden(path, "may not be set on pods that are already bound to a node")


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


def _extended_claim(
    value: Mapping[str, Any] | None, spec: Object, path: FieldPath
) -> checks.Errors:
    """Which requests of the claim that the scheduler made stand for which extended resource of
    which container (KEP-5004)."""
    if value is None:
        return
    mappings, at = value.get("requestMappings") or (), path.child("requestMappings")
    if not mappings:
        yield required(at, "at least one request mapping is required")
    requests = {
        c.get("name", ""): (c.get("resources") or {}).get("requests") or {}
        for field in ("initContainers", "containers")
        for c in spec.get(field) or ()
    }
    seen: set[tuple[str, ...]] = set()
    for i, mapping in enumerate(mappings):
        key = tuple(mapping.get(member, "") for member in _MAPPING)
        container, resource, request = key
        if container not in requests:
            yield invalid(at.at(i).child("containerName"), container, _NO_CONTAINER)
        elif resource not in requests[container]:
            yield invalid(at.at(i).child("resourceName"), resource, _NO_RESOURCE)
        yield from checks.dns_label(request, path.child("requestName"))
        if key in seen:
            for member, text in zip(_MAPPING, key, strict=True):
                yield duplicate(at.at(i).child(member), text)
        seen.add(key)
    if not value.get("resourceClaimName"):
        yield required(path.child("resourceClaimName"))
    else:
        yield from checks.dns_subdomain(value["resourceClaimName"], path.child("resourceClaimName"))


def _addresses(status: ReadOnlyObject, before: ReadOnlyObject, name: str) -> checks.Errors:
    """Those that the stored status has, too, pass whatever they are."""
    path = STATUS.child(name)
    ips, stored = ([value.get("ip", "") for value in s.get(name) or ()] for s in (status, before))
    for i, ip in enumerate(ips):
        yield from ip_errors(path.at(i), ip, stored)
    if len(ips) < 2:
        return
    families = [family(ip) for ip in ips]
    if "" in families:
        first = families.index("")
        why = f"failed to check for dual stack with error:invalid IP[{first}]: {ips[first]}"
        yield internal(path, why)
    if len(ips) > 2 or set(families) != {IPV4, IPV6}:
        yield invalid(
            path, [{"IP": ip} for ip in ips], "may specify no more than one IP for each IP family"
        )


def _container_details(status: Object, spec: Object) -> checks.Errors:
    """Users and allocated devices of container statuses."""
    windows = (spec.get("os") or {}).get("name") == "windows"
    for name in _LISTS:
        containers = {c.get("name"): c for c in spec.get(_CONTAINERS[name]) or ()}
        for i, container in enumerate(status.get(name) or ()):
            at = STATUS.child(name).at(i)
            user, of_user = (container.get("user") or {}).get("linux"), at.child("user", "linux")
            if user is not None and windows:
                yield forbidden(of_user, "cannot be set for a windows pod")
            elif user is not None:
                for id_ in ("uid", "gid"):
                    yield from checks.rule(user.get(id_, 0), of_user.child(id_), formats.user_id)
                for j, group in enumerate(user.get("supplementalGroups") or ()):
                    yield from checks.rule(
                        group, of_user.child("supplementalGroups").at(j), formats.user_id
                    )
            allocated = container.get("allocatedResourcesStatus") or ()
            if allocated and name == "ephemeralContainerStatuses":
                yield forbidden(
                    at.child("allocatedResourcesStatus"),
                    "must not be specified in container status",
                )
            else:
                yield from _allocated(
                    allocated,
                    containers.get(container.get("name")),
                    at.child("allocatedResourcesStatus"),
                )


def _allocated(
    values: Sequence[Mapping[str, Any]], container: Mapping[str, Any] | None, path: FieldPath
) -> checks.Errors:
    """``container``: None for a status of no container, whose resources may have any name."""
    for i, value in enumerate(values):
        if container is not None:
            yield from _allocated_name(
                value.get("name", ""), container.get("resources") or {}, path.at(i).child("name")
            )
        seen: set[str] = set()
        for j, device in enumerate(value.get("resources") or ()):
            at, id_ = path.at(i).child("resources").at(j), device.get("resourceID", "")
            if device.get("health", "") not in _HEALTH:
                yield not_supported(at.child("health"), device.get("health", ""), list(_HEALTH))
            if id_ in seen:
                yield duplicate(at.child("resourceID"), id_)
            seen.add(id_)


def _allocated_name(name: str, resources: Mapping[str, Any], path: FieldPath) -> checks.Errors:
    claims = {
        "/".join(filter(None, (f"claim:{c.get('name')}", c.get("request"))))
        for c in resources.get("claims") or ()
    }
    if name.startswith("claim:") and name not in claims:
        shape = "'claim:<claimName>/<request>' or 'claim:<claimName>' if request is empty"
        yield invalid(
            path,
            name,
            f"must match one of the container's resource claims in a format {shape}",
        )
    elif not name.startswith("claim:") and name not in (resources.get("requests") or {}):
        yield invalid(path, name, "must match one of the container's resource requests")


def warnings(obj: Object) -> list[str]:
    """Addresses in a spelling that not all programs read alike."""
    texts = []
    for field in ("podIPs", "hostIPs"):
        for i, address in enumerate((obj.get("status") or {}).get(field) or ()):
            texts += ip_warnings(STATUS.child(field).at(i).child("ip"), address.get("ip", ""))
    return texts
