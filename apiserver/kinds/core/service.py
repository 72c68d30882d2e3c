"""Service. Its addresses and ports are allocated by the registry with `service_allocation`; here is
everything else.

Sources: kubernetes ``pkg/apis/core/v1`` (defaults), ``pkg/registry/core/service`` (strategy,
storage) and ``pkg/api/service`` (warnings).
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from apiserver.fielderrors import FieldErrors, FieldPath, forbidden
from apiserver.kinds.base import Kind, WriteContext
from apiserver.kinds.common import namerules
from apiserver.kinds.core import service_fields as f
from apiserver.kinds.core.service_validation import (
    load_balancer_status_errors,
    service_errors,
    service_update_errors,
)
from apiserver.kinds.core.service_warnings import service_warnings, status_warnings
from apiserver.kinds.registration import register
from apiserver.meta.objects import Object
from apiserver.meta.times import age


@register("", "Service")
class Service(Kind):
    returns_deleted = True
    metadata_again = False
    allow_create_on_update = True
    generation = False
    status = True
    name_rule = staticmethod(namerules.dns_label)

    # --- defaults ---------------------------------------------------------------------------------
    def default(self, obj: Object, version: str) -> None:
        spec = obj.setdefault("spec", {})
        kind = spec["type"] = spec.get("type") or f.CLUSTER_IP
        _default_affinity(spec)
        for port in spec.get("ports") or []:
            port["protocol"] = port.get("protocol") or "TCP"
            if not port.get("targetPort"):
                port["targetPort"] = port.get("port", 0)
        if f.externally_accessible(obj) and not spec.get("externalTrafficPolicy"):
            spec["externalTrafficPolicy"] = "Cluster"
        if spec.get("internalTrafficPolicy") is None and kind in (
            f.CLUSTER_IP,
            f.NODE_PORT,
            f.LOAD_BALANCER,
        ):
            spec["internalTrafficPolicy"] = "Cluster"
        status = obj.setdefault("status", {})
        status.setdefault("loadBalancer", {})
        if kind == f.LOAD_BALANCER:
            if spec.get("allocateLoadBalancerNodePorts") is None:
                spec["allocateLoadBalancerNodePorts"] = True
            for ingress in status["loadBalancer"].get("ingress") or []:
                if ingress.get("ip") and ingress.get("ipMode") is None:
                    ingress["ipMode"] = "VIP"

    # --- strategy ---------------------------------------------------------------------------------
    def prepare_create(self, obj: Object, context: WriteContext) -> None:
        super().prepare_create(obj, context)
        obj["status"] = {"loadBalancer": {}}
        spec = obj["spec"]
        if spec.get("clusterIP") and not spec.get("clusterIPs"):
            spec["clusterIPs"] = [spec["clusterIP"]]

    def prepare_update(self, obj: Object, old: Object, context: WriteContext) -> None:
        super().prepare_update(obj, old, context)
        _keep_allocated(obj, old)
        _link_cluster_ips(obj, old)
        _drop_type_dependent(obj, old)

    def canonicalize(self, obj: Object) -> None:
        """kube-apiserver stores it, but shows it to nobody."""
        if f.service_type(obj) == f.EXTERNAL_NAME:
            obj["spec"].pop("internalTrafficPolicy", None)

    # --- validation -------------------------------------------------------------------------------
    def validate_create(self, obj: Object, context: WriteContext) -> FieldErrors:
        return list(service_errors(obj, None))

    def validate_update(self, obj: Object, old: Object, context: WriteContext) -> FieldErrors:
        return [*service_update_errors(obj, old), *service_errors(obj, old)]

    def validate_status_update(
        self, obj: Object, old: Object, context: WriteContext
    ) -> FieldErrors:
        path = FieldPath("status.loadBalancer")
        balancer = (obj.get("status") or {}).get("loadBalancer") or {}
        if f.service_type(obj) != f.LOAD_BALANCER and balancer.get("ingress"):
            return [
                forbidden(
                    path.child("ingress"), "may only be used when `spec.type` is 'LoadBalancer'"
                )
            ]
        return list(
            load_balancer_status_errors(
                balancer, (old.get("status") or {}).get("loadBalancer"), path
            )
        )

    def warnings(self, obj: Object, old: Object | None, context: WriteContext) -> list[str]:
        return status_warnings(obj) if context.subresource else service_warnings(obj)

    # --- reading ----------------------------------------------------------------------------------
    def fields(self, obj: Object) -> Mapping[str, str]:
        spec = obj.get("spec", {})
        return {"spec.clusterIP": spec.get("clusterIP", ""), "spec.type": spec.get("type", "")}

    def cells(self, obj: Object, version: str, now: datetime) -> list[Any]:
        metadata, spec = obj["metadata"], obj.get("spec", {})
        ips = spec.get("clusterIPs") or []
        ports = ",".join(_shown_port(port) for port in spec.get("ports") or [])
        selector = ",".join(f"{k}={v}" for k, v in sorted((spec.get("selector") or {}).items()))
        return [
            metadata["name"],
            spec.get("type", ""),
            ips[0] if ips else "<none>",
            _external_ip(obj),
            ports or "<none>",
            age(metadata.get("creationTimestamp"), now),
            selector or "<none>",
        ]


def _default_affinity(spec: Object) -> None:
    affinity = spec["sessionAffinity"] = spec.get("sessionAffinity") or "None"
    if affinity == "None":
        spec.pop("sessionAffinityConfig", None)
    elif affinity == "ClientIP":
        client = (spec.get("sessionAffinityConfig") or {}).get("clientIP") or {}
        if client.get("timeoutSeconds") is None:
            spec["sessionAffinityConfig"] = {"clientIP": {"timeoutSeconds": 10800}}


def _keep_allocated(obj: Object, old: Object) -> None:
    """A PUT of the manifest that made the service must not lose what was allocated for it."""
    spec, before = obj["spec"], old["spec"]
    if f.needs_cluster_ip(obj) and f.needs_cluster_ip(old):
        if not spec.get("clusterIP") and before.get("clusterIP"):
            spec["clusterIP"] = before["clusterIP"]
        if not spec.get("clusterIPs") and before.get("clusterIPs"):
            spec["clusterIPs"] = list(before["clusterIPs"])
    if f.wants_node_ports(obj) and f.wants_node_ports(old):
        given = {p.get("nodePort", 0) for p in f.ports(obj)}
        by_name = {p.get("name", ""): p.get("nodePort", 0) for p in f.ports(old)}
        for port in f.ports(obj):
            number = by_name.get(port.get("name", ""), 0)
            if not port.get("nodePort") and number and number not in given:
                port["nodePort"] = number
    if (
        f.needs_health_check(obj)
        and f.needs_health_check(old)
        and not spec.get("healthCheckNodePort")
    ):
        spec["healthCheckNodePort"] = before.get("healthCheckNodePort", 0)


def _link_cluster_ips(obj: Object, old: Object) -> None:
    """Clients that know only clusterIP change it alone; clusterIPs follows."""
    spec, before = obj["spec"], old["spec"]
    new_ip, old_ip = spec.get("clusterIP", ""), before.get("clusterIP", "")
    if new_ip == old_ip:
        if before.get("clusterIPs") and not spec.get("clusterIPs") and f.needs_cluster_ip(obj):
            spec["clusterIPs"] = list(before["clusterIPs"])
    elif (spec.get("clusterIPs") or []) == (before.get("clusterIPs") or []):
        if new_ip:
            spec["clusterIPs"] = [new_ip]
        else:
            spec.pop("clusterIPs", None)


def _drop_type_dependent(obj: Object, old: Object) -> None:
    """What the new type has no use for goes, if the client left it as it was; if not, validation
    says so."""
    spec, before = obj["spec"], old["spec"]

    def drop(*names: str) -> None:
        if all(spec.get(n) == before.get(n) for n in names):
            for n in names:
                spec.pop(n, None)

    if f.needs_cluster_ip(old) and not f.needs_cluster_ip(obj):
        drop("clusterIP", "clusterIPs")
        drop("ipFamilies")
        drop("ipFamilyPolicy")
    if f.may_have_node_ports(old) and not f.may_have_node_ports(obj):
        kept = {p["nodePort"] for p in f.ports(old) if p.get("nodePort")}
        if all(p["nodePort"] in kept for p in f.ports(obj) if p.get("nodePort")):
            for port in f.ports(obj):
                port.pop("nodePort", None)
    if f.needs_health_check(old) and not f.needs_health_check(obj):
        drop("healthCheckNodePort")
    if f.service_type(old) == f.LOAD_BALANCER != f.service_type(obj):
        drop("allocateLoadBalancerNodePorts")
        drop("loadBalancerClass")
    if f.externally_accessible(old) and not f.externally_accessible(obj):
        drop("externalTrafficPolicy")
    if f.service_type(obj) != f.LOAD_BALANCER:
        obj["status"] = {**(obj.get("status") or {}), "loadBalancer": {}}


def _shown_port(port: Object) -> str:
    node_port = f":{port['nodePort']}" if port.get("nodePort") else ""
    return f"{port.get('port', 0)}{node_port}/{port.get('protocol', '')}"


def _external_ip(obj: Object) -> str:
    spec, kind = obj.get("spec", {}), f.service_type(obj)
    external: list[str] = spec.get("externalIPs") or []
    if kind in (f.CLUSTER_IP, f.NODE_PORT):
        return ",".join(external) or "<none>"
    if kind == f.EXTERNAL_NAME:
        return str(spec.get("externalName", ""))
    if kind == f.LOAD_BALANCER:
        ingress = ((obj.get("status") or {}).get("loadBalancer") or {}).get("ingress") or []
        balanced = sorted(
            {x.get("ip") or x.get("hostname") for x in ingress if x.get("ip") or x.get("hostname")}
        )
        addresses = [*balanced, *external] if external else balanced
        return ",".join(addresses) or "<pending>"
    return "<unknown>"
