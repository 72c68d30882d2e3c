"""WebSockets to API servers of a tenant's own: to ASGI they are no HTTP requests, to everybody else
they are until the other server has agreed."""

from __future__ import annotations

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
    """An HTTP answer in the place of a WebSocket (ASGI's extension ``websocket.http.response``)."""

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
