"""What controllers do beside their looks: in order, in bounds, again while the database is away."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable

import pytest

from apiserver.controllers import beside as module
from apiserver.controllers.beside import Beside
from apiserver.errors import Forbidden
from apiserver.meta.gvk import GroupResource
from apiserver.storage.errors import Unavailable
from tests.support.waiting import PATIENCE

REFUSED = Forbidden(GroupResource("", "events"), "e", "no")


@pytest.fixture
async def beside(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Beside]:
    monkeypatch.setattr(module, "PAUSE", 0.001)
    monkeypatch.setattr(module, "_LAST", 0.01)
    made = Beside()
    yield made
    await made.stop()


def noting(
    done: list[str], what: str, *failures: Exception, after: asyncio.Event | None = None
) -> Callable[[], Awaitable[None]]:
    """Work that fails so often before it is done."""
    left = list(failures)

    async def work() -> None:
        if after is not None:
            await after.wait()
        if left:
            raise left.pop(0)
        done.append(what)

    return work


async def all_done(beside: Beside) -> None:
    async with asyncio.timeout(PATIENCE):
        await beside.done()


async def test_a_tenants_is_done_one_after_the_other_and_keeps_nobody_elses(
    beside: Beside,
) -> None:
    done: list[str] = []
    go, came = asyncio.Event(), asyncio.Event()

    async def other() -> None:
        done.append("other")
        came.set()

    beside.add(1, "slow", noting(done, "slow", after=go))
    beside.add(1, "next", noting(done, "next"))
    beside.add(2, "other", other)
    async with asyncio.timeout(PATIENCE):
        await came.wait()
    assert done == ["other"]
    go.set()
    await all_done(beside)
    assert done == ["other", "slow", "next"]
    beside.add(1, "later", noting(done, "later"))
    await all_done(beside)
    assert done[-1] == "later" and not beside._waiting and not beside._count


@pytest.mark.parametrize(
    ("failures", "expected"),
    [
        ([Unavailable("gone")] * (module.TRIES - 1), ["first", "second"]),
        ([Unavailable("gone")] * module.TRIES, ["second"]),
        ([REFUSED], ["second"]),
        ([RuntimeError("a bug")], ["second"]),
    ],
    ids=["database is back", "stays away", "refused", "broken"],
)
async def test_only_what_the_database_could_not_take_is_tried_again(
    beside: Beside, failures: list[Exception], expected: list[str]
) -> None:
    done: list[str] = []
    beside.add(1, "first", noting(done, "first", *failures))
    beside.add(1, "second", noting(done, "second"))
    await all_done(beside)
    assert done == expected


@pytest.mark.parametrize("bound", ["MOST", "MOST_OF_ALL"])
async def test_what_is_too_much_is_dropped(
    beside: Beside, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, bound: str
) -> None:
    caplog.set_level(logging.INFO, "polyplane.controllers")
    monkeypatch.setattr(module, bound, 3)
    done: list[str] = []
    go = asyncio.Event()
    for number in range(5):
        beside.add(1, f"n{number}", noting(done, str(number), after=go))
    beside.add(2, "other", noting(done, "other"))
    go.set()
    await all_done(beside)
    assert sorted(done) == ["0", "1", "2"] + (["other"] if bound == "MOST" else [])
    assert "n3 is dropped" in caplog.text
    beside.add(1, "again", noting(done, "again"))
    await all_done(beside)
    assert done[-1] == "again"


async def test_at_the_end_what_hangs_is_left(beside: Beside) -> None:
    done: list[str] = []
    beside.add(1, "quick", noting(done, "quick"))
    beside.add(2, "hangs", noting(done, "hangs", after=asyncio.Event()))
    async with asyncio.timeout(PATIENCE):
        await beside.stop()
    assert done == ["quick"] and not beside._tasks and not beside._count
