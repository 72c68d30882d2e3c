"""Endpoints that somebody writes are mirrored into EndpointSlices: which of them, into what."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import Any

import pytest
import pytest_asyncio

from apiserver.controllers import endpointmirroring, mirrored, ownservice
from apiserver.controllers.actions import Actions
from apiserver.controllers.endpointmirroring import MirroredEndpoints
from apiserver.controllers.endpoints import ServiceEndpoints
from apiserver.controllers.endpointslices import EndpointSlices
from apiserver.controllers.mirrored import CONTROLLER
from apiserver.controllers.ownservice import ENDPOINTS, SLICES
from apiserver.controllers.recorder import EVENTS
from apiserver.controllers.slicing import MANAGED_BY, SERVICE_NAME
from apiserver.meta.objects import Object
from apiserver.registry.services import SERVICES
from apiserver.storage.interface import ObjectKey
from apiserver.storage.postgres import PostgresStore
from tests.apiserver.controllers.test_endpointslices import LABELS, service, slices
from tests.apiserver.controllers.test_upkeep import controllers
from tests.support.definitionworker import Worker

HTTP, DNS = {"name": "http", "port": 80}, {"name": "dns", "port": 53, "protocol": "UDP"}


@pytest.fixture
def keeper(worker: Worker, store: PostgresStore) -> MirroredEndpoints:
    return MirroredEndpoints(Actions(worker.registry), store.database)


@pytest_asyncio.fixture
async def kept(
    worker: Worker, store: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Worker]:
    for name in ("SETTLE", "RESTORE"):
        monkeypatch.setattr(endpointmirroring, name, 0.02)
    some = controllers(worker, store)
    yield worker
    await some.stop()


def alone(name: str = "db") -> Object:
    """A Service that selects nothing."""
    made = service(name)
    del made["spec"]["selector"]
    return made


def endpoints(*addresses: str, ports: Any = (HTTP,), **metadata: Any) -> Object:
    subset = {"addresses": [{"ip": ip} for ip in addresses], "ports": list(ports)}
    return {"metadata": {"name": "db", **metadata}, "subsets": [subset]}


async def told(worker: Worker) -> list[tuple[str, list[str]]]:
    """(family, addresses) of each slice."""
    found = [
        (s["addressType"], sorted(e["addresses"][0] for e in s.get("endpoints") or ()))
        for s in await slices(worker)
        if (s["metadata"].get("labels") or {}).get(MANAGED_BY) == CONTROLLER
    ]
    return sorted(found)


async def until(worker: Worker, expected: list[tuple[str, list[str]]]) -> None:
    async def reached() -> bool:
        return await told(worker) == expected

    await worker.until_true(reached)


# --- what is written ------------------------------------------------------------------------------
async def test_a_slice_says_what_the_endpoints_say(
    worker: Worker, keeper: MirroredEndpoints
) -> None:
    await worker.create(SERVICES, alone())
    about = {
        "labels": {"tier": "data"},
        "annotations": {
            "note": "x",
            "kubectl.kubernetes.io/last-applied-configuration": "{}",
            "endpoints.kubernetes.io/last-change-trigger-time": "2026-01-01T00:00:00Z",
        },
    }
    target = {"kind": "Pod", "namespace": "ns", "name": "p", "uid": "u"}
    ready = {"ip": "10.0.0.1", "hostname": "h", "nodeName": "n", "targetRef": target}
    subset = {"addresses": [ready], "notReadyAddresses": [{"ip": "fd00::1"}], "ports": [HTTP]}
    made = await worker.create(
        ENDPOINTS, {"metadata": {"name": "db", **about}, "subsets": [subset]}
    )
    await keeper.settle(worker.tenant, "ns")
    v4, v6 = sorted(await slices(worker), key=lambda s: s["addressType"])
    for found in (v4, v6):
        metadata = found["metadata"]
        assert metadata["labels"] == {"tier": "data", SERVICE_NAME: "db", MANAGED_BY: CONTROLLER}
        assert metadata["annotations"] == {"note": "x"}
        (owner,) = metadata["ownerReferences"]
        assert (owner["kind"], owner["name"], owner["uid"], owner["controller"]) == (
            "Endpoints",
            "db",
            made["metadata"]["uid"],
            True,
        )
        assert metadata["name"].startswith("db-") and metadata["generateName"] == "db-"
        assert found["ports"] == [{"name": "http", "port": 80, "protocol": "TCP"}]
    assert v4["endpoints"] == [
        {
            "addresses": ["10.0.0.1"],
            "conditions": {"ready": True},
            "hostname": "h",
            "nodeName": "n",
            "targetRef": target,
        }
    ]
    assert v6["endpoints"] == [{"addresses": ["fd00::1"], "conditions": {"ready": False}}]


async def test_a_second_look_writes_nothing(
    worker: Worker, store: PostgresStore, keeper: MirroredEndpoints
) -> None:
    await worker.create(SERVICES, alone())
    await worker.create(ENDPOINTS, endpoints("10.0.0.1", "10.0.0.2", labels={"a": "b"}))
    assert await keeper.settle(worker.tenant, "ns") is None
    before = await store.head(worker.tenant.id)
    assert await keeper.settle(worker.tenant, "ns") is None
    assert await store.head(worker.tenant.id) == before


async def test_a_slice_is_used_again_for_other_ports(
    worker: Worker, keeper: MirroredEndpoints
) -> None:
    await worker.create(SERVICES, alone())
    await worker.create(ENDPOINTS, endpoints("10.0.0.1"))
    await keeper.settle(worker.tenant, "ns")
    (before,) = await slices(worker)

    def other(obj: Object) -> None:
        obj["subsets"][0]["ports"] = [DNS]

    await worker.change(ENDPOINTS, "db", other)
    await keeper.settle(worker.tenant, "ns")
    (after,) = await slices(worker)
    assert after["metadata"]["uid"] == before["metadata"]["uid"]
    assert after["ports"] == [{"name": "dns", "port": 53, "protocol": "UDP"}]


async def test_addresses_beyond_the_most_are_left_out_and_told_of_once(
    worker: Worker, store: PostgresStore, keeper: MirroredEndpoints, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mirrored, "MOST", 2)
    await worker.create(SERVICES, alone())
    await worker.create(ENDPOINTS, endpoints("10.0.0.1", "10.0.0.2", "10.0.0.3"))
    await keeper.settle(worker.tenant, "ns")
    await keeper._actions.beside.done()
    assert await told(worker) == [("IPv4", ["10.0.0.1", "10.0.0.2"])]
    events = await worker.registry.lookup(worker.tenant).list(EVENTS, "ns")
    assert [(e["reason"], e["message"]) for e in events] == [
        (
            "TooManyAddressesToMirror",
            "A max of 2 addresses can be mirrored to EndpointSlices per Endpoints subset. 1 "
            "addresses were skipped",
        )
    ]
    before = await store.head(worker.tenant.id)
    await keeper.settle(worker.tenant, "ns")
    await keeper._actions.beside.done()
    assert await store.head(worker.tenant.id) == before


# --- which are mirrored ---------------------------------------------------------------------------
def selecting() -> Object:
    return service("db")


SKIP = {"labels": {"endpointslice.kubernetes.io/skip-mirror": "true"}}
LEADER = {"annotations": {"control-plane.alpha.kubernetes.io/leader": "{}"}}


@pytest.mark.parametrize("there", [False, True])
@pytest.mark.parametrize(
    ("of", "about", "is_mirrored"),
    [
        (alone(), {}, True),
        (alone(), SKIP, False),
        (alone(), LEADER, False),
        (selecting(), {}, False),
        (None, {}, False),
        (alone(), None, False),
    ],
)
async def test_which_are_mirrored(
    worker: Worker,
    keeper: MirroredEndpoints,
    of: Object | None,
    about: Object | None,
    is_mirrored: bool,
    there: bool,
) -> None:
    """there: a slice was made before it came to this; slices of others are left."""
    stale = {
        "metadata": {"name": "db-old", "labels": {SERVICE_NAME: "db", MANAGED_BY: CONTROLLER}},
        "addressType": "IPv4",
        "endpoints": [{"addresses": ["10.9.9.9"]}],
        "ports": [],
    }
    strange = {**stale, "metadata": {"name": "x", "labels": {SERVICE_NAME: "db"}}}
    await worker.create(SLICES, strange)
    if there:
        await worker.create(SLICES, stale)
    if of is not None:
        await worker.create(SERVICES, of)
    if about is not None:
        await worker.create(ENDPOINTS, endpoints("10.0.0.1", **about))
    await keeper.settle(worker.tenant, "ns")
    assert await told(worker) == [("IPv4", ["10.0.0.1"])] * is_mirrored
    assert await worker.get(SLICES, "x") is not None


async def test_slices_of_endpoints_of_before_are_rebuilt(
    worker: Worker, keeper: MirroredEndpoints
) -> None:
    """They would go with their owner."""
    await worker.create(SERVICES, alone())
    await worker.create(ENDPOINTS, endpoints("10.0.0.1"))
    await keeper.settle(worker.tenant, "ns")
    await worker.delete(ENDPOINTS, "db")
    made = await worker.create(ENDPOINTS, endpoints("10.0.0.1"))
    await keeper.settle(worker.tenant, "ns")
    (found,) = await slices(worker)
    assert found["metadata"]["ownerReferences"][0]["uid"] == made["metadata"]["uid"]


# --- when it looks --------------------------------------------------------------------------------
async def test_slices_follow(kept: Worker) -> None:
    await kept.create(ENDPOINTS, endpoints("10.0.0.1"))
    await kept.create(SERVICES, alone())
    await until(kept, [("IPv4", ["10.0.0.1"])])

    def more(obj: Object) -> None:
        obj["subsets"][0]["addresses"].append({"ip": "10.0.0.2"})

    await kept.change(ENDPOINTS, "db", more)
    await until(kept, [("IPv4", ["10.0.0.1", "10.0.0.2"])])
    (found,) = await slices(kept)
    await kept.delete(SLICES, found["metadata"]["name"])
    await until(kept, [("IPv4", ["10.0.0.1", "10.0.0.2"])])

    def select(obj: Object) -> None:
        obj["spec"]["selector"] = LABELS

    await kept.change(SERVICES, "db", select)
    await until(kept, [])


async def test_two_workers_make_one_slice(
    worker: Worker, other: Worker, store: PostgresStore, keeper: MirroredEndpoints
) -> None:
    await worker.create(SERVICES, alone())
    await worker.create(ENDPOINTS, endpoints("10.0.0.1"))
    second = MirroredEndpoints(Actions(other.registry), store.database)
    await asyncio.gather(keeper.settle(worker.tenant, "ns"), second.settle(other.tenant, "ns"))
    assert await told(worker) == [("IPv4", ["10.0.0.1"])]


async def test_where_all_services_select_the_database_is_not_asked(
    worker: Worker, keeper: MirroredEndpoints, monkeypatch: pytest.MonkeyPatch
) -> None:
    await worker.create(SERVICES, selecting())
    await worker.create(ENDPOINTS, endpoints("10.0.0.1"))
    assert await keeper.look(worker.tenant, "ns") is None
    monkeypatch.setattr(Actions, "each", None)
    assert await keeper.look(worker.tenant, "ns") is None


async def test_what_every_tenant_has_leads_to_no_look(
    worker: Worker, store: PostgresStore, keeper: MirroredEndpoints
) -> None:
    """Tenants in which nobody has made a Service cost nothing."""
    heard: list[Any] = []

    def observe(_: int, events: Sequence[Any]) -> None:
        heard.extend(keeper.concerned(event) for event in events)

    store.observe(observe)
    actions = Actions(worker.registry)
    own = (
        (SERVICES, alone("kubernetes")),
        (ENDPOINTS, ownservice.endpoints(["10.0.0.1"], 443)),
        (SLICES, ownservice.endpoint_slice(["10.0.0.1"], 443)),
    )
    for resource, obj in own:
        key = ObjectKey(*resource, "default", "kubernetes")
        obj["metadata"]["namespace"] = "default"
        assert await actions.ensure(worker.tenant, key, obj)
    assert heard == [None] * 3
    others = (EndpointSlices, ServiceEndpoints)
    keepers = [keeper, *(kind(actions, store.database) for kind in others)]
    assert [await one.missed(worker.tenant.id) for one in keepers] == [[], [], []]


async def test_a_sweep_finds_what_a_dead_process_left(
    worker: Worker, store: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("apiserver.storage.touched._BACK", 0)
    await worker.create(SERVICES, alone())
    await worker.create(ENDPOINTS, endpoints("10.0.0.1"))
    keeper = MirroredEndpoints(Actions(worker.registry), store.database)
    assert await keeper.missed(worker.tenant.id) == ["ns"]
    await keeper.look(worker.tenant, "ns")
    assert await told(worker) == [("IPv4", ["10.0.0.1"])]
    again = MirroredEndpoints(Actions(worker.registry), store.database)
    assert await again.missed(worker.tenant.id) == []
