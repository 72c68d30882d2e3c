"""Turns of controllers: a few at a time, and fewer of one tenant."""

from __future__ import annotations

import asyncio

from apiserver.controllers.turns import Turns


async def test_a_tenant_that_waits_leaves_turns_to_others() -> None:
    turns, go_on = Turns(at_once=3, of_one_tenant=2), asyncio.Event()
    begun: list[int] = []

    async def work(tenant: int) -> None:
        async with turns.of(tenant):
            begun.append(tenant)
            await go_on.wait()

    slow = [asyncio.create_task(work(1)) for _ in range(5)]
    other = [asyncio.create_task(work(tenant)) for tenant in (2, 3)]
    while len(begun) < 3:  # noqa: ASYNC110  nothing tells of it
        await asyncio.sleep(0)
    assert begun == [1, 1, 2]
    go_on.set()
    await asyncio.gather(*slow, *other)
    assert sorted(begun) == [1] * 5 + [2, 3]
