"""The spec of a pod, in pods and in templates: the parts in kube-apiserver's order
(ValidatePodSpec)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from apiserver.fielderrors import FieldPath, duplicate, forbidden, invalid, required, too_long
from apiserver.kinds import formats
from apiserver.kinds.common import (
    checks,
    containers,
    env,
    podresources,
    resources,
    scheduling,
    security,
    volumes,
)
from apiserver.kinds.common.internal import quote
from apiserver.meta import names
from apiserver.meta.objects import ReadOnlyObject
from apiserver.meta.quantity import parse_quantity
from apiserver.schema.labelselector import validate_labels

RESTART_POLICIES = ("Always", "OnFailure", "Never")
DNS_POLICIES = ("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None")
MAX_INT32 = 0x7FFFFFFF


def pod_spec(
    spec: ReadOnlyObject,
    path: FieldPath,
    pod_name: str = "",
    *,
    in_pod: bool = False,
    static: bool = False,
) -> checks.Errors:
    """``pod_name`` and ``in_pod``: "" and False in templates, which promise less. ``static``: a
    mirror pod, which stands for one of a kubelet's own."""
    if spec.get("terminationGracePeriodSeconds") is None:
        yield required(path.child("terminationGracePeriodSeconds"))
    volume_list = spec.get("volumes") or ()
    yield from volumes.volumes(volume_list, path.child("volumes"), pod_name, in_pod=in_pod)
    yield from _claims(spec.get("resourceClaims") or (), path.child("resourceClaims"), static)
    yield from _containers(
        spec, path, _view(spec, volumes.valid(volume_list, path.child("volumes"), pod_name))
    )
    yield from _host_network_ports(spec, path, in_pod)
    yield from checks.one_of(
        spec.get("restartPolicy", ""), path.child("restartPolicy"), RESTART_POLICIES
    )
    yield from checks.one_of(spec.get("dnsPolicy", ""), path.child("dnsPolicy"), DNS_POLICIES)
    yield from validate_labels(spec.get("nodeSelector"), path.child("nodeSelector"))
    yield from security.pod_context(spec, path)
    yield from scheduling.affinity(spec.get("affinity"), path.child("affinity"))
    yield from _dns_config(spec, path.child("dnsConfig"))
    yield from _readiness_gates(spec.get("readinessGates") or (), path.child("readinessGates"))
    yield from scheduling.gates(spec.get("schedulingGates") or (), path.child("schedulingGates"))
    yield from scheduling.spread_constraints(
        spec.get("topologySpreadConstraints") or [], path.child("topologySpreadConstraints")
    )
    yield from security.host_process(spec, path)
    yield from security.host_users(spec, path)
    yield from _hostname_override(spec, path)
    yield from _names_and_numbers(spec, path)
    yield from security.operating_system(spec, path)
    yield from env.file_volumes(spec, path)


def _containers(spec: ReadOnlyObject, path: FieldPath, pod: containers.PodView) -> checks.Errors:
    """Those of all three kinds, and what they may have together."""
    regular = spec.get("containers") or ()
    yield from containers.regular(regular, path.child("containers"), pod)
    yield from containers.init(
        spec.get("initContainers") or (), regular, path.child("initContainers"), pod
    )
    yield from containers.ephemeral(
        spec.get("ephemeralContainers") or (), spec, path.child("ephemeralContainers"), pod
    )
    yield from _pod_level_resources(spec, path.child("resources"), pod.claims)


def _view(spec: ReadOnlyObject, mountable: Mapping[str, ReadOnlyObject]) -> containers.PodView:
    """What the rules of containers look at in their pod. ``mountable``: its valid volumes."""
    return containers.PodView(
        volumes=mountable,
        claims=resources.ClaimNames(
            c["name"] for c in spec.get("resourceClaims") or () if c.get("name")
        ),
        grace=spec.get("terminationGracePeriodSeconds"),
        restart_policy=spec.get("restartPolicy", ""),
        host_users=spec.get("hostUsers") is not False,
    )


def _readiness_gates(gates: Sequence[ReadOnlyObject], path: FieldPath) -> checks.Errors:
    for i, gate in enumerate(gates):
        at = path.at(i).child("conditionType")
        yield from checks.qualified_name(gate.get("conditionType", ""), at)


def _names_and_numbers(spec: ReadOnlyObject, path: FieldPath) -> checks.Errors:
    for field in ("serviceAccountName", "nodeName"):
        if spec.get(field):
            yield from checks.dns_subdomain(spec[field], path.child(field))
    deadline = spec.get("activeDeadlineSeconds")
    if deadline is not None:
        yield from checks.rule(
            deadline,
            path.child("activeDeadlineSeconds"),
            lambda v: formats.in_range(v, 1, MAX_INT32),
        )
    for field in ("hostname", "subdomain"):
        if spec.get(field):
            yield from checks.dns_label(spec[field], path.child(field))
    yield from scheduling.tolerations(spec.get("tolerations") or (), path.child("tolerations"))
    for i, alias in enumerate(spec.get("hostAliases") or ()):
        at = path.child("hostAliases").at(i)
        yield from checks.rule(alias.get("ip", ""), at.child("ip"), formats.ip)
        for j, hostname in enumerate(alias.get("hostnames") or ()):
            yield from checks.dns_subdomain(hostname, at.child("hostnames").at(j))
    if spec.get("priorityClassName"):
        yield from checks.dns_subdomain(spec["priorityClassName"], path.child("priorityClassName"))
    if spec.get("runtimeClassName") is not None:
        yield from checks.dns_subdomain(spec["runtimeClassName"], path.child("runtimeClassName"))
    if spec.get("preemptionPolicy") is not None:
        yield from checks.one_of(
            spec["preemptionPolicy"],
            path.child("preemptionPolicy"),
            ("PreemptLowerPriority", "Never"),
        )
    if spec.get("overhead") is not None:
        yield from resources.requirements({"limits": spec["overhead"]}, path.child("overhead"))


def _hostname_override(spec: ReadOnlyObject, path: FieldPath) -> checks.Errors:
    """KEP-4762: a full host name, which excludes the host's network and setHostnameAsFQDN."""
    override = spec.get("hostnameOverride")
    if override is None:
        return
    at = path.child("hostnameOverride")
    for field in ("setHostnameAsFQDN", "hostNetwork"):
        if spec.get(field):
            yield forbidden(at, f"may not be specified when {field} is true")
    if len(override.encode()) > 64:
        yield too_long(at, 64)
    yield from checks.dns_subdomain(override, at)


def _claims(claims: Sequence[ReadOnlyObject], path: FieldPath, static: bool) -> checks.Errors:
    seen: set[str] = set()
    for i, claim in enumerate(claims):
        if static:
            yield forbidden(checks.NOWHERE, "static pods do not support resource claims")
            continue
        at, name = path.at(i), claim.get("name", "")
        if not name:
            yield required(at.child("name"))
        elif name in seen:
            yield duplicate(at.child("name"), name)
        else:
            yield from checks.dns_label(name, at.child("name"))
            seen.add(name)
        given = [
            f
            for f in ("resourceClaimName", "resourceClaimTemplateName")
            if claim.get(f) is not None
        ]
        claim_text = quote("core.v1.PodResourceClaim", claim)
        if len(given) > 1:
            yield invalid(
                at,
                claim_text,
                "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be "
                "specified",
            )
        if not given:
            yield invalid(
                at,
                claim_text,
                "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`",
            )
        for field in given:
            yield from checks.dns_subdomain(claim[field], at.child(field))


def _pod_level_resources(
    spec: ReadOnlyObject, path: FieldPath, claims: resources.ClaimNames
) -> checks.Errors:
    given = spec.get("resources")
    if given is None:
        return
    if (spec.get("os") or {}).get("name") == "windows":
        yield forbidden(path, "may not be set for a windows pod")
        return
    if given.get("claims") is not None:
        yield forbidden(path.child("claims"), "claims may not be set for Resources at pod-level")
    yield from resources.requirements(given, path, claims, resources.pod_resource_name)
    requests, limits = given.get("requests") or {}, given.get("limits") or {}
    for kind, own in (("requests", requests), ("limits", limits)):
        for name, needed in sorted(podresources.total(spec, kind).items()):
            if kind == "limits" and not resources.is_hugepages(name):
                continue  # the limits of containers may add up to more than the pod's
            if name in own and needed > parse_quantity(own[name]):
                why = f"must be greater than or equal to aggregate container {kind} of {needed}"
                yield invalid(path.child(kind).key(name), own[name], why)
    for i, container in enumerate(spec.get("containers") or ()):
        for name, limit in sorted(podresources.amounts(container, "limits").items()):
            if name in limits and limit > parse_quantity(limits[name]):
                at = path.child("containers").at(i).key(name).child("limits")
                yield invalid(
                    at, str(limit), f"must be less than or equal to pod limits of {limits[name]}"
                )


def _host_network_ports(spec: ReadOnlyObject, path: FieldPath, in_pod: bool) -> checks.Errors:
    """In templates a host port may be left out, because the pod's defaults fill it in."""
    if not spec.get("hostNetwork"):
        return
    for i, container in enumerate(spec.get("containers") or ()):
        for j, port in enumerate(container.get("ports") or ()):
            host = port.get("hostPort", 0)
            if (in_pod or host) and host != port.get("containerPort", 0):
                at = path.child("containers").at(i).child("ports").at(j).child("hostPort")
                yield invalid(at, host, "must match `containerPort` when `hostNetwork` is true")


def _dns_config(spec: ReadOnlyObject, path: FieldPath) -> checks.Errors:
    config = spec.get("dnsConfig")
    servers = (config or {}).get("nameservers") or []
    if spec.get("dnsPolicy") == "None" and config is None:
        yield required(path, "must provide `dnsConfig` when `dnsPolicy` is None")
        return
    if spec.get("dnsPolicy") == "None" and not servers:
        yield required(
            path.child("nameservers"),
            "must provide at least one DNS nameserver when `dnsPolicy` is None",
        )
        return
    if config is None:
        return
    searches = config.get("searches") or []
    if len(servers) > 3:
        yield invalid(path.child("nameservers"), servers, "must not have more than 3 nameservers")
    for i, server in enumerate(servers):
        yield from checks.rule(server, path.child("nameservers").at(i), formats.ip)
    if len(searches) > 32:
        yield invalid(path.child("searches"), searches, "must not have more than 32 search paths")
    if len(" ".join(searches).encode()) > 2048:
        yield invalid(
            path.child("searches"),
            searches,
            "must not have more than 2048 characters (including spaces) in the search list",
        )
    for i, search in enumerate(searches):
        if search != ".":
            yield from checks.rule(
                search.removesuffix("."),
                path.child("searches").at(i),
                names.dns1123_subdomain_with_underscore,
            )
    for i, option in enumerate(config.get("options") or ()):
        if not option.get("name"):
            yield required(path.child("options").at(i), "must not be empty")
