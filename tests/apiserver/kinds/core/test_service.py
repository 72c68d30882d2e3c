from __future__ import annotations

import copy
from datetime import UTC, datetime
from typing import Any

import pytest

from apiserver.kinds.base import WriteContext
from apiserver.kinds.core.service import Service
from apiserver.meta.objects import Object

KIND = Service()
NOW = datetime(2026, 1, 1, tzinfo=UTC)
CONTEXT = WriteContext("v1", NOW)


def stored(**spec: Any) -> Object:
    base = {
        "type": "NodePort",
        "clusterIP": "10.0.0.5",
        "clusterIPs": ["10.0.0.5"],
        "ipFamilies": ["IPv4"],
        "ipFamilyPolicy": "SingleStack",
        "ports": [
            {"name": "a", "port": 80, "nodePort": 30001},
            {"name": "b", "port": 81, "nodePort": 30002},
        ],
    }
    obj: Object = {"metadata": {"name": "s"}, "spec": {**base, **spec}}
    KIND.default(obj, "v1")
    return obj


def updated(old: Object, **spec: Any) -> Object:
    obj: Object = {"metadata": {"name": "s"}, "spec": copy.deepcopy(spec)}
    KIND.default(obj, "v1")
    KIND.prepare_update(obj, copy.deepcopy(old), CONTEXT)
    return obj


def errors(obj: Object, old: Object) -> list[str]:
    return [str(e) for e in KIND.validate(obj, CONTEXT) + KIND.validate_update(obj, old, CONTEXT)]


def test_a_manifest_put_again_keeps_what_was_allocated() -> None:
    old = stored()
    new = updated(
        old, type="NodePort", ports=[{"name": "b", "port": 8081}, {"name": "c", "port": 82}]
    )
    assert new["spec"]["clusterIP"] == "10.0.0.5" and new["spec"]["clusterIPs"] == ["10.0.0.5"]
    assert [p.get("nodePort") for p in new["spec"]["ports"]] == [30002, None]


def test_a_node_port_given_to_another_port_is_not_kept_twice() -> None:
    new = updated(
        stored(),
        type="NodePort",
        ports=[{"name": "a", "port": 80}, {"name": "z", "port": 1, "nodePort": 30001}],
    )
    assert [p.get("nodePort") for p in new["spec"]["ports"]] == [None, 30001]


def test_a_type_without_node_ports_drops_them_but_not_new_ones() -> None:
    old = stored()
    kept = old["spec"]["ports"]
    assert all(
        "nodePort" not in p
        for p in updated(old, **{**old["spec"], "type": "ClusterIP"})["spec"]["ports"]
    )
    other = updated(
        old,
        **{**old["spec"], "type": "ClusterIP", "ports": [{**kept[0], "nodePort": 30009}, kept[1]]},
    )
    assert (
        "spec.ports[0].nodePort: Forbidden: may not be used when `type` is 'ClusterIP'"
        in errors(other, old)
    )


def test_external_name_gives_the_address_back() -> None:
    old = stored()
    new = updated(old, **{**old["spec"], "type": "ExternalName", "externalName": "a.example.com"})
    assert not {"clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"} & set(new["spec"])
    assert errors(new, old) == []
    KIND.canonicalize(new)
    assert "internalTrafficPolicy" not in new["spec"]


def test_an_internal_policy_that_makes_no_sense_is_refused_before_it_is_dropped() -> None:
    old = stored(type="ExternalName", externalName="a.example.com")
    new = updated(old, type="ExternalName", externalName="b.example.com", internalTrafficPolicy="x")
    assert any("spec.internalTrafficPolicy: Unsupported value" in e for e in errors(new, old))


def test_protocols_that_share_a_node_port_keep_it_together() -> None:
    ports = [{"name": "t", "port": 53}, {"name": "u", "port": 53, "protocol": "UDP"}]
    old = stored(ports=[{**p, "nodePort": 30053} for p in ports])
    new = updated(old, type="NodePort", ports=ports)
    assert [p.get("nodePort") for p in new["spec"]["ports"]] == [30053, 30053]


@pytest.mark.parametrize(("allocates", "kept"), [(True, 30001), (False, None)])
def test_a_balancer_that_needs_no_node_ports_is_given_none_of_the_old_ones(
    allocates: bool, kept: int | None
) -> None:
    new = updated(
        stored(type="LoadBalancer"),
        type="LoadBalancer",
        allocateLoadBalancerNodePorts=allocates,
        ports=[{"name": "a", "port": 80}],
    )
    assert new["spec"]["ports"][0].get("nodePort") == kept


def test_another_address_alone_is_seen_to_change() -> None:
    old = stored()
    new = updated(old, type="NodePort", clusterIP="10.0.0.9", ports=old["spec"]["ports"])
    assert errors(new, old) == [
        'spec.clusterIPs[0]: Invalid value: ["10.0.0.9"]: may not change once set'
    ]


def test_what_a_balancer_reported_goes_with_it() -> None:
    old = stored(type="LoadBalancer")
    conditions = [{"type": "x", "status": "True"}]
    old["status"] = {
        "loadBalancer": {"ingress": [{"ip": "192.0.2.1"}]},
        "conditions": conditions,
    }
    assert updated(old, **old["spec"])["status"] == old["status"]
    other = updated(old, **{**old["spec"], "type": "NodePort"})
    assert other["status"] == {"loadBalancer": {}, "conditions": conditions}


def test_an_address_of_a_balancer_in_an_unusual_form() -> None:
    obj, context = stored(type="LoadBalancer"), WriteContext("v1", NOW, subresource="status")
    obj["status"] = {"loadBalancer": {"ingress": [{"hostname": "h"}, {"ip": "2001:db8:0::1"}]}}
    [text] = KIND.warnings(obj, obj, context)
    assert text.startswith('status.loadBalancer.ingress[1]: IPv6 address "2001:db8:0::1" should')
    assert KIND.warnings(obj, obj, CONTEXT) == []


def test_a_client_that_knows_only_cluster_ip_may_set_it() -> None:
    old = stored(type="ClusterIP", clusterIP="None", clusterIPs=["None"], ports=[{"port": 80}])
    assert updated(old, **{**old["spec"], "clusterIP": "10.0.0.9"})["spec"]["clusterIPs"] == [
        "10.0.0.9"
    ]


def test_addresses_and_classes_do_not_change() -> None:
    old = stored(type="LoadBalancer", loadBalancerClass="example.com/a")
    new = updated(
        old,
        **{
            **old["spec"],
            "clusterIP": "10.0.0.6",
            "clusterIPs": ["10.0.0.6"],
            "loadBalancerClass": "example.com/b",
        },
    )
    assert errors(new, old) == [
        'spec.clusterIPs[0]: Invalid value: ["10.0.0.6"]: may not change once set',
        'spec.loadBalancerClass: Invalid value: "example.com/b": may not change once set',
    ]


@pytest.mark.parametrize(
    ("spec", "status", "shown"),
    [
        (
            {"type": "ClusterIP", "externalIPs": ["192.0.2.1", "192.0.2.2"]},
            {},
            "192.0.2.1,192.0.2.2",
        ),
        ({"type": "ClusterIP"}, {}, "<none>"),
        ({"type": "LoadBalancer"}, {}, "<pending>"),
        (
            {"type": "LoadBalancer"},
            {"loadBalancer": {"ingress": [{"hostname": "b"}, {"ip": "192.0.2.9"}]}},
            "192.0.2.9,b",
        ),
        ({"type": "ExternalName", "externalName": "x.example.com"}, {}, "x.example.com"),
    ],
)
def test_the_external_ip_column(spec: Object, status: Object, shown: str) -> None:
    obj = {**stored(**spec), "status": status}
    assert KIND.cells(obj, "v1", NOW)[3] == shown


def test_the_other_columns() -> None:
    obj = stored(selector={"b": "2", "a": "1"})
    obj["metadata"]["creationTimestamp"] = "2025-12-31T23:59:00Z"
    assert KIND.cells(obj, "v1", NOW) == [
        "s",
        "NodePort",
        "10.0.0.5",
        "<none>",
        "80:30001/TCP,81:30002/TCP",
        "60s",
        "a=1,b=2",
    ]


def test_ignored_fields_are_warned_of() -> None:
    obj = stored(
        type="ClusterIP",
        clusterIP="None",
        clusterIPs=["None"],
        loadBalancerIP="192.0.2.010",
        externalIPs=["::FFFF:192.0.2.1"],
    )
    standard = "is invalid: use"
    assert KIND.warnings(obj, None, CONTEXT) == [
        "spec.loadBalancerIP is ignored for headless services",
        "spec.externalIPs is ignored for headless services",
        f'spec.externalIPs[0]: non-standard IP address "::FFFF:192.0.2.1" {standard} "192.0.2.1"',
        f'spec.loadBalancerIP: non-standard IP address "192.0.2.010" {standard} "192.0.2.10"',
    ]


def test_an_update_is_asked_of_its_load_balancer_class_twice() -> None:
    old = stored()
    new = {**copy.deepcopy(old), "spec": {**old["spec"], "loadBalancerClass": "x.io/y"}}
    why = "may only be used when `type` is 'LoadBalancer'"
    assert errors(new, old) == [f"spec.loadBalancerClass: Forbidden: {why}"] * 2
