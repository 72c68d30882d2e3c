"""WebSockets as uvicorn speaks them, for a server that only sends, or that hands the connection to
somebody else before it has answered.

What clients send is bounded and ignored, as kube-apiserver ignores it, and no mistake of theirs is
an error of the server's: who breaks the protocol is closed with the code that RFC 6455 has for it
(7.4.1).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Any, Self

from uvicorn.protocols.utils import ClientDisconnected
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.frames import CloseCode
from websockets.protocol import State

from apiserver.endpoints.tunnels import TUNNEL, Headers
from apiserver.registry.offload import ClientGone
from controlplane.serving import clientcertificates, servername
from controlplane.serving.connections import Connections, Seat
from controlplane.serving.tunnel import MAX_EARLY, Tunnel

MAX_MESSAGE = 64 * 1024
"""Bytes of a client's message."""
_SLICE = 1024
"""Bytes that the parser gets in one turn of the event loop: a frame has at least 6, and takes some
15 µs."""
_FRAMES, _EVERY = 600, 60.0
"""Frames of a client in so many seconds. It needs some for pings; more are an attack."""
_PART = 64 * 1024
"""Bytes of a message that are encrypted at a time."""
_BAD_REQUEST = (
    b"HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain; "
    b"charset=utf-8\r\nConnection: close\r\n\r\n400 Bad Request"
)


class WebSocketProtocol(WebSocketsSansIOProtocol):
    """One connection, after HTTP has handed it over."""

    def __init__(self, *args: Any, seat: Seat, connections: Connections, **options: Any) -> None:
        super().__init__(*args, **options)
        self._seat, self._open = seat, connections
        self._rest = b""
        self._frames, self._counted_from = 0, connections.now
        self._stalled = (0, 0.0)
        self._ended = False

    @classmethod
    def seated(cls, seat: Seat, connections: Connections) -> Callable[..., Self]:
        """What makes the protocol of the connection that has the seat."""
        return partial(cls, seat=seat, connections=connections)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        self._seat.conversation = self
        self._extensions = {
            **servername.extension(transport, self._seat.tenant),
            **clientcertificates.extension(transport),
        }

    async def run_asgi(self) -> None:
        extensions = {**(self.scope["extensions"] or {}), **self._extensions, TUNNEL: self._switch}
        self.scope["extensions"] = extensions
        await super().run_asgi()

    def _switch(self, headers: Headers) -> Tunnel:
        if self._ended or self.handshake_complete or self.transport.is_closing():
            raise ClientGone
        self._ended = self.handshake_complete = self.close_sent = True
        self.connections.discard(self)
        tunnel = Tunnel(self.transport, self._seat, self._open, self._rest)
        self._rest = b""
        tunnel.begin(headers)
        return tunnel

    def connection_lost(self, exc: Exception | None) -> None:
        self._open.leave(self._seat)
        self._ended, self._rest = True, b""
        super().connection_lost(exc)

    # What the client sends

    def data_received(self, data: bytes) -> None:
        waits = bool(self._rest)
        self._rest += data
        if self.handshake_initiated and not self.handshake_complete:
            if len(self._rest) > MAX_EARLY:
                self._end(b"")  # it has not been told yet that there is a WebSocket
        elif not waits:
            self._feed()

    def _feed(self) -> None:
        """Feeds one slice; the others have their turns later, and nothing more is read until
        then."""
        if self._ended:
            self._rest = b""
            return
        size = (
            _SLICE if self.handshake_initiated else len(self._rest)
        )  # the request's size HTTP has seen to
        part, self._rest = self._rest[:size], self._rest[size:]
        self.conn.receive_data(part)
        if self.conn.handshake_exc is not None:
            self._end(b"".join(self.conn.data_to_send()) or _BAD_REQUEST)
        elif self.conn.parser_exc is not None:
            self._end(b"".join(self.conn.data_to_send()))
        else:
            self.handle_events()
        if not self.writable.is_set():
            self._fail("pongs are not read")
        if self._rest:
            self.transport.pause_reading()
            self.loop.call_soon(self._feed)
        elif not self._ended:
            self.transport.resume_reading()

    def handle_events(self) -> None:
        if self._open.now - self._counted_from > _EVERY:
            self._frames, self._counted_from = 0, self._open.now
        self._frames += len(self.conn.events)
        if self._frames > _FRAMES:
            self._fail("too many messages")
        else:
            super().handle_events()

    def send_receive_event_to_app(self) -> None:
        """The application need not see messages that it ignores."""
        data, self.frames = b"".join(self.frames), []
        if self.curr_msg_data_type == "text":
            try:
                data.decode()
            except UnicodeDecodeError:
                self._fail("text is not UTF-8", CloseCode.INVALID_DATA)

    def _fail(self, reason: str, code: CloseCode = CloseCode.POLICY_VIOLATION) -> None:
        if not self._ended:
            self.conn.fail(code, reason)
            self._end(b"".join(self.conn.data_to_send()))

    def _end(self, last_words: bytes) -> None:
        """Closes the connection because of what the client did; the application hears that it is
        gone."""
        if self._ended:
            return
        self._ended, self._rest = True, b""
        self.close_sent = True
        self.stop_keepalive()
        self.queue.put_nowait(
            {"type": "websocket.disconnect", "code": int(CloseCode.ABNORMAL_CLOSURE)}
        )
        self.transport.write(last_words)
        self.transport.close()

    # What the application sends

    async def send(self, message: Any) -> None:
        """Nothing where nobody is there to get it: the application hears of that from receive()."""
        await self.writable.wait()
        if self._ended:
            return
        text = message.get("text")
        if text is not None and len(text) > _PART and self.conn.state is State.OPEN:
            self._send_large(text)
            return
        try:
            await super().send(message)
        except ClientDisconnected:
            return
        if self.initial_response is not None and self.close_sent:
            self.handshake_complete = True  # by an answer: uvicorn would miss one
        elif message["type"] == "websocket.accept" and self._rest:
            self._feed()

    def _send_large(self, text: str) -> None:
        """One frame, encrypted part by part: OpenSSL keeps for ever as much memory as it ever had
        to hold for a connection."""
        self.conn.send_text(text.encode())
        for frame in self.conn.data_to_send():
            for at in range(0, len(frame), _PART):
                self.transport.write(frame[at : at + _PART])

    # The sweep

    def overdue(self, now: float) -> bool:
        """Whoever reads answers to pings (uvicorn sends them); this one looks at who does not take
        what was sent before."""
        if self.writable.is_set():
            return False
        size = self.transport.get_write_buffer_size()
        if size != self._stalled[0]:
            self._stalled = (size, now)
        return now - self._stalled[1] > self._open.limits.stall

    def patience(self) -> tuple[bool, float] | None:
        return None
