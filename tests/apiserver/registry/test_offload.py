"""Large objects are worked on beside the event loop, small ones where they stand."""

import asyncio
import threading
import time

import pytest

from apiserver.registry.offload import LARGE, by_size


async def test_small_work_stays_in_the_thread_of_the_loop() -> None:
    assert await by_size(LARGE - 1, threading.get_ident) == threading.get_ident()


async def test_large_work_leaves_it_and_the_loop_goes_round() -> None:
    turns = 0

    async def count() -> None:
        nonlocal turns
        while True:
            await asyncio.sleep(0.01)
            turns += 1

    counting = asyncio.create_task(count())

    def busy() -> int:
        end = time.monotonic() + 0.5
        while time.monotonic() < end:
            sum(range(1000))
        return threading.get_ident()

    assert await by_size(LARGE, busy) != threading.get_ident()
    counting.cancel()
    assert turns >= 5


async def test_what_it_raises_comes_back() -> None:
    def fail() -> None:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        await by_size(LARGE, fail)
