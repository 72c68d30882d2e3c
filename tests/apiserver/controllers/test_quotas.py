"""ResourceQuotas over the database: two workers that write at once, and the controllers of both."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from types import SimpleNamespace
from typing import Any

import pytest
import pytest_asyncio

from admission.chain import Chain
from admission.plugins.resourcequota import ResourceQuota
from apiserver.controllers import quotas
from apiserver.controllers.manager import Controllers
from apiserver.controllers.quotas import QuotaStatus
from apiserver.errors import AlreadyExists, Forbidden
from apiserver.meta.gvk import GroupResource
from apiserver.meta.objects import Object
from apiserver.registry.quota import Quotas, sample
from apiserver.registry.scope import Tenant
from apiserver.storage.interface import ObjectKey, Write
from apiserver.storage.postgres import PostgresStore
from apiserver.storage.relations import Relations
from tests.support.auditrows import rows
from tests.support.definitionworker import Worker
from tests.support.waiting import PATIENCE

QUOTAS, PODS, CONFIGMAPS = ("", "resourcequotas"), ("", "pods"), ("", "configmaps")
SERVICES, CLAIMS = ("", "services"), ("", "persistentvolumeclaims")


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(quotas, "SETTLE", 0.02)
    monkeypatch.setattr(quotas, "WINDOW", 0.2)
    yield


def controlled(worker: Worker) -> Controllers:
    async def tenant_of(number: int) -> Tenant | None:
        return worker.tenant

    store = worker.registry.store
    assert isinstance(store, PostgresStore)
    worker.registry.chain = Chain([ResourceQuota(ledger(worker))])
    return Controllers(worker.registry, store.database, tenant_of, "test", worker.controller)


def ledger(worker: Worker) -> Quotas:
    return Quotas(worker.registry.store, worker.catalog)


@pytest_asyncio.fixture
async def counted(worker: Worker, quick: None) -> AsyncIterator[Worker]:
    controllers = controlled(worker)
    yield worker
    await controllers.stop()


def quota(name: str = "q", **hard: str) -> Object:
    return {"metadata": {"name": name}, "spec": {"hard": hard}}


def pod(name: str, cpu: str = "100m", **spec: Any) -> Object:
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu}}}
    return {"metadata": {"name": name}, "spec": {"containers": [container], **spec}}


async def used(worker: Worker, name: str = "q") -> Any:
    """As the database has it."""
    record = await worker.registry.store.get(worker.tenant.id, ObjectKey(*QUOTAS, "ns", name))
    assert record is not None
    scope = worker.scope(QUOTAS, name)
    return worker.registry.materialize(scope, record)["status"].get("used")


async def until_used(worker: Worker, expected: dict[str, str], name: str = "q") -> None:
    async def equal() -> bool:
        return bool(await used(worker, name) == expected)

    await worker.until_true(equal)


async def test_a_new_quota_gets_its_status(counted: Worker) -> None:
    counted.registry.chain = Chain([])
    await counted.create(PODS, pod("before"))
    await counted.create(QUOTAS, quota(**{"pods": "5", "requests.cpu": "1"}))
    await until_used(counted, {"pods": "1", "requests.cpu": "100m"})


async def test_what_is_charged_is_in_the_audit_log_as_a_status(counted: Worker) -> None:
    await counted.create(QUOTAS, quota(configmaps="1"))
    await counted.create(CONFIGMAPS, {"metadata": {"name": "a"}})
    await until_used(counted, {"configmaps": "1"})
    store = counted.registry.store
    assert isinstance(store, PostgresStore)
    entries = await rows(store, counted.tenant.id, resource="resourcequotas", verb="update")
    assert entries
    for entry in entries:
        assert entry["user"] == entry["data"]["user"]["username"] == "system:apiserver"
        assert entry["data"]["objectRef"]["subresource"] == "status"


async def test_a_new_quota_binds_at_once(counted: Worker) -> None:
    await counted.create(QUOTAS, quota(configmaps="1"))
    await counted.create(CONFIGMAPS, {"metadata": {"name": "a"}})
    with pytest.raises(Forbidden, match="exceeded quota: q"):
        await counted.create(CONFIGMAPS, {"metadata": {"name": "b"}})


async def test_what_is_deleted_may_be_used_again(counted: Worker) -> None:
    await counted.create(QUOTAS, quota(configmaps="1"))
    await counted.create(CONFIGMAPS, {"metadata": {"name": "a"}})
    await counted.delete(CONFIGMAPS, "a")
    await until_used(counted, {"configmaps": "0"})
    await counted.create(CONFIGMAPS, {"metadata": {"name": "b"}})


async def test_what_was_charged_for_nothing_is_given_back(counted: Worker) -> None:
    await counted.create(QUOTAS, quota(configmaps="9"))
    await counted.create(CONFIGMAPS, {"metadata": {"name": "a"}})
    with pytest.raises(AlreadyExists):
        await counted.create(CONFIGMAPS, {"metadata": {"name": "a"}})
    assert await used(counted) == {"configmaps": "2"}
    await until_used(counted, {"configmaps": "1"})


async def test_a_write_whose_client_went_away_is_given_back(
    counted: Worker, monkeypatch: pytest.MonkeyPatch
) -> None:
    await counted.create(QUOTAS, quota(configmaps="9"))
    store, reached = counted.registry.store, asyncio.Event()
    write = store.write

    async def stuck(tenant: int, asked: Write) -> int:
        if asked.key.resource == "configmaps":
            reached.set()
            await asyncio.Event().wait()
        return await write(tenant, asked)

    monkeypatch.setattr(store, "write", stuck)
    task = asyncio.create_task(counted.create(CONFIGMAPS, {"metadata": {"name": "a"}}))
    async with asyncio.timeout(PATIENCE):
        await reached.wait()
    assert await used(counted) == {"configmaps": "1"}
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    await until_used(counted, {"configmaps": "0"})


async def test_a_changed_limit_is_taken_over(counted: Worker) -> None:
    await counted.create(QUOTAS, quota(pods="1"))
    await counted.create(PODS, pod("a"))
    await counted.change(
        QUOTAS, "q", lambda q: q["spec"].update(hard={"pods": "2", "count/configmaps": "9"})
    )
    await until_used(counted, {"pods": "1", "count/configmaps": "0"})
    await counted.create(PODS, pod("b"))
    with pytest.raises(Forbidden):
        await counted.create(PODS, pod("c"))


async def test_the_sweep_counts_what_a_dead_process_left(worker: Worker, quick: None) -> None:
    await worker.create(QUOTAS, quota(pods="1"))
    await worker.create(PODS, pod("a"))
    successor = controlled(worker)
    await successor.sweep()
    await until_used(worker, {"pods": "1"})
    await successor.stop()


@pytest.mark.parametrize(
    ("scopes", "amount"), [(["BestEffort"], "1"), (["NotBestEffort"], "2"), (["Terminating"], "1")]
)
async def test_scopes_are_honoured(counted: Worker, scopes: list[str], amount: str) -> None:
    await counted.create(
        PODS, {**pod("none"), "spec": {"containers": [{"name": "c", "image": "i"}]}}
    )
    await counted.create(PODS, pod("a"))
    await counted.create(PODS, pod("b", activeDeadlineSeconds=9))
    scoped = quota(pods="9")
    scoped["spec"]["scopes"] = scopes
    await counted.create(QUOTAS, scoped)
    await until_used(counted, {"pods": amount})


async def test_services_and_claims_are_counted_by_what_they_ask_for(counted: Worker) -> None:
    ports = [{"port": 80, "nodePort": 30080}, {"name": "b", "port": 81, "nodePort": 30081}]
    ports[0]["name"] = "a"
    await counted.create(
        SERVICES, {"metadata": {"name": "s"}, "spec": {"type": "LoadBalancer", "ports": ports}}
    )
    claim = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "2Gi"}}}
    for name in ("gold", "silver"):
        await counted.create(
            CLAIMS, {"metadata": {"name": name}, "spec": {**claim, "storageClassName": name}}
        )
    hard = {
        "services": "9",
        "services.nodeports": "9",
        "services.loadbalancers": "9",
        "requests.storage": "9Gi",
        "gold.storageclass.storage.k8s.io/requests.storage": "9Gi",
        "gold.storageclass.storage.k8s.io/persistentvolumeclaims": "9",
    }
    await counted.create(QUOTAS, quota(**hard))
    counts = ["1", "2", "1", "4Gi", "2Gi", "1"]
    await until_used(counted, dict(zip(hard, counts, strict=True)))


async def test_nothing_is_counted_before_requests_on_their_way_are_done(
    worker: Worker, store: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However often something happens meanwhile."""
    clock = SimpleNamespace(now=100.0)
    monkeypatch.setattr(quotas, "time", SimpleNamespace(monotonic=lambda: clock.now))
    keeper = QuotaStatus(ledger(worker), Relations(store.database))
    await worker.create(QUOTAS, quota(pods="2"))
    assert await keeper.look(worker.tenant, "ns") == quotas.WINDOW
    clock.now += 0.75
    assert await keeper.look(worker.tenant, "ns") == 0.25
    clock.now += 0.25
    assert await keeper.look(worker.tenant, "ns") is None


async def test_a_charge_for_an_object_on_its_way_is_left_alone(worker: Worker) -> None:
    """Charged after the sample, and not stored yet when the objects are counted."""
    await worker.create(QUOTAS, quota(pods="9"))
    book = ledger(worker)
    (fresh,) = await book.of(worker.tenant.id, "ns")
    await book.settle(worker.tenant.id, fresh)
    (before,) = await book.of(worker.tenant.id, "ns")
    await book.charge(worker.tenant.id, before, {"pods": "1"})
    assert not await book.recalculate(worker.tenant.id, "ns", "q", sample(before))
    assert await used(worker) == {"pods": "1"}
    (later,) = await book.of(worker.tenant.id, "ns")
    assert await book.recalculate(worker.tenant.id, "ns", "q", sample(later))
    assert await used(worker) == {"pods": "0"}


async def test_sixteen_writers_in_two_workers_never_exceed_it(
    worker: Worker, other: Worker
) -> None:
    """While objects come and go, the log never holds more of them than the limit, and in the end
    the status says exactly what is there."""
    limit = 10
    first = await worker.create(QUOTAS, quota(configmaps=str(limit), pods="100"))
    running = [controlled(worker), controlled(other)]
    refusals = 0

    async def writer(number: int) -> None:
        nonlocal refusals
        at = (worker, other)[number % 2]
        for i in range(15):
            name = f"w{number}-{i}"
            try:
                await at.create(CONFIGMAPS, {"metadata": {"name": name}})
            except Forbidden:
                refusals += 1
                await asyncio.sleep(0.05)
                continue
            if i % 3:
                await at.delete(CONFIGMAPS, name)

    await asyncio.gather(*map(writer, range(16)))
    heights = await stored(worker, int(first["metadata"]["resourceVersion"]))
    assert refusals and max(heights) == limit
    await until_used(worker, {"configmaps": str(heights[-1]), "pods": "0"})
    for controllers in running:
        await controllers.stop()


async def stored(worker: Worker, after: int) -> list[int]:
    """How many ConfigMaps there were after each event of the log."""
    steps, heights = {"ADDED": 1, "MODIFIED": 0, "DELETED": -1}, [0]
    page = await worker.registry.store.events(
        worker.tenant.id, after, resource=GroupResource(*CONFIGMAPS), limit=100_000
    )
    for event in page.events:
        heights.append(heights[-1] + steps[event.type])
    return heights
