"""What belongs to a node, by the objects of a tenant."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from types import SimpleNamespace
from typing import Any, cast

import pytest
import pytest_asyncio

from apiserver.authz import node as n
from apiserver.meta.gvk import GroupResource
from apiserver.meta.objects import Object
from apiserver.registry.authorizer import TenantAuthorizer
from apiserver.storage.postgres import PostgresStore
from apiserver.user import MASTERS, NODES, User, authenticated
from apiserver.watch.watches import Watches
from tests.support.api import Api, serving
from tests.support.fixtures import store, tenant
from tests.support.users import ROOT, as_user

__all__ = ["store", "tenant"]

POD = "/api/v1/namespaces/ns/pods"


class Directory:
    """A token is its user's name; names of nodes are nodes'."""

    def __init__(self, number: int) -> None:
        self._number = number

    async def tenant(self, name: str) -> Any:
        return SimpleNamespace(
            id=self._number, name=name, state="active", max_watches=None, max_inflight=None
        )

    async def token(self, secret: str, tenant_id: int) -> User | None:
        if secret == "root":
            return User(secret, groups=authenticated((MASTERS,), secret))
        return User(secret, groups=authenticated((NODES,), secret))

    def remembered(self, secret: str, tenant: str) -> None:
        return None

    async def home(self, secret: str) -> str:
        return "default"


@pytest_asyncio.fixture
async def api(store: PostgresStore, tenant: int) -> AsyncIterator[Api]:
    async with serving(store, tenant) as made:
        made.server.directory = cast(Any, Directory(tenant))
        made.server.authorizer = TenantAuthorizer(made.registry)
        yield made


def pod(name: str, node: str = "n1", annotations: Any = None, **spec: Any) -> Object:
    container = {"name": "c", "image": "i", **spec.pop("container", {})}
    return {
        "metadata": {"name": name, **({"annotations": annotations} if annotations else {})},
        "spec": {"containers": [container], **({"nodeName": node} if node else {}), **spec},
    }


ENV = {
    "env": [
        {"name": "A", "valueFrom": {"secretKeyRef": {"name": "env-key", "key": "k"}}},
        {"name": "B", "valueFrom": {"configMapKeyRef": {"name": "env-map", "key": "k"}}},
    ],
    "envFrom": [{"secretRef": {"name": "env-all"}}, {"configMapRef": {"name": "all-map"}}],
}
VOLUMES = [
    {"name": "a", "secret": {"secretName": "mounted"}},
    {"name": "b", "configMap": {"name": "mounted-map"}},
    {"name": "c", "persistentVolumeClaim": {"claimName": "claim"}},
    {
        "name": "d",
        "projected": {
            "sources": [{"secret": {"name": "projected"}}, {"configMap": {"name": "projected-map"}}]
        },
    },
    {
        "name": "e",
        "ephemeral": {
            "volumeClaimTemplate": {
                "spec": {
                    "accessModes": ["ReadWriteOnce"],
                    "resources": {"requests": {"storage": "1Gi"}},
                }
            }
        },
    },
    {"name": "f", "csi": {"driver": "d.example", "nodePublishSecretRef": {"name": "published"}}},
]
FULL = pod(
    "full",
    container=ENV,
    volumes=VOLUMES,
    imagePullSecrets=[{"name": "pull"}],
    serviceAccountName="account",
    resourceClaims=[{"name": "r", "resourceClaimName": "device"}],
)


async def related(api: Api, resource: GroupResource, name: str, node: str = "n1") -> bool:
    namespace = "" if resource in (n.VOLUMES, n.ATTACHMENTS, n.SLICES) else "ns"
    relations = api.registry.node_relations
    return await relations.related(api.tenant.id, node, resource, namespace, name)


@pytest.mark.parametrize(
    ("resource", "name"),
    [
        *[
            (n.SECRETS, x)
            for x in ("env-key", "env-all", "mounted", "projected", "pull", "published")
        ],
        *[(n.CONFIG_MAPS, x) for x in ("env-map", "all-map", "mounted-map", "projected-map")],
        (n.CLAIMS, "claim"),
        (n.CLAIMS, "full-e"),
        (n.RESOURCE_CLAIMS, "device"),
        (n.ACCOUNTS, "account"),
        (n.PODS, "full"),
    ],
)
async def test_what_a_pod_refers_to_belongs_to_its_node(
    api: Api, resource: GroupResource, name: str
) -> None:
    await api.ok("POST", POD, FULL, **ROOT)
    assert await related(api, resource, name)
    assert not await related(api, resource, name, "n2")
    assert not await related(api, resource, f"{name}x")
    await api.ok("DELETE", f"{POD}/full?gracePeriodSeconds=0", **ROOT)
    assert not await related(api, resource, name)


async def test_no_node_gains_by_a_pod_that_is_not_bound_or_its_own_mirror(api: Api) -> None:
    waiting = pod("waiting", "", volumes=VOLUMES[:1])
    await api.ok("POST", POD, waiting, **ROOT)
    mirror = pod("mirror", annotations={"kubernetes.io/config.mirror": "x"}, volumes=VOLUMES[:1])
    await api.ok("POST", POD, mirror, **ROOT)
    assert await related(api, n.PODS, "mirror") and not await related(api, n.PODS, "waiting")
    assert not await related(api, n.SECRETS, "mounted")
    target = {"target": {"kind": "Node", "name": "n1"}}
    await api.ok(
        "POST", f"{POD}/waiting/binding", {"metadata": {"name": "waiting"}, **target}, **ROOT
    )
    assert await related(api, n.SECRETS, "mounted")


async def test_volumes_and_their_secrets_come_with_the_claim(api: Api) -> None:
    driver = {"driver": "d.example", "volumeHandle": "h"}
    for member in ("nodeStageSecretRef", "controllerPublishSecretRef"):
        driver[member] = cast(Any, {"name": member[:4], "namespace": "ns"})
    spec = {
        "capacity": {"storage": "1Gi"},
        "accessModes": ["ReadWriteOnce"],
        "csi": driver,
        "claimRef": {"namespace": "ns", "name": "claim", "uid": "u"},
    }
    volume = {"metadata": {"name": "v"}, "spec": spec}
    await api.ok("POST", "/api/v1/persistentvolumes", volume, **ROOT)
    assert not await related(api, n.VOLUMES, "v") and not await related(api, n.SECRETS, "node")
    await api.ok("POST", POD, FULL, **ROOT)
    assert await related(api, n.VOLUMES, "v") and await related(api, n.SECRETS, "node")
    assert not await related(api, n.SECRETS, "cont")  # the controller's
    assert not await related(api, n.SECRETS, "node", "n2")
    await api.ok("DELETE", "/api/v1/persistentvolumes/v", **ROOT)
    assert not await related(api, n.SECRETS, "node")


async def test_what_names_the_node_itself(api: Api) -> None:
    source = {"source": {"persistentVolumeName": "v"}, "attacher": "d.example"}
    attachment = {"metadata": {"name": "a"}, "spec": {**source, "nodeName": "n1"}}
    await api.ok("POST", "/apis/storage.k8s.io/v1/volumeattachments", attachment, **ROOT)
    assert await related(api, n.ATTACHMENTS, "a") and not await related(
        api, n.ATTACHMENTS, "a", "n2"
    )


async def test_each_change_is_looked_at_once(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []
    from apiserver.registry import noderelations

    original = noderelations._GROUPS[n.PODS]

    def counted(entry: Any) -> str:
        read.append(entry.name)
        return original(entry)

    monkeypatch.setitem(noderelations._GROUPS, n.PODS, counted)
    for i in range(5):
        await api.ok("POST", POD, pod(f"p{i}", container=ENV), **ROOT)
    for _ in range(3):
        assert await related(api, n.SECRETS, "env-all")
        assert not await related(api, n.SECRETS, "absent")
    assert sorted(read) == [f"p{i}" for i in range(5)]
    late = {"envFrom": [{"secretRef": {"name": "late"}}]}
    await api.ok("POST", POD, pod("p9", container=late), **ROOT)
    assert await related(api, n.SECRETS, "late") and len(read) == 6
    api.registry.node_relations.forget(api.tenant.id)
    assert await related(api, n.SECRETS, "late") and len(read) == 12


async def test_a_name_that_stands_elsewhere_is_no_reference(api: Api) -> None:
    await api.ok("POST", POD, pod("talks", annotations={"a": "mounted"}), **ROOT)
    await api.ok("POST", POD, pod("full-e", volumes=VOLUMES[:1]), **ROOT)
    assert await related(api, n.SECRETS, "mounted")
    assert not await related(api, n.CONFIG_MAPS, "mounted")
    for name in ("talks", "full-e", "full-e-x", "", "mount"):
        assert not await related(api, n.CLAIMS, name) and not await related(api, n.SECRETS, name)


async def test_others_go_on_while_pods_are_searched(api: Api) -> None:
    """However much they refer to."""
    source = [{"secretRef": {"name": f"s{i}"}} for i in range(5000)]
    for i in range(8):
        await api.ok("POST", POD, pod(f"p{i}", container={"envFrom": source}), **ROOT)
    turns = 0

    async def neighbour() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    await related(api, n.CONFIG_MAPS, "warm")
    task = asyncio.create_task(neighbour())
    await asyncio.sleep(0)
    before = turns
    assert not await related(api, n.CONFIG_MAPS, "s4999")
    task.cancel()
    assert turns - before >= 8


async def test_requests_of_nodes_are_judged(api: Api) -> None:
    node, other = as_user("system:node:n1"), as_user("system:node:n2")
    secret = "/api/v1/namespaces/ns/secrets/mounted"
    await api.ok("POST", "/api/v1/namespaces/ns/secrets", {"metadata": {"name": "mounted"}}, **ROOT)
    status, answer = await api("GET", secret, **node)
    assert status == 403 and answer["message"].endswith(
        "no relationship found between node 'n1' and this object"
    )
    await api.ok("POST", POD, FULL, **ROOT)
    await api.ok("GET", secret, **node)
    assert (await api("GET", secret, **other))[0] == 403
    pods = "/api/v1/pods?fieldSelector=spec.nodeName"
    assert len((await api.ok("GET", f"{pods}%3Dn1", **node))["items"]) == 1
    assert (await api("GET", f"{pods}%3Dn2", **node))[0] == 403
    assert (await api("GET", "/api/v1/pods", **node))[0] == 403
    only = "/api/v1/namespaces/ns/secrets?fieldSelector=metadata.name%3Dmounted"
    await api.ok("GET", only, **node)
    assert (await api("DELETE", secret, **node))[0] == 403


async def test_another_process_may_have_bound_the_pod(
    api: Api, store: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A cache that lags is brought up to date before a node is refused."""
    async with serving(store, api.tenant.id) as other:
        await api.ok("POST", POD, pod("p0"), **ROOT)
        assert await related(other, n.PODS, "p0")
        fresh = Watches.fresh
        asked: list[int] = []

        async def counted(self: Watches, tenant: int, resource: GroupResource) -> Any:
            asked.append(tenant)
            return await fresh(self, tenant, resource)

        monkeypatch.setattr(Watches, "fresh", counted)
        assert await related(other, n.PODS, "p0") and asked == []
        assert not await related(other, n.PODS, "absent") and asked
