"""For which tenant the running code works: a context variable, which tasks hand on to the tasks
that they make. The event loop shares its time by it (`apiserver.flow.rotation`)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine, Iterable
from contextlib import asynccontextmanager
from contextvars import ContextVar, copy_context
from typing import Any, TypeVar

T = TypeVar("T")

NOBODY = 0
WHOSE: ContextVar[int] = ContextVar("whose", default=NOBODY)
"""A tenant's number; below zero: requests to the tenant by nobody knows whom."""

ROUNDS = 3
"""Of turns, for which a query that many share is put off while somebody of those whom it is for
waits for a turn."""


async def works_for(tenant: int) -> None:
    """What the task does from now on is done for the tenant, in its turn."""
    WHOSE.set(tenant)
    meet = getattr(asyncio.get_running_loop(), "meet", None)
    if meet is not None and meet(tenant):
        await asyncio.sleep(0)


async def takes_turn() -> None:
    """The task goes on in the turn of its tenant, which may be now."""
    if WHOSE.get() == NOBODY:
        return
    holds_up = getattr(asyncio.get_running_loop(), "holds_up", None)
    if holds_up is not None and holds_up():
        await asyncio.sleep(0)


async def moves_bytes(size: int) -> None:
    """Before a step that makes the loop read or write a piece of so many bytes: returns when the
    tenant's pace allows it. Other tenants, and what is done for nobody, come before the step after
    that one."""
    loop: Any = asyncio.get_running_loop()
    pause_before = getattr(loop, "pause_before", None)
    if pause_before is None:
        return
    if (pause := pause_before(WHOSE.get(), size)) > 0:
        await asyncio.sleep(pause)
    loop.ends_round()


async def turns_pass(tenants: Iterable[int]) -> None:
    """Before a query for the tenants that many share, where some of theirs wait for their turns to
    come to share it too: at most `ROUNDS`, and none where none of them waits."""
    loop: Any = asyncio.get_running_loop()
    is_behind = getattr(loop, "is_behind", None)
    for _ in range(ROUNDS):
        if is_behind is None or not any(map(is_behind, tenants)):
            return
        await loop.turns_end()


def is_shared() -> bool:
    """Whether the loop works for several tenants at present."""
    shared = getattr(asyncio.get_running_loop(), "is_shared", None)
    return shared is not None and shared()


@asynccontextmanager
async def for_nobody() -> AsyncIterator[None]:
    """While the task holds what others wait for, it waits for no turn."""
    whose = WHOSE.get()
    WHOSE.set(NOBODY)
    try:
        yield
    finally:
        WHOSE.set(whose)
    await takes_turn()


def shared_task(work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
    """A task that works for whoever needs it, and not for the tenant that happens to begin it."""
    context = copy_context()
    context.run(WHOSE.set, NOBODY)
    return asyncio.get_running_loop().create_task(work, context=context)
