"""Whether work grows with the size of what it is about, and not with its square: measured by
processor time.

Four times the items take four times as long where the work is linear, and sixteen times where each
item is compared with each. A busy machine and cold caches make the same work up to twice as dear,
so the bound lies where neither can be taken for the other.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from typing import Any

TIMES = 4
MOST = 9.0
"""Well above TIMES, and well below its square."""
FLOOR = 0.005
"""Seconds: less is noise."""
ATTEMPTS = 6


def seconds(work: Callable[[], Any]) -> float:
    gc.collect()
    gc.disable()
    try:
        began = time.thread_time()
        work()
        return time.thread_time() - began
    finally:
        gc.enable()


def assert_linear(make: Callable[[int], Callable[[], Any]], count: int) -> None:
    """``make(n)``: the work on n items, with all that it needs made already. It is done for half of
    ``count`` items and for its double; the least of some attempts counts, because what disturbs a
    measurement only ever makes it longer."""
    least = [float("inf"), float("inf")]
    sizes = (count // 2, count // 2 * TIMES)
    for _ in range(ATTEMPTS):
        least = [min(best, seconds(make(n))) for best, n in zip(least, sizes, strict=True)]
        if least[1] <= MOST * max(least[0], FLOOR):
            return
    raise AssertionError(f"{sizes} items: {least} seconds")


def assert_within(work: Callable[[], Any], limit: float) -> None:
    """That ``work`` takes less than ``limit`` seconds of this thread: in one of some attempts, for
    the same reason."""
    least = float("inf")
    for _ in range(ATTEMPTS):
        least = min(least, seconds(work))
        if least < limit:
            return
    raise AssertionError(f"{least:.3f} s, not within {limit} s")
