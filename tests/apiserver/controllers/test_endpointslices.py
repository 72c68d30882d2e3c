"""EndpointSlices follow Services, their pods, and what others do to them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import Any

import pytest
import pytest_asyncio

from apiserver.controllers import endpointslices, selecting
from apiserver.controllers.actions import Actions
from apiserver.controllers.endpointslices import EndpointSlices
from apiserver.controllers.ownservice import SLICES
from apiserver.controllers.recorder import EVENTS
from apiserver.controllers.selecting import PODS
from apiserver.controllers.serviceslices import CONTROLLER, NODES
from apiserver.controllers.slicing import MANAGED_BY, SERVICE_NAME
from apiserver.meta.objects import Object
from apiserver.registry.services import SERVICES
from apiserver.storage.postgres import PostgresStore
from apiserver.storage.touched import Touched
from tests.apiserver.controllers.test_upkeep import controllers
from tests.support.budgets import status
from tests.support.definitionworker import Worker

LABELS = {"app": "web"}
WEB = {"name": "http", "port": 80, "targetPort": 8080, "protocol": "TCP"}
OUTSIDE = {"type": "ExternalName", "externalName": "a.b"}
SINCE = "2026-01-02T03:04:05Z"


@pytest.fixture
def keeper(worker: Worker, store: PostgresStore) -> EndpointSlices:
    return EndpointSlices(Actions(worker.registry), store.database)


@pytest_asyncio.fixture
async def kept(
    worker: Worker, store: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Worker]:
    for module in (selecting, endpointslices):
        monkeypatch.setattr(module, "SETTLE", 0.02)
        monkeypatch.setattr(module, "RESTORE", 0.02)
    some = controllers(worker, store)
    yield worker
    await some.stop()


def service(name: str = "web", **spec: Any) -> Object:
    base = {"type": "ClusterIP", "selector": LABELS, "ports": [WEB], "ipFamilies": ["IPv4"]}
    metadata = {"name": name, "labels": {"tier": "front"}}
    return {"metadata": metadata, "spec": {"clusterIP": "None", **base, **spec}}


async def node(worker: Worker, name: str, **labels: str) -> None:
    await worker.create(NODES, {"metadata": {"name": name, "labels": labels}})


async def run(
    worker: Worker, name: str, ip: str, ready: bool = True, on: str = "n", **labels: str
) -> None:
    container = {"name": "c", "image": "i"}
    spec = {"containers": [container], "nodeName": on, "terminationGracePeriodSeconds": 0}
    await worker.create(
        PODS, {"metadata": {"name": name, "labels": labels or LABELS}, "spec": spec}
    )
    await say(worker, name, ip, ready)


async def say(worker: Worker, name: str, ip: str, ready: bool = True) -> None:
    said = {"type": "Ready", "status": str(ready), "lastTransitionTime": SINCE}
    where = {"podIP": ip, "podIPs": [{"ip": ip}]} if ip else {}
    await status(worker, PODS, name, {"phase": "Running", "conditions": [said], **where})


async def slices(worker: Worker) -> list[Object]:
    found = await worker.registry.lookup(worker.tenant).list(SLICES, "ns")
    return [dict(s) for s in found]


async def told(worker: Worker) -> Object:
    """Addresses and whether they are ready, of all slices."""
    return {
        e["addresses"][0]: e["conditions"]["ready"]
        for s in await slices(worker)
        for e in s.get("endpoints") or ()
    }


async def until(worker: Worker, expected: Object) -> None:
    async def reached() -> bool:
        return await told(worker) == expected

    await worker.until_true(reached)


async def one(worker: Worker) -> Object:
    (found,) = await slices(worker)
    return found


# --- what is written ------------------------------------------------------------------------------
async def test_a_slice_says_what_kubernetes_says(worker: Worker, keeper: EndpointSlices) -> None:
    await node(worker, "n", **{"topology.kubernetes.io/zone": "z"})
    made = await worker.create(SERVICES, service(trafficDistribution="PreferClose"))
    await keeper.settle(worker.tenant, "ns")
    empty = await one(worker)
    assert not empty.get("endpoints") and not empty.get("ports")
    started = made["metadata"]["creationTimestamp"]
    trigger = "endpoints.kubernetes.io/last-change-trigger-time"
    assert empty["metadata"]["annotations"] == {trigger: started}
    await run(worker, "p", "10.1.0.1")
    await keeper.settle(worker.tenant, "ns")
    found = await one(worker)
    metadata, pod = found["metadata"], await worker.get(PODS, "p")
    assert pod is not None
    assert metadata["name"] == empty["metadata"]["name"], "the same slice, filled"
    assert metadata["generateName"] == "web-" and metadata["name"].startswith("web-")
    assert metadata["labels"] == {
        "tier": "front",
        "service.kubernetes.io/headless": "",
        SERVICE_NAME: "web",
        MANAGED_BY: CONTROLLER,
    }
    assert metadata["annotations"] == {trigger: SINCE}
    (owner,) = metadata["ownerReferences"]
    assert owner == {
        "apiVersion": "v1",
        "kind": "Service",
        "name": "web",
        "uid": made["metadata"]["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }
    assert found["addressType"] == "IPv4"
    assert found["ports"] == [{"name": "http", "port": 8080, "protocol": "TCP"}]
    target = {"kind": "Pod", "namespace": "ns", "name": "p", "uid": pod["metadata"]["uid"]}
    assert found["endpoints"] == [
        {
            "addresses": ["10.1.0.1"],
            "conditions": {"ready": True, "serving": True, "terminating": False},
            "targetRef": target,
            "nodeName": "n",
            "zone": "z",
            "hints": {"forZones": [{"name": "z"}]},
        }
    ]


async def test_a_second_look_writes_nothing(
    worker: Worker, store: PostgresStore, keeper: EndpointSlices
) -> None:
    await node(worker, "n")
    await worker.create(SERVICES, service())
    await worker.create(SERVICES, service("empty", selector={"app": "nobody"}))
    for number in range(3):
        await run(worker, f"p{number}", f"10.1.0.{number + 1}")
    assert await keeper.settle(worker.tenant, "ns") is None
    before = await store.head(worker.tenant.id)
    assert await keeper.settle(worker.tenant, "ns") is None
    assert await store.head(worker.tenant.id) == before


async def test_two_families_have_slices_of_their_own(
    worker: Worker, keeper: EndpointSlices
) -> None:
    await node(worker, "n")
    await worker.create(SERVICES, service(ipFamilies=["IPv4", "IPv6"]))
    await run(worker, "p", "10.1.0.1")
    both = {"podIP": "10.1.0.1", "podIPs": [{"ip": "10.1.0.1"}, {"ip": "fd00::1"}]}
    await status(worker, PODS, "p", {"phase": "Running", **both})
    await keeper.settle(worker.tenant, "ns")
    found = {s["addressType"]: s["endpoints"][0]["addresses"] for s in await slices(worker)}
    assert found == {"IPv4": ["10.1.0.1"], "IPv6": ["fd00::1"]}

    def single(obj: Object) -> None:
        obj["spec"]["ipFamilies"] = ["IPv6"]
        obj["spec"]["ipFamilyPolicy"] = "SingleStack"

    await worker.change(SERVICES, "web", single)
    await keeper.settle(worker.tenant, "ns")
    assert (await one(worker))["addressType"] == "IPv6"


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({}, {"10.1.0.1": True, "10.1.0.2": False}),
        ({"publishNotReadyAddresses": True}, {"10.1.0.1": True, "10.1.0.2": True}),
        ({"selector": {"app": "other"}}, {"10.1.0.3": True}),
        ({"selector": None}, {}),
        ({**OUTSIDE, "clusterIP": None, "ipFamilies": None}, {}),
    ],
)
async def test_who_is_in_it(
    worker: Worker, keeper: EndpointSlices, spec: Object, expected: Object
) -> None:
    await node(worker, "n")
    whole = service(**spec)
    whole["spec"] = {k: v for k, v in whole["spec"].items() if v is not None}
    await worker.create(SERVICES, whole)
    await run(worker, "ready", "10.1.0.1")
    await run(worker, "unready", "10.1.0.2", ready=False)
    await run(worker, "other", "10.1.0.3", app="other")
    await run(worker, "nowhere", "")
    await keeper.settle(worker.tenant, "ns")
    assert await told(worker) == expected


async def test_slices_of_others_are_left(worker: Worker, keeper: EndpointSlices) -> None:
    await worker.create(SERVICES, service())
    strange = {
        "metadata": {"name": "web-mine", "labels": {SERVICE_NAME: "web"}},
        "addressType": "IPv4",
        "endpoints": [{"addresses": ["10.9.9.9"]}],
        "ports": [],
    }
    await worker.create(SLICES, strange)
    before = await worker.get(SLICES, "web-mine")
    await keeper.settle(worker.tenant, "ns")
    assert await worker.get(SLICES, "web-mine") == before
    assert len(await slices(worker)) == 2


async def test_a_slice_of_a_service_of_before_goes(worker: Worker, keeper: EndpointSlices) -> None:
    """Before the garbage collector gets to it: it would lead to pods of another selector."""
    await node(worker, "n")
    await run(worker, "p", "10.1.0.1")
    await worker.create(SERVICES, service())
    await keeper.settle(worker.tenant, "ns")
    before = await one(worker)
    await worker.delete(SERVICES, "web")
    await worker.create(SERVICES, service())
    await keeper.settle(worker.tenant, "ns")
    found = await one(worker)
    assert found["metadata"]["uid"] != before["metadata"]["uid"]
    assert await told(worker) == {"10.1.0.1": True}


async def test_a_name_that_somebody_else_has_is_not_waited_for(
    worker: Worker, keeper: EndpointSlices
) -> None:
    await worker.create(SERVICES, service())
    await keeper.settle(worker.tenant, "ns")
    name = (await one(worker))["metadata"]["name"]

    def take(obj: Object) -> None:
        obj["metadata"]["labels"][MANAGED_BY] = "somebody"

    await worker.change(SLICES, name, take)
    assert await keeper.settle(worker.tenant, "ns") is None
    assert len(await slices(worker)) == 2


# --- pods whose node is not there -----------------------------------------------------------------
async def test_a_pod_without_its_node_is_left_out_and_told_of(
    kept: Worker, store: PostgresStore
) -> None:
    await kept.create(SERVICES, service())
    await run(kept, "p", "10.1.0.1", on="absent")

    async def events() -> list[str]:
        found = await kept.registry.lookup(kept.tenant).list(EVENTS, "ns")
        return [e["message"] for e in found if e["reason"] == "FailedToUpdateEndpointSlices"]

    async def is_told() -> bool:
        return bool(await events())

    await kept.until_true(is_told)
    assert await events() == [
        "Error updating Endpoint Slices for Service ns/web: skipping Pod p for Service ns/web: "
        "Node absent Not Found"
    ]
    assert await told(kept) == {}
    await node(kept, "absent")
    await until(kept, {"10.1.0.1": True})


async def test_the_same_trouble_is_told_once(
    worker: Worker, store: PostgresStore, keeper: EndpointSlices
) -> None:
    await worker.create(SERVICES, service())
    await run(worker, "p", "10.1.0.1", on="absent")
    await keeper.settle(worker.tenant, "ns")
    await keeper._actions.beside.done()
    before = await store.head(worker.tenant.id)
    await keeper.settle(worker.tenant, "ns")
    await keeper._actions.beside.done()
    assert await store.head(worker.tenant.id) == before


# --- when it looks --------------------------------------------------------------------------------
async def test_slices_follow(kept: Worker) -> None:
    await node(kept, "n")
    await kept.create(SERVICES, service())
    await run(kept, "p", "10.1.0.1")
    await until(kept, {"10.1.0.1": True})
    await run(kept, "q", "10.1.0.2", ready=False)
    await until(kept, {"10.1.0.1": True, "10.1.0.2": False})
    await say(kept, "q", "10.1.0.2")
    await until(kept, {"10.1.0.1": True, "10.1.0.2": True})
    await kept.delete(PODS, "p")
    await until(kept, {"10.1.0.2": True})

    def other(obj: Object) -> None:
        obj["metadata"]["labels"] = {"app": "other"}

    await kept.change(PODS, "q", other)
    await until(kept, {})


async def test_what_somebody_does_to_a_slice_is_put_right(kept: Worker) -> None:
    await node(kept, "n")
    await kept.create(SERVICES, service())
    await run(kept, "p", "10.1.0.1")
    await until(kept, {"10.1.0.1": True})
    name = (await one(kept))["metadata"]["name"]

    def spoil(obj: Object) -> None:
        obj["endpoints"] = [{"addresses": ["10.9.9.9"], "conditions": {"ready": True}}]

    await kept.change(SLICES, name, spoil)
    await until(kept, {"10.1.0.1": True})
    await kept.delete(SLICES, name)
    await until(kept, {"10.1.0.1": True})


async def test_its_own_writes_lead_to_no_other_look(
    worker: Worker, store: PostgresStore, keeper: EndpointSlices
) -> None:
    heard: list[Any] = []

    def observe(_: int, events: Sequence[Any]) -> None:
        heard.extend(keeper.concerned(e) for e in events if e.record.key.group_resource == SLICES)

    await node(worker, "n")
    await worker.create(SERVICES, service())
    await run(worker, "p", "10.1.0.1")
    store.observe(observe)
    await keeper.settle(worker.tenant, "ns")
    await say(worker, "p", "10.1.0.1", ready=False)
    await keeper.settle(worker.tenant, "ns")
    assert heard == [None, None]
    await worker.delete(SLICES, (await one(worker))["metadata"]["name"])
    assert heard[2:] == [("ns", endpointslices.RESTORE)]


async def test_two_workers_make_one_slice(
    worker: Worker, other: Worker, store: PostgresStore, keeper: EndpointSlices
) -> None:
    await node(worker, "n")
    await worker.create(SERVICES, service())
    await run(worker, "p", "10.1.0.1")
    second = EndpointSlices(Actions(other.registry), store.database)
    await asyncio.gather(keeper.settle(worker.tenant, "ns"), second.settle(other.tenant, "ns"))
    assert (await one(worker))["endpoints"][0]["addresses"] == ["10.1.0.1"]


async def test_where_nothing_is_selected_the_database_is_not_asked(
    worker: Worker, keeper: EndpointSlices, monkeypatch: pytest.MonkeyPatch
) -> None:
    await run(worker, "p", "10.1.0.1")
    assert await keeper.look(worker.tenant, "ns") is None
    monkeypatch.setattr(Actions, "each", None)
    assert await keeper.look(worker.tenant, "ns") is None


# --- the sweep ------------------------------------------------------------------------------------
async def test_a_sweep_finds_what_a_dead_process_left(
    worker: Worker, keeper: EndpointSlices
) -> None:
    await node(worker, "n")
    await worker.create(SERVICES, service())
    assert await keeper.missed(worker.tenant.id) == ["ns"]
    await keeper.look(worker.tenant, "ns")
    assert await keeper.missed(worker.tenant.id) == ["ns"], "its own write"
    assert await keeper.missed(worker.tenant.id) == []
    await run(worker, "p", "10.1.0.1")
    assert await keeper.missed(worker.tenant.id) == ["ns"]
    await keeper.look(worker.tenant, "ns")
    assert await told(worker) == {"10.1.0.1": True}


async def test_what_has_no_slice_is_found_however_long_ago_it_was_made(
    worker: Worker, store: PostgresStore, keeper: EndpointSlices, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As after an upgrade."""
    monkeypatch.setattr("apiserver.storage.touched._BACK", 0)
    await worker.create(SERVICES, service())
    outside = {"metadata": {"name": "named"}, "spec": {**OUTSIDE, "selector": LABELS}}
    await worker.create(SERVICES, outside)
    again = EndpointSlices(Actions(worker.registry), store.database)
    assert await again.missed(worker.tenant.id) == ["ns"]
    await keeper.settle(worker.tenant, "ns")
    last = EndpointSlices(Actions(worker.registry), store.database)
    assert await last.missed(worker.tenant.id) == []


async def test_a_question_ends_where_the_next_one_begins(
    worker: Worker, store: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("apiserver.storage.touched._MOST", 1)
    touched = Touched(store.database, [PODS], "SELECT 'x' WHERE false")
    assert await touched.since_last(worker.tenant.id) == []
    for name in ("a", "b"):
        await run(worker, name, "")
    rounds = [await touched.since_last(worker.tenant.id) for _ in range(6)]
    assert rounds == [["ns"]] * 4 + [[], []]
