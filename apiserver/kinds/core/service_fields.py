"""Questions about a Service's spec that strategy, validation and allocation share (kubernetes
``pkg/api/service``)."""

from __future__ import annotations

from apiserver.meta.objects import Object

CLUSTER_IP, NODE_PORT, LOAD_BALANCER, EXTERNAL_NAME = (
    "ClusterIP",
    "NodePort",
    "LoadBalancer",
    "ExternalName",
)
TYPES = [CLUSTER_IP, EXTERNAL_NAME, LOAD_BALANCER, NODE_PORT]
NONE = "None"
"""The clusterIP of a headless service."""


def service_type(service: Object) -> str:
    return str(service["spec"].get("type", ""))


def cluster_ips(service: Object) -> list[str]:
    return service["spec"].get("clusterIPs") or []


def ip_families(service: Object) -> list[str]:
    return service["spec"].get("ipFamilies") or []


def ports(service: Object) -> list[Object]:
    return service["spec"].get("ports") or []


def headless(service: Object) -> bool:
    return cluster_ips(service) == [NONE]


def needs_cluster_ip(service: Object) -> bool:
    """Whether clusterIP means something, be it "None"."""
    return service_type(service) != EXTERNAL_NAME


def may_have_node_ports(service: Object) -> bool:
    return service_type(service) in (NODE_PORT, LOAD_BALANCER)


def wants_node_ports(service: Object) -> bool:
    """Whether ports without a node port get one."""
    kind = service_type(service)
    return kind == NODE_PORT or (
        kind == LOAD_BALANCER and service["spec"].get("allocateLoadBalancerNodePorts") is not False
    )


def needs_health_check(service: Object) -> bool:
    return (
        service_type(service) == LOAD_BALANCER
        and service["spec"].get("externalTrafficPolicy") == "Local"
    )


def externally_accessible(service: Object) -> bool:
    kind = service_type(service)
    return kind in (NODE_PORT, LOAD_BALANCER) or (
        kind == CLUSTER_IP and bool(service["spec"].get("externalIPs"))
    )
