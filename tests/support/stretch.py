"""How long the event loop is held at a stretch, in processor time, which other programs on the
machine do not count to."""

from __future__ import annotations

import asyncio
import gc
import time
from collections.abc import Iterator
from contextlib import contextmanager


class Lag:
    """longest: seconds of processor time that the loop's thread took between two turns of the loop,
    without the collection of garbage, which takes the longer the more tests have run (workers
    freeze what is there when they start)."""

    longest = 0.0


@contextmanager
def without_garbage() -> Iterator[None]:
    """No collection within the block, so that what is measured is the work alone."""
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


@contextmanager
def measured_lag() -> Iterator[Lag]:
    lag = Lag()

    async def probe() -> None:
        before = time.thread_time()
        while True:
            await asyncio.sleep(0)
            now = time.thread_time()
            lag.longest, before = max(lag.longest, now - before), now

    probing = asyncio.create_task(probe())
    try:
        with without_garbage():
            yield lag
    finally:
        probing.cancel()
