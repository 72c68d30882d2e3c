"""Waiting for what must happen, instead of for a time in which it should."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeVar, cast

T = TypeVar("T")
PATIENCE = 300.0
"""Seconds after which something has not happened: for what never comes, not for what is slow."""


async def until(what: Callable[[], object]) -> None:
    """Waits for what must happen, on a machine that may have other things to do. Raises
    TimeoutError."""
    async with asyncio.timeout(PATIENCE):
        while not what():  # noqa: ASYNC110  it may be true of anything, also of another process
            await asyncio.sleep(0.01)


async def until_true(what: Callable[[], Awaitable[object]]) -> None:
    """As `until`, where it takes a question to know."""
    async with asyncio.timeout(PATIENCE):
        while not await what():  # noqa: ASYNC110  likewise
            await asyncio.sleep(0.01)


def at_once(coroutine: Coroutine[Any, Any, T]) -> T:
    """What a coroutine comes to that has nothing to wait for, outside of any loop."""
    try:
        coroutine.send(None)
    except StopIteration as end:
        return cast(T, end.value)
    coroutine.close()
    raise AssertionError("it waits")
