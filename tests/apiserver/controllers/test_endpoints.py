"""Endpoints follow Services that select pods, and go with them."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from apiserver.controllers import endpoints, subsets
from apiserver.controllers.actions import Actions
from apiserver.controllers.endpoints import CONTROLLER, MANAGED_BY, ServiceEndpoints
from apiserver.controllers.ownservice import ENDPOINTS
from apiserver.controllers.selecting import PODS
from apiserver.meta.objects import Object
from apiserver.registry.services import SERVICES
from apiserver.storage.postgres import PostgresStore
from tests.apiserver.controllers.test_endpointslices import (
    LABELS,
    SINCE,
    WEB,
    run,
    say,
    service,
)
from tests.apiserver.controllers.test_upkeep import controllers
from tests.support.definitionworker import Worker

TRIGGER = "endpoints.kubernetes.io/last-change-trigger-time"


@pytest.fixture
def keeper(worker: Worker, store: PostgresStore) -> ServiceEndpoints:
    return ServiceEndpoints(Actions(worker.registry), store.database)


@pytest_asyncio.fixture
async def kept(
    worker: Worker, store: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Worker]:
    for name in ("SETTLE", "RESTORE"):
        monkeypatch.setattr(endpoints, name, 0.02)
    some = controllers(worker, store)
    yield worker
    await some.stop()


async def told(worker: Worker, name: str = "web") -> Object | None:
    """Ready and other addresses; None where there are no Endpoints."""
    found = await worker.get(ENDPOINTS, name)
    if found is None:
        return None
    return {
        member: [a["ip"] for s in found.get("subsets") or () for a in s.get(member) or ()]
        for member in ("addresses", "notReadyAddresses")
    }


async def until(worker: Worker, expected: Object | None) -> None:
    async def reached() -> bool:
        return await told(worker) == expected

    await worker.until_true(reached)


def ready(*addresses: str) -> Object:
    return {"addresses": [*addresses], "notReadyAddresses": []}


async def test_endpoints_say_what_kubernetes_says(worker: Worker, keeper: ServiceEndpoints) -> None:
    """No node has to be there for these."""
    made = await worker.create(SERVICES, service())
    await keeper.settle(worker.tenant, "ns")
    empty = await worker.get(ENDPOINTS, "web")
    assert empty is not None and not empty.get("subsets")
    assert empty["metadata"]["annotations"] == {TRIGGER: made["metadata"]["creationTimestamp"]}
    await run(worker, "p", "10.1.0.1")
    await keeper.settle(worker.tenant, "ns")
    found, pod = await worker.get(ENDPOINTS, "web"), await worker.get(PODS, "p")
    assert found is not None and pod is not None
    assert found["metadata"]["labels"] == {
        "tier": "front",
        "service.kubernetes.io/headless": "",
        MANAGED_BY: CONTROLLER,
    }
    assert found["metadata"]["annotations"] == {TRIGGER: SINCE}
    target = {"kind": "Pod", "namespace": "ns", "name": "p", "uid": pod["metadata"]["uid"]}
    assert found["subsets"] == [
        {
            "addresses": [{"ip": "10.1.0.1", "nodeName": "n", "targetRef": target}],
            "ports": [{"name": "http", "port": 8080, "protocol": "TCP"}],
        }
    ]


async def test_a_second_look_writes_nothing(
    worker: Worker, store: PostgresStore, keeper: ServiceEndpoints, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (endpoints, subsets):
        monkeypatch.setattr(module, "MOST", 2)
    await worker.create(SERVICES, service(ports=[WEB, {**WEB, "name": "b", "port": 81}]))
    for number in range(3):
        await run(worker, f"p{number}", f"10.1.0.{number + 1}")
    assert await keeper.settle(worker.tenant, "ns") is None
    assert await told(worker) == ready("10.1.0.1", "10.1.0.2")
    found = await worker.get(ENDPOINTS, "web")
    assert found is not None
    over = found["metadata"]["annotations"]["endpoints.kubernetes.io/over-capacity"]
    assert over == "truncated"
    before = await store.head(worker.tenant.id)
    assert await keeper.settle(worker.tenant, "ns") is None
    assert await store.head(worker.tenant.id) == before


async def test_endpoints_follow_and_go(kept: Worker) -> None:
    await kept.create(SERVICES, service())
    await run(kept, "p", "10.1.0.1")
    await until(kept, ready("10.1.0.1"))
    await say(kept, "p", "10.1.0.1", ready=False)
    await until(kept, {"addresses": [], "notReadyAddresses": ["10.1.0.1"]})
    await kept.delete(ENDPOINTS, "web")
    await until(kept, {"addresses": [], "notReadyAddresses": ["10.1.0.1"]})
    await kept.delete(SERVICES, "web")
    await until(kept, None)


def own(name: str, **labels: str) -> Object:
    address = {"addresses": [{"ip": "10.9.9.9"}]}
    return {"metadata": {"name": name, "labels": labels}, "subsets": [address]}


async def test_what_was_written_by_hand_goes_with_its_service_only(kept: Worker) -> None:
    """Of a Service that selects nothing they are its owner's; they are deleted with it."""
    alone = service("mine")
    del alone["spec"]["selector"]
    for name in ("mine", "nobodys"):
        await kept.create(ENDPOINTS, own(name))
    await kept.create(SERVICES, alone)
    await kept.create(SERVICES, service())
    await until(kept, ready())
    assert await told(kept, "mine") == ready("10.9.9.9")
    await kept.delete(SERVICES, "mine")

    async def gone() -> bool:
        return await told(kept, "mine") is None

    await kept.until_true(gone)
    assert await told(kept, "nobodys") == ready("10.9.9.9")


async def test_a_service_that_is_there_again_keeps_its_endpoints(
    worker: Worker, keeper: ServiceEndpoints
) -> None:
    await worker.create(SERVICES, service())
    await keeper.settle(worker.tenant, "ns")
    await keeper.look(worker.tenant, "ns/web")
    assert await told(worker) == ready()


async def test_a_sweep_finds_what_a_dead_process_left(
    worker: Worker, keeper: ServiceEndpoints
) -> None:
    """Also of Services that are gone: those that this controller has written."""
    await worker.create(SERVICES, service())
    assert await keeper.missed(worker.tenant.id) == ["ns"]
    await keeper.look(worker.tenant, "ns")
    assert await told(worker) == ready()
    await worker.create(ENDPOINTS, own("by-hand"))
    await worker.create(ENDPOINTS, own("of-before", **{MANAGED_BY: CONTROLLER}))
    await worker.delete(SERVICES, "web")
    assert await keeper.missed(worker.tenant.id) == ["ns"]
    await keeper.look(worker.tenant, "ns")
    assert await told(worker) is None and await told(worker, "of-before") is None
    assert await told(worker, "by-hand") == ready("10.9.9.9")


async def test_other_labels_are_written(worker: Worker, keeper: ServiceEndpoints) -> None:
    await worker.create(SERVICES, service())
    await keeper.settle(worker.tenant, "ns")

    def relabel(obj: Object) -> None:
        obj["metadata"]["labels"] = LABELS

    await worker.change(SERVICES, "web", relabel)
    await keeper.settle(worker.tenant, "ns")
    found = await worker.get(ENDPOINTS, "web")
    assert found is not None
    assert found["metadata"]["labels"].items() >= LABELS.items()
    assert "tier" not in found["metadata"]["labels"]
