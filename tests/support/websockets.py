"""A watch by WebSocket, opened for one look.

With the asyncio client: the threaded one of websockets reads and writes one TLS connection in two
threads, and CPython before 3.13 lets them into OpenSSL together, which loses one request in a
thousand.
"""

from __future__ import annotations

import asyncio
import base64
import json
import ssl
from typing import Any

from websockets.asyncio.client import connect
from websockets.typing import Subprotocol

from tests.support.waiting import PATIENCE

_PROTOCOL = Subprotocol("v4.channel.k8s.io")
_BEARER = "base64url.bearer.authorization.k8s.io."


def first_event(
    url: str, context: ssl.SSLContext, *, token: str = "", server_name: str = "127.0.0.1"
) -> Any:
    """The first event of the watch at ``url``. Raises InvalidStatus where the server refuses.
    token: sent as browsers send it."""
    encoded = base64.urlsafe_b64encode(token.encode()).decode().rstrip("=")
    offered = [Subprotocol(_BEARER + encoded), _PROTOCOL] if token else None

    async def look() -> Any:
        async with (
            asyncio.timeout(PATIENCE),
            connect(
                url,
                ssl=context,
                server_hostname=server_name,
                subprotocols=offered,
                open_timeout=PATIENCE,
            ) as watch,
        ):
            return json.loads(await watch.recv())

    return asyncio.run(look())
