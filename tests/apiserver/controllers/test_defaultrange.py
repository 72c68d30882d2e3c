"""ServiceCIDR kubernetes comes back."""

from __future__ import annotations

import pytest

from apiserver.controllers import defaultrange
from apiserver.controllers.actions import Actions
from apiserver.controllers.defaultrange import DefaultRange
from apiserver.controllers.manager import Controllers
from apiserver.kinds.common.metaconditions import condition
from apiserver.meta.objects import Object
from apiserver.meta.times import now
from apiserver.registry.scope import Tenant
from apiserver.registry.seeding import seed
from apiserver.registry.services import RANGES
from apiserver.storage.interface import ObjectKey
from apiserver.storage.postgres import PostgresStore
from apiserver.storage.relations import Relations
from tests.support.definitionworker import Worker


def said_of(obj: Object | None) -> list[tuple[str, str]]:
    """Types and states of its conditions."""
    assert obj is not None
    return [(c["type"], c["status"]) for c in obj["status"].get("conditions") or ()]


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
        obj = await worker.get(RANGES, "kubernetes")
        return obj is not None and said_of(obj) == [("Ready", "True")]

    await worker.until_true(back)
    await some.stop()
    obj = await worker.get(RANGES, "kubernetes")
    assert obj is not None and obj["spec"] == before["spec"]
    writers = [entry["manager"] for entry in obj["metadata"]["managedFields"]]
    assert writers == ["kubernetes-service-cidr-controller", "kube-apiserver"]


async def test_the_sweep_finds_what_a_dead_process_left(
    worker: Worker, store: PostgresStore
) -> None:
    keeper = DefaultRange(Actions(worker.registry), Relations(store.database))
    assert not await keeper.missed(worker.tenant.id)
    await seed(worker.registry, worker.tenant)
    assert await keeper.missed(worker.tenant.id) == ["kubernetes"]  # nobody says that it is ready
    await keeper.look(worker.tenant, "kubernetes")
    assert not await keeper.missed(worker.tenant.id)
    await worker.delete(RANGES, "kubernetes")
    (name,) = await keeper.missed(worker.tenant.id)
    await keeper.look(worker.tenant, name)
    assert said_of(await worker.get(RANGES, "kubernetes")) == [("Ready", "True")]


async def test_what_somebody_says_of_it_stays(worker: Worker, store: PostgresStore) -> None:
    actions = Actions(worker.registry)
    keeper = DefaultRange(actions, Relations(store.database))
    await seed(worker.registry, worker.tenant)
    key = ObjectKey(*RANGES, "", "kubernetes")
    said = {"conditions": [condition("Ready", "False", "Broken", "", now())]}
    await actions.apply_status(worker.tenant, key, said, "somebody")
    assert not await keeper.missed(worker.tenant.id)
    await keeper.look(worker.tenant, "kubernetes")
    assert said_of(await worker.get(RANGES, "kubernetes")) == [("Ready", "False")]
