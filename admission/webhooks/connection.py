"""One HTTP/1.1 connection over TLS, used for one request at a time: h11 speaks the protocol,
asyncio moves the bytes."""

from __future__ import annotations

import asyncio
import contextlib
import time
from typing import NamedTuple

import h11

from admission.webhooks.errors import CallFailed

_CHUNK = 64 * 1024


_BODILESS = (204, 304)
_SIZED = frozenset({b"content-length", b"transfer-encoding"})


class Answer(NamedTuple):
    """content_type: "" where none was sent; cut: whether the connection ended before the body."""

    status: int
    content_type: str
    body: bytes
    cut: bool = False


class Gone(Exception):
    """The other side closed the connection before it said anything, or said something that nobody
    had asked for: one that had been idle can be replaced by a new one."""


def _announces_what_cannot_be(response: h11.Response) -> bool:
    """Whether a body may follow, and be taken for the next answer, where there is none (RFC 9110,
    8.6)."""
    sizes = [value for name, value in response.headers if name in _SIZED]
    return response.status_code in _BODILESS and sizes not in ([], [b"0"])


class Connection:
    """used: monotonic time of the last answer."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer
        self._http = h11.Connection(h11.CLIENT)
        self.used = 0.0
        self._sound = True

    @property
    def reusable(self) -> bool:
        return (
            self._sound
            and self._http.our_state is h11.IDLE
            and not self._http.trailing_data[0]
            and not self._reader.at_eof()
            and not self._writer.is_closing()
        )

    async def post(
        self,
        target: str,
        headers: list[tuple[str, str]],
        body: bytes,
        limit: int,
        method: str = "POST",
    ) -> Answer:
        """limit: of bytes that the answer's body may have. Raises Gone, OSError, CallFailed; the
        connection is of no use then."""
        if self.used and await self._unasked():
            raise Gone
        try:
            http = self._http
            request = h11.Request(method=method, target=target, headers=headers)
            parts = [
                http.send(request),
                http.send(h11.Data(data=body)),
                http.send(h11.EndOfMessage()),
            ]
            self._writer.write(b"".join([part for part in parts if part]))
            with contextlib.suppress(
                ConnectionError
            ):  # it may have answered without reading everything
                await self._writer.drain()
            answer = await self._answer(limit)
        except h11.RemoteProtocolError as error:
            raise CallFailed(f"net/http: HTTP/1.x transport connection broken: {error}") from None
        if http.our_state is h11.DONE and http.their_state is h11.DONE:
            http.start_next_cycle()
        self.used = time.monotonic()
        return answer

    async def _unasked(self) -> bool:
        """Whether something came, or the end, while nobody asked: it would be taken for the next
        answer (Go's transport closes such a connection, too)."""
        try:
            async with asyncio.timeout(0):
                await self._reader.read(1)
        except TimeoutError:
            return False
        return True

    async def _answer(self, limit: int) -> Answer:
        heard = cut = False
        response: h11.Response | None = None
        body: list[bytes] = []
        while True:
            event = self._http.next_event()
            if event is h11.NEED_DATA:
                data = await self._reader.read(_CHUNK)
                if not data and (cut := self._ended(response, heard=heard)):
                    break
                heard = True
                self._http.receive_data(data)
            elif isinstance(event, h11.Response):
                response = event
                self._sound = not _announces_what_cannot_be(response)
            elif isinstance(event, h11.Data):
                body.append(event.data)
                limit -= len(event.data)
                if limit < 0:
                    raise CallFailed("the response is too large")
            elif isinstance(event, h11.EndOfMessage):
                break
            elif not isinstance(event, h11.InformationalResponse):
                raise CallFailed("unexpected EOF")
        assert response is not None, "no message ends before it begins"
        kind = next((value for name, value in response.headers if name == b"content-type"), b"")
        return Answer(response.status_code, kind.decode("latin-1"), b"".join(body), cut)

    def _ended(self, response: h11.Response | None, *, heard: bool) -> bool:
        """Nothing more comes. Whether that cuts the answer off; otherwise it is how the answer
        ends. Raises Gone, CallFailed."""
        if response is not None:
            return any(name in _SIZED for name, _ in response.headers)
        if heard:
            raise CallFailed("unexpected EOF")
        raise Gone

    def abort(self) -> None:
        """At once, without saying goodbye."""
        self._writer.transport.abort()

    async def close(self) -> None:
        self._writer.close()
        with contextlib.suppress(OSError, TimeoutError):
            async with asyncio.timeout(1):
                await self._writer.wait_closed()
