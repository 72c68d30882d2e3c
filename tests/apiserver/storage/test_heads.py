"""Heads of tenants: who shares whose query, and who waits for whom."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import ExitStack
from typing import TypeVar

import pytest
import pytest_asyncio

from apiserver.storage import heads as module
from apiserver.storage import tenants
from apiserver.storage.errors import TenantGone
from apiserver.storage.heads import Heads
from apiserver.storage.pool import Connection, Database
from tests.support.storage import numbers
from tests.support.waiting import PATIENCE

T = TypeVar("T")


class Gated(Database):
    """Queries wait until the test lets them go, in the order in which they came."""

    def __init__(self, conninfo: str) -> None:
        super().__init__(conninfo, size=4)
        self.queries: list[asyncio.Event] = []

    async def read(self, query: Callable[[Connection], Awaitable[T]]) -> T:
        gate = asyncio.Event()
        self.queries.append(gate)
        await gate.wait()
        return await super().read(query)


@pytest.fixture
def three(postgres: str) -> Iterator[list[int]]:
    with ExitStack() as stack:
        made = [next(numbers) for _ in range(3)]
        for number in made:
            tenants.create(number)
            stack.callback(tenants.drop, number)
        yield made


@pytest_asyncio.fixture
async def database(postgres: str) -> AsyncIterator[Gated]:
    gated = Gated(postgres)
    await gated._pool.open()
    yield gated
    await gated.close()


async def settle() -> None:
    """Until every task has gone as far as it can without the database."""
    for _ in range(10):
        await asyncio.sleep(0)


async def test_callers_share_the_next_query_and_never_the_one_under_way(
    database: Gated, three: list[int]
) -> None:
    heads, (one, *_) = Heads(database), three
    first = asyncio.create_task(heads.of(one))
    await settle()
    later = [asyncio.create_task(heads.of(one)) for _ in range(5)]
    await settle()
    assert len(database.queries) == 1
    database.queries[0].set()
    await asyncio.wait_for(first, PATIENCE)
    await settle()
    assert len(database.queries) == 2
    assert not any(task.done() for task in later)
    database.queries[1].set()
    await asyncio.wait_for(asyncio.gather(*later), PATIENCE)
    assert len(database.queries) == 2


async def test_another_tenant_waits_for_no_query_of_its_neighbour(
    database: Gated, three: list[int]
) -> None:
    heads, (one, two, three_) = Heads(database), three
    slow = asyncio.create_task(heads.of(one))
    await settle()
    again, other = asyncio.create_task(heads.of(one)), asyncio.create_task(heads.of(two))
    await settle()
    assert len(database.queries) == module.QUERIES == 2
    third = asyncio.create_task(heads.of(three_))
    await settle()
    assert len(database.queries) == 2, "no more at a time"
    database.queries[1].set()
    await asyncio.wait_for(other, PATIENCE)
    await settle()
    assert len(database.queries) == 3
    database.queries[2].set()
    await asyncio.wait_for(third, PATIENCE)
    assert not slow.done() and not again.done()
    database.queries[0].set()
    await asyncio.wait_for(slow, PATIENCE)
    await settle()
    database.queries[3].set()
    await asyncio.wait_for(again, PATIENCE)


async def test_who_comes_when_all_queries_end_is_answered_too(
    database: Gated, three: list[int]
) -> None:
    heads, (one, two, three_) = Heads(database), three
    tasks = [asyncio.create_task(heads.of(tenant)) for tenant in (one, two)]
    await settle()
    for gate in database.queries:
        gate.set()
    for _ in range(60):  # one in each round of the loop, around the queries' ends
        tasks.append(asyncio.create_task(heads.of((one, two, three_)[len(tasks) % 3])))
        await asyncio.sleep(0.0005)
        for gate in database.queries:
            gate.set()
    async with asyncio.timeout(PATIENCE):
        while not all(task.done() for task in tasks):
            for gate in database.queries:
                gate.set()
            await asyncio.sleep(0.001)
    assert {(await task).head >= 0 for task in tasks} == {True}
    assert not heads._asked and not heads._waiting and heads._queries == 0


async def test_a_tenant_that_is_gone_is_said_to_its_callers_only(
    database: Gated, three: list[int]
) -> None:
    heads, gone = Heads(database), next(numbers)
    tasks = [asyncio.create_task(heads.of(tenant)) for tenant in (gone, three[0])]
    await settle()
    for gate in database.queries:
        gate.set()
    missing, there = await asyncio.gather(*tasks, return_exceptions=True)
    assert isinstance(missing, TenantGone)
    assert not isinstance(there, BaseException)
