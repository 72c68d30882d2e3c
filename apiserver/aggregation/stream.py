"""One request over one connection, as a stream in both directions: h11 speaks the protocol, asyncio
moves the bytes. Nothing is read ahead of whoever takes it. After a 101 the bytes are anybody's."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator

import h11

_CHUNK = 64 * 1024
_HEAD = 64 * 1024
"""Bytes of an answer's head."""
_FAREWELL = 5.0
"""Seconds in which the other side may take the rest."""
_TURN = 64
"""Events, such as chunks, after which others have the loop: a byte may be a chunk of its own."""

Headers = list[tuple[bytes, bytes]]


class Broken(Exception):
    """The other side does not speak HTTP, or has gone before it had said everything."""


class Stream:
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer
        self._http = h11.Connection(h11.CLIENT, max_incomplete_event_size=_HEAD)
        self._aborted = False
        self._events = 0
        self._switched = False

    async def begin(self, method: bytes, target: bytes, headers: Headers) -> None:
        """Sends the head. Raises OSError, and Broken for a request that HTTP cannot say."""
        try:
            head = self._http.send(h11.Request(method=method, target=target, headers=headers))
        except h11.LocalProtocolError as error:
            raise Broken(str(error)) from None
        await self._write(head)

    async def send(self, data: bytes) -> None:
        """A part of the body; waits until the other side takes it. Raises OSError, Broken."""
        try:
            await self._write(self._http.send(h11.Data(data=data)))
        except h11.LocalProtocolError as error:
            raise Broken(str(error)) from None

    async def finish(self) -> None:
        """The body is complete. Raises OSError, Broken."""
        try:
            await self._write(self._http.send(h11.EndOfMessage()))
        except h11.LocalProtocolError as error:
            raise Broken(str(error)) from None

    async def head(self) -> h11.Response | h11.InformationalResponse:
        """The head of the answer; with status 101 to a request with Upgrade only. Raises OSError,
        Broken."""
        while True:
            event = await self._next()
            if isinstance(event, h11.Response):
                return event
            if not isinstance(event, h11.InformationalResponse):
                raise Broken("unexpected EOF")
            if event.status_code == 101:
                return event

    async def body(self) -> AsyncGenerator[bytes, None]:
        """The parts of the answer's body as they come. Raises OSError, Broken."""
        while True:
            event, data = await self._next(), []
            while isinstance(event, h11.Data):  # in chunks of any size: what is here goes together
                data.append(bytes(event.data))
                event = await self._next(wait=False)
            if data:
                yield b"".join(data)
            if isinstance(event, h11.EndOfMessage):
                return
            if event is not h11.NEED_DATA:
                raise Broken("unexpected EOF")

    async def read(self) -> bytes:
        """After a 101: what has come, b"" at the end. Raises OSError."""
        if not self._switched:
            self._switched = True
            if early := self._http.trailing_data[0]:
                return early
        return await self._reader.read(_CHUNK)

    async def write(self, data: bytes) -> None:
        """After a 101; waits until the other side takes it. Raises OSError."""
        await self._write(data)

    async def close(self) -> None:
        """What has been written goes out, as long as the other side takes it."""
        with contextlib.suppress(OSError, TimeoutError):
            async with asyncio.timeout(_FAREWELL):
                self._writer.close()
                await self._writer.wait_closed()

    def abort(self) -> None:
        """At once, without saying goodbye. What comes after it looks like no end of an answer."""
        self._aborted = True
        self._writer.transport.abort()

    async def _next(self, *, wait: bool = True) -> object:
        """An event of h11, or h11.PAUSED; h11.NEED_DATA if it is not to ``wait`` for more."""
        self._events += 1
        if self._events % _TURN == 0:
            await asyncio.sleep(0)
        try:
            while (event := self._http.next_event()) is h11.NEED_DATA and wait:
                data = await self._reader.read(_CHUNK)
                if not data and (self._aborted or self._http.their_state is h11.SEND_RESPONSE):
                    raise Broken("EOF")
                self._http.receive_data(data)
        except h11.RemoteProtocolError as error:
            raise Broken(f"net/http: HTTP/1.x transport connection broken: {error}") from None
        return event

    async def _write(self, data: bytes | None) -> None:
        if data:
            self._writer.write(data)
            await self._writer.drain()
