"""A connection whose protocol the application has switched: its bytes are the application's, in
both directions, and only their number is bounded here."""

from __future__ import annotations

import asyncio
from http import HTTPStatus

from apiserver.endpoints.outlets import Transport
from apiserver.endpoints.request import Message
from apiserver.endpoints.tunnels import Headers
from controlplane.serving.connections import Connections, Seat

_AHEAD = 64 * 1024
"""Bytes that have been read and the application has not taken, above which nothing more is read."""
MAX_EARLY = 4096
"""Bytes that a client may send before it knows that the protocol is switched."""


class Tunnel(asyncio.Protocol):
    """One connection. early: what the client sent before it was told."""

    def __init__(
        self, transport: asyncio.Transport, seat: Seat, connections: Connections, early: bytes
    ) -> None:
        self._wire, self._seat, self._open = transport, seat, connections
        self._unread = bytearray(early)
        self._news, self._writable = asyncio.Event(), asyncio.Event()
        self._writable.set()
        self._paused = self._ended = False
        self._stalled = (0, 0.0)

    def begin(self, headers: Headers) -> None:
        """Answers 101 and takes the connection over."""
        status = HTTPStatus.SWITCHING_PROTOCOLS
        lines = [b"HTTP/1.1 %d %b" % (status, status.phrase.encode())]
        lines += [b"%b: %b" % header for header in headers]
        self._wire.write(b"\r\n".join(lines) + b"\r\n\r\n")
        self._seat.conversation = self
        self._wire.set_protocol(self)
        self._wire.resume_reading()

    # The application's side

    @property
    def transport(self) -> Transport:
        return self._wire

    async def read(self) -> bytes:
        while not self._unread and not self._ended:
            self._news.clear()
            await self._news.wait()
        data, self._unread = bytes(self._unread), bytearray()
        if self._paused:
            self._paused = False
            self._wire.resume_reading()
        return data

    async def send(self, message: Message) -> None:
        await self._writable.wait()
        if not self._ended:
            self._wire.write(message["body"])

    def close(self) -> None:
        self._wire.close()

    # The transport's side

    def data_received(self, data: bytes) -> None:
        self._unread += data
        if len(self._unread) > _AHEAD and not self._paused:
            self._paused = True
            self._wire.pause_reading()
        self._news.set()

    def pause_writing(self) -> None:
        self._writable.clear()

    def resume_writing(self) -> None:
        self._writable.set()

    def connection_lost(self, exc: Exception | None) -> None:
        self._open.leave(self._seat)
        self._ended = True
        self._news.set()
        self._writable.set()

    # The sweep

    def overdue(self, now: float) -> bool:
        """Whether the client takes nothing of what was sent to it."""
        size = self._wire.get_write_buffer_size()
        if self._writable.is_set() and not (size and self._wire.is_closing()):
            return False
        if size != self._stalled[0]:
            self._stalled = (size, now)
        return now - self._stalled[1] > self._open.limits.stall

    def patience(self) -> tuple[bool, float] | None:
        return None
