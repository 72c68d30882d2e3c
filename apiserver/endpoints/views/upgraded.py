"""Requests that ask to speak another protocol with an API server of the tenant's own: WebSocket and
SPDY, by which clients of Kubernetes stream (k8s.io/apimachinery ``pkg/util/proxy``).

Nothing here reads what goes through: after the other server's 101 bytes are passed on in both
directions until either side ends. No other protocol is let through: over HTTP/2 in clear text
(``h2c``) a client could say itself who asks.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable

from apiserver.aggregation.stream import Broken, Stream
from apiserver.endpoints.filters import limits
from apiserver.endpoints.outlets import Outlet
from apiserver.endpoints.request import ApiRequest
from apiserver.endpoints.server import Server
from apiserver.endpoints.tunnels import Tunnel, opener
from apiserver.registry.offload import ClientGone

IDLE = 900.0
"""Seconds in which nothing goes in either direction."""
_LEFT = (OSError, Broken, ClientGone)
_PROTOCOLS = frozenset({b"websocket", b"spdy/3.1"})


def upgrade_of(request: ApiRequest) -> bytes:
    """The protocol to ask the other server for, as the client wrote it; b"" for plain HTTP."""
    asked = request.raw_headers.get(b"upgrade", b"")
    return asked if asked.lower() in _PROTOCOLS and opener(request) is not None else b""


async def count_as_watch(server: Server, request: ApiRequest) -> None:
    """It may last as long as one. Raises TooManyRequests."""
    info = await server.directory.tenant(request.tenant.name)
    if info is not None and request.info.verb != "watch":
        limits.become_watch(server, request, info)


async def relay(tunnel: Tunnel, outlet: Outlet, stream: Stream) -> None:
    """Until either side ends, or nothing comes for `IDLE` seconds. What has been taken from one
    side is offered to the other before that is closed."""
    loop = asyncio.get_running_loop()

    async def pump(
        take: Callable[[], Awaitable[bytes]], give: Callable[[bytes], Awaitable[None]]
    ) -> None:
        while data := await take():
            clock.reschedule(loop.time() + IDLE)
            await give(data)

    async def down(data: bytes) -> None:
        await outlet.send({"type": "http.response.body", "body": data, "more_body": True})

    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(IDLE) as clock:
            await _first_of(pump(tunnel.read, stream.write), pump(stream.read, down))
    tunnel.close()
    await stream.close()


async def _first_of(*ways: Awaitable[None]) -> None:
    """Returns when one has ended, whichever way; ends the others."""
    tasks = [asyncio.ensure_future(way) for way in ways]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        for ended in await asyncio.gather(*tasks, return_exceptions=True):
            if isinstance(ended, Exception) and not isinstance(ended, _LEFT):
                raise ended
