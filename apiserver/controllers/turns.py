"""Turns of the controllers of one process: a few at a time, so that they leave the database to
requests, and fewer of one tenant, whose admission webhooks may let each of them wait."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from weakref import WeakValueDictionary

AT_ONCE = 8
OF_ONE_TENANT = 2


class Turns:
    def __init__(self, at_once: int = AT_ONCE, of_one_tenant: int = OF_ONE_TENANT) -> None:
        self._all = asyncio.Semaphore(at_once)
        self._of_one = of_one_tenant
        self._tenants: WeakValueDictionary[int, asyncio.Semaphore] = WeakValueDictionary()

    @asynccontextmanager
    async def of(self, tenant: int) -> AsyncIterator[None]:
        """A turn of the tenant, for as long as the context lasts."""
        own = self._tenants.get(tenant)
        if own is None:
            own = self._tenants[tenant] = asyncio.Semaphore(self._of_one)
        async with own, self._all:
            yield
