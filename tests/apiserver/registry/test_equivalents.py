"""Which resources serve the same objects, and an object as another of them has it."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest_asyncio

from admission.attributes import Equivalent, Lookup
from apiserver.meta.gvk import GroupVersionKind, GroupVersionResource
from apiserver.registry.scope import Tenant
from apiserver.storage.postgres import PostgresStore
from tests.support.api import serving


@pytest_asyncio.fixture
async def lookup(store: PostgresStore, tenant: int) -> AsyncIterator[Lookup]:
    async with serving(store, tenant) as api:
        yield api.registry.lookup(Tenant(tenant, "t"))


def of(group: str, version: str, resource: str, kind: str) -> Equivalent:
    return Equivalent(
        GroupVersionResource(group, version, resource), GroupVersionKind(group, version, kind)
    )


HPA = {
    v: of("autoscaling", v, "horizontalpodautoscalers", "HorizontalPodAutoscaler")
    for v in ("v1", "v2")
}


async def test_versions_of_a_resource_and_groups_that_share_objects(lookup: Lookup) -> None:
    assert lookup.equivalents(HPA["v1"].resource, "") == [HPA["v2"], HPA["v1"]]
    events = lookup.equivalents(GroupVersionResource("events.k8s.io", "v1", "events"), "")
    assert set(events) == {
        of("", "v1", "events", "Event"),
        of("events.k8s.io", "v1", "events", "Event"),
    }
    assert lookup.equivalents(GroupVersionResource("none.example", "v1", "things"), "") == ()


async def test_a_subresource_is_known_by_its_own_kind(lookup: Lookup) -> None:
    deployments = GroupVersionResource("apps", "v1", "deployments")
    scale = Equivalent(deployments, GroupVersionKind("autoscaling", "v1", "Scale"))
    assert lookup.equivalents(deployments, "scale") == [scale]
    assert lookup.equivalents(deployments, "nothing") == []


async def test_an_object_in_the_other_version(lookup: Lookup) -> None:
    v2 = {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": "a"},
        "spec": {
            "maxReplicas": 3,
            "scaleTargetRef": {"kind": "Deployment", "name": "d"},
            "metrics": [
                {
                    "type": "Resource",
                    "resource": {
                        "name": "cpu",
                        "target": {"type": "Utilization", "averageUtilization": 50},
                    },
                }
            ],
        },
    }
    v1 = await lookup.convert(v2, HPA["v2"].resource, HPA["v1"])
    assert v1["apiVersion"] == "autoscaling/v1"
    assert v1["spec"]["targetCPUUtilizationPercentage"] == 50
    assert v2["apiVersion"] == "autoscaling/v2"
    assert await lookup.convert(v2, HPA["v2"].resource, HPA["v2"]) is v2


async def test_an_event_in_the_other_group(lookup: Lookup) -> None:
    core = of("", "v1", "events", "Event")
    new = of("events.k8s.io", "v1", "events", "Event")
    event = {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {"name": "e", "namespace": "n"},
        "note": "hello",
    }
    converted = await lookup.convert(event, new.resource, core)
    assert (converted["apiVersion"], converted["message"]) == ("v1", "hello")
