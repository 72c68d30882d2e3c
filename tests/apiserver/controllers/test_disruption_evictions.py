"""Evictions over HTTP under budgets that the keepers see to."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Any

import pytest
import pytest_asyncio

from apiserver.controllers import disruption
from apiserver.controllers.actions import Actions
from apiserver.controllers.disruption import DisruptionBudgets
from apiserver.controllers.staledisruptions import StaleDisruptions
from apiserver.controllers.upkeep import Upkeep
from apiserver.registry.scope import Tenant
from apiserver.storage.postgres import PostgresStore
from apiserver.storage.relations import Relations
from tests.support.api import Api, serving
from tests.support.waiting import until_true

NS = "/api/v1/namespaces/ns"
SETS = "/apis/apps/v1/namespaces/ns/replicasets"
BUDGETS = "/apis/policy/v1/namespaces/ns/poddisruptionbudgets"
LABELS = {"app": "x"}


@pytest_asyncio.fixture
async def api(
    store: PostgresStore, tenant: int, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Api]:
    monkeypatch.setattr(disruption, "SETTLE", 0.02)
    async with serving(store, tenant) as made:
        actions = Actions(made.registry)

        async def tenant_of(number: int) -> Tenant | None:
            return made.tenant

        async def nothing_off(number: int) -> Sequence[str]:
            return ()

        keepers = DisruptionBudgets(actions, Relations(store.database)), StaleDisruptions(actions)
        upkeep = Upkeep(keepers, tenant_of, nothing_off)
        store.observe(upkeep.committed)
        yield made
        await upkeep.stop()


async def ready_pods(api: Api, *names: str) -> None:
    """Of a ReplicaSet of as many."""
    container = {"containers": [{"name": "c", "image": "i"}]}
    template = {"metadata": {"labels": LABELS}, "spec": container}
    spec = {"replicas": len(names), "selector": {"matchLabels": LABELS}, "template": template}
    kind = {"apiVersion": "apps/v1", "kind": "ReplicaSet"}
    owner = await api.ok("POST", SETS, {**kind, "metadata": {"name": "r"}, "spec": spec})
    reference = {**kind, "controller": True, "name": "r", "uid": owner["metadata"]["uid"]}
    for name in names:
        metadata = {"name": name, "labels": LABELS, "ownerReferences": [reference]}
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": container}
        made = await api.ok("POST", f"{NS}/pods", pod)
        condition = {"type": "Ready", "status": "True", "lastTransitionTime": None}
        made["status"] = {"phase": "Running", "conditions": [condition]}
        await api.ok("PUT", f"{NS}/pods/{name}/status", made)


async def evict(api: Api, name: str) -> tuple[int, Any]:
    body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name}}
    return await api("POST", f"{NS}/pods/{name}/eviction", body)


@pytest.mark.parametrize("spec", [{"minAvailable": 1}, {"maxUnavailable": 2}], ids=str)
async def test_two_of_three_pods_are_evicted_under_a_new_budget(
    api: Api, spec: dict[str, int]
) -> None:
    await ready_pods(api, "p", "q", "s")
    kind = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "b"}}
    selects = {"selector": {"matchLabels": LABELS}}
    await api.ok("POST", BUDGETS, {**kind, "spec": {**selects, **spec}})

    async def allowed(number: int, healthy: int) -> None:
        async def reached() -> bool:
            status = (await api.ok("GET", f"{BUDGETS}/b")).get("status") or {}
            counted = status.get("disruptionsAllowed"), status.get("currentHealthy")
            return counted == (number, healthy) and "disruptedPods" not in status

        await until_true(reached)

    await allowed(2, 3)
    assert (await evict(api, "p"))[0] == 201
    assert (await evict(api, "q"))[0] == 201
    status, answer = await evict(api, "s")
    assert (status, answer["reason"]) == (429, "TooManyRequests")
    await allowed(0, 1)
    said = await api.ok("GET", f"{BUDGETS}/b")
    (condition,) = said["status"]["conditions"]
    assert (condition["status"], condition["reason"]) == ("False", "InsufficientPods")
    status, answer = await evict(api, "s")
    (cause,) = answer["details"]["causes"]
    assert status == 429
    assert cause["message"] == "The disruption budget b needs 1 healthy pods and has 1 currently"
