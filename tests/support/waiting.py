"""Waiting for what must happen, instead of for a time in which it should."""

from __future__ import annotations

import asyncio
from collections.abc import Callable


async def until(what: Callable[[], object]) -> None:
    """Waits for what must happen, on a machine that may have other things to do. Raises
    TimeoutError after two minutes."""
    async with asyncio.timeout(120):
        while not what():  # noqa: ASYNC110  it may be true of anything, also of another process
            await asyncio.sleep(0.01)
