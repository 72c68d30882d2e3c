"""Answers on their way to clients that may not read them: how much one may hold up, and how much a
tenant may leave unread.

A server's ``send`` waits while its transport has enough, and the connection's own sweep
(`controlplane.serving`) ends one that takes nothing for too long. Until then it keeps memory alive.
So whoever sends much, or to a connection that has not taken everything before, sends through an
`Outlet`: slice by slice, and when a tenant's clients together leave more unread than its bound,
those are aborted that have waited longest; so is one that keeps a state alive which has changed too
much meanwhile. Nobody who reads is ever looked at.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import struct
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol

from apiserver.endpoints.request import Message, Send
from apiserver.registry.offload import ClientGone
from apiserver.registry.scope import Tenant
from apiserver.watch.turnover import Turnover
from apiserver.whose import shared_task

log = logging.getLogger("polyplane.watch")

SLICE = 256 * 1024
"""Bytes that are handed to a transport at a time: what it takes at once, whether the client reads
or not, cannot be seen."""
_HIGH, _LOW = 64 * 1024, 16 * 1024
"""Bytes in the transport above which ``send`` waits, until there are no more than the lower
number."""
_RESET = struct.pack("ii", 1, 0)  # linger, for no time
_LOOK_EVERY = 1.0  # seconds


class Transport(Protocol):
    """Of asyncio.Transport, what is needed here."""

    def get_write_buffer_size(self) -> int: ...

    def set_write_buffer_limits(self, high: int, low: int) -> None: ...

    def get_extra_info(self, name: str) -> Any: ...

    def is_closing(self) -> bool: ...

    def abort(self) -> None: ...


def transport_of(send: Send) -> Transport | None:
    """The connection behind uvicorn's ``send``, a method of what serves the request. None for other
    servers: theirs cannot be aborted."""
    transport: Transport | None = getattr(getattr(send, "__self__", None), "transport", None)
    return transport


def abort(transport: Transport) -> None:
    """Ends the connection at once: nothing is kept for the client, in the kernel neither, which
    would wait for it as well."""
    connection = transport.get_extra_info("socket")
    if connection is not None:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
    transport.abort()


class Outlet:
    """Sends one answer. holds: bytes that are kept for it alone and have not been sent; began: the
    turnover of the tenant when the answer was begun."""

    __slots__ = (
        *("_last", "_outlets", "_passing", "_send", "_transport"),
        *("began", "holds", "tenant", "turnover"),
    )

    def __init__(
        self,
        outlets: Outlets,
        tenant: Tenant,
        send: Send,
        transport: Transport | None,
        passing: bool = False,
    ) -> None:
        self._passing = passing
        self._outlets, self.tenant, self._send, self._transport = outlets, tenant, send, transport
        self.turnover = outlets.turnover_of(tenant.id)
        self.began = self.turnover.bytes
        self.holds = 0
        self._last = 0
        if transport is not None:
            transport.set_write_buffer_limits(_HIGH, _LOW)

    async def send(self, message: Message) -> None:
        """Raises ClientGone once the connection is closed, by either side."""
        transport = self._transport
        if transport is None:
            await self._send(message)
            return
        if transport.is_closing():
            raise ClientGone
        waiting, size = (
            transport.get_write_buffer_size(),
            len(message.get("body") or message.get("text") or b""),
        )
        if waiting <= _LOW:
            await self._send(message)
        else:
            with self._outlets.behind(self, waiting + self._last + max(size, self.holds)):
                await self._send(message)
        self._last = size

    def holds_too_much(self) -> bool:
        """Whether what has changed since the answer was begun, and may be kept for it alone, is
        more than a tenant may keep."""
        return not self._passing and self.turnover.since(self.began) > self._outlets.max_unread

    def abort(self, reason: str) -> None:
        log.info("tenant %s: a connection was aborted: %s", self.tenant.name, reason)
        if self._transport is not None:
            abort(self._transport)


class Outlets:
    """Of one process. max_unread: bytes for each tenant; turnover_of: of a tenant's caches, by its
    number."""

    def __init__(self, max_unread: int, turnover_of: Callable[[int], Turnover]) -> None:
        self.max_unread, self.turnover_of = max_unread, turnover_of
        self.unread: Counter[int] = Counter()
        """Tenant to bytes that clients who do not read just now leave in memory."""
        self._behind: dict[int, dict[Outlet, int]] = {}
        self._looking: asyncio.Task[None] | None = None

    def open(self, tenant: Tenant, send: Send, *, passing: bool = False) -> Outlet:
        """For an answer that is large or has no end. ``passing``: it comes from somewhere else, and
        keeps nothing of the tenant's caches."""
        return Outlet(self, tenant, send, transport_of(send), passing)

    @contextmanager
    def behind(self, outlet: Outlet, size: int) -> Iterator[None]:
        """While ``outlet`` waits for its client; ``size``: bytes that are kept meanwhile."""
        tenant = outlet.tenant.id
        waiting = self._behind.setdefault(tenant, {})
        waiting[outlet] = size
        self.unread[tenant] += size
        while self.unread[tenant] > self.max_unread and waiting:
            first = next(iter(waiting))
            self._forget(first)
            first.abort("the tenant's clients leave too much unread")
        if self._looking is None or self._looking.done():
            self._looking = shared_task(self._look())
        try:
            yield
        finally:
            self._forget(outlet)

    def _forget(self, outlet: Outlet) -> None:
        tenant = outlet.tenant.id
        waiting = self._behind.get(tenant, {})
        self.unread[tenant] -= waiting.pop(outlet, 0)
        if not waiting:
            self._behind.pop(tenant, None)
            del self.unread[tenant]

    async def _look(self) -> None:
        while self._behind:
            await asyncio.sleep(_LOOK_EVERY)
            for outlet in [outlet for waiting in self._behind.values() for outlet in waiting]:
                if outlet.holds_too_much():
                    outlet.abort("the client reads too slowly for what changes meanwhile")
