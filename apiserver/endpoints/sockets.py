"""WebSockets that are not opened here, and those to API servers of a tenant's own: to ASGI they are
no HTTP requests, to everybody else they are until a server has agreed."""

from __future__ import annotations

from django.http.response import HttpResponseBase

from apiserver.aggregation.backends import Backend
from apiserver.endpoints.failure import failure
from apiserver.endpoints.outlets import transport_of
from apiserver.endpoints.request import ApiRequest, Message, Receive, Send
from apiserver.endpoints.respond import send_response
from apiserver.endpoints.server import Server
from apiserver.endpoints.views.aggregated import forward
from apiserver.registry.offload import ClientGone

_MOST = 64 * 1024
"""Bytes of an answer that is no agreement: it is kept until it is complete."""


STREAMS = frozenset({"exec", "attach", "portforward"})
"""The subresources that clients ask for by a WebSocket, beside watches."""
_HTTP_ANSWER = "websocket.http.response"
"""ASGI's extension that lets a server answer."""


async def refuse_socket(
    server: Server,
    request: ApiRequest,
    response: HttpResponseBase,
    receive: Receive,
    send: Send,
    reason: str = "",
) -> None:
    """The answer that a request gets which wanted a WebSocket. Under a server that cannot give one,
    the socket is closed with a code and ``reason``."""
    request.streamed_code = response.status_code
    await receive()  # a socket may be closed once it has asked to be opened
    if _HTTP_ANSWER in (request.scope.get("extensions") or ()):
        await send_response(server.outlets, request, response, _Answering(send).send)
        return
    code = 4000 + response.status_code
    await send({"type": "websocket.close", "code": code, "reason": reason[:120]})


async def forward_socket(
    server: Server, request: ApiRequest, receive: Receive, send: Send, backend: Backend
) -> None:
    """As `forward`, for the scope of a WebSocket; errors are answers here."""
    request.receive = _as_http(receive)
    answering = _Answering(send)
    try:
        response = await forward(server, request, answering.send, backend)
    except ClientGone:
        return
    except Exception as e:
        response = failure(request, e)
    if response is not None:
        request.streamed_code = response.status_code
        await send_response(server.outlets, request, response, answering.send)


def _as_http(receive: Receive) -> Receive:
    async def as_http() -> Message:
        message = await receive()
        if message["type"] == "websocket.connect":
            return {"type": "http.request", "body": b""}
        return {"type": "http.disconnect"}

    return as_http


class _Answering:
    """An HTTP answer in the place of a WebSocket (`_HTTP_ANSWER`)."""

    def __init__(self, send: Send) -> None:
        self.transport = transport_of(send)
        self._send, self._room = send, _MOST

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            dropped = (b"content-length", b"transfer-encoding", b"connection")
            headers = [(name, value) for name, value in message["headers"] if name not in dropped]
            await self._send(
                {**message, "type": "websocket.http.response.start", "headers": headers}
            )
            return
        body = message.get("body", b"")[: self._room]
        self._room -= len(body)
        await self._send({**message, "type": "websocket.http.response.body", "body": body})
