"""Budgets follow their pods, and the pods' controllers."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from types import SimpleNamespace
from typing import Any

import pytest
import pytest_asyncio

from apiserver.controllers import disruption, upkeep
from apiserver.controllers.actions import Actions
from apiserver.controllers.disruption import BUDGETS, PODS, DisruptionBudgets
from apiserver.errors import Forbidden
from apiserver.meta.objects import Object
from apiserver.registry.definitions import DEFINITIONS
from apiserver.registry.lookup import CacheLookup
from apiserver.registry.scope import Tenant
from apiserver.storage.interface import ObjectKey
from apiserver.storage.postgres import PostgresStore
from tests.apiserver.controllers.test_upkeep import controllers
from tests.support.budgets import (
    LABELS,
    budget,
    counts,
    failure,
    reference,
    run,
    status,
    status_of,
)
from tests.support.definitions import definition
from tests.support.definitionworker import Worker

SETS = ("apps", "replicasets")
DEPLOYMENTS = ("apps", "deployments")
REPLICATIONS = ("", "replicationcontrollers")
WIDGETS = ("example.com", "widgets")


@pytest_asyncio.fixture
async def kept(
    worker: Worker, store: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Worker]:
    monkeypatch.setattr(disruption, "SETTLE", 0.02)
    some = controllers(worker, store)
    yield worker
    await some.stop()


def template() -> Object:
    spec = {"containers": [{"name": "c", "image": "i"}]}
    return {"metadata": {"labels": LABELS}, "spec": spec}


def workload(name: str, replicas: int, *owners: Object) -> Object:
    spec = {"replicas": replicas, "selector": {"matchLabels": LABELS}, "template": template()}
    return {"metadata": {"name": name, "ownerReferences": list(owners)}, "spec": spec}


# --- following ------------------------------------------------------------------------------------
async def test_a_budget_follows_its_pods(kept: Worker) -> None:
    async def until(*wanted: int) -> None:
        async def reached() -> bool:
            return await counts(kept) == wanted

        await kept.until_true(reached)

    await kept.create(BUDGETS, budget(minAvailable=1))

    async def observed() -> bool:
        return (await status_of(kept)).get("observedGeneration") == 1

    await kept.until_true(observed)
    await run(kept, "p")
    await until(1, 1, 1, 0)
    await run(kept, "q")
    await until(2, 1, 2, 1)
    await status(kept, PODS, "q", {"phase": "Running", "conditions": []})
    await until(2, 1, 1, 0)
    await kept.delete(PODS, "q")
    await until(1, 1, 1, 0)

    def edit(obj: Object) -> None:
        obj["spec"]["minAvailable"] = 0

    await kept.change(BUDGETS, "b", edit)
    await until(1, 0, 1, 1)
    assert (await status_of(kept))["observedGeneration"] == 2


async def test_its_own_writes_lead_to_no_other_look(
    worker: Worker, store: PostgresStore, budgets: DisruptionBudgets
) -> None:
    heard: list[Any] = []

    def observe(_: int, events: Sequence[Any]) -> None:
        of_ours = [e for e in events if e.record.key.group_resource in budgets.resources]
        heard.extend(budgets.concerned(event) for event in of_ours)

    store.observe(observe)
    await worker.create(BUDGETS, budget(minAvailable=1))
    await budgets.settle(worker.tenant, "ns")
    await status(worker, BUDGETS, "b", {**await status_of(worker), "currentHealthy": 3})
    await worker.delete(BUDGETS, "b")
    look = ("ns", disruption.SETTLE)
    assert heard == [look, None, look, None]


async def test_where_no_budget_is_the_database_is_not_asked(
    worker: Worker, budgets: DisruptionBudgets, monkeypatch: pytest.MonkeyPatch
) -> None:
    await run(worker, "p")
    assert await budgets.look(worker.tenant, "ns") is None
    with monkeypatch.context() as patched:
        patched.setattr(Actions, "each", None)
        patched.setattr(PostgresStore, "list", None)
        assert await budgets.look(worker.tenant, "ns") is None
    await worker.create(BUDGETS, budget(minAvailable=0))
    await budgets.look(worker.tenant, "ns")
    assert await counts(worker) == (1, 0, 1, 1)


async def test_what_the_sweep_has_found_is_looked_at_whatever_a_cache_knows(
    worker: Worker, budgets: DisruptionBudgets, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The process that made the budget has died, and this one has not heard of it yet."""

    async def nothing(*_: Any) -> Sequence[Object]:
        return ()

    await worker.create(BUDGETS, budget(minAvailable=0))
    monkeypatch.setattr(CacheLookup, "list", nothing)
    await budgets.look(worker.tenant, "ns")
    assert "observedGeneration" not in await status_of(worker)
    assert await budgets.missed(worker.tenant.id) == ["ns"]
    await budgets.look(worker.tenant, "ns")
    assert (await status_of(worker))["observedGeneration"] == 1


async def test_a_scale_alone_leads_to_no_look(worker: Worker, store: PostgresStore) -> None:
    """Nor does it upstream, where pods and budgets are listened to."""
    some = controllers(worker, store)
    await worker.create(SETS, workload("r", 3))
    await worker.change(SETS, "r", lambda obj: obj["spec"].update(replicas=4))
    asked = {controller for _, controller, _ in some._upkeep._tasks}
    assert DisruptionBudgets.controller not in asked
    await worker.create(BUDGETS, budget(minAvailable=0))
    asked = {controller for _, controller, _ in some._upkeep._tasks}
    assert DisruptionBudgets.controller in asked
    await some.stop()


async def test_what_takes_long_to_count_is_left_alone_for_a_while(
    worker: Worker, budgets: DisruptionBudgets, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = SimpleNamespace(now=100.0, takes=2, looks=0)

    async def counting(*_: Any) -> None:
        clock.now, clock.looks = clock.now + clock.takes, clock.looks + 1

    async def known(*_: Any) -> bool:
        return True

    monkeypatch.setattr(upkeep, "time", SimpleNamespace(monotonic=lambda: clock.now))
    monkeypatch.setattr(DisruptionBudgets, "settle", counting)
    monkeypatch.setattr(DisruptionBudgets, "_known", known)
    assert await budgets.look(worker.tenant, "ns") is None
    assert await budgets.look(worker.tenant, "other") is None
    clock.now += 1
    assert await budgets.look(worker.tenant, "ns") == 5
    clock.now += 5
    assert (await budgets.look(worker.tenant, "ns"), clock.looks) == (None, 3)
    clock.takes = 0.2
    assert await budgets.look(worker.tenant, "small") is None
    assert await budgets.look(worker.tenant, "small") is None


async def test_nothing_is_written_that_is_there(
    worker: Worker, budgets: DisruptionBudgets, monkeypatch: pytest.MonkeyPatch
) -> None:
    await worker.create(BUDGETS, budget(minAvailable=0))
    await worker.create(BUDGETS, budget("fails", maxUnavailable=1))
    await run(worker, "p", {"apiVersion": "v1", "kind": "Node", "name": "n", "uid": "u"})
    await budgets.settle(worker.tenant, "ns")
    monkeypatch.setattr(Actions, "change", None)
    await budgets.settle(worker.tenant, "ns")


async def test_one_that_may_not_be_written_keeps_no_other(
    worker: Worker, budgets: DisruptionBudgets, monkeypatch: pytest.MonkeyPatch
) -> None:
    change = Actions.change

    async def refusing(actions: Actions, tenant: Tenant, key: ObjectKey, *rest: Any) -> None:
        if key.name == "b":
            raise Forbidden(BUDGETS, "b", "no")
        await change(actions, tenant, key, *rest)

    await worker.create(BUDGETS, budget(minAvailable=0))
    await worker.create(BUDGETS, budget("other", minAvailable=0))
    monkeypatch.setattr(Actions, "change", refusing)
    with pytest.raises(Forbidden):
        await budgets.settle(worker.tenant, "ns")
    assert "observedGeneration" not in await status_of(worker)
    assert (await status_of(worker, "other"))["observedGeneration"] == 1


# --- which pods -----------------------------------------------------------------------------------
async def test_each_budget_counts_the_pods_that_it_selects(
    worker: Worker, budgets: DisruptionBudgets
) -> None:
    await run(worker, "p")
    await run(worker, "other", labels={"app": "y"})
    await run(worker, "starts", ready=False)
    await run(worker, "ends", finalizers=["example.com/waits"])
    await worker.delete(PODS, "ends")
    await worker.create(BUDGETS, budget("some", minAvailable=1))
    await worker.create(BUDGETS, budget("all", {}, minAvailable=1))
    await worker.create(BUDGETS, budget("few", {"matchLabels": {"app": "z"}}, minAvailable=1))
    none = budget("none", minAvailable=1)
    del none["spec"]["selector"]
    await worker.create(BUDGETS, none)
    await budgets.settle(worker.tenant, "ns")
    assert await counts(worker, "some") == (3, 1, 1, 0)
    assert await counts(worker, "all") == (4, 1, 2, 1)
    assert await counts(worker, "few") == (0, 1, 0, 0)
    assert await counts(worker, "none") == (0, 1, 0, 0)


@pytest.mark.parametrize("spec", [{"maxUnavailable": 1}, {"minAvailable": "50%"}], ids=str)
async def test_pods_that_nobody_runs_do_not_count_where_scales_do(
    worker: Worker, budgets: DisruptionBudgets, spec: Object
) -> None:
    await run(worker, "p")
    await worker.create(BUDGETS, budget(**spec))
    await budgets.settle(worker.tenant, "ns")
    assert await counts(worker) == (0, 0, 1, 0)


# --- scales ---------------------------------------------------------------------------------------
async def test_scales_of_all_controllers_are_added_up(
    worker: Worker, budgets: DisruptionBudgets
) -> None:
    deployment = await worker.create(DEPLOYMENTS, workload("d", 4))
    of_deployment = [
        await worker.create(SETS, workload(f"d-{i}", 7, reference(deployment, "Deployment")))
        for i in (1, 2)
    ]
    alone = await worker.create(SETS, workload("alone", 2))
    template_of = {"replicas": 3, "selector": LABELS, "template": template()}
    replication = await worker.create(
        REPLICATIONS, {"metadata": {"name": "r"}, "spec": template_of}
    )
    stateful = workload("s", 5)
    stateful["spec"]["serviceName"] = "s"
    stateful_set = await worker.create(("apps", "statefulsets"), stateful)
    zero = await worker.create(SETS, workload("zero", 0))
    for name, owner in (
        ("d1", reference(of_deployment[0], "ReplicaSet")),
        ("d1-more", reference(of_deployment[0], "ReplicaSet")),
        ("d2", reference(of_deployment[1], "ReplicaSet")),
        ("a", reference(alone, "ReplicaSet")),
        ("r", reference(replication, "ReplicationController", "v1")),
        ("s", reference(stateful_set, "StatefulSet")),
        ("z", reference(zero, "ReplicaSet")),
    ):
        await run(worker, name, owner)
    await worker.create(BUDGETS, budget(maxUnavailable="50%"))
    await worker.create(BUDGETS, budget("counted", minAvailable=1))
    await budgets.settle(worker.tenant, "ns")
    assert await counts(worker) == (14, 7, 7, 0)
    assert await counts(worker, "counted") == (7, 1, 7, 6)


async def test_a_controller_is_asked_once(
    worker: Worker, budgets: DisruptionBudgets, monkeypatch: pytest.MonkeyPatch
) -> None:
    get, asked = Actions.get, list[str]()

    async def counting(
        actions: Actions, tenant: Tenant, key: ObjectKey, version: str = ""
    ) -> Object | None:
        asked.append(key.name)
        return await get(actions, tenant, key, version)

    one, two = [await worker.create(SETS, workload(name, 2)) for name in ("one", "two")]
    for name, owner in (("p", one), ("q", one), ("r", two)):
        await run(worker, name, reference(owner, "ReplicaSet"))
    for name in ("b", "c"):
        await worker.create(BUDGETS, budget(name, maxUnavailable=1))
    monkeypatch.setattr(Actions, "get", counting)
    await budgets.settle(worker.tenant, "ns")
    assert asked == ["one", "two"]
    assert await counts(worker, "c") == (4, 3, 3, 0)


async def test_a_replica_set_whose_deployment_is_gone_counts_itself(
    worker: Worker, budgets: DisruptionBudgets
) -> None:
    gone = {"metadata": {"name": "d", "uid": "gone"}}
    owner = await worker.create(SETS, workload("r", 3, reference(gone, "Deployment")))
    await run(worker, "p", reference(owner, "ReplicaSet"))
    await worker.create(BUDGETS, budget(maxUnavailable=3))
    await budgets.settle(worker.tenant, "ns")
    assert await counts(worker) == (3, 0, 1, 1)


async def test_custom_controllers_have_a_scale(worker: Worker, budgets: DisruptionBudgets) -> None:
    scale = {"specReplicasPath": ".spec.size", "statusReplicasPath": ".status.size"}
    made = definition(kind="Widget", subresources={"scale": scale})
    await worker.create(DEFINITIONS, made)
    await worker.until(lambda: worker.serves(WIDGETS))
    kind = {"apiVersion": "example.com/v1", "kind": "Widget"}
    for name, size in (("w", 3), ("most", 2**31 - 1), ("again", 2**31 - 1)):
        await worker.create(WIDGETS, {**kind, "metadata": {"name": name}, "spec": {"size": size}})
    await worker.create(WIDGETS, {**kind, "metadata": {"name": "sizeless"}})

    async def runs(name: str) -> None:
        owner = await worker.get(WIDGETS, name)
        assert owner is not None
        await run(worker, f"{name}-pod", reference(owner, "Widget", "example.com/v1"))
        await budgets.settle(worker.tenant, "ns")

    await worker.create(BUDGETS, budget(maxUnavailable=3))
    await runs("w")
    assert await counts(worker) == (3, 0, 1, 1)
    await worker.delete(PODS, "w-pod")
    await runs("most")
    await runs("again")
    assert await counts(worker) == (2**31 - 1, 2**31 - 4, 2, 0)
    await worker.delete(PODS, "most-pod")
    await runs("sizeless")
    assert 'the spec replicas field ".spec.size" does not exist' in await failure(worker)


@pytest.mark.parametrize(
    ("owner", "why"),
    [
        (("apps/v1", "DaemonSet"), "daemonsets.apps does not implement the scale subresource"),
        (("v1", "Node"), "nodes does not implement the scale subresource"),
        (("apps/v1", "ReplicaSet"), 'found no controllers for pod "p"'),
        (("apps/v1", "StatefulSet"), 'found no controllers for pod "p"'),
        (("e.com/v1", "Odd"), 'no matches for kind "Odd" in version "e.com/v1"'),
        (("apps/v9", "StatefulSet"), 'no matches for kind "StatefulSet" in version "apps/v9"'),
    ],
    ids=str,
)
async def test_what_cannot_be_counted_allows_nothing(
    worker: Worker, budgets: DisruptionBudgets, owner: tuple[str, str], why: str
) -> None:
    about = {"metadata": {"name": "owner", "uid": "u"}}
    await run(worker, "free", labels={"app": "y"})
    await run(worker, "p", reference(about, owner[1], owner[0]))
    await worker.create(BUDGETS, budget(maxUnavailable=1))
    await worker.create(BUDGETS, budget("later", {"matchLabels": {"app": "y"}}, minAvailable=0))
    await budgets.settle(worker.tenant, "ns")
    assert await failure(worker) == why
    assert "observedGeneration" not in await status_of(worker)
    assert await counts(worker, "later") == (1, 0, 1, 1)


async def test_another_object_of_the_name_is_not_the_controller(
    worker: Worker, budgets: DisruptionBudgets
) -> None:
    await worker.create(SETS, workload("owner", 3))
    other = {"metadata": {"name": "owner", "uid": "other"}}
    await run(worker, "p", reference(other, "ReplicaSet"))
    await worker.create(BUDGETS, budget(maxUnavailable=1))
    await budgets.settle(worker.tenant, "ns")
    assert await failure(worker) == 'found no controllers for pod "p"'
