"""What is told of budgets and their pods."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any

import pytest

from apiserver.controllers.disruption import BUDGETS, DisruptionBudgets
from apiserver.meta.objects import Object
from apiserver.meta.times import format_time, now
from apiserver.storage.errors import Unavailable
from tests.support.budgets import budget, reference, run, status, status_of
from tests.support.definitionworker import Worker
from tests.support.events import events, reasons
from tests.support.waiting import PATIENCE

ODD = {"metadata": {"name": "o", "uid": "u"}}
UNMANAGED = (
    "Pods selected by this PodDisruptionBudget (selector: "
    "&LabelSelector{MatchLabels:map[string]string{app: x,},"
    "MatchExpressions:[]LabelSelectorRequirement{},}) were found to be unmanaged. As a result, "
    "the status of the PDB cannot be calculated correctly, which may result in undefined "
    'behavior. To account for these pods please set ".spec.minAvailable" field of the PDB to an '
    "integer value."
)
NO_KIND = (
    "Failed to calculate the number of expected pods: "
    'no matches for kind "Odd" in version "e.com/v1"'
)


@pytest.mark.parametrize(
    ("spec", "owners", "said"),
    [
        ({"maxUnavailable": 1}, None, ("Normal", "NoPods", "No matching pods found")),
        ({"minAvailable": 1}, None, ("Normal", "NoPods", "No matching pods found")),
        (
            {"maxUnavailable": 1},
            [reference(ODD, "Odd", "e.com/v1")],
            ("Warning", "CalculateExpectedPodCountFailed", NO_KIND),
        ),
        ({"minAvailable": 1}, [reference(ODD, "Odd", "e.com/v1")], None),
        ({"maxUnavailable": 1}, [], ("Warning", "UnmanagedPods", UNMANAGED)),
        ({"minAvailable": "50%"}, [], ("Warning", "UnmanagedPods", UNMANAGED)),
        ({"minAvailable": 1}, [], None),
    ],
    ids=str,
)
async def test_what_a_budget_is_told_to_lack(
    worker: Worker,
    budgets: DisruptionBudgets,
    spec: Object,
    owners: list[Object] | None,
    said: tuple[str, str, str] | None,
) -> None:
    """Once, however often it is looked at."""
    made = await worker.create(BUDGETS, budget(**spec))
    if owners is not None:
        await run(worker, "p", *owners)
    for _ in range(3):
        await budgets.look(worker.tenant, "ns")
    await budgets._actions.beside.done()
    expected = [] if said is None else [("PodDisruptionBudget/b", *said)]
    assert await reasons(worker) == expected
    for event in await events(worker):
        assert event["count"] == 1
        assert event["source"] == {"component": "controllermanager"}
        assert event["involvedObject"] == {
            "apiVersion": "policy/v1",
            "kind": "PodDisruptionBudget",
            "namespace": "ns",
            **{member: made["metadata"][member] for member in ("name", "uid", "resourceVersion")},
        }


async def test_a_pod_that_an_eviction_did_not_delete_is_told_of(
    worker: Worker, budgets: DisruptionBudgets
) -> None:
    await worker.create(BUDGETS, budget(minAvailable=0))
    for name in ("late", "goes", "free"):
        await run(worker, name)
    noted = {name: format_time(now() - timedelta(seconds=age)) for name, age in NOTED.items()}
    await status(worker, BUDGETS, "b", {"disruptedPods": noted})
    await budgets.look(worker.tenant, "ns")
    await budgets._actions.beside.done()
    text = "Pod was expected by PDB ns/b to be deleted but it wasn't"
    assert await reasons(worker) == [("Pod/late", "Warning", "NotDeleted", text)]


@pytest.mark.parametrize("how", ["hangs", "fails", "breaks"])
async def test_a_look_neither_waits_for_what_is_told_nor_fails_with_it(
    worker: Worker, budgets: DisruptionBudgets, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    asked = asyncio.Event()

    async def ensure(*_: Any, **__: Any) -> bool:
        asked.set()
        if how == "hangs":
            await asyncio.Event().wait()
        raise Unavailable("gone") if how == "fails" else RuntimeError("broken")

    monkeypatch.setattr(budgets._actions, "ensure", ensure)
    await worker.create(BUDGETS, budget(minAvailable=1))
    async with asyncio.timeout(PATIENCE):
        await budgets.look(worker.tenant, "ns")
        assert (await status_of(worker))["disruptionsAllowed"] == 0
        await asked.wait()
    await budgets._actions.beside.stop()
    assert not await events(worker)


NOTED = {"late": 121, "goes": 1, "gone": 121}
"""Seconds since evictions have paid for them."""
