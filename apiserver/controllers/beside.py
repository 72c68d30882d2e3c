"""What controllers do beside their looks, and nobody waits for: telling (`recorder`).

Of each tenant one thing after the other, in turns of its own, so that a tenant whose admission
webhooks take long keeps neither its own looks nor the others' tellings waiting. What is too much is
dropped (client-go ``tools/record``: ``DropIfChannelFull``); while the database gives no answer, it
is asked again (``recordToSink``).
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections import deque
from collections.abc import Awaitable, Callable

from apiserver.controllers.turns import turns
from apiserver.errors import ApiError
from apiserver.storage.errors import StorageError

log = logging.getLogger("polyplane.controllers")

MOST = 1_000
"""Of one tenant that wait."""
MOST_OF_ALL = 20_000
TRIES, PAUSE = 12, 10.0
"""How often the database is asked, and the seconds between."""
_LAST = 1.0
"""Seconds that are left for what waits at the end of the process."""

Work = Callable[[], Awaitable[None]]
"""Raises ApiError where it may not be done, StorageError where it may be done later."""


class Beside:
    """Of one process."""

    def __init__(self) -> None:
        self._waiting: dict[int, deque[tuple[str, Work]]] = {}
        self._count = 0
        self._tasks: dict[int, asyncio.Task[None]] = {}
        self._turns = turns()

    def add(self, tenant: int, what: str, work: Work) -> None:
        """``what``: for the log."""
        waiting = self._waiting.get(tenant, deque())
        if len(waiting) >= MOST or self._count >= MOST_OF_ALL:
            log.info("%s is dropped: too much waits", what)
            return
        waiting.append((what, work))
        self._count += 1
        if tenant not in self._tasks:
            self._waiting[tenant] = waiting
            self._tasks[tenant] = asyncio.create_task(self._run(tenant))

    async def done(self) -> None:
        """Once nothing waits any more."""
        while self._tasks:
            await asyncio.wait(list(self._tasks.values()))

    async def stop(self) -> None:
        tasks = list(self._tasks.values())
        if tasks:
            await asyncio.wait(tasks, timeout=_LAST)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _run(self, tenant: int) -> None:
        """Nothing is awaited between the last look at what waits and the end."""
        waiting = self._waiting[tenant]
        try:
            while waiting:
                await self._one(tenant, *waiting[0])
                waiting.popleft()
                self._count -= 1
        finally:
            self._count -= len(waiting)
            del self._waiting[tenant], self._tasks[tenant]

    async def _one(self, tenant: int, what: str, work: Work) -> None:
        for attempt in range(TRIES):
            if attempt:  # the first pause differs, so that not all come together afterwards
                early = random.random() if attempt == 1 else 1.0  # noqa: S311
                await asyncio.sleep(PAUSE * early)
            try:
                async with self._turns.of(tenant):
                    await work()
                return
            except StorageError as e:
                log.info("%s waits: %s", what, e)
            except ApiError as e:
                log.info("%s is not done: %s", what, e)
                return
            except Exception:
                log.exception("%s is not done", what)
                return
        log.warning("%s is given up", what)
