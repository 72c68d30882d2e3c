"""Budgets, their pods, and what the budgets say of them."""

from __future__ import annotations

from typing import Any

import pytest

from apiserver.controllers.actions import Actions
from apiserver.controllers.disruption import BUDGETS, PODS, DisruptionBudgets
from apiserver.controllers.staledisruptions import StaleDisruptions
from apiserver.meta.objects import Object
from apiserver.meta.times import format_time, now
from apiserver.storage.postgres import PostgresStore
from apiserver.storage.relations import Relations
from tests.support.definitionworker import Worker

LABELS = {"app": "x"}


@pytest.fixture
def budgets(worker: Worker, store: PostgresStore) -> DisruptionBudgets:
    return DisruptionBudgets(Actions(worker.registry), Relations(store.database))


@pytest.fixture
def stale(worker: Worker) -> StaleDisruptions:
    return StaleDisruptions(Actions(worker.registry))


def budget(name: str = "b", selector: Object | None = None, **spec: Any) -> Object:
    selects = {"matchLabels": LABELS} if selector is None else selector
    return {"metadata": {"name": name}, "spec": {"selector": selects, **spec}}


def reference(owner: Object, kind: str, api_version: str = "apps/v1") -> Object:
    identity = {member: owner["metadata"][member] for member in ("name", "uid")}
    return {"apiVersion": api_version, "kind": kind, "controller": True, **identity}


async def run(
    worker: Worker, name: str, *owners: Object, ready: bool = True, **metadata: Any
) -> None:
    """A pod that is ready, or not."""
    spec = {"containers": [{"name": "c", "image": "i"}], "terminationGracePeriodSeconds": 0}
    about = {"name": name, "labels": LABELS, "ownerReferences": list(owners), **metadata}
    await worker.create(PODS, {"metadata": about, "spec": spec})
    if ready:
        await condition(worker, name, "Ready")


async def condition(worker: Worker, pod: str, kind: str, **more: Any) -> None:
    said = {"type": kind, "status": "True", "lastTransitionTime": format_time(now()), **more}
    await status(worker, PODS, pod, {"phase": "Running", "conditions": [said]})


async def status(worker: Worker, resource: tuple[str, str], name: str, said: Object) -> None:
    def edit(obj: Object) -> bool:
        obj["status"] = said
        return True

    key = worker.scope(resource, name).key()
    await Actions(worker.registry).change(worker.tenant, key, edit, "status")


async def status_of(worker: Worker, name: str = "b") -> Object:
    obj = await worker.get(BUDGETS, name)
    assert obj is not None
    return dict(obj.get("status") or {})


async def counts(worker: Worker, name: str = "b") -> tuple[int, int, int, int]:
    """(expected, desired, healthy, allowed)"""
    said = await status_of(worker, name)
    members = ("expectedPods", "desiredHealthy", "currentHealthy", "disruptionsAllowed")
    expected, desired, healthy, allowed = (said[member] for member in members)
    return expected, desired, healthy, allowed


async def failure(worker: Worker) -> str:
    """Why a budget's pods could not be counted."""
    said = await status_of(worker)
    (condition,) = said["conditions"]
    assert (condition["status"], condition["reason"]) == ("False", "SyncFailed")
    assert said["disruptionsAllowed"] == 0
    return str(condition["message"])
