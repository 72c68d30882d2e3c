"""How many of the pool's connections one tenant may have at a time: the others' queries find one,
whatever a tenant asks for."""

from __future__ import annotations

import asyncio
from collections import deque


class _Tenant:
    __slots__ = ("used", "waiting")

    def __init__(self) -> None:
        self.used = 0
        self.waiting: deque[asyncio.Future[None]] = deque()


class Places:
    """each: of one tenant. Who waits has its place in the order in which it came."""

    def __init__(self, each: int) -> None:
        self._each = each
        self._tenants: dict[int, _Tenant] = {}

    async def take(self, tenant: int) -> None:
        found = self._tenants.get(tenant)
        if found is None:
            found = self._tenants[tenant] = _Tenant()
        if found.used < self._each:
            found.used += 1
            return
        place: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        found.waiting.append(place)
        try:
            await place
        except asyncio.CancelledError:
            if place.done() and not place.cancelled():
                self.give_back(tenant)
            else:
                found.waiting.remove(place)
            raise

    def give_back(self, tenant: int) -> None:
        """To the next of the tenant's that waits."""
        found = self._tenants[tenant]
        while found.waiting:
            place = found.waiting.popleft()
            if not place.done():
                place.set_result(None)
                return
        found.used -= 1
        if not found.used:
            del self._tenants[tenant]
