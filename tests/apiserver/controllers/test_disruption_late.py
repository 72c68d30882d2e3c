"""Evictions that are paid for, pods that stay, and what a dead process left."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import pytest

from apiserver.controllers import disruption
from apiserver.controllers.actions import Actions
from apiserver.controllers.disruption import BUDGETS, PODS, DisruptionBudgets
from apiserver.controllers.staledisruptions import StaleDisruptions
from apiserver.meta.objects import Object
from apiserver.meta.times import format_time, now
from apiserver.registry.scope import Tenant
from apiserver.storage.postgres import PostgresStore
from tests.apiserver.controllers.test_upkeep import controllers
from tests.support.budgets import (
    budget,
    condition,
    counts,
    run,
    status,
    status_of,
)
from tests.support.definitionworker import Worker


# --- evictions ------------------------------------------------------------------------------------
async def test_an_eviction_that_is_paid_for_meanwhile_stays_paid_for(
    worker: Worker, budgets: DisruptionBudgets, monkeypatch: pytest.MonkeyPatch
) -> None:
    await run(worker, "p")
    await run(worker, "q")
    await worker.create(BUDGETS, budget(minAvailable=1))
    await worker.create(BUDGETS, budget("calm", minAvailable=1))
    noted = {"p": format_time(now())}
    judge, looks = DisruptionBudgets._one, []

    async def one(keeper: DisruptionBudgets, tenant: Tenant, record: Any, *rest: Any) -> Any:
        if record.key.name == "b" and not looks:
            looks.append(1)
            await status(worker, BUDGETS, "b", {"disruptedPods": noted, "disruptionsAllowed": 0})
        return await judge(keeper, tenant, record, *rest)

    monkeypatch.setattr(DisruptionBudgets, "_one", one)
    monkeypatch.setattr(disruption, "failed", None)  # it has not
    assert await budgets.look(worker.tenant, "ns") == disruption.AGAIN
    assert (await status_of(worker))["disruptedPods"] == noted
    assert await counts(worker, "calm") == (2, 1, 2, 1)
    wait = await budgets.look(worker.tenant, "ns")
    assert wait is not None and 115 < wait < 121
    assert await counts(worker) == (2, 1, 1, 0)


async def test_a_pod_that_was_not_deleted_counts_again(
    worker: Worker, budgets: DisruptionBudgets
) -> None:
    await run(worker, "p")
    await worker.create(BUDGETS, budget(minAvailable=0))
    await status(worker, BUDGETS, "b", {"disruptedPods": {"p": format_time(now())}})
    left = await budgets.look(worker.tenant, "ns")
    assert left is not None and 115 < left < 121
    assert await counts(worker) == (1, 0, 0, 0)
    noted = format_time(now() - timedelta(seconds=121))
    await status(worker, BUDGETS, "b", {"disruptedPods": {"p": noted}})
    assert await budgets.look(worker.tenant, "ns") is None
    assert await counts(worker) == (1, 0, 1, 1)
    assert "disruptedPods" not in await status_of(worker)


async def test_a_pod_that_stays_says_no_more_that_it_goes(
    worker: Worker, stale: StaleDisruptions
) -> None:
    await run(worker, "p")
    await condition(worker, "p", "DisruptionTarget", reason="EvictionByEvictionAPI")
    left = await stale.look(worker.tenant, "ns/p")
    assert left is not None and 115 < left <= 120
    since = format_time(now() - timedelta(seconds=121))
    target = {"reason": "EvictionByEvictionAPI", "message": "m", "lastTransitionTime": since}
    await condition(worker, "p", "DisruptionTarget", **target)
    assert await stale.look(worker.tenant, "ns/p") is None
    pod = await worker.get(PODS, "p")
    assert pod is not None
    (said,) = pod["status"]["conditions"]
    assert said.pop("lastTransitionTime") > since
    assert said == {
        "type": "DisruptionTarget",
        "status": "False",
        "lastProbeTime": None,
        "observedGeneration": pod["metadata"]["generation"],
    }
    assert await stale.look(worker.tenant, "ns/absent") is None


async def test_the_controllers_hear_of_what_is_late(worker: Worker, store: PostgresStore) -> None:
    async def stays() -> bool:
        pod = await worker.get(PODS, "p")
        assert pod is not None
        return bool(pod["status"]["conditions"][0]["status"] == "False")

    some = controllers(worker, store)
    await run(worker, "p")
    since = format_time(now() - timedelta(seconds=121))
    await condition(worker, "p", "DisruptionTarget", lastTransitionTime=since)
    await worker.until_true(stays)
    await some.stop()


async def test_a_pod_that_goes_again_meanwhile_says_so(
    worker: Worker, stale: StaleDisruptions, monkeypatch: pytest.MonkeyPatch
) -> None:
    await run(worker, "p")
    since = format_time(now() - timedelta(seconds=121))
    await condition(worker, "p", "DisruptionTarget", lastTransitionTime=since)
    seen = await worker.get(PODS, "p")
    await condition(worker, "p", "DisruptionTarget")

    async def before(*_: Any) -> Object | None:
        return seen

    monkeypatch.setattr(Actions, "get", before)
    await stale.look(worker.tenant, "ns/p")
    pod = await worker.get(PODS, "p")
    assert pod is not None
    assert pod["status"]["conditions"][0]["status"] == "True"


# --- what was missed ------------------------------------------------------------------------------
async def test_the_sweep_names_what_a_dead_process_left(
    worker: Worker, budgets: DisruptionBudgets, stale: StaleDisruptions
) -> None:
    tenant = worker.tenant.id
    await run(worker, "p")
    assert await budgets.missed(tenant) == []
    await worker.create(BUDGETS, budget(minAvailable=0))
    assert await budgets.missed(tenant) == ["ns"]
    assert await budgets.missed(tenant) == []
    await condition(worker, "p", "DisruptionTarget")
    assert await budgets.missed(tenant) == ["ns"]
    assert await stale.missed(tenant) == ["ns/p"]
    assert await stale.missed(tenant) == []


async def test_what_becomes_stale_is_looked_at_when_it_is(
    worker: Worker, store: PostgresStore, stale: StaleDisruptions
) -> None:
    heard: list[Any] = []

    def observe(_: int, events: Sequence[Any]) -> None:
        heard.extend(stale.concerned(event) for event in events)

    await run(worker, "p")
    store.observe(observe)
    since = format_time(now() - timedelta(seconds=60))
    await condition(worker, "p", "DisruptionTarget", lastTransitionTime=since)
    await condition(worker, "p", "Ready")
    marked, other = heard
    assert other is None
    assert marked[0] == "ns/p" and 55 < marked[1] <= 60
