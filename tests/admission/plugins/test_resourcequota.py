from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from admission.attributes import Attributes
from admission.plugins.quota_limits import Limited
from admission.plugins.quota_usage import CLAIMS, DEVICE_CLAIMS, PODS, SERVICES, usage
from admission.plugins.resourcequota import Charges, ResourceQuota, charge
from apiserver.errors import ApiError, Conflict, Forbidden
from apiserver.meta.gvk import GroupResource, GroupVersionKind, GroupVersionResource
from apiserver.meta.objects import Object
from apiserver.user import User

NOW = datetime(2026, 1, 1, tzinfo=UTC)
HARD = {"pods": "2", "requests.cpu": "1", "requests.memory": "1Gi"}
NONE = {"pods": "0", "requests.cpu": "0", "requests.memory": "0"}


def quota(hard: Object, used: Object, name: str = "compute", **spec: Any) -> Object:
    return {
        "metadata": {"name": name, "namespace": "ns"},
        "spec": {"hard": hard, **spec},
        "status": {"hard": hard, "used": used},
    }


def pod(cpu: str = "", memory: str = "", **spec: Any) -> Object:
    requests = {k: v for k, v in (("cpu", cpu), ("memory", memory)) if v}
    return {
        "metadata": {"name": "p"},
        "spec": {"containers": [{"name": "c", "resources": {"requests": requests}}], **spec},
    }


def spend(
    quotas: Sequence[Object], obj: Object, old: Object | None = None, resource: GroupResource = PODS
) -> Charges:
    return charge(quotas, resource, obj, old, NOW, "p")


def refusal(quotas: Sequence[Object], obj: Object) -> str:
    with pytest.raises(Forbidden) as refused:
        spend(quotas, obj)
    return refused.value.message


def test_what_fits_is_charged() -> None:
    ((_, used),) = spend([quota(HARD, NONE)], pod("600m", "256Mi"))
    assert used == {"pods": "1", "requests.cpu": "600m", "requests.memory": "256Mi"}
    ((_, used),) = spend([quota(HARD, used)], pod("400m", "256Mi"))
    assert used == {"pods": "2", "requests.cpu": "1", "requests.memory": "512Mi"}


def test_what_does_not_fit_names_only_what_is_exceeded() -> None:
    used = {"pods": "1", "requests.cpu": "600m", "requests.memory": "256Mi"}
    assert refusal([quota(HARD, used)], pod("500m", "256Mi")) == (
        'pods "p" is forbidden: exceeded quota: compute, requested: requests.cpu=500m, used: '
        "requests.cpu=600m, limited: requests.cpu=1"
    )
    assert refusal([quota(HARD, used)], pod("5", "5Gi")).endswith(
        "requested: requests.cpu=5,requests.memory=5Gi, used: "
        "requests.cpu=600m,requests.memory=256Mi, "
        "limited: requests.cpu=1,requests.memory=1Gi"
    )
    assert refusal([quota(HARD, {**used, "pods": "2"})], pod("0", "0")).endswith(
        "requested: pods=1, used: pods=2, limited: pods=2"
    )


def test_limited_compute_must_be_requested_by_every_container() -> None:
    assert refusal([quota(HARD, NONE)], pod()) == (
        'pods "p" is forbidden: failed quota: compute: must specify requests.cpu for: c; '
        "requests.memory for: c"
    )


@pytest.mark.parametrize("named", ["cpu", "memory", "hugepages-2Mi"])
def test_a_pod_that_says_what_it_needs_need_not_say_all(named: str) -> None:
    limited = quota({"requests.memory": "1Gi"}, {"requests.memory": "0"})
    spend([limited], pod(resources={"requests": {named: "2Mi"}}))
    assert "must specify" in refusal([limited], pod(resources={"requests": {}}))
    other = {"requests": {"example.com/gpu": "1"}}
    assert "must specify" in refusal([limited], pod(resources=other))


def test_a_quota_that_was_never_counted_refuses() -> None:
    assert refusal([quota(HARD, {"pods": "0"})], pod("1", "1")).endswith(
        "status unknown for quota: compute, resources: pods,requests.cpu,requests.memory"
    )


def test_an_update_is_charged_by_its_increase() -> None:
    claim = {
        "metadata": {"name": "c"},
        "spec": {"resources": {"requests": {"storage": "1Gi"}}, "storageClassName": "gold"},
    }
    bigger = {**claim, "spec": {**claim["spec"], "resources": {"requests": {"storage": "3Gi"}}}}
    hard = {
        "requests.storage": "4Gi",
        "gold.storageclass.storage.k8s.io/requests.storage": "4Gi",
        "persistentvolumeclaims": "1",
    }
    counted = quota(
        hard,
        {
            "requests.storage": "1Gi",
            "gold.storageclass.storage.k8s.io/requests.storage": "1Gi",
            "persistentvolumeclaims": "1",
        },
    )
    ((_, used),) = spend([counted], bigger, claim, CLAIMS)
    assert (
        used["requests.storage"]
        == used["gold.storageclass.storage.k8s.io/requests.storage"]
        == "3Gi"
    )
    assert used["persistentvolumeclaims"] == "1"
    assert spend([counted], claim, bigger, CLAIMS) == []


@pytest.mark.parametrize(
    ("resource", "obj", "name"),
    [
        (
            GroupResource("apps", "deployments"),
            {"metadata": {"name": "d"}},
            "count/deployments.apps",
        ),
        (GroupResource("", "secrets"), {"metadata": {"name": "s"}}, "secrets"),
        (GroupResource("", "secrets"), {"metadata": {"name": "s"}}, "count/secrets"),
        (PODS, pod(), "count/pods"),
    ],
)
def test_everything_can_be_counted(resource: GroupResource, obj: Object, name: str) -> None:
    ((_, used),) = spend([quota({name: "1"}, {name: "0"})], obj, resource=resource)
    assert used == {name: "1"}
    with pytest.raises(Forbidden, match="exceeded quota"):
        spend([quota({name: "1"}, used)], obj, resource=resource)


def exactly(name: str, count: int = 1, mode: str = "ExactCount") -> Object:
    return {"deviceClassName": name, "allocationMode": mode, "count": count}


EVERY = {"deviceClassName": "gpu", "allocationMode": "All"}


@pytest.mark.parametrize(
    ("requests", "devices"),
    [
        ([], {}),
        ([{"exactly": exactly("gpu")}], {"gpu": 1}),
        ([{"exactly": exactly("gpu", 3)}, {"exactly": exactly("gpu")}], {"gpu": 4}),
        ([{"exactly": exactly("gpu")}, {"exactly": exactly("nic", 2)}], {"gpu": 1, "nic": 2}),
        ([{"exactly": EVERY}], {"gpu": 32}),
        ([{"exactly": exactly("gpu", 5, "Later")}], {}),
        # of several that will do each class counts with its most, and adds up with other requests
        (
            [{"firstAvailable": [exactly("gpu", 2), exactly("gpu"), exactly("nic")]}],
            {"gpu": 2, "nic": 1},
        ),
        (
            [{"firstAvailable": [exactly("gpu", 2), EVERY]}, {"exactly": exactly("gpu")}],
            {"gpu": 33},
        ),
        ([{"name": "of a kind to come"}], {}),
    ],
)
def test_claims_use_devices_by_class(requests: list[Object], devices: dict[str, int]) -> None:
    claim = {"metadata": {"name": "c"}, "spec": {"devices": {"requests": requests}}}
    used = usage(DEVICE_CLAIMS, claim, NOW)
    assert {name: str(amount) for name, amount in used.items()} == {
        "count/resourceclaims.resource.k8s.io": "1",
        **{f"{name}.deviceclass.resource.k8s.io/devices": str(n) for name, n in devices.items()},
    }


def test_a_quota_of_devices_is_kept() -> None:
    name = "gpu.deviceclass.resource.k8s.io/devices"
    claim = {
        "metadata": {"name": "c"},
        "spec": {"devices": {"requests": [{"exactly": exactly("gpu", 2)}]}},
    }
    ((_, used),) = spend([quota({name: "3"}, {name: "1"})], claim, resource=DEVICE_CLAIMS)
    assert used == {name: "3"}
    with pytest.raises(Forbidden, match=f"requested: {name}=2, used: {name}=2, limited: {name}=3"):
        spend([quota({name: "3"}, {name: "2"})], claim, resource=DEVICE_CLAIMS)


def test_services_use_node_ports_by_their_type() -> None:
    ports = [{"port": 1, "nodePort": 30000}, {"port": 2}]
    for kind, allocate, node_ports, balancers in (
        ("ClusterIP", None, 0, 0),
        ("NodePort", None, 2, 0),
        ("LoadBalancer", False, 1, 1),
    ):
        found = usage(
            SERVICES,
            {
                "metadata": {},
                "spec": {"type": kind, "ports": ports, "allocateLoadBalancerNodePorts": allocate},
            },
            NOW,
        )
        assert (str(found["services.nodeports"]), str(found["services.loadbalancers"])) == (
            str(node_ports),
            str(balancers),
        )


def test_finished_and_overdue_pods_use_only_their_place_in_the_store() -> None:
    finished = {**pod("1"), "status": {"phase": "Succeeded"}}
    overdue = pod("1")
    deleted = (NOW - timedelta(minutes=1)).strftime("%Y-%m-%dT%H:%M:%SZ")
    overdue["metadata"] |= {"deletionTimestamp": deleted, "deletionGracePeriodSeconds": 30}
    for obj in (finished, overdue):
        assert set(usage(PODS, obj, NOW)) == {"count/pods"}


@pytest.mark.parametrize(
    ("spec", "obj", "counts"),
    [
        ({"scopes": ["BestEffort"]}, pod(), True),
        ({"scopes": ["BestEffort"]}, pod("1"), False),
        ({"scopes": ["Terminating"]}, pod(activeDeadlineSeconds=5), True),
        ({"scopes": ["NotTerminating", "NotBestEffort"]}, pod("1"), True),
        ({"scopes": ["NotTerminating", "NotBestEffort"]}, pod("1", activeDeadlineSeconds=5), False),
        ({"scopes": ["CrossNamespacePodAffinity"]}, pod(), False),
    ],
)
def test_scopes_choose_pods(spec: Object, obj: Object, counts: bool) -> None:
    assert bool(spend([quota({"pods": "5"}, {"pods": "0"}, **spec)], obj)) is counts


@pytest.mark.parametrize(
    ("operator", "values", "counts"),
    [
        ("In", ["high"], True),
        ("In", ["low"], False),
        ("NotIn", ["low"], True),
        ("Exists", [], True),
    ],
)
def test_priority_classes_choose_pods(operator: str, values: list[str], counts: bool) -> None:
    selector = {
        "matchExpressions": [{"scopeName": "PriorityClass", "operator": operator, "values": values}]
    }
    assert (
        bool(
            spend(
                [quota({"pods": "5"}, {"pods": "0"}, scopeSelector=selector)],
                pod(priorityClassName="high"),
            )
        )
        is counts
    )


@given(st.lists(st.integers(min_value=0, max_value=900), max_size=8))
def test_never_more_than_the_hard_limit_is_charged(millis: list[int]) -> None:
    used = {"requests.cpu": "0"}
    spent = 0
    for amount in millis:
        try:
            charges = spend([quota({"requests.cpu": "2"}, used)], pod(f"{amount}m"))
        except Forbidden:
            assert spent + amount > 2000
            continue
        spent += amount
        used = charges[0][1] if charges else used
        assert spent <= 2000


class Namespace:
    """Quotas that other requests change under the plugin's hands."""

    def __init__(self, *quotas: Object, conflicts: dict[str, int] | None = None) -> None:
        self.quotas = list(quotas)
        self.conflicts = conflicts or {}

    async def get(
        self, resource: GroupResource, namespace: str, name: str, *, fresh: bool = False
    ) -> Object | None:
        return next((q for q in self.quotas if q["metadata"]["name"] == name), None)

    async def list(self, resource: GroupResource, namespace: str = "") -> Sequence[Object]:
        return list(self.quotas)

    async def settle(self, tenant: int, quota: Object) -> None:
        i = self.quotas.index(quota)
        hard = quota["spec"]["hard"]
        status = {"hard": hard, "used": dict.fromkeys(hard, "0")}
        self.quotas[i] = {**quota, "status": status}

    async def charge(self, tenant: int, read: Object, used: dict[str, str]) -> None:
        name = read["metadata"]["name"]
        if self.conflicts.get(name, 0):
            self.conflicts[name] -= 1
            raise Conflict(GroupResource("", "resourcequotas"), name)
        i = next(i for i, q in enumerate(self.quotas) if q["metadata"]["name"] == name)
        self.quotas[i] = {**read, "status": {**read["status"], "used": used}}


def attributes(obj: Object, **more: Any) -> Attributes:
    gvr, gvk = GroupVersionResource("", "v1", "pods"), GroupVersionKind("", "v1", "Pod")
    return Attributes(1, "CREATE", gvk, gvr, "", "ns", "p", obj, None, User("u"), **more)


async def test_a_conflict_is_tried_again_and_no_quota_is_charged_twice() -> None:
    world = Namespace(
        quota({"pods": "9"}, {"pods": "0"}, "a"),
        quota({"count/pods": "9"}, {"count/pods": "0"}, "b"),
        conflicts={"b": 2},
    )
    await ResourceQuota(world).validate(attributes(pod()), world)
    assert [q["status"]["used"] for q in world.quotas] == [{"pods": "1"}, {"count/pods": "1"}]


async def test_a_quota_without_a_status_binds_at_once() -> None:
    new = {**quota({"pods": "1"}, {}), "status": {}}
    world = Namespace(new)
    plugin = ResourceQuota(world)
    await plugin.validate(attributes(pod()), world)
    with pytest.raises(Forbidden, match="exceeded quota: compute, requested: pods=1, used: pods=1"):
        await plugin.validate(attributes(pod()), world)


async def test_a_pod_that_gets_a_deadline_comes_into_another_scope() -> None:
    world = Namespace(quota({"pods": "1"}, {"pods": "0"}, scopes=["Terminating"]))
    plugin, before, after = ResourceQuota(world), pod(), pod(activeDeadlineSeconds=9)

    def updated(obj: Object) -> Attributes:
        return dataclasses.replace(attributes(obj), operation="UPDATE", old=before)

    assert not plugin.handles(updated(before))
    assert plugin.handles(updated(after))
    await plugin.validate(updated(after), world)
    with pytest.raises(Forbidden, match="exceeded quota: compute, requested: pods=1, used: pods=1"):
        await plugin.validate(attributes(after), world)


async def test_what_a_quota_does_not_count_needs_no_status() -> None:
    world = Namespace({**quota({"services": "1"}, {}), "status": {}})
    await ResourceQuota(world).validate(attributes(pod()), world)
    assert world.quotas[0]["status"] == {}


async def test_a_dry_run_is_checked_but_not_charged() -> None:
    world = Namespace(quota({"pods": "1"}, {"pods": "0"}))
    plugin = ResourceQuota(world)
    await plugin.validate(attributes(pod(), dry_run=True), world)
    assert world.quotas[0]["status"]["used"] == {"pods": "0"}
    await plugin.validate(attributes(pod()), world)
    with pytest.raises(Forbidden):
        await plugin.validate(attributes(pod(), dry_run=True), world)


async def test_conflicts_without_end_are_handed_on() -> None:
    world = Namespace(quota({"pods": "1"}, {"pods": "0"}), conflicts={"compute": 99})
    with pytest.raises(Conflict):
        await ResourceQuota(world).validate(attributes(pod()), world)


CPU = Limited(PODS, ("requests.cpu",), ())
HIGH = {"scopeName": "PriorityClass", "operator": "In", "values": ["high", "top"]}
SCOPED = Limited(PODS, (), (HIGH,))


@pytest.mark.parametrize(
    ("limited", "quotas", "obj", "why"),
    [
        (CPU, [], pod("1"), 'pods "p" is forbidden: insufficient quota to consume: requests.cpu'),
        (CPU, [], pod(memory="1Gi"), ""),
        (CPU, [quota(HARD, NONE)], pod("1", "1Gi"), ""),
        (
            CPU,
            [quota({"pods": "2"}, {"pods": "0"})],
            pod("1"),
            'pods "p" is forbidden: insufficient quota to consume: requests.cpu',
        ),
        (Limited(SERVICES, ("cpu",), ()), [], pod("1"), ""),
        (SCOPED, [], pod(), ""),
        (
            SCOPED,
            [],
            pod(priorityClassName="high"),
            "insufficient quota to match these scopes: [{PriorityClass In [high top]}]",
        ),
        (
            SCOPED,
            [quota({"pods": "2"}, {"pods": "0"}, scopeSelector={"matchExpressions": [HIGH]})],
            pod(priorityClassName="high"),
            "",
        ),
    ],
)
def test_limited_resources_need_a_quota(
    limited: Limited, quotas: list[Object], obj: Object, why: str
) -> None:
    if not why:
        charge(quotas, PODS, obj, None, NOW, "p", [limited])
        return
    with pytest.raises(ApiError) as refused:
        charge(quotas, PODS, obj, None, NOW, "p", [limited])
    assert refused.value.message == why


async def test_limited_resources_are_refused_where_there_is_no_quota_at_all() -> None:
    class Nothing:
        async def list(self, resource: GroupResource, namespace: str = "") -> Sequence[Object]:
            return []

    store: Any = None
    lookup: Any = Nothing()
    request = Attributes(
        1,
        "CREATE",
        GroupVersionKind("", "v1", "Pod"),
        GroupVersionResource("", "v1", "pods"),
        "",
        "ns",
        "p",
        pod("1"),
        None,
        User("u"),
    )
    await ResourceQuota(store).validate(request, lookup)
    with pytest.raises(Forbidden, match=r"insufficient quota to consume: requests\.cpu"):
        await ResourceQuota(store, [CPU]).validate(request, lookup)
