"""ServiceCIDR kubernetes comes back."""

from __future__ import annotations

import pytest

from apiserver.controllers import defaultrange
from apiserver.controllers.actions import Actions
from apiserver.controllers.defaultrange import DefaultRange
from apiserver.controllers.manager import Controllers
from apiserver.registry.scope import Tenant
from apiserver.registry.seeding import seed
from apiserver.registry.services import RANGES
from apiserver.storage.postgres import PostgresStore
from apiserver.storage.relations import Relations
from tests.support.definitionworker import Worker


async def test_it_comes_back(
    worker: Worker, store: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def tenant_of(number: int) -> Tenant | None:
        return worker.tenant

    monkeypatch.setattr(defaultrange, "RESTORE", 0.02)
    await seed(worker.registry, worker.tenant)
    some = Controllers(worker.registry, store.database, tenant_of, "test", worker.controller)
    before = await worker.delete(RANGES, "kubernetes")

    async def back() -> bool:
        return await worker.get(RANGES, "kubernetes") is not None

    await worker.until_true(back)
    await some.stop()
    obj = await worker.get(RANGES, "kubernetes")
    assert obj is not None and obj["spec"] == before["spec"]
    assert [c["type"] for c in obj["status"]["conditions"]] == ["Ready"]


async def test_the_sweep_finds_what_a_dead_process_left(
    worker: Worker, store: PostgresStore
) -> None:
    keeper = DefaultRange(Actions(worker.registry), Relations(store.database))
    assert not await keeper.missed(worker.tenant.id)
    await seed(worker.registry, worker.tenant)
    assert not await keeper.missed(worker.tenant.id)
    await worker.delete(RANGES, "kubernetes")
    (name,) = await keeper.missed(worker.tenant.id)
    await keeper.look(worker.tenant, name)
    assert await worker.get(RANGES, "kubernetes") is not None
