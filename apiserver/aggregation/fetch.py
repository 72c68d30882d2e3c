"""What this server itself asks the servers behind it: whether they are there, and what they serve.
Bounded in time and size; redirects are not followed."""

from __future__ import annotations

import asyncio
import contextlib
from typing import NamedTuple

from admission.attributes import Lookup
from apiserver.aggregation import headers
from apiserver.aggregation.backends import Backend
from apiserver.aggregation.stream import Broken, Stream
from apiserver.aggregation.transport import Transport, Unreachable
from apiserver.registry.scope import Tenant
from apiserver.user import MASTERS, User

SECONDS = 5.0
MOST_BYTES = 256 * 1024
_USER = User("system:kube-aggregator", groups=(MASTERS,))


class Fetched(NamedTuple):
    """content_type, etag: "" where none was sent."""

    status: int
    content_type: str
    body: bytes
    etag: str = ""


async def fetch(
    transport: Transport,
    tenant: Tenant,
    lookup: Lookup,
    backend: Backend,
    path: str,
    accept: str,
    *,
    cached_etag: str = "",
    most: int = MOST_BYTES,
) -> Fetched:
    """The answer to a GET, of at most ``most`` bytes. ``cached_etag``: of what is at hand.
    Raises Unreachable."""
    try:
        async with asyncio.timeout(SECONDS):
            stream = await transport.open(tenant, lookup, backend)
            try:
                host = f"{backend.server_name}:{backend.port}"
                asked = [(b"Host", host.encode()), (b"Accept", accept.encode())]
                if cached_etag:
                    asked.append((b"If-None-Match", cached_etag.encode("latin-1")))
                await stream.begin(b"GET", path.encode(), [*asked, *headers.who(_USER)])
                await stream.finish()
                head = await stream.head()
                body = await _whole(stream, most)
            finally:
                stream.abort()
    except TimeoutError:
        raise Unreachable(
            "context deadline exceeded (Client.Timeout exceeded while awaiting headers)"
        ) from None
    except (OSError, Broken) as error:
        raise Unreachable(str(error) or "EOF") from None
    said = {bytes(name): bytes(value).decode("latin-1") for name, value in head.headers}
    kind, etag = said.get(b"content-type", ""), said.get(b"etag", "")
    return Fetched(head.status_code, kind, body, etag)


async def _whole(stream: Stream, most: int) -> bytes:
    """The body. Raises Broken, OSError."""
    body, size = [], 0
    async with contextlib.aclosing(stream.body()) as parts:
        async for part in parts:
            size += len(part)
            if size > most:
                raise Broken("the response is too large")
            body.append(part)
    return b"".join(body)
