"""The workers' loop: tenants take turns, whatever one of them has to do."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from contextvars import copy_context
from itertools import count
from typing import Any

import pytest

from apiserver import whose
from apiserver.whose import (
    NOBODY,
    WHOSE,
    for_nobody,
    moves_bytes,
    shared_task,
    turns_pass,
    works_for,
)
from controlplane.serving import loop as module
from controlplane.serving.loop import FairLoop
from tests.support.waiting import PATIENCE

FLOOD, VICTIM = 1, 2


def run(main: Callable[[], Coroutine[Any, Any, None]]) -> None:
    with asyncio.Runner(loop_factory=FairLoop) as runner:
        runner.run(main())


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every look at the clock is 10 µs after the one before, so each step takes as long."""
    ticks = count()
    monkeypatch.setattr(module, "perf_counter", lambda: 100 + next(ticks) * 1e-5)


async def steps(tenant: int, number: int, done: list[int]) -> None:
    await works_for(tenant)
    for _ in range(number):
        await asyncio.sleep(0)
        done.append(tenant)


def test_a_flood_holds_nobody_up() -> None:
    async def main() -> None:
        done: list[int] = []
        await asyncio.create_task(steps(VICTIM, 1, []))
        floods = [asyncio.create_task(steps(FLOOD, 20, done)) for _ in range(100)]
        while len(done) < 100:  # noqa: ASYNC110  nothing tells of it
            await asyncio.sleep(0)
        before = len(done)
        await asyncio.create_task(steps(VICTIM, 5, done))
        meanwhile = len(done) - before
        for flood in floods:
            flood.cancel()
        assert meanwhile < 200, "five steps of the victim beside few of the flood's thousands"

    run(main)


async def chain(links: int) -> None:
    """As the database's answer: callbacks one after the other, each in a round of the loop."""
    for _ in range(links):
        future = asyncio.get_running_loop().create_future()
        asyncio.get_running_loop().call_soon(future.set_result, None)
        await future


def test_what_leads_on_for_nobody_does_not_wait_for_a_step_at_each_link() -> None:
    async def main() -> None:
        done: list[int] = []
        await asyncio.create_task(steps(VICTIM, 1, []))
        floods = [asyncio.create_task(steps(FLOOD, 20_000, done)) for _ in range(5)]
        while len(done) < 10:  # noqa: ASYNC110  nothing tells of it
            await asyncio.sleep(0)
        before = len(done)
        await shared_task(chain(module.PUT_OFF // 2 - 1))
        assert len(done) - before <= 2 * module.SLICE / 1e-5, "a round of turns at each end"
        before = len(done)
        await shared_task(chain(100))
        assert len(done) > before, "what does not end holds nobody up for ever"
        for flood in floods:
            flood.cancel()

    run(main)


def test_a_step_that_moves_many_bytes_ends_its_round() -> None:
    async def main() -> None:
        done: list[int] = []

        async def reads() -> None:
            await works_for(FLOOD)
            for _ in range(200):
                await asyncio.sleep(0)
                await moves_bytes(1)
                done.append(FLOOD)

        async def looks() -> int:
            """The most that was done in one round of the loop."""
            most = before = len(done)
            for _ in range(100):
                await asyncio.sleep(0)
                most, before = max(most, len(done) - before), len(done)
            return most

        await asyncio.create_task(steps(VICTIM, 1, []))
        floods = [asyncio.create_task(reads()) for _ in range(10)]
        assert await shared_task(looks()) == 1
        await asyncio.gather(*floods)
        assert len(done) == 2000

    run(main)


def test_who_moves_many_bytes_keeps_a_pace_while_others_are_there() -> None:
    """By the pauses that are asked for: bytes that come back while the clock goes by, and what was
    saved up."""

    async def main() -> None:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, FairLoop)
        mebibyte = 1024 * 1024
        assert loop.pause_before(FLOOD, 1000 * mebibyte) == 0, "nobody else is there"
        for tenant in (FLOOD, VICTIM):
            await asyncio.create_task(steps(tenant, 1, []))
        saved = module.SAVED_BYTES // mebibyte
        assert [loop.pause_before(FLOOD, mebibyte) for _ in range(saved + 1)] == [0.0] * (saved + 1)
        later = [loop.pause_before(tenant, mebibyte) for tenant in (FLOOD, -FLOOD, FLOOD)]
        each = mebibyte / module.MOST_BYTES
        assert later == pytest.approx([each, 2 * each, 3 * each], rel=0.1)
        assert loop.pause_before(VICTIM, mebibyte) == 0, "it has moved none"
        assert loop.pause_before(NOBODY, 1000 * mebibyte) == 0, "the server's own"

    run(main)


def test_a_pause_is_waited_for_in_no_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SAVED_BYTES", 0)
    monkeypatch.setattr(module, "MOST_BYTES", 100)

    async def main() -> None:
        done: list[int] = []

        async def moves() -> None:
            await works_for(FLOOD)
            await moves_bytes(100)
            await moves_bytes(1)
            done.append(FLOOD)

        await asyncio.create_task(steps(VICTIM, 1, []))
        flood = asyncio.create_task(moves())
        await asyncio.create_task(steps(VICTIM, 100, done))
        assert done == [VICTIM] * 100
        await asyncio.wait_for(flood, PATIENCE)
        assert done[-1] == FLOOD

    run(main)


def test_requests_that_come_together_take_turns_to_begin() -> None:
    async def main() -> None:
        begun: list[int] = []

        async def request(tenant: int) -> None:
            await works_for(tenant)
            begun.append(tenant)

        await asyncio.create_task(request(VICTIM))
        tasks = [asyncio.create_task(request(FLOOD)) for _ in range(50)]
        tasks.append(asyncio.create_task(request(VICTIM)))
        await asyncio.gather(*tasks)
        assert begun[1:].index(VICTIM) <= module.AT_ONCE + 2

    run(main)


def test_after_a_long_beginning_the_next_waits_for_its_turn() -> None:
    async def main() -> None:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, FairLoop)
        assert not loop.meet(VICTIM)
        assert not loop.meet(FLOOD), "the one before was short"
        for _ in range(round(module.SLICE / 1e-5)):
            module.perf_counter()
        assert loop.meet(FLOOD)

    run(main)


def test_who_is_alone_waits_for_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    async def main() -> None:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, FairLoop)
        assert not whose.is_shared()
        await works_for(FLOOD)
        assert whose.is_shared(), "nobody knows yet who else there is"
        async with asyncio.timeout(PATIENCE):
            while whose.is_shared():
                await works_for(FLOOD)
                await asyncio.sleep(0)
        assert not any(loop.holds_up() for _ in range(10))
        loop.meet(VICTIM)
        assert any(loop.holds_up() for _ in range(10))

    monkeypatch.setattr(module, "LATELY", 0.01)
    run(main)


def test_a_shared_query_lets_turns_of_its_tenants_pass_but_not_for_ever() -> None:
    async def main() -> None:
        done: list[int] = []

        async def query(*tenants: int) -> int:
            before = len(done)
            await turns_pass(tenants)
            return len(done) - before

        await asyncio.create_task(steps(VICTIM, 1, []))
        assert await shared_task(query(FLOOD)) == 0
        floods = [asyncio.create_task(steps(FLOOD, 200, done)) for _ in range(10)]
        while len(done) < 10:  # noqa: ASYNC110  nothing tells of it
            await asyncio.sleep(0)
        assert 0 < await shared_task(query(VICTIM, FLOOD)) < 1000
        assert await shared_task(query(VICTIM)) == 0
        await asyncio.gather(*floods)
        assert len(done) == 2000

    run(main)


def test_who_is_alone_is_served_by_uvloop_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    async def main() -> None:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, FairLoop)
        own = vars(loop)["call_soon"]
        await works_for(FLOOD)
        assert "call_soon" not in vars(loop)
        async with asyncio.timeout(PATIENCE):
            while whose.is_shared():  # noqa: ASYNC110  nothing tells of it
                await asyncio.sleep(0)
        assert vars(loop)["call_soon"] == own
        done: list[int] = []
        await asyncio.create_task(steps(FLOOD, 3, done))
        assert done == [FLOOD] * 3

    monkeypatch.setattr(module, "LATELY", 0.001)
    run(main)


def test_shared_work_is_nobodys() -> None:
    async def main() -> None:
        async def mine() -> int:
            return WHOSE.get()

        await works_for(FLOOD)
        assert await asyncio.create_task(mine()) == FLOOD
        assert await shared_task(mine()) == NOBODY
        async with for_nobody():
            assert WHOSE.get() == NOBODY
        assert WHOSE.get() == FLOOD

    run(main)


def test_errors_and_cancellations_come_through() -> None:
    async def main() -> None:
        async def broken() -> None:
            await works_for(FLOOD)
            await asyncio.sleep(0)
            raise ValueError

        await works_for(VICTIM)
        with pytest.raises(ValueError):
            await asyncio.create_task(broken())
        never = asyncio.create_task(asyncio.Event().wait())
        await asyncio.sleep(0)
        never.cancel()
        with pytest.raises(asyncio.CancelledError):
            await never
        handle = asyncio.get_running_loop().call_soon(
            pytest.fail, "it was cancelled", context=_context(FLOOD)
        )
        handle.cancel()
        await asyncio.sleep(0.01)

    run(main)


def _context(tenant: int) -> Any:
    context = copy_context()
    context.run(WHOSE.set, tenant)
    return context


def test_other_loops_do_without() -> None:
    async def main() -> None:
        await works_for(FLOOD)
        assert not whose.is_shared()

    asyncio.run(main())
