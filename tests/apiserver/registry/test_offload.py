"""Large objects are worked on beside the event loop, small ones where they stand; tenants take
turns, and whoever is gone stops waiting."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial

import pytest

from apiserver.effort import spend
from apiserver.errors import TimedOut, TooManyRequests
from apiserver.flow.lines import UNSORTED, Place
from apiserver.registry import offload as offloads
from apiserver.registry.offload import (
    LARGE,
    LIMITS,
    ON_LOOP,
    Asker,
    ClientGone,
    Offload,
    beside,
    by_size,
    repeatable,
)
from apiserver.registry.scope import Tenant
from tests.support.stretch import without_garbage
from tests.support.waiting import PATIENCE

ACME, BOLT = Tenant(1, "acme"), Tenant(2, "bolt")
TRIFLE = "a trifle"
PLACES = {
    "ann": Place("workload-low", 100, False, 1),
    "bob": Place("workload-low", 100, False, 2),
    "system": Place("system", 30, False, 1),
    "root": Place("exempt", 0, True, 1),
}


def large(tenant: Tenant = ACME, size: int = LARGE) -> Asker:
    return Asker(tenant, size)


class Blocking:
    """Work that takes until it is told otherwise. begun: how often it was begun."""

    def __init__(self) -> None:
        self.begun = 0
        self.started, self.finish = threading.Event(), threading.Event()

    def __call__(self) -> str:
        self.begun += 1
        self.started.set()
        while not self.finish.wait(0.01):
            pass
        return "done"


@asynccontextmanager
async def occupied(tenant: Tenant = ACME) -> AsyncIterator[Blocking]:
    """The tenant's share of the places is taken."""
    work = Blocking()
    running = asyncio.create_task(beside(large(tenant), work))
    try:
        await until(work.started.is_set)
        yield work
    finally:
        work.finish.set()
        await running


async def until(holds) -> None:  # type: ignore[no-untyped-def]
    async with asyncio.timeout(PATIENCE):
        while not holds():  # noqa: ASYNC110  threads tell
            await asyncio.sleep(0.005)


def endless() -> None:
    while True:
        pass


async def test_small_work_stays_in_the_thread_of_the_loop() -> None:
    assert await by_size(large(size=LARGE - 1), threading.get_ident) == threading.get_ident()


async def test_large_work_leaves_it_and_the_loop_goes_round() -> None:
    async with occupied():
        for _ in range(5):
            await asyncio.sleep(0.01)


async def test_what_it_raises_comes_back() -> None:
    def fail() -> None:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        await by_size(large(), fail)


async def test_a_neighbour_does_not_wait_for_a_tenant_that_asks_for_much() -> None:
    """None of acme's work ends before bolt has been served."""
    async with occupied() as first:
        others = [Blocking() for _ in range(7)]
        waiting = [asyncio.create_task(beside(large(), work)) for work in others]
        await asyncio.sleep(0)
        async with asyncio.timeout(PATIENCE):
            assert await beside(large(BOLT), lambda: TRIFLE) == TRIFLE
        assert not first.finish.is_set() and not any(work.begun for work in others)
        for work in others:
            work.finish.set()
        first.finish.set()
        assert await asyncio.gather(*waiting) == ["done"] * 7


async def test_what_waits_is_bounded_and_the_client_told_when_to_come_again() -> None:
    async with occupied() as first:
        asker = Client().asks()
        waiting = [
            asyncio.create_task(beside(asker, lambda: None)) for _ in range(LIMITS.waiting // 2)
        ]
        await asyncio.sleep(0)
        with pytest.raises(TooManyRequests) as refused:
            await beside(Client().asks(), lambda: None)
        assert refused.value.code == 429 and refused.value.retry_after == 1
        assert await beside(large(BOLT), lambda: TRIFLE) == TRIFLE
        first.finish.set()
        await asyncio.gather(*waiting)


async def test_the_bytes_that_wait_are_bounded() -> None:
    async with occupied() as first:
        much = Client().asks(size=LIMITS.waiting_bytes)
        waiting = [asyncio.create_task(beside(much, lambda: None))]
        await asyncio.sleep(0)
        with pytest.raises(TooManyRequests):
            await beside(Client().asks(), lambda: None)
        first.finish.set()
        await asyncio.gather(*waiting)


async def test_a_user_waits_for_one_job_of_another_who_has_fifty_waiting() -> None:
    """So do exempt requests, and what the server does itself."""
    order: list[str] = []
    first = Blocking()

    async def does(asker: Asker, name: str) -> None:
        await beside(asker, partial(order.append, name))

    def asks(name: str) -> Asker:
        return large() if name == "own" else Client().asks(place=PLACES[name])

    names = [*["ann"] * 50, "bob", "system", "root", "own"]
    running = asyncio.create_task(beside(asks("ann"), first))
    await until(first.started.is_set)
    waiting = asyncio.gather(*(does(asks(name), name) for name in names))
    await until(lambda: offloads._offload().turns.waiting == len(names))
    first.finish.set()
    await asyncio.gather(running, waiting)
    assert order == ["own", "root", "system", "bob", *["ann"] * 50]


class Client:
    """Somebody who may hang up."""

    def __init__(self) -> None:
        self._left = asyncio.Event()
        self.hang_up = self._left.set

    def asks(self, tenant: Tenant = ACME, place: Place = UNSORTED, size: int = LARGE) -> Asker:
        return Asker(tenant, size, self._gone, place=place)

    async def _gone(self) -> None:
        await self._left.wait()


async def test_what_waits_for_a_client_that_is_gone_is_never_begun() -> None:
    client, never = Client(), Blocking()
    async with occupied():
        asked = asyncio.create_task(beside(client.asks(), never))
        await asyncio.sleep(0)
        client.hang_up()
        with pytest.raises(ClientGone):
            await asked
    assert await beside(large(), lambda: TRIFLE) == TRIFLE
    assert never.begun == 0


async def test_what_runs_for_a_client_that_is_gone_is_ended() -> None:
    client, started = Client(), threading.Event()

    def work() -> None:
        started.set()
        endless()

    asked = asyncio.create_task(beside(client.asks(), work))
    await until(started.is_set)
    client.hang_up()
    with pytest.raises(ClientGone):
        await asked
    async with asyncio.timeout(PATIENCE):
        assert await beside(large(), lambda: TRIFLE) == TRIFLE  # the place is free again


async def test_a_task_that_is_cancelled_takes_its_work_along() -> None:
    asked = asyncio.create_task(beside(large(), endless))
    await asyncio.sleep(0.05)
    asked.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asked
    async with asyncio.timeout(PATIENCE):
        assert await beside(large(), lambda: TRIFLE) == TRIFLE


async def test_processor_time_is_bounded_for_all_that_is_done_for_one_request() -> None:
    offload = Offload(asyncio.get_running_loop(), budget=0.2)
    asker = large()
    with pytest.raises(TimedOut, match="10s of processor time") as refused:
        await offload.run(asker, endless)
    assert refused.value.code == 504
    await until(lambda: asker.meter.seconds >= 0.2)  # the thread has ended
    assert offload.turns.running == 0
    with pytest.raises(TimedOut):
        await offload.run(asker, endless)
    assert await offload.run(large(), lambda: TRIFLE) == TRIFLE


async def test_time_is_not_counted_while_nothing_is_computed() -> None:
    asker = large()
    async with occupied(BOLT):
        work = Blocking()
        asked = asyncio.create_task(beside(asker, work))
        await asyncio.sleep(0.1)
        work.finish.set()
        await asked
    assert asker.meter.seconds < 0.1


async def test_every_job_ends_and_gives_back_its_place_whatever_becomes_of_it() -> None:
    """Results, errors, hang-ups and cancellations of three tenants, all at once."""
    offload = Offload(asyncio.get_running_loop(), budget=PATIENCE)
    clients = [Client() for _ in range(60)]

    def fail() -> None:
        raise ValueError

    works = [lambda: 1, fail, lambda: sum(range(50_000)), endless]
    tasks = [
        asyncio.create_task(offload.run(c.asks(Tenant(i % 3, "")), works[i % 4]))
        for i, c in enumerate(clients)
    ]
    for i, client in enumerate(clients):
        await asyncio.sleep(0.001)
        if i % 4 == 3 or i % 7 == 0:
            # of those that never end by themselves some go in either way
            client.hang_up() if i % 8 == 3 else tasks[i].cancel()
    async with asyncio.timeout(PATIENCE):
        found = await asyncio.gather(*tasks, return_exceptions=True)
    assert {type(f) for f in found} == {int, ValueError, ClientGone, asyncio.CancelledError}
    await until(lambda: offload.turns.running == 0)
    assert offload.turns.waiting == 0


async def test_repeatable_work_that_takes_long_is_begun_anew_in_a_thread() -> None:
    begun: list[int] = []
    ended: list[int] = []

    def work() -> str:
        begun.append(threading.get_ident())
        end = time.thread_time() + 4 * ON_LOOP
        while time.thread_time() < end:
            spend(100)
        ended.append(threading.get_ident())
        return "done"

    assert await repeatable(large(size=1), work) == "done"
    assert begun[0] == threading.get_ident() != begun[1]
    assert ended == begun[1:], "on the loop it was broken off"


async def test_what_took_long_lately_is_not_begun_on_a_loop_that_tenants_share(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    own, threads = threading.get_ident(), list[int]()

    def work() -> None:
        threads.append(threading.get_ident())
        until = time.thread_time() + 4 * ON_LOOP
        while time.thread_time() < until:
            spend(100)

    async def ran(tenant: Tenant, sort: object) -> list[bool]:
        """Of each time that the work was begun: whether on the loop."""
        threads.clear()
        await repeatable(Asker(tenant), work, sort=sort)
        return [thread == own for thread in threads]

    monkeypatch.setattr(offloads, "is_shared", lambda: True)
    assert await ran(ACME, "rules of foos") == [True, False]
    assert await ran(ACME, "rules of foos") == [False]
    assert await ran(ACME, "rules of bars") == [True, False]
    assert await ran(BOLT, "rules of foos") == [True, False], "it is another tenant's"
    assert await ran(ACME, None) == [True, False] == await ran(ACME, None)
    monkeypatch.setattr(offloads, "is_shared", lambda: False)
    assert await ran(ACME, "rules of foos") == [True, False], "nobody has to wait for it"
    monkeypatch.setattr(offloads, "LATELY", -1.0)
    monkeypatch.setattr(offloads, "is_shared", lambda: True)
    assert await ran(ACME, "rules of toys") == [True, False] == await ran(ACME, "rules of toys")


async def test_a_tenant_rests_after_its_turn_while_others_are_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """For so long here that it is seen who waits."""
    monkeypatch.setattr(offloads, "is_shared", lambda: True)
    monkeypatch.setattr(offloads, "RESTS", 1e9)
    monkeypatch.setattr(offloads, "LONGEST_REST", 1e6)
    assert await beside(Client().asks(), lambda: TRIFLE) == TRIFLE
    begun = list[str]()
    resting = asyncio.create_task(beside(Client().asks(), lambda: begun.append("acme")))
    async with asyncio.timeout(PATIENCE):
        for _ in range(3):
            assert await beside(large(BOLT), lambda: TRIFLE) == TRIFLE, "the server's own"
    assert not begun
    offloads._offload()._rested(ACME.id)
    async with asyncio.timeout(PATIENCE):
        await resting
    assert begun


async def test_rests_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(offloads, "is_shared", lambda: True)
    async with asyncio.timeout(PATIENCE):
        for _ in range(3):
            assert await beside(Client().asks(), lambda: TRIFLE) == TRIFLE
    await until(lambda: not offloads._offload().turns._tenants)


async def test_nobody_rests_where_nobody_else_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(offloads, "RESTS", 1e9)
    monkeypatch.setattr(offloads, "LONGEST_REST", 1e6)
    async with asyncio.timeout(PATIENCE):
        for _ in range(3):
            assert await beside(Client().asks(), lambda: TRIFLE) == TRIFLE


async def test_repeatable_work_that_is_short_stays() -> None:
    assert await repeatable(large(size=1), threading.get_ident) == threading.get_ident()
    assert await repeatable(large(), threading.get_ident) != threading.get_ident()


async def test_repeatable_steps_of_one_request_share_the_time_on_the_loop() -> None:
    """However many short steps it has: rules and match conditions of many policies."""
    asker, threads, own = Asker(ACME), list[int](), threading.get_ident()

    def step() -> None:
        threads.append(threading.get_ident())
        until = time.thread_time() + ON_LOOP / 4
        while time.thread_time() < until:
            spend(1000)

    with without_garbage():  # to collect that of a whole run takes longer than a step may
        for _ in range(8):
            await repeatable(asker, step)
    on_loop = [thread == own for thread in threads]
    assert on_loop[0] and not on_loop[-1]
    assert sum(on_loop) <= 5
    assert not any(on_loop[on_loop.index(False) + 1 :])
    assert asker.meter.on_loop < 2 * ON_LOOP
    with without_garbage():
        await repeatable(Asker(ACME), step)
    assert threads[-1] == own
