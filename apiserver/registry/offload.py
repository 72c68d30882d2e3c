"""Work on large objects beside the event loop.

To parse, type, compare and validate an object takes time by its size: seconds for one of megabytes. Up to `LARGE` that is done where it
stands, because a change of threads costs more; above it a thread does it, and the loop serves others in between. Two threads for the whole
process: they share the interpreter's lock with the loop, so more would answer nobody sooner and slow down everybody.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from apiserver.schema.types import Schema

LARGE = 64 * 1024
"""Bytes of an object's text."""
LARGE_WITH_RULES = 4 * 1024
"""Of an object whose validation runs expressions that its definition's author wrote, and that may loop within loops."""

_THREADS = ThreadPoolExecutor(2, "large-objects")

T = TypeVar("T")


async def by_size(size: int, work: Callable[[], T], large: int = LARGE) -> T:
    """What ``work`` returns or raises; ``size``: bytes of the text that it is about. It must need neither the loop nor other threads."""
    if size < large:
        return work()
    return await asyncio.get_running_loop().run_in_executor(_THREADS, work)


def large_to_validate(schema: Schema) -> int:
    """The size from which objects of that schema are validated by a thread."""
    return LARGE_WITH_RULES if "rules" in schema.cache.get("below", ()) else LARGE
