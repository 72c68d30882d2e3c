from __future__ import annotations

import ipaddress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apiserver.kinds.core.service_allocation import (
    NODE_PORTS,
    AllocationFailed,
    assign,
    band,
    cluster_ips_of,
    needs,
    node_ports_of,
    set_ip_families,
)
from apiserver.meta.objects import Object


def service(kind: str = "ClusterIP", *ports: Object, **spec: Any) -> Object:
    listed = [{"protocol": "TCP", **p} for p in ports or ({"port": 80},)]
    return {"metadata": {"name": "s"}, "spec": {"type": kind, "ports": listed, **spec}}


def allocate(
    obj: Object, old: Object | None = None, ips: Any = (), ports: Any = (), dry_run: bool = False
) -> list[str]:
    errors = set_ip_families(obj, old) or assign(obj, needs(obj, old), ips, ports, dry_run=dry_run)
    return [str(e) for e in errors]


def with_ip(ip: str, kind: str = "ClusterIP", **spec: Any) -> Object:
    return service(kind, clusterIP=ip, clusterIPs=[ip], **spec)


def test_a_cluster_ip_comes_from_the_upper_band_and_sets_the_families() -> None:
    made = service()
    assert allocate(made) == []
    ip = made["spec"]["clusterIP"]
    assert (
        ipaddress.ip_address("10.0.1.0")
        <= ipaddress.ip_address(ip)
        < ipaddress.ip_address("10.0.255.255")
    )
    assert made["spec"]["clusterIPs"] == [ip] == cluster_ips_of(made)
    assert (made["spec"]["ipFamilyPolicy"], made["spec"]["ipFamilies"]) == ("SingleStack", ["IPv4"])


def test_headless_and_external_name_services_need_no_address() -> None:
    headless, external = (
        with_ip("None", selector={"a": "b"}),
        service("ExternalName", externalName="x.example.com"),
    )
    for obj in (headless, external):
        assert allocate(obj) == [] and not needs(obj, None).anything and cluster_ips_of(obj) == []
    assert headless["spec"]["ipFamilies"] == ["IPv4"] and "ipFamilies" not in external["spec"]


def test_headless_without_selector_is_dual_stack() -> None:
    made = with_ip("None")
    assert allocate(made) == []
    assert (made["spec"]["ipFamilyPolicy"], made["spec"]["ipFamilies"]) == (
        "RequireDualStack",
        ["IPv4", "IPv6"],
    )


@pytest.mark.parametrize(
    ("ip", "why"),
    [
        ("10.0.0.7", "provided IP is already allocated"),
        ("198.51.100.7", "the provided network does not match the current range"),
        (
            "10.0.0.0",
            "the provided IP (10.0.0.0) is not in the valid range. The range of valid IPs is "
            "10.0.0.0/16",
        ),
    ],
)
def test_addresses_that_cannot_be_had(ip: str, why: str) -> None:
    assert allocate(with_ip(ip), ips={"10.0.0.7"}) == [
        f'spec.clusterIPs: Invalid value: ["{ip}"]: failed to allocate IP {ip}: {why}'
    ]


def test_a_free_address_can_be_asked_for_and_a_dry_run_does_not_look() -> None:
    assert allocate(with_ip("10.0.0.7")) == []
    assert allocate(with_ip("10.0.0.7"), ips={"10.0.0.7"}, dry_run=True) == []


@pytest.mark.parametrize(
    ("spec", "error"),
    [
        (
            {"ipFamilyPolicy": "RequireDualStack"},
            'spec.ipFamilyPolicy: Invalid value: "RequireDualStack": this cluster is not '
            "configured for dual-stack services",
        ),
        (
            {"ipFamilies": ["IPv6"]},
            'spec.ipFamilies[0]: Invalid value: "IPv6": not configured on this cluster',
        ),
    ],
)
def test_one_family_is_configured(spec: Object, error: str) -> None:
    assert allocate(service(**spec)) == [error]


def test_prefer_dual_stack_makes_do_with_one_family() -> None:
    made = service(ipFamilyPolicy="PreferDualStack")
    assert allocate(made) == [] and made["spec"]["ipFamilies"] == ["IPv4"]


def test_node_ports_are_found_kept_and_refused() -> None:
    made = service(
        "NodePort", {"name": "a", "port": 80}, {"name": "b", "port": 81, "nodePort": 30000}
    )
    assert allocate(made) == []
    first, second = (p["nodePort"] for p in made["spec"]["ports"])
    assert (
        second == 30000
        and first in NODE_PORTS
        and first != second
        and sorted(node_ports_of(made)) == sorted([first, second])
    )
    assert not needs(made, made).anything
    taken = service("NodePort", {"port": 80, "nodePort": 30000})
    assert allocate(taken, ports={30000}) == [
        "spec.ports[0].nodePort: Invalid value: 30000: provided port is already allocated"
    ]
    outside = service("NodePort", {"port": 80, "nodePort": 80})
    text = "provided port is not in the valid range. The range of valid ports is 30000-32767"
    assert allocate(outside) == [f"spec.ports[0].nodePort: Invalid value: 80: {text}"]


def test_protocols_of_one_port_share_a_node_port() -> None:
    made = service(
        "NodePort",
        {"name": "t", "port": 53},
        {"name": "u", "port": 53, "protocol": "UDP"},
        {"name": "o", "port": 54},
    )
    assert allocate(made) == []
    tcp, udp, other = (p["nodePort"] for p in made["spec"]["ports"])
    assert tcp == udp != other


def test_two_ports_cannot_have_one_node_port() -> None:
    text = "spec.ports[1].nodePort: Invalid value: 30000: provided port is already allocated"
    made = service(
        "NodePort",
        {"name": "a", "port": 80, "nodePort": 30000},
        {"name": "b", "port": 81, "nodePort": 30000},
    )
    assert allocate(made) == [text]
    shared = service(
        "NodePort",
        {"name": "a", "port": 80, "nodePort": 30000},
        {"name": "b", "port": 80, "nodePort": 30000, "protocol": "UDP"},
    )
    assert allocate(shared) == []
    # an update leaves that to validation
    assert allocate(made, service("NodePort")) == []


def test_the_health_check_has_its_port_for_itself() -> None:
    old = service("LoadBalancer", externalTrafficPolicy="Local", healthCheckNodePort=30001)
    new = service("LoadBalancer", {"port": 80, "nodePort": 30001}, **old["spec"] | {"ports": []})
    new["spec"] |= {"ports": [{"port": 80, "nodePort": 30001}]}
    assert allocate(new, old, ports={30001}) == [
        "spec.ports[0].nodePort: Invalid value: 30001: provided port is already allocated"
    ]


def test_a_full_range_names_the_service() -> None:
    with pytest.raises(AllocationFailed) as full:
        assign(service(), needs(service(), None), (), (), ranges=())
    assert str(full.value) == 'failed to allocate a serviceIP for Service "s": range is full'


def test_load_balancers_can_do_without_node_ports() -> None:
    made = service("LoadBalancer", allocateLoadBalancerNodePorts=False)
    assert allocate(made) == [] and "nodePort" not in made["spec"]["ports"][0]


def test_local_traffic_gets_a_health_check_port_once() -> None:
    made = service(
        "LoadBalancer", externalTrafficPolicy="Local", allocateLoadBalancerNodePorts=False
    )
    assert allocate(made) == []
    check = made["spec"]["healthCheckNodePort"]
    assert (
        check in NODE_PORTS
        and node_ports_of(made) == [check]
        and needs(made, made).health_check is None
    )
    wanted = service(
        "LoadBalancer",
        externalTrafficPolicy="Local",
        healthCheckNodePort=check,
        allocateLoadBalancerNodePorts=False,
    )
    (error,) = allocate(wanted, ports={check})
    assert error == (
        f"spec.healthCheckNodePort: Invalid value: {check}: failed to allocate requested "
        f"HealthCheck NodePort {check}: "
        "provided port is already allocated"
    )


def test_dry_runs_get_an_address_that_cannot_be_real_and_stays_the_same() -> None:
    """kubernetes pkg/registry/core/service/ipallocator: a dry run looks for no free address."""
    for _ in range(3):
        made = service("ClusterIP")
        assert allocate(made, dry_run=True) == []
        assert made["spec"]["clusterIP"] == "10.0.0.0"


def test_dry_runs_get_ports_that_cannot_be_real() -> None:
    made = service("NodePort", {"name": "a", "port": 80}, {"name": "b", "port": 81})
    assert allocate(made, dry_run=True) == []
    assert [p["nodePort"] for p in made["spec"]["ports"]] == [32769, 32770]


def test_the_lower_band_is_used_last_and_then_the_range_is_full() -> None:
    offset = band(len(NODE_PORTS), 32, 128)
    made = service("NodePort")
    assert allocate(made, ports=set(NODE_PORTS[offset:])) == []
    assert made["spec"]["ports"][0]["nodePort"] in NODE_PORTS[:offset]
    with pytest.raises(AllocationFailed, match="failed to allocate a nodePort: range is full"):
        allocate(service("NodePort"), ports=set(NODE_PORTS))


@given(st.lists(st.sampled_from(["ClusterIP", "NodePort", "LoadBalancer"]), max_size=12))
def test_no_two_services_ever_share_a_value(kinds: list[str]) -> None:
    ips: list[str] = []
    ports: list[int] = []
    for kind in kinds:
        made = service(kind, externalTrafficPolicy="Local" if kind == "LoadBalancer" else "")
        assert allocate(made, ips=set(ips), ports=set(ports)) == []
        ips += cluster_ips_of(made)
        ports += node_ports_of(made)
    assert len(set(ips)) == len(ips) and len(set(ports)) == len(ports)
