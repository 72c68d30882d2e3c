"""Checks of one kind take time by the size of the object, whatever stands in its lists: each case
has once compared each item with each, or has quoted all items once for each."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest

from apiserver.fielderrors import FieldPath
from apiserver.kinds.batch.indexes import overlap
from apiserver.kinds.common import podwarnings
from apiserver.kinds.common.objectmeta import shared_errors
from apiserver.kinds.core import podstatus, service_allocation
from apiserver.kinds.core.podupdate import _only_added_tolerations
from apiserver.kinds.rbac.aggregation import aggregated_rules
from tests.support import kindtools
from tests.support.growth import assert_linear

Work = Callable[[], Any]
Make = Callable[[int], Work]

METADATA = FieldPath("metadata")


def owner(i: int, **more: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "name": "a", "uid": f"u{i}", **more}


def created(obj: dict[str, Any]) -> Work:
    return lambda: kindtools.create(copy.deepcopy(obj))


def pod(**spec: Any) -> Work:
    return created(kindtools.pod(**spec))


def spec_of(kind: str, api_version: str, **spec: Any) -> Work:
    return created(
        {"apiVersion": api_version, "kind": kind, "metadata": {"name": "a"}, "spec": spec}
    )


def container(i: int, **more: Any) -> dict[str, Any]:
    return {"name": f"c{i}", "image": "i", **more}


def controllers(n: int) -> Work:
    owners = [owner(i, controller=True) for i in range(n)]
    return lambda: shared_errors({"ownerReferences": owners}, METADATA)


def quota(n: int) -> Work:
    return spec_of(
        "ResourceQuota",
        "v1",
        scopes=["BestEffort"] * n,
        hard={f"requests.hugepages-{i}Mi": "1" for i in range(n)},
    )


def quota_selector(n: int) -> Work:
    terms = [{"scopeName": "BestEffort", "operator": "Exists"}] * n
    return spec_of(
        "ResourceQuota", "v1", scopeSelector={"matchExpressions": terms}, hard={"secrets": "1"}
    )


def claims(n: int) -> Work:
    known = [{"name": f"r{i}", "resourceClaimName": "x"} for i in range(n)]
    return pod(
        resourceClaims=known,
        containers=[container(0, resources={"claims": [{"name": f"no{i}"} for i in range(n)]})],
    )


def files(n: int) -> Work:
    volumes = [{"name": f"v{i}", "emptyDir": {}} for i in range(n)]
    return pod(volumes=volumes, containers=[container(i) for i in range(n // 4)])


def sidecars(n: int) -> Work:
    one = {"restartPolicy": "Always"}
    initial = [
        container(
            i, resources={"requests": {f"a.b/r{i}": "1"}, "limits": {f"a.b/r{i}": "1"}}, **one
        )
        for i in range(n)
    ]
    return pod(initContainers=initial, resources={"requests": {"cpu": "1"}})


def spread(n: int) -> Work:
    return pod(
        topologySpreadConstraints=[
            {"maxSkew": 1, "topologyKey": f"k{i}", "whenUnsatisfiable": "ScheduleAnyway"}
            for i in range(n)
        ]
    )


def spread_keys(n: int) -> Work:
    keys = [f"k{i}" for i in range(n)]
    one = {
        "maxSkew": 1,
        "topologyKey": "k",
        "whenUnsatisfiable": "ScheduleAnyway",
        "matchLabelKeys": keys,
    }
    return pod(
        topologySpreadConstraints=[
            {**one, "labelSelector": {"matchLabels": dict.fromkeys(keys, "x")}}
        ]
    )


def affinity(n: int) -> Work:
    keys = [f"k{i}" for i in range(n)]
    term = {
        "topologyKey": "k",
        "labelSelector": {},
        "matchLabelKeys": keys,
        "mismatchLabelKeys": [f"m{i}" for i in range(n)],
    }
    term["labelSelector"] = {"matchExpressions": [{"key": k, "operator": "Exists"} for k in keys]}
    return pod(affinity={"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}})


def profiles(n: int) -> Work:
    obj = kindtools.pod(containers=[container(i) for i in range(n)])
    obj["metadata"]["annotations"] = {
        f"container.apparmor.security.beta.kubernetes.io/d{i}": "unconfined" for i in range(n)
    }
    return created(obj)


def ports(**more: Any) -> Make:
    def make(n: int) -> Work:
        given = [
            {"containerPort": 1, "protocol": "TCP", **{k: v(i) for k, v in more.items()}}
            for i in range(n)
        ]
        obj = kindtools.pod(containers=[container(0, ports=given)])
        return lambda: list(podwarnings.pod(obj, FieldPath("")))

    return make


def terminated(n: int) -> Work:
    def status(state: str) -> dict[str, Any]:
        return {"containerStatuses": [{"name": f"c{i}", "state": {state: {}}} for i in range(n)]}

    old, new = (
        {"metadata": {}, "spec": {"restartPolicy": "Never"}, "status": status(s)}
        for s in ("terminated", "running")
    )
    return lambda: list(podstatus.validate(new, old))


def all_terminated(n: int) -> Work:
    def status(state: str) -> dict[str, Any]:
        return {"containerStatuses": [{"name": "c", "state": {state: {}}}] * n}

    old, new = (
        {"metadata": {}, "spec": {"restartPolicy": "Never"}, "status": status(s)}
        for s in ("terminated", "running")
    )
    return lambda: list(podstatus.validate(new, old))


def tolerations(n: int) -> Work:
    given = [{"key": f"k{i}", "operator": "Exists"} for i in range(n)]
    return lambda: list(_only_added_tolerations(list(reversed(given)), given))


def indexes(n: int) -> Work:
    one, other = (",".join(str(4 * i + shift) for i in range(n)) for shift in (0, 2))
    return lambda: overlap(one, other, 4 * n + 4)


def node_ports(n: int) -> Work:
    listed = [{"name": f"p{i}", "port": i + 1, "protocol": "TCP"} for i in range(n)]
    service = {"metadata": {"name": "a"}, "spec": {"type": "NodePort", "ports": listed}}
    requests = service_allocation.Requests(True, None, (0,) * n, None)
    pool: Any = type("Pool", (), {"next": lambda self: 30000, "mine": set()})()
    return lambda: service_allocation._assign_ports(copy.deepcopy(service), requests, pool)


def held_ports(n: int) -> Work:
    listed = [
        {"name": f"p{i}", "port": i + 1, "nodePort": 30000 + i, "protocol": "TCP"} for i in range(n)
    ]
    service = {"metadata": {"name": "a"}, "spec": {"type": "NodePort", "ports": listed}}
    return lambda: service_allocation.needs(service, service)


def aggregated(n: int) -> Work:
    rules = [{"apiGroups": [""], "resources": [f"r{i}"], "verbs": ["get"]} for i in range(n)]
    roles = [
        {"metadata": {"name": f"r{i}", "labels": {"a": "b"}}, "rules": [rule]}
        for i, rule in enumerate(rules)
    ]
    role = {
        "metadata": {"name": "all"},
        "aggregationRule": {"clusterRoleSelectors": [{"matchLabels": {"a": "b"}}]},
    }
    return lambda: aggregated_rules([*roles, role])


def topologies(n: int) -> Work:
    terms = [{"matchLabelExpressions": [{"key": "k", "values": [f"v{i}"]}]} for i in range(n)]
    return created(
        {
            "apiVersion": "storage.k8s.io/v1",
            "kind": "StorageClass",
            "metadata": {"name": "a"},
            "provisioner": "p",
            "allowedTopologies": terms,
        }
    )


def runtime_class(n: int) -> Work:
    given = [{"key": f"k{i}", "operator": "Exists"} for i in range(n)]
    obj = {
        "apiVersion": "node.k8s.io/v1",
        "kind": "RuntimeClass",
        "metadata": {"name": "a"},
        "handler": "h",
    }
    return created({**obj, "scheduling": {"tolerations": given}})


def addresses(n: int) -> Work:
    listed = [{"type": "Hostname", "address": f"a{i}"} for i in range(n)]
    node = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": "a"},
        "spec": {},
        "status": {"addresses": listed},
    }
    return lambda: kindtools.update(copy.deepcopy(node), node, "status")


CASES: dict[str, tuple[Make, int]] = {
    "owners that are all controllers": (controllers, 600),
    "resources that do not go with any scope of a quota": (quota, 600),
    "a quota's selector that is quoted for each of its terms": (quota_selector, 700),
    "claims that a container uses and a pod does not have": (claims, 2000),
    "empty directories that the variables of each container may come from": (files, 3000),
    "sidecars that each need something else": (sidecars, 1200),
    "spread constraints": (spread, 2500),
    "keys of a spread constraint": (spread_keys, 4000),
    "keys of an affinity term": (affinity, 4000),
    "profiles of containers that are not there": (profiles, 1500),
    "container ports that are all the same": (ports(), 2000),
    "container ports of one host port on many addresses": (
        ports(hostPort=lambda i: 1, hostIP=lambda i: f"10.0.{i // 256}.{i % 256}"),
        4000,
    ),
    "container ports of many host ports": (ports(hostPort=lambda i: i + 1), 4000),
    "containers that ended": (terminated, 2500),
    "containers that ended and have one name": (all_terminated, 2500),
    "tolerations of an updated pod": (tolerations, 2500),
    "indexes of a job that succeeded and failed": (indexes, 2500),
    "node ports to allocate": (node_ports, 2500),
    "node ports that are held": (held_ports, 6000),
    "rules of aggregated roles": (aggregated, 2500),
    "allowed topologies": (topologies, 2500),
    "tolerations of a runtime class": (runtime_class, 2500),
    "addresses of a node": (addresses, 2500),
}


@pytest.mark.parametrize("case", CASES)
def test_the_checks_are_linear(case: str) -> None:
    make, count = CASES[case]
    assert_linear(make, count)
