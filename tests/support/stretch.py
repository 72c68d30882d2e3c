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
def measured_lag() -> Iterator[Lag]:
    lag = Lag()

    async def probe() -> None:
        before = time.thread_time()
        while True:
            await asyncio.sleep(0)
            now = time.thread_time()
            lag.longest, before = max(lag.longest, now - before), now

    probing = asyncio.create_task(probe())
    gc.collect()
    gc.disable()
    try:
        yield lag
    finally:
        gc.enable()
        probing.cancel()
