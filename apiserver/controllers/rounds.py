"""Work on names of a tenant's objects, in rounds: one task per tenant while there is something to
do, and nothing when there is not.

A round that fails, or leaves names over, is followed by another one after a pause that grows. What
comes in meanwhile ends the pause, unless it is to be looked at later. So an outage of the database
delays work and never loses it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field

from apiserver.errors import ApiError
from apiserver.registry.scope import Tenant
from apiserver.storage.errors import StorageError, TenantGone

log = logging.getLogger("polyplane.controllers")

FIRST, LONGEST = 0.25, 5.0
"""Seconds of the shortest and the longest pause between two rounds for the same names."""

Look = Callable[[Tenant, set[str]], Awaitable[Iterable[str] | None]]
"""Sees to those names; the ones to look at again later. None: nothing more is to be done for the
tenant, whatever is left."""


@dataclass(slots=True, eq=False)
class _Work:
    tenant: Tenant
    names: set[str] = field(default_factory=set)
    wake: asyncio.Event = field(default_factory=asyncio.Event)
    task: asyncio.Task[None] | None = None


class Rounds:
    def __init__(self, look: Look) -> None:
        self._look = look
        self._work: dict[int, _Work] = {}
        self._stopped = False

    def start(self, tenant: Tenant, names: Iterable[str], delay: float = 0.0) -> None:
        """delay: seconds until they are looked at; where the tenant has work already they join its
        next round, sooner or later than that. Nothing is begun once all was stopped."""
        if self._stopped:
            return
        work = self._work.get(tenant.id)
        if work is None:
            work = self._work[tenant.id] = _Work(tenant)
        work.names.update(names)
        if not delay:
            work.wake.set()
        if work.task is None:
            work.task = asyncio.create_task(self._run(work, delay))

    def wake(self, tenant_id: int) -> None:
        """Something has happened that the names may have waited for."""
        work = self._work.get(tenant_id)
        if work is not None:
            work.wake.set()

    def busy(self, tenant_id: int) -> bool:
        return tenant_id in self._work

    async def stop(self) -> None:
        """For good: what comes in afterwards, of watches that are still open, begins nothing."""
        self._stopped = True
        tasks = [work.task for work in self._work.values() if work.task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._work.clear()

    async def _run(self, work: _Work, pause: float) -> None:
        rounds = 0
        try:
            while work.names:
                if await _wait(work.wake, pause):
                    rounds = 0
                work.wake.clear()
                names, work.names = work.names, set()
                left = await self._once(work.tenant, names)
                if left is None:
                    return
                work.names.update(left)
                pause = min(FIRST * 2**rounds, LONGEST)
                rounds += 1
        finally:
            if self._work.get(work.tenant.id) is work:
                del self._work[work.tenant.id]

    async def _once(self, tenant: Tenant, names: set[str]) -> Iterable[str] | None:
        try:
            return await self._look(tenant, names)
        except TenantGone:
            return None
        except (StorageError, ApiError) as e:
            log.info("%s of tenant %s wait: %s", ", ".join(sorted(names)[:3]), tenant.name, e)
        except Exception:
            log.exception("%s of tenant %s", ", ".join(sorted(names)[:3]), tenant.name)
        return names


async def _wait(wake: asyncio.Event, seconds: float) -> bool:
    """Whether it came before the time was over."""
    try:
        async with asyncio.timeout(seconds):
            await wake.wait()
    except TimeoutError:
        return False
    return True
