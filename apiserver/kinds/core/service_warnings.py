"""Warnings about Services (kubernetes ``pkg/api/service/warnings.go``)."""

from __future__ import annotations

from apiserver.golang.strconv import go_quote
from apiserver.kinds.common.address_warnings import cidr_warnings, ip_warnings
from apiserver.kinds.core import service_fields as f
from apiserver.meta.objects import Object

_HINTS, _MODE = "service.kubernetes.io/topology-aware-hints", "service.kubernetes.io/topology-mode"


def service_warnings(service: Object) -> list[str]:
    spec, kind = service["spec"], f.service_type(service)
    external = spec.get("externalIPs") or []
    headless = kind == f.CLUSTER_IP and spec.get("clusterIP") == f.NONE
    out: list[str] = []
    if _HINTS in (service["metadata"].get("annotations") or {}):
        out.append(f"annotation {_HINTS} is deprecated, please use {_MODE} instead")
    for i, ip in enumerate(f.cluster_ips(service)):
        out += ip_warnings(f"spec.clusterIPs[{i}]", ip)
    if headless:
        out += [
            f"spec.{name} is ignored for headless services"
            for name in ("loadBalancerIP", "externalIPs")
            if spec.get(name)
        ]
        if spec.get("sessionAffinity") != "None":
            out.append("spec.SessionAffinity is ignored for headless services")
    for i, ip in enumerate(external):
        out += ip_warnings(f"spec.externalIPs[{i}]", ip)
    if external and not headless and kind != f.EXTERNAL_NAME:
        out.append(
            "spec.externalIPs is deprecated and may no longer be implemented in some clusters"
        )
    if spec.get("loadBalancerIP"):
        out += ip_warnings("spec.loadBalancerIP", spec["loadBalancerIP"])
    for i, cidr in enumerate(spec.get("loadBalancerSourceRanges") or []):
        out += cidr_warnings(f"spec.loadBalancerSourceRanges[{i}]", cidr)
    name = go_quote(f.EXTERNAL_NAME)
    if external and kind == f.EXTERNAL_NAME:
        out.append(f"spec.externalIPs is ignored when spec.type is {name}")
    if spec.get("externalName") and kind != f.EXTERNAL_NAME:
        out.append(f"spec.externalName is ignored when spec.type is not {name}")
    if spec.get("trafficDistribution") == "PreferClose":
        out.append('spec.trafficDistribution: "PreferClose" is deprecated; use "PreferSameZone"')
    return out


def status_warnings(service: Object) -> list[str]:
    ingress = ((service.get("status") or {}).get("loadBalancer") or {}).get("ingress") or ()
    return [
        warning
        for i, entry in enumerate(ingress)
        for warning in ip_warnings(f"status.loadBalancer.ingress[{i}]", entry.get("ip", ""))
    ]
