"""Turns of many tenants at a few places, so that none of them waits for the slow ones.

A tenant has few turns at a time. That alone would not do: a few slow tenants would hold all places.
So whoever is still at it after a while gives the place to the next, goes on without one, and its
tenant takes the slow lane from then on, which has places of its own that are held to the end. A
tenant leaves that lane when a turn of it was quick, and after a while in any case.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from weakref import WeakValueDictionary

_SENTENCE = 60.0
"""Seconds in the slow lane."""
_MOST_SLOW = 10_000
"""Tenants whose slowness is remembered."""


class Lanes:
    """places, slow: of either lane; of_one_tenant: turns at a time; patience: seconds for which a
    place is held."""

    def __init__(self, places: int, slow: int, of_one_tenant: int, patience: float) -> None:
        self._fast, self._slow = asyncio.Semaphore(places), asyncio.Semaphore(slow)
        self._of_one, self._patience = of_one_tenant, patience
        self._tenants: WeakValueDictionary[int, asyncio.Semaphore] = WeakValueDictionary()
        self._known_slow: OrderedDict[int, float] = OrderedDict()

    @asynccontextmanager
    async def of(self, tenant: int) -> AsyncIterator[None]:
        """A turn of the tenant, for as long as the context lasts."""
        own = self._tenants.get(tenant)
        if own is None:
            own = self._tenants[tenant] = asyncio.Semaphore(self._of_one)
        async with own:
            turn = self._slow_turn(tenant) if self._is_slow(tenant) else self._turn(tenant)
            async with turn:
                yield

    @asynccontextmanager
    async def _turn(self, tenant: int) -> AsyncIterator[None]:
        await self._fast.acquire()
        held = True

        def give() -> None:
            nonlocal held
            if held:
                held = False
                self._fast.release()

        def late() -> None:
            self._remember(tenant)
            give()

        timer = asyncio.get_running_loop().call_later(self._patience, late)
        try:
            yield
        finally:
            timer.cancel()
            give()

    @asynccontextmanager
    async def _slow_turn(self, tenant: int) -> AsyncIterator[None]:
        async with self._slow:
            loop = asyncio.get_running_loop()
            began = loop.time()
            try:
                yield
            finally:
                if loop.time() - began < self._patience:
                    self._known_slow.pop(tenant, None)
                else:
                    self._remember(tenant)

    def _is_slow(self, tenant: int) -> bool:
        return self._known_slow.get(tenant, 0.0) > asyncio.get_running_loop().time()

    def _remember(self, tenant: int) -> None:
        self._known_slow[tenant] = asyncio.get_running_loop().time() + _SENTENCE
        self._known_slow.move_to_end(tenant)
        if len(self._known_slow) > _MOST_SLOW:
            self._known_slow.popitem(last=False)
