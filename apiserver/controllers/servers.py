"""Where the API servers of this installation are: each says so in a row that lasts a minute, so
that all know of all."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from apiserver.storage import leases
from apiserver.storage.pool import Database

_PREFIX = "server/"
RENEW = 20.0
_LASTS = 60.0


@dataclass(slots=True)
class Servers:
    """address: where clients reach this one ("" for nowhere), as an IPv4 address; addresses: of
    all that are known, sorted; hostname: of this machine."""

    database: Database
    address: str
    port: int
    hostname: str
    addresses: tuple[str, ...] = field(default=(), init=False)
    _next: float = field(default=0.0, init=False)

    async def refresh(self) -> None:
        """As often as one likes. Raises Unavailable."""
        if time.monotonic() < self._next:
            return
        if self.address:
            await leases.acquire(self.database, _PREFIX + self.address, self.address, _LASTS)
        names = await leases.held(self.database, _PREFIX)
        self.addresses = tuple(sorted(name.removeprefix(_PREFIX) for name in names))
        self._next = time.monotonic() + RENEW
