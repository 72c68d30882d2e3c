"""HTTP/1.1 as uvicorn speaks it (httptools), with bounds on what a client may send before, beside
and after its requests.

The parser (llhttp, strict) refuses what requests are smuggled with: Content-Length beside
Transfer-Encoding or twice, folded headers, bare line feeds, control characters. What it leaves to
its user is here: the size of a head, trailers, framing, Host, how much is read ahead. Refusals are
those of Go's net/http, which kube-apiserver is served by: a status line, one line of text, and the
connection is closed.
"""

from __future__ import annotations

import asyncio
import re
from functools import partial
from http import HTTPStatus
from typing import Any
from urllib.parse import unquote

import httptools
from uvicorn._types import HTTPScope
from uvicorn.config import Config
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle
from uvicorn.server import ServerState

from apiserver.codec import json
from apiserver.codec.negotiate import JSON
from apiserver.endpoints.outlets import abort
from apiserver.endpoints.request import HIGH_WATER, MAX_HEAD, MAX_HEADERS
from apiserver.endpoints.tunnels import TUNNEL, Headers
from apiserver.errors import MethodNotAllowed
from apiserver.registry.offload import ClientGone
from controlplane.serving import clientcertificates, servername
from controlplane.serving.connections import Connections, Seat
from controlplane.serving.cycle import Cycle, Flow
from controlplane.serving.tunnel import MAX_EARLY, Tunnel
from controlplane.serving.websocket import WebSocketProtocol

MAX_LEFT_OVER = 8 << 20
"""Bytes of a body that are read and forgotten after the answer, so that the client gets to read it;
then the connection is closed."""
_MAX_FRAMING = 128 * 1024
"""Bytes of a chunked body that are neither data nor `_FRAME` for each chunk: extensions, leading
zeros, trailers."""
_FRAME = 32
_MANY_CHUNKS, _SMALL_CHUNK = 4096, 16
"""From so many chunks on they must be so many bytes on average: each costs as much as some hundred
bytes more."""
_SLICE = 4096
"""Bytes that the parser gets at once, where they may hold several requests."""
_TURN = 2000
"""Calls of the parser after which other connections have their turn."""

_REQUEST_LINE = re.compile(rb"[!#$%&'*+\-.^_`|~0-9A-Za-z]{1,64} \S+ HTTP/1\.[01]\r\n")
"""Whatever the method, as long as it is a token (RFC 9110)."""
_BAD_ESCAPE = re.compile(rb"%(?![0-9A-Fa-f]{2})")
_HEAD, _BODY, _BETWEEN = range(3)
_SPECIAL = frozenset({b"host", b"expect", b"transfer-encoding", b"content-length"})


class Refused(Exception):
    """What the client sends is not taken. status: of the answer; detail: what Go adds to the status
    text."""

    def __init__(self, status: HTTPStatus = HTTPStatus.BAD_REQUEST, detail: str = "") -> None:
        super().__init__(detail)
        self.status, self.detail = status, detail


class HttpProtocol(HttpToolsProtocol):
    """One connection. phase: of the message that the parser is in, since and progress: seconds of
    `Connections.now`; early: what has followed a request to upgrade that may still be granted."""

    flow: Flow
    cycle: Cycle

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        seat: Seat,
        connections: Connections,
    ) -> None:
        super().__init__(config, server_state, app_state)
        self._seat, self._open = seat, connections
        self._phase = _HEAD
        self._since = self._progress = connections.now
        self._answered = self._deaf = False
        self._rest: bytes | memoryview | None = None
        self._stalled = (0, 0.0)
        self._fed = self._hosts = self._body = self._left_over = self._chunks = self._calls = 0
        self._length = -1
        self._chunked = False
        self._extensions: dict[str, Any] = {}
        self._early: bytes | None = None

    # The transport

    # as in uvicorn
    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.flow = Flow(transport)
        self._extensions = {
            **servername.extension(transport, self._seat.tenant),
            **clientcertificates.extension(transport),
        }
        self._seat.end, self._seat.conversation = partial(abort, transport), self

    def connection_lost(self, exc: Exception | None) -> None:
        self._open.leave(self._seat)
        self._deaf, self._rest, self._early = True, None, None
        super().connection_lost(exc)
        if self._serving():
            self.cycle.client_left()

    def data_received(self, data: bytes) -> None:
        if self._rest is None and len(data) <= _SLICE and not self.pipeline:
            self._feed(data)
            return
        self._rest = data if self._rest is None else b"".join((self._rest, data))
        if not self.flow.held:
            self._feed_rest()

    def _feed_rest(self) -> None:
        """Feeds what has been read, as long as no request waits behind another, and not for too
        long at a time."""
        rest, self._calls = memoryview(self._rest or b""), 0
        while len(rest) and not self._deaf and not self.pipeline and self._calls < _TURN:
            size = max(self._length - self._body, _SLICE) if self._phase == _BODY else _SLICE
            self._feed(rest[:size])
            rest = rest[size:]
        if self._deaf or not len(rest):
            self._rest, self.flow.held = None, False
            self._follow(bytes(rest))
            return
        self._rest, self.flow.held = rest, True
        self.flow.pause_reading()
        if not self.pipeline:
            self.loop.call_soon(self._feed_rest)

    def _feed(self, data: bytes | memoryview) -> None:
        if self._deaf:
            self._follow(bytes(data))
            return
        try:
            self.parser.feed_data(data)
            if self._phase == _HEAD or self._chunked:
                self._count(len(data))
        except httptools.HttpParserUpgrade as e:
            self._upgrade()
            self._follow(bytes(data[e.args[0] :]))
        except httptools.HttpParserCallbackError as e:
            self._refuse(e.__context__ if isinstance(e.__context__, Refused) else Refused())
        except httptools.HttpParserInvalidMethodError:
            well_formed = _REQUEST_LINE.match(data) is not None
            self._refuse(Refused(HTTPStatus.METHOD_NOT_ALLOWED) if well_formed else Refused())
        except httptools.HttpParserError:
            self._refuse(Refused())
        except Refused as e:
            self._refuse(e)

    def _count(self, size: int) -> None:
        """``size``: bytes fed, which may have begun with the end of the message before: the bound
        is exact to a slice."""
        self._fed += size
        if self._phase == _HEAD:
            if self._fed > MAX_HEAD:
                raise Refused(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE)
        elif self._phase == _BODY:
            if self._fed - self._body - _FRAME * self._chunks > _MAX_FRAMING:
                raise Refused
            if self._chunks > _MANY_CHUNKS and self._body < _SMALL_CHUNK * self._chunks:
                raise Refused

    # The parser; what every request goes through is written out rather than left to uvicorn, which
    # asks for the same things twice

    def on_message_begin(self) -> None:
        self.url = b""
        self.headers = []
        self.expect_100_continue = self._chunked = False
        self._phase, self._since = _HEAD, self._open.now
        self._fed = self._hosts = 0
        self.scope = {
            "type": "http",
            "asgi": {"version": self.asgi_version, "spec_version": "2.3"},
            "http_version": "1.1",
            "server": self.server,
            "client": self.client,
            "scheme": self.scheme or "https",
            "root_path": "",
            "headers": self.headers,
            "state": self.app_state.copy(),
        }  # type: ignore[typeddict-item]  # the rest comes with the headers
        if self._extensions:
            self.scope["extensions"] = self._extensions

    def on_header(self, name: bytes, value: bytes) -> None:
        if self._phase == _BODY:
            return  # a trailer: the request is under way with the headers that it had
        if len(self.headers) >= MAX_HEADERS:
            raise Refused(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE)
        name, value = name.lower(), value.rstrip(b" \t")  # the parser leaves what is behind it
        if name in _SPECIAL:
            self._special(name, value)
        self.headers.append((name, value))

    def _special(self, name: bytes, value: bytes) -> None:
        if name == b"host":
            self._hosts += 1
        elif name == b"content-length":
            self._length = int(value)  # digits: the parser has seen to it
        elif name == b"transfer-encoding":
            if value.strip().lower() != b"chunked":
                raise Refused
            self._chunked = True
        elif value.lower() == b"100-continue":
            self.expect_100_continue = True
        else:
            raise Refused(HTTPStatus.EXPECTATION_FAILED)

    def on_headers_complete(self) -> None:
        version, upgrade = self.parser.get_http_version(), self.parser.should_upgrade()
        if version != "1.1" and (version != "1.0" or self._chunked):
            raise Refused
        if self._hosts != 1 and (self._hosts or version == "1.1"):
            raise Refused(
                detail="too many Host headers" if self._hosts else "missing required Host header"
            )
        if b"%" in self.url and _BAD_ESCAPE.search(self.url.partition(b"?")[0]):
            raise Refused
        if upgrade and self._serving():
            raise Refused  # two protocols would share the connection
        scope = self.scope
        scope["method"] = self.parser.get_method().decode("ascii")
        scope["http_version"] = version
        if upgrade and version == "1.1" and self._length <= 0 and not self._chunked:
            self._early = b""
            extensions: dict[str, Any] = {**self._extensions, TUNNEL: self._switch}
            scope["extensions"] = extensions
        if not (upgrade and self._should_upgrade()):
            self._begin(scope, version)
        self._phase = _BODY
        self._since = self._progress = self._open.now
        self._body = self._left_over = self._chunks = 0
        self._calls += 50  # beginning a request costs as much as so many pieces of a body

    def _begin(self, scope: HTTPScope, version: str) -> None:
        """Starts the request, or lets it wait for the one before."""
        url = httptools.parse_url(self.url)
        path = url.path.decode("ascii")
        scope["path"] = unquote(path) if "%" in path else path
        scope["raw_path"] = url.path
        scope["query_string"] = url.query or b""
        cycle = Cycle(
            scope,
            self.transport,
            self.flow,
            self.logger,
            self.access_logger,
            False,
            self.server_state.default_headers,
            asyncio.Event(),
            self.expect_100_continue,
            version == "1.1" and self.parser.should_keep_alive(),
            self.on_response_complete,
        )
        if self._serving():
            self.flow.pause_reading()
            self.pipeline.appendleft((cycle, self.app))
        else:
            self._start_asgi_task(cycle, self.app)
        if self._length > HIGH_WATER:
            self.flow.pause_reading()  # until it is asked for
        self.cycle = cycle

    def on_chunk_header(self) -> None:
        self._chunks += 1
        self._calls += 1

    def on_body(self, body: bytes) -> None:
        self._progress = self._open.now
        self._body += len(body)
        self._calls += 1
        if not self._serving():
            self._left_over += len(body)
            if self._left_over > MAX_LEFT_OVER:
                raise Refused
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._phase, self._since, self._length = _BETWEEN, self._open.now, -1
        if self._serving():
            self.cycle.more_body = False
            self.cycle.message_event.set()

    # Requests

    def _serving(self) -> bool:
        cycle: RequestResponseCycle | None = self.cycle
        return cycle is not None and not cycle.response_complete

    def on_response_complete(self) -> None:
        """As uvicorn's, without its timer for each request."""
        self.server_state.total_requests += 1
        if self.transport.is_closing():
            return
        self._since, self._answered = self._open.now, True
        self.flow.resume_reading()
        if self.pipeline:
            self._start_asgi_task(*self.pipeline.pop())
        if self._rest is not None and not self.pipeline:
            self.loop.call_soon(self._feed_rest)

    def _upgrade(self) -> None:
        if self._should_upgrade():
            self.handle_websocket_upgrade()
            return
        # Answered as if it had not asked, unless the application switches. The parser took the body
        # for the other protocol, so nothing that follows is a request.
        self._deaf = True
        self.cycle.keep_alive = False

    def _follow(self, data: bytes) -> None:
        """Keeps what comes after a request to upgrade: clients wait for the answer with all but a
        little."""
        if self._early is not None:
            self._early += data
            if len(self._early) > MAX_EARLY:
                self._early = None

    def _switch(self, headers: Headers) -> Tunnel:
        cycle, early = self.cycle, self._early
        if early is None or cycle.disconnected or self.transport.is_closing():
            cycle.disconnected = True
            self.transport.close()
            raise ClientGone
        cycle.response_started = cycle.response_complete = True
        self.connections.discard(self)
        tunnel = Tunnel(self.transport, self._seat, self._open, early)
        tunnel.begin(headers)
        return tunnel

    def handle_websocket_upgrade(self) -> None:
        protocol = self.ws_protocol_class
        assert protocol is not None and issubclass(protocol, WebSocketProtocol)
        # uvicorn only calls it
        self.ws_protocol_class = protocol.seated(self._seat, self._open)  # type: ignore[assignment]
        super().handle_websocket_upgrade()

    def _refuse(self, refused: Refused) -> None:
        """Answers when the client waits for no other answer, and closes the connection."""
        self._deaf, self._rest = True, None
        if self.transport.is_closing():
            return
        if self._serving():
            if self._phase != _BODY or self.pipeline or self.cycle.response_started:
                self.transport.close()
                return
            # the request whose body is refused: what it would be answered is not sent any more
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        elif self._phase == _BODY:
            self.transport.close()  # it has got its answer
            return
        self.transport.write(_go_answer(refused))
        self.transport.close()

    # The sweep

    def overdue(self, now: float) -> bool:
        limits = self._open.limits
        if self.flow.write_paused:
            return self._takes_nothing(now)
        if self._phase == _BODY:
            late = now - self._progress > limits.body_pause or now - self._since > limits.body
            return late and not self.flow.read_paused  # else the application has not asked for more
        if self._serving():
            return False
        return now - self._since > (limits.head if self._phase == _HEAD else limits.keep_alive)

    def _takes_nothing(self, now: float) -> bool:
        size = self.transport.get_write_buffer_size()
        if size != self._stalled[0]:
            self._stalled = (size, now)
        return now - self._stalled[1] > self._open.limits.stall

    def patience(self) -> tuple[bool, float] | None:
        return None if self._serving() else (self._answered, self._since)


def _go_answer(refused: Refused) -> bytes:
    status = refused.status
    line = f"{status.value} {status.phrase}"
    text = f"{line}: {refused.detail}" if refused.detail else line
    media_type = "text/plain; charset=utf-8"
    if status == HTTPStatus.METHOD_NOT_ALLOWED:
        text, media_type = json.encode(MethodNotAllowed().to_status()).decode(), JSON
    return (
        f"HTTP/1.1 {line}\r\nContent-Type: {media_type}\r\nConnection: close\r\n\r\n{text}"
    ).encode()
