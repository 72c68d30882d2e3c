"""Turns of controllers: a few at a time, fewer of one tenant, and slow ones keep nobody waiting."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from apiserver.controllers.turns import OF_ONE_TENANT, turns
from apiserver.flow import lanes as lanes_module
from apiserver.flow.lanes import Lanes
from tests.support.waiting import PATIENCE

NEVER = 1e9
"""Seconds of patience that no test takes."""


class Work:
    """begun, done: tenants, in order."""

    def __init__(self, lanes: Lanes) -> None:
        self.lanes, self.go_on = lanes, asyncio.Event()
        self.begun: list[int] = []
        self.done: list[int] = []

    async def slow(self, tenant: int) -> None:
        async with self.lanes.of(tenant):
            self.begun.append(tenant)
            await self.go_on.wait()

    async def quick(self, tenant: int) -> None:
        async with self.lanes.of(tenant):
            self.done.append(tenant)

    def many(self, *tenants: int) -> list[asyncio.Task[None]]:
        return [asyncio.create_task(self.slow(tenant)) for tenant in tenants]


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE):
        while not holds():  # noqa: ASYNC110  nothing tells of it
            await asyncio.sleep(0)


async def test_a_tenant_that_waits_leaves_turns_to_others() -> None:
    work = Work(Lanes(places=3, slow=1, of_one_tenant=2, patience=NEVER))
    tasks = work.many(1, 1, 1, 1, 1, 2, 3)
    await until(lambda: len(work.begun) == 3)
    assert work.begun == [1, 1, 2]
    work.go_on.set()
    await asyncio.gather(*tasks)
    assert sorted(work.begun) == [1] * 5 + [2, 3]


async def test_four_slow_tenants_keep_no_other_waiting() -> None:
    assert OF_ONE_TENANT == 2
    lanes = turns()
    lanes._patience = 0.001
    work = Work(lanes)
    tasks = work.many(*[tenant for tenant in range(4) for _ in range(2)])
    await until(lambda: len(work.begun) == 8)
    async with asyncio.timeout(PATIENCE):
        await work.quick(9)
    assert work.done == [9]
    work.go_on.set()
    await asyncio.gather(*tasks)


async def test_who_was_slow_waits_for_the_slow_only() -> None:
    work = Work(Lanes(places=1, slow=1, of_one_tenant=5, patience=0.001))
    first = work.many(1, 2, 3)
    await until(lambda: len(work.begun) == 3)
    again = work.many(1, 2)
    await until(lambda: len(work.begun) == 4)
    async with asyncio.timeout(PATIENCE):
        await work.quick(4)
    assert len(work.begun) == 4
    work.go_on.set()
    await asyncio.gather(*first, *again)


async def test_a_quick_turn_leads_back() -> None:
    lanes = Lanes(places=1, slow=1, of_one_tenant=5, patience=0.001)
    work = Work(lanes)
    (first,) = work.many(1)
    await until(lambda: 1 in lanes._known_slow)
    work.go_on.set()
    await first
    lanes._patience = NEVER
    await work.quick(1)
    assert 1 not in lanes._known_slow


async def test_nobody_is_slow_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lanes_module, "_SENTENCE", -1.0)
    work = Work(Lanes(places=1, slow=0, of_one_tenant=5, patience=0.001))
    (first,) = work.many(1)
    await until(lambda: 1 in work.lanes._known_slow)
    async with asyncio.timeout(PATIENCE):
        await work.quick(1)
    work.go_on.set()
    await first


async def test_a_turn_that_is_cancelled_is_given_back() -> None:
    work = Work(Lanes(places=1, slow=1, of_one_tenant=1, patience=NEVER))
    (task,) = work.many(1)
    await until(lambda: work.begun == [1])
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    async with asyncio.timeout(PATIENCE):
        await work.quick(1)
        await work.quick(2)
