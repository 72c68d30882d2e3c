"""The API of one process behind a socket, as a worker has it: acceptor, TLS, our HTTP and WebSocket
protocols, on the event loop of the test."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import uvicorn
from uvicorn.server import ServerState

from controlplane.serving.acceptor import Acceptor
from controlplane.serving.connections import Connections
from controlplane.serving.http import HttpProtocol
from controlplane.serving.limits import Limits
from controlplane.serving.websocket import WebSocketProtocol
from tests.support.api import Api
from tests.support.waiting import PATIENCE
from tests.support.webhooks import serving_context


def trusting() -> ssl.SSLContext:
    """Of clients: what is tested is something else."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context


@asynccontextmanager
async def served(api: Api) -> AsyncIterator[int]:
    """The port on 127.0.0.1."""
    config = uvicorn.Config(
        api._entry,
        http=HttpProtocol,
        ws=WebSocketProtocol,
        interface="asgi3",
        lifespan="off",
        access_log=False,
        log_config=None,
        proxy_headers=False,
        server_header=False,
    )
    config.load()
    state, connections = ServerState(), Connections(Limits())
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.setblocking(False)
        acceptor = Acceptor(
            listener,
            serving_context("localhost"),
            connections,
            lambda seat: HttpProtocol(config, state, {}, seat, connections),
        )
        acceptor.start()
        try:
            yield listener.getsockname()[1]
        finally:
            acceptor.close()
            for connection in list(state.connections):
                connection.transport.abort()
            for task in list(state.tasks):
                task.cancel()
            await asyncio.gather(*state.tasks, return_exceptions=True)
            async with asyncio.timeout(PATIENCE):
                while len(connections):  # noqa: ASYNC110  nothing tells of it
                    await asyncio.sleep(0.01)


class Client:
    """One connection that speaks HTTP until it speaks something else."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer

    async def ask(self, path: str, *headers: str, method: str = "GET", after: bytes = b"") -> bytes:
        """The head of the answer. ``after``: bytes that follow the request at once."""
        lines = [f"{method} {path} HTTP/1.1", "Host: localhost", *headers]
        await self.send("\r\n".join(lines).encode() + b"\r\n\r\n" + after)
        async with asyncio.timeout(PATIENCE):
            return await self._reader.readuntil(b"\r\n\r\n")

    async def send(self, data: bytes) -> None:
        self._writer.write(data)
        await self._writer.drain()

    async def take(self, size: int) -> bytes:
        async with asyncio.timeout(PATIENCE):
            return await self._reader.readexactly(size)

    async def rest(self) -> bytes:
        """All until the other side closes; b"" where it just breaks off."""
        async with asyncio.timeout(PATIENCE):
            try:
                return await self._reader.read()
            except (ConnectionError, ssl.SSLError):
                return b""

    async def leave(self) -> None:
        self._writer.close()
        with contextlib.suppress(OSError, TimeoutError):
            async with asyncio.timeout(5):
                await self._writer.wait_closed()


@asynccontextmanager
async def client(port: int) -> AsyncIterator[Client]:
    made = Client(*await asyncio.open_connection("127.0.0.1", port, ssl=trusting()))
    try:
        yield made
    finally:
        made._writer.transport.abort()
