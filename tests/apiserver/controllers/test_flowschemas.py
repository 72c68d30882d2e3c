"""FlowSchemas say whether the priority level that they name is there."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from apiserver.controllers import flowschemas
from apiserver.controllers.actions import Actions
from apiserver.controllers.flowschemas import DanglingSchemas
from apiserver.controllers.manager import Controllers
from apiserver.meta.objects import Object
from apiserver.registry.scope import Tenant
from apiserver.storage.postgres import PostgresStore
from apiserver.storage.relations import Relations
from tests.support.definitionworker import Worker

SCHEMAS, LEVELS = tuple(flowschemas.SCHEMAS), tuple(flowschemas.LEVELS)
MANAGER = "api-priority-and-fairness-config-consumer-v1"


def controllers(worker: Worker, store: PostgresStore) -> Controllers:
    async def tenant_of(number: int) -> Tenant | None:
        return worker.tenant

    return Controllers(worker.registry, store.database, tenant_of, "test", worker.controller)


@pytest_asyncio.fixture
async def kept(
    worker: Worker, store: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Worker]:
    monkeypatch.setattr(flowschemas, "SETTLE", 0.02)
    some = controllers(worker, store)
    yield worker
    await some.stop()


async def schema(worker: Worker, level: str = "l") -> None:
    spec = {"priorityLevelConfiguration": {"name": level}}
    await worker.create(SCHEMAS, {"metadata": {"name": "s"}, "spec": spec})


async def level(worker: Worker, name: str = "l") -> None:
    limited = {"limitResponse": {"type": "Reject"}}
    spec = {"type": "Limited", "limited": limited}
    await worker.create(LEVELS, {"metadata": {"name": name}, "spec": spec})


async def until(worker: Worker, status: str) -> Object:
    async def says() -> bool:
        return await dangling(worker) == status

    await worker.until_true(says)
    obj = await worker.get(SCHEMAS, "s")
    assert obj is not None
    return obj


async def dangling(worker: Worker) -> str | None:
    obj = await worker.get(SCHEMAS, "s")
    assert obj is not None
    conditions = (obj.get("status") or {}).get("conditions") or ()
    return next((c["status"] for c in conditions if c["type"] == "Dangling"), None)


async def test_a_level_comes_and_goes(kept: Worker) -> None:
    await schema(kept)
    obj = await until(kept, "True")
    (condition,) = obj["status"]["conditions"]
    assert condition["reason"] == "NotFound"
    assert condition["message"] == (
        'This FlowSchema references the PriorityLevelConfiguration object named "l" '
        "but there is no such object"
    )
    await level(kept)
    obj = await until(kept, "False")
    (condition,) = obj["status"]["conditions"]
    assert condition["reason"] == "Found" and condition["message"].endswith('"l" and it exists')
    entry = next(e for e in obj["metadata"]["managedFields"] if e["manager"] == MANAGER)
    assert (entry["operation"], entry["subresource"]) == ("Apply", "status")
    await kept.delete(LEVELS, "l")
    await until(kept, "True")


async def test_it_follows_the_spec(kept: Worker) -> None:
    await level(kept)
    await schema(kept)
    await until(kept, "False")

    def other(obj: Object) -> None:
        obj["spec"]["priorityLevelConfiguration"]["name"] = "other"

    await kept.change(SCHEMAS, "s", other)
    await until(kept, "True")


async def test_the_sweep_finds_what_a_dead_process_left(
    worker: Worker, store: PostgresStore
) -> None:
    await level(worker)
    await level(worker, "other")
    await schema(worker)
    keeper = DanglingSchemas(Actions(worker.registry), Relations(store.database))
    (name,) = await keeper.missed(worker.tenant.id)
    await keeper.look(worker.tenant, name)
    assert await dangling(worker) == "False"
    assert not await keeper.missed(worker.tenant.id)
    await worker.delete(LEVELS, "l")
    assert await keeper.missed(worker.tenant.id) == ["s"]


async def test_what_is_right_is_not_written(worker: Worker, store: PostgresStore) -> None:
    await schema(worker)
    keeper = DanglingSchemas(Actions(worker.registry), Relations(store.database))
    await keeper.look(worker.tenant, "s")
    before = await store.head(worker.tenant.id)
    await keeper.look(worker.tenant, "s")
    await keeper.look(worker.tenant, "level/l")
    assert await store.head(worker.tenant.id) == before
