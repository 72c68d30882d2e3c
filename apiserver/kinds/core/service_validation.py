"""What a Service must be (kubernetes ``pkg/apis/core/validation``: ValidateServiceCreate,
ValidateServiceUpdate, status).

Runs after defaulting and allocation, so that what those set is required here. ``old`` is None on
create.
"""

from __future__ import annotations

from collections.abc import Iterator

from apiserver.fielderrors import (
    FieldError,
    FieldPath,
    GoSyntax,
    duplicate,
    forbidden,
    invalid,
    not_supported,
    required,
)
from apiserver.kinds.common import checks as c
from apiserver.kinds.common.addresses import (
    PROTOCOLS,
    cidr_errors,
    endpoint_ip_errors,
    family,
    hostname_errors,
    ip_errors,
)
from apiserver.kinds.core import service_fields as f
from apiserver.meta.objects import Object, seen_before
from apiserver.schema.labelselector import validate_labels

Errors = Iterator[FieldError]

_AFFINITIES = ["ClientIP", "None"]
_FAMILIES = ["IPv4", "IPv6"]
_POLICIES = ["PreferDualStack", "RequireDualStack", "SingleStack"]
_DISTRIBUTIONS = ["PreferClose", "PreferSameZone", "PreferSameNode"]
_SOURCE_RANGES = "service.beta.kubernetes.io/load-balancer-source-ranges"
_TOPOLOGY_MODE, _TOPOLOGY_HINTS = (
    "service.kubernetes.io/topology-mode",
    "service.kubernetes.io/topology-aware-hints",
)
_ONCE = "may not change once set"
_ONLY_BALANCED = "may only be used when `type` is 'LoadBalancer'"

SPEC = FieldPath("spec")


def service_errors(service: Object, old: Object | None) -> Errors:
    """``old``: what is stored, None of a create."""
    spec = service["spec"]
    yield from _topology_annotations(service)
    yield from _type_rules(service)
    names: set[str] = set()
    for i, port in enumerate(f.ports(service)):
        yield from _port(port, len(f.ports(service)) > 1, names, SPEC.child("ports").at(i))
    yield from validate_labels(spec.get("selector"), SPEC.child("selector"))
    yield from _affinity(spec)
    yield from cluster_ips_errors(service, old)
    ips_before = (old or {}).get("spec", {}).get("externalIPs") or []
    for i, ip in enumerate(spec.get("externalIPs") or []):
        path = SPEC.child("externalIPs").at(i)
        yield from ip_errors(path, ip, ips_before) or endpoint_ip_errors(path, ip)
    yield from c.one_of(spec.get("type"), SPEC.child("type"), f.TYPES)
    yield from _port_conflicts(service)
    yield from _source_ranges(service, old)
    yield from _load_balancer_fields(service)
    yield from _traffic(service)


def service_update_errors(service: Object, old: Object) -> Errors:
    """What only a comparison shows."""
    if f.EXTERNAL_NAME not in (f.service_type(service), f.service_type(old)):
        yield from _cluster_ips_change(service, old)
        if not f.headless(service) and not f.headless(old):
            yield from _families_change(service, old)
    if f.service_type(service) == f.service_type(old) == f.LOAD_BALANCER:
        new_class = service["spec"].get("loadBalancerClass")
        if new_class != old["spec"].get("loadBalancerClass"):
            yield invalid(SPEC.child("loadBalancerClass"), new_class, _ONCE)
    yield from _balancer_class(service)
    check = "healthCheckNodePort"
    if (
        f.needs_health_check(service)
        and f.needs_health_check(old)
        and service["spec"].get(check) != old["spec"].get(check)
    ):
        yield forbidden(SPEC.child(check), "field is immutable")


def _topology_annotations(service: Object) -> Errors:
    annotations = service.get("metadata", {}).get("annotations") or {}
    mode, hints = annotations.get(_TOPOLOGY_MODE), annotations.get(_TOPOLOGY_HINTS)
    if mode is not None and hints is not None and mode != hints:
        path = FieldPath("metadata.annotations").key(_TOPOLOGY_MODE)
        yield invalid(
            path, mode, f"must match annotations[{_TOPOLOGY_HINTS}] when both are specified"
        )


def _type_rules(service: Object) -> Errors:
    spec, kind = service["spec"], f.service_type(service)
    if not f.ports(service) and not f.headless(service) and kind != f.EXTERNAL_NAME:
        yield required(SPEC.child("ports"))
    if f.may_have_node_ports(service) and f.headless(service):
        yield invalid(
            SPEC.child("clusterIPs").at(0), f.NONE, f"may not be set to 'None' for {kind} services"
        )
    if kind == f.EXTERNAL_NAME:
        for name in ("clusterIPs", "ipFamilies", "ipFamilyPolicy"):
            if spec.get(name) if name != "ipFamilyPolicy" else spec.get(name) is not None:
                yield forbidden(SPEC.child(name), "may not be set for ExternalName services")
        # A trailing dot marks a fully qualified name.
        target = spec.get("externalName", "").removesuffix(".")
        if target:
            yield from c.dns_subdomain(target, SPEC.child("externalName"))
        else:
            yield required(SPEC.child("externalName"))


def _port(port: Object, needs_name: bool, names: set[str], path: FieldPath) -> Errors:
    name = port.get("name", "")
    if name:
        yield from c.dns_label(name, path.child("name"))
        if name in names:
            yield duplicate(path.child("name"), name)
        names.add(name)
    elif needs_name:
        yield required(path.child("name"))
    yield from c.port_number(port.get("port", 0), path.child("port"))
    yield from c.one_of(port.get("protocol"), path.child("protocol"), PROTOCOLS)
    yield from c.port(port.get("targetPort", 0), path.child("targetPort"))
    if port.get("appProtocol") is not None:
        yield from c.qualified_name(port["appProtocol"], path.child("appProtocol"))


def _affinity(spec: Object) -> Errors:
    affinity, config = spec.get("sessionAffinity"), spec.get("sessionAffinityConfig")
    yield from c.one_of(affinity, SPEC.child("sessionAffinity"), _AFFINITIES)
    path = SPEC.child("sessionAffinityConfig")
    if affinity == "ClientIP":
        why = "when session affinity type is ClientIP"
        timeout = ((config or {}).get("clientIP") or {}).get("timeoutSeconds")
        if config is None:
            yield required(path, why)
        elif config.get("clientIP") is None:
            yield required(path.child("clientIP"), why)
        elif timeout is None:
            yield required(path.child("clientIP", "timeoutSeconds"), why)
        elif not 0 < timeout <= 86400:
            yield invalid(
                path.child("clientIP", "timeoutSeconds"),
                timeout,
                "must be greater than 0 and less than 86400",
            )
    elif affinity == "None" and config is not None:
        yield forbidden(path, "must not be set when session affinity is None")


def cluster_ips_errors(service: Object, old: Object | None) -> Errors:
    """clusterIP, clusterIPs, ipFamilies and ipFamilyPolicy against each other; also the
    precondition of allocation."""
    if f.service_type(service) == f.EXTERNAL_NAME:
        return
    spec, ips, path = service["spec"], f.cluster_ips(service), SPEC.child("clusterIPs")
    if spec.get("clusterIP"):
        if not ips:
            yield required(path)
        elif ips[0] != spec["clusterIP"]:
            yield invalid(path, ips, "first value must match `clusterIP`")
    elif ips:
        yield invalid(path, ips, "must be empty when `clusterIP` is not specified")
    families = f.ip_families(service)
    for i, (name, again) in enumerate(zip(families, seen_before(families), strict=True)):
        if name not in _FAMILIES:
            yield not_supported(SPEC.child("ipFamilies").at(i), name, _FAMILIES)
        if again:
            yield duplicate(SPEC.child("ipFamilies").at(i), name)
    yield from c.optional_one_of(
        spec.get("ipFamilyPolicy"), SPEC.child("ipFamilyPolicy"), _POLICIES
    )
    bad = list(_bad_ips(ips, f.cluster_ips(old) if old else [], path))
    yield from bad
    if len(ips) > 2:
        yield invalid(path, ips, "may only hold up to 2 values")
    if not bad:
        yield from _ip_families_match(service, ips, path)


def _bad_ips(ips: list[str], ips_before: list[str], path: FieldPath) -> Errors:
    for i, ip in enumerate(ips):
        if i == 0 and ip == f.NONE:
            if len(ips) > 1:
                yield invalid(path, ips, "'None' must be the first and only value")
        else:
            yield from ip_errors(path.at(i), ip, ips_before)


def _ip_families_match(service: Object, ips: list[str], path: FieldPath) -> Errors:
    if len(ips) > 1 and len({family(ip) for ip in ips}) < 2:
        yield invalid(path, ips, "may specify no more than one IP for each IP family")
    if f.headless(service):
        return
    for i, (ip, expected) in enumerate(zip(ips, f.ip_families(service), strict=False)):
        if expected in _FAMILIES and family(ip) != expected:
            yield invalid(
                path.at(i), ip, f"expected an {expected} value as indicated by `ipFamilies[{i}]`"
            )


def _port_conflicts(service: Object) -> Errors:
    node_ports: set[tuple[str, int]] = set()
    ports: set[tuple[str, int]] = set()
    for i, port in enumerate(f.ports(service)):
        path, protocol, number = (
            SPEC.child("ports").at(i),
            port.get("protocol", ""),
            port.get("port", 0),
        )
        node_port = port.get("nodePort", 0)
        if node_port:
            if f.service_type(service) == f.CLUSTER_IP:
                yield forbidden(
                    path.child("nodePort"), "may not be used when `type` is 'ClusterIP'"
                )
            if (protocol, node_port) in node_ports:
                yield duplicate(path.child("nodePort"), node_port)
            node_ports.add((protocol, node_port))
        if (protocol, number) in ports:
            port_text = (
                f'{{"Name":"","Protocol":"{protocol}","AppProtocol":null,"Port":{number},'
                '"TargetPort":0,"NodePort":0}'
            )
            yield duplicate(path, GoSyntax(port_text))
        ports.add((protocol, number))


def _source_ranges(service: Object, old: Object | None) -> Errors:
    ranges = service["spec"].get("loadBalancerSourceRanges") or []
    annotation = (service.get("metadata", {}).get("annotations") or {}).get(_SOURCE_RANGES)
    if not ranges and annotation is None:
        return
    path = (
        SPEC.child("LoadBalancerSourceRanges")
        if ranges
        else FieldPath("metadata.annotations").key(_SOURCE_RANGES)
    )
    if f.service_type(service) != f.LOAD_BALANCER:
        yield forbidden(path, _ONLY_BALANCED)
    if ranges:
        ranges_before = [
            x.strip() for x in (old or {}).get("spec", {}).get("loadBalancerSourceRanges") or []
        ]
        for i, text in enumerate(ranges):
            yield from cidr_errors(path.at(i), text.strip(), ranges_before)
        return
    before = ((old or {}).get("metadata", {}).get("annotations") or {}).get(_SOURCE_RANGES)
    if annotation is not None and annotation != before and annotation.strip():
        for text in annotation.strip().split(","):
            yield from cidr_errors(path, text.strip())


def _load_balancer_fields(service: Object) -> Errors:
    spec = service["spec"]
    if f.service_type(service) == f.LOAD_BALANCER:
        if spec.get("allocateLoadBalancerNodePorts") is None:
            yield required("allocateLoadBalancerNodePorts")
    elif spec.get("allocateLoadBalancerNodePorts") is not None:
        yield forbidden(SPEC.child("allocateLoadBalancerNodePorts"), _ONLY_BALANCED)
    yield from _balancer_class(service)


def _balancer_class(service: Object) -> Errors:
    """Told twice of an update: with what it changes, and with what it is."""
    name, path = service["spec"].get("loadBalancerClass"), SPEC.child("loadBalancerClass")
    if name is None:
        return
    if f.service_type(service) == f.LOAD_BALANCER:
        yield from c.qualified_name(name, path)
    else:
        yield forbidden(path, _ONLY_BALANCED)


def _traffic(service: Object) -> Errors:
    spec, kind = service["spec"], f.service_type(service)
    external, path = spec.get("externalTrafficPolicy"), SPEC.child("externalTrafficPolicy")
    if f.externally_accessible(service):
        yield from c.one_of(external, path, ["Cluster", "Local"])
    elif external:
        yield invalid(path, external, "may only be set for externally-accessible services")
    check, path = spec.get("healthCheckNodePort", 0), SPEC.child("healthCheckNodePort")
    if not f.needs_health_check(service):
        if check:
            yield invalid(
                path,
                check,
                "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is "
                "'Local'",
            )
    elif not check:
        yield required(path)
    else:
        yield from c.port_number(check, path)
    internal, path = spec.get("internalTrafficPolicy"), SPEC.child("internalTrafficPolicy")
    if internal is None and kind in (f.CLUSTER_IP, f.NODE_PORT, f.LOAD_BALANCER):
        yield required(path)
    yield from c.optional_one_of(internal, path, ["Cluster", "Local"])
    yield from c.optional_one_of(
        spec.get("trafficDistribution"), SPEC.child("trafficDistribution"), _DISTRIBUTIONS
    )


# --- changes --------------------------------------------------------------------------------------
def _cluster_ips_change(service: Object, old: Object) -> Errors:
    new_ips, old_ips, path = f.cluster_ips(service), f.cluster_ips(old), SPEC.child("clusterIPs")
    addresses = service["spec"].get("clusterIPs")
    if f.headless(service) and f.headless(old):
        return
    if len(new_ips) == len(old_ips):
        for i, (new, before) in enumerate(zip(new_ips, old_ips, strict=True)):
            if new != before:
                yield invalid(path.at(i), new_ips, _ONCE)
        return
    if not new_ips:
        yield invalid(path.at(0), addresses, "primary clusterIP can not be unset")
    elif old_ips and new_ips[0] != old_ips[0]:
        yield invalid(path.at(0), new_ips, _ONCE)
    if len(new_ips) == 1 < len(old_ips):
        yield from _released(service, "clusterIP")


def _families_change(service: Object, old: Object) -> Errors:
    new, before, path = f.ip_families(service), f.ip_families(old), SPEC.child("ipFamilies").at(0)
    if len(new) == len(before):
        for x, y in zip(new, before, strict=True):
            if x != y:
                yield invalid(path, new, _ONCE)
        return
    if len(new) < len(before) and not f.cluster_ips(service):
        yield invalid(path, service["spec"].get("ipFamilies"), "primary ipFamily can not be unset")
    if new and before and new[0] != before[0]:
        yield invalid(path, f.cluster_ips(service), _ONCE)
    if len(new) == 1 < len(before):
        yield from _released(service, "ipFamily")


def _released(service: Object, what: str) -> Errors:
    policy = service["spec"].get("ipFamilyPolicy")
    if policy != "SingleStack":
        yield invalid(
            SPEC.child("ipFamilyPolicy"),
            policy,
            f"must be set to 'SingleStack' when releasing the secondary {what}",
        )


# --- status ---------------------------------------------------------------------------------------
def load_balancer_status_errors(
    status: Object | None, old: Object | None, path: FieldPath
) -> Errors:
    """``status.loadBalancer`` of a Service of type LoadBalancer. ``old``: the stored one, whose
    addresses pass."""
    ips_before = [x["ip"] for x in (old or {}).get("ingress") or [] if x.get("ip")]
    for i, ingress in enumerate((status or {}).get("ingress") or []):
        at = path.child("ingress").at(i)
        ip, mode = ingress.get("ip", ""), ingress.get("ipMode")
        if ip:
            yield from ip_errors(at.child("ip"), ip, ips_before)
        if ip and mode is None:
            yield required(at.child("ipMode"), "must be specified when `ip` is set")
        elif mode is not None and not ip:
            yield forbidden(at.child("ipMode"), "may not be specified when `ip` is not set")
        else:
            yield from c.optional_one_of(mode, at.child("ipMode"), ["Proxy", "VIP"])
        yield from hostname_errors(ingress.get("hostname", ""), at.child("hostname"))
