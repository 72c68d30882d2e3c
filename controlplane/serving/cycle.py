"""One request and its answer on a connection (uvicorn's ``RequestResponseCycle``)."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any

from uvicorn._types import ASGI3Application, ASGISendEvent
from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, RequestResponseCycle

from apiserver.whose import is_shared, moves_bytes

_JOINED = 64 * 1024
"""Bytes of a body that costs less to copy than to write by itself."""
_PIECE = 128 * 1024
"""Bytes of an answer that are written in one turn."""
_BODILESS = frozenset({204, 304})
_line = b"%b: %b\r\n".__mod__
_PLAIN = bytes(c for c in range(256) if c == 0x09 or (c >= 0x20 and c != 0x7F))
"""All that a line of a head may hold."""


class Flow(FlowControl):
    """held: what has been read already waits for its turn, so nothing more is read."""

    held = False

    def resume_reading(self) -> None:
        if not self.held:
            super().resume_reading()


class Cycle(RequestResponseCycle):
    """One request and its answer. A head that says how long its body is waits for the body, so that
    both are one write: one TLS record and one packet instead of two."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._head = b""
        self._task: asyncio.Task[None] | None = None

    async def run_asgi(self, app: ASGI3Application) -> None:
        self._task = asyncio.current_task()

        async def unless_gone(*connection: Any) -> None:
            try:
                await app(*connection)
            except asyncio.CancelledError:
                if not self.disconnected:
                    raise

        await super().run_asgi(unless_gone)

    def client_left(self) -> None:
        """Ends a request that nobody will read an answer of. What has been handed to the database
        is finished; what has not is never done, so that a client that gives up, looks and tries
        again finds its own write behind it, and not before it. An answer that has begun ends by
        itself, at its next ``send``."""
        if self._task is not None and not self.response_started:
            self._task.cancel()

    async def send(self, message: ASGISendEvent) -> None:
        if self.flow.write_paused and not self.disconnected:
            await self.flow.drain()
        if self.disconnected:
            return
        if message["type"] == "http.response.start" and not self.response_started:
            self._start(message["status"], message.get("headers", ()))
        elif (
            message["type"] == "http.response.body"
            and self._head
            and not message.get("more_body", False)
            and len(message.get("body", b"")) == self.expected_content_length
        ):
            await self._answer_whole(message.get("body", b""))
        else:
            self._write_head()
            await super().send(message)
            if message["type"] == "http.response.body":
                await self._others_come(len(message.get("body", b"")))

    def _start(self, status: int, headers: Iterable[tuple[bytes, bytes]]) -> None:
        """Writes the head, or keeps it. Raises RuntimeError for a header that would break it."""
        self.response_started = True
        self.waiting_for_100_continue = False
        pairs = (*self.default_headers, *headers)
        values, sized = dict(pairs), False
        if (names := b"".join(values)) != names.lower():
            pairs = tuple((name.lower(), value) for name, value in pairs)
            values = dict(pairs)
        lines = [STATUS_LINE.get(status) or b"HTTP/1.1 %d \r\n" % status, *map(_line, pairs)]
        if (size := values.get(b"content-length")) is not None and self.chunked_encoding is None:
            self.expected_content_length, self.chunked_encoding = int(size), False
            sized = True
        elif values.get(b"transfer-encoding", b"").lower() == b"chunked":
            self.expected_content_length, self.chunked_encoding = 0, True
        if _closes(values.get(b"connection")):
            self.keep_alive = False
        elif not self.keep_alive:
            lines.append(b"connection: close\r\n")
        bodiless = self.scope["method"] == "HEAD" or status in _BODILESS
        if self.chunked_encoding is None and not bodiless:
            self.chunked_encoding = True
            lines.append(b"transfer-encoding: chunked\r\n")
        lines.append(b"\r\n")
        self._head = b"".join(lines)
        if self._head.translate(None, _PLAIN) != b"\r\n" * len(lines):
            raise RuntimeError("a header of the answer has control characters")
        if bodiless:
            self.expected_content_length = 0  # it is that of the body which is not sent
        if not sized or bodiless:
            self._write_head()

    def _write_head(self) -> None:
        head, self._head = self._head, b""
        if head:
            self.transport.write(head)

    async def _answer_whole(self, body: bytes) -> None:
        head, self._head = self._head, b""
        if len(body) < _JOINED:
            self.transport.write(head + body)
        else:
            self.transport.write(head)
            await self._write_large(body)
        self.expected_content_length = 0
        self.response_complete = True
        self.message_event.set()
        if not self.keep_alive:
            self.transport.close()
        self.on_response()

    async def _write_large(self, body: bytes) -> None:
        """In pieces where tenants share the loop: to encrypt a megabyte takes a millisecond."""
        if not is_shared():
            self.transport.write(body)
            return
        rest = memoryview(body)
        while len(rest) and not self.disconnected:
            await self._others_come(min(len(rest), _PIECE))
            if self.flow.write_paused:
                await self.flow.drain()
            self.transport.write(rest[:_PIECE])
            rest = rest[_PIECE:]

    async def _others_come(self, size: int) -> None:
        """Between pieces of so many bytes, where tenants share the loop."""
        if size >= _PIECE and is_shared():
            await moves_bytes(size)
            await asyncio.sleep(0)


def _closes(connection: bytes | None) -> bool:
    """Whether the connection ends with an answer that has this header."""
    if connection is None:
        return False
    return b"close" in [token.strip().lower() for token in connection.split(b",")]
