"""A light HTTP/1.1 client: requests are bytes made beforehand, answers are looked at just enough to
know where they end.

It shares the machine with the server that it measures, so it does as little as it can for each
request.
"""

from __future__ import annotations

import asyncio
import re
import ssl
import time
from collections.abc import Callable
from functools import cache
from typing import NamedTuple, cast

_LENGTH = re.compile(rb"content-length: *(\d+)", re.IGNORECASE)


class Site(NamedTuple):
    """Where requests go: a port of this machine, and the header lines that each request carries
    (with their line ends)."""

    port: int
    headers: bytes = b""


def request(
    site: Site,
    method: str,
    path: str,
    body: bytes | None = None,
    content_type: str = "application/json",
) -> bytes:
    head = (
        f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{site.port}\r\nAccept: "
        f"application/json\r\n".encode()
        + site.headers
    )
    if body is None:
        return head + b"\r\n"
    return (
        head
        + b"Content-Type: %b\r\nContent-Length: %d\r\n\r\n" % (content_type.encode(), len(body))
        + body
    )


@cache
def tls() -> ssl.SSLContext:
    """The server is this machine's own; its certificate is of no interest here."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


class Connection(asyncio.Protocol):
    """One request at a time. status and body are of the last answer."""

    def __init__(self) -> None:
        self.status = 0
        self.body = b""
        self._transport: asyncio.Transport | None = None
        self._parts: list[bytes] = []
        self._missing = 0
        self._answer: asyncio.Future[int] | None = None
        self._lost = False
        self._loop = asyncio.get_running_loop()

    @classmethod
    async def open(cls, site: Site) -> Connection:
        _, protocol = await asyncio.get_running_loop().create_connection(
            cls, "127.0.0.1", site.port, ssl=tls()
        )
        return protocol

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's own class

    async def send(self, data: bytes) -> int:
        """The status. Raises ConnectionError."""
        assert self._transport is not None
        if self._lost:
            raise ConnectionError("the server has closed the connection")
        answer: asyncio.Future[int] = self._loop.create_future()
        self._answer = answer
        self._transport.write(data)
        return await answer

    async def expect(self, data: bytes) -> bytes:
        """The body of an answer that must be a success."""
        status = await self.send(data)
        if status >= 300:
            raise RuntimeError(f"{data[:120]!r} was answered {status}: {self.body[:300]!r}")
        return self.body

    def data_received(self, data: bytes) -> None:
        self._parts.append(data)
        if self._missing:
            self._missing -= len(data)
        else:
            whole = data if len(self._parts) == 1 else b"".join(self._parts)
            end = whole.find(b"\r\n\r\n")
            if end < 0:
                return
            found = _LENGTH.search(whole, 0, end)
            if found is None:
                raise RuntimeError(f"no length: {whole[:300]!r}")
            self._missing = int(found[1]) - (len(whole) - end - 4)
        if self._missing <= 0:
            whole = b"".join(self._parts)
            self.status, self.body = int(whole[9:12]), whole[whole.index(b"\r\n\r\n") + 4 :]
            self._parts, self._missing = [], 0
            if self._answer is not None and not self._answer.done():
                self._answer.set_result(self.status)

    def connection_lost(self, error: Exception | None) -> None:
        self._lost = True
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(ConnectionError("the server closed the connection"))

    def close(self) -> None:
        if self._transport is not None:
            self._transport.abort()


class Load(NamedTuple):
    """answers in ``seconds``; latencies in seconds."""

    answers: int
    seconds: float
    latencies: list[float]


async def drive(
    site: Site, clients: int, seconds: float, make: Callable[[int, int], bytes]
) -> Load:
    """Every client sends ``make(client, number)`` again and again, and at least once, however long
    that takes. Raises RuntimeError for an answer that is no success."""
    connections = await asyncio.gather(*(Connection.open(site) for _ in range(clients)))
    latencies: list[float] = []
    began = time.perf_counter()
    end = began + seconds

    async def one(connection: Connection, client: int) -> None:
        number, now = 0, time.perf_counter()
        while not number or now < end:
            await connection.expect(make(client, number))
            number += 1
            before, now = now, time.perf_counter()
            latencies.append(now - before)

    await asyncio.gather(*(one(c, i) for i, c in enumerate(connections)))
    took = time.perf_counter() - began
    for connection in connections:
        connection.close()
    return Load(len(latencies), took, latencies)
