"""Sends a Django response over ASGI: headers every answer carries, Warning headers, gzip for large
bodies, large answers slice by slice.

A slice is made or compressed when the client has taken those before it, so that an answer that
nobody reads costs what it was made of.
"""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import Iterator
from time import thread_time

from django.http import HttpResponse
from django.http.response import HttpResponseBase

from apiserver.codec.strict import warning_headers
from apiserver.endpoints.outlets import SLICE, Outlet, Outlets, transport_of
from apiserver.endpoints.request import ApiRequest, Message, Send
from apiserver.meta import features

GZIP_FROM = 128 * 1024
"""Bytes; smaller bodies go out as they are (k8s.io/apiserver ``handlers/responsewriters``)."""
_AT_ONCE = 0.01
"""Seconds for which one answer keeps the event loop."""
_ALWAYS = ((b"cache-control", b"no-cache, private"), (b"x-content-type-options", b"nosniff"))
_GZIP_HEADERS = [(b"content-encoding", b"gzip"), (b"vary", b"Accept-Encoding")]


def common_headers(request: ApiRequest) -> list[tuple[bytes, bytes]]:
    """nosniff: no browser may take what tenants store for a page (kube-apiserver says so of errors
    only)."""
    headers = [
        (b"audit-id", request.audit_id.encode("latin-1")),
        *_ALWAYS,
        *request.response_headers,
    ]
    if request.warnings:
        headers += [(b"warning", text.encode()) for text in warning_headers(request.warnings)]
    return headers


class BytesResponse(HttpResponseBase):
    """A whole body with no header but its type, which is what most answers are: HttpResponse takes
    as long to make as a GET to answer."""

    def __init__(self, content: bytes, content_type: str, status: int = 200) -> None:
        # HttpResponseBase.__init__ makes cookies, signals and a mapping of headers
        self.content, self.content_type, self.status_code = content, content_type, status


class PartsResponse(HttpResponseBase):
    """An answer that is made while it is sent. ``size``: bytes sent so far, before compression;
    ``holds``: bytes that are in memory for this answer alone."""

    streaming = True

    def __init__(self, parts: Iterator[bytes], content_type: str, holds: int = 0) -> None:
        super().__init__(content_type=content_type)
        self.parts = parts
        self.holds = holds
        self.size = 0

    def chunks(self) -> Iterator[bytes]:
        """The parts gathered to chunks of about `SLICE` bytes, or of what is made in `_AT_ONCE`,
        and what is longer cut into such."""
        waiting: list[bytes] = []
        size, until = 0, thread_time() + _AT_ONCE
        for part in self.parts:
            waiting.append(part)
            size += len(part)
            if size >= SLICE or thread_time() > until:
                self.size += size
                yield from slices(b"".join(waiting))
                waiting, size, until = [], 0, thread_time() + _AT_ONCE
        self.size += size
        yield b"".join(waiting)


def slices(body: bytes) -> Iterator[bytes]:
    if len(body) <= 2 * SLICE:
        yield body
        return
    for at in range(0, len(body), SLICE):
        yield body[at : at + SLICE]


async def send_response(
    outlets: Outlets, request: ApiRequest, response: HttpResponseBase, send: Send
) -> None:
    """Raises ClientGone."""
    headers = common_headers(request)
    if isinstance(response, BytesResponse):
        headers.append((b"content-type", response.content_type.encode()))
    else:
        if response.has_header("Cache-Control"):
            headers = [(name, value) for name, value in headers if name != b"cache-control"]
        for name, value in response.items():
            headers.append((name.lower().encode("latin-1"), value.encode("latin-1")))
        if isinstance(response, PartsResponse):
            await _send_parts(request, response, headers, outlets.open(request.tenant, send))
            return
    # whatever has no parts has content
    body: bytes = response.content  # type: ignore[attr-defined]
    if len(body) > GZIP_FROM and takes_gzip(request):
        headers += _GZIP_HEADERS
        body = await _gzip(body)
    if response.status_code != 304:
        headers.append((b"content-length", b"%d" % len(body)))
    start: Message = {
        "type": "http.response.start",
        "status": response.status_code,
        "headers": headers,
    }
    transport = transport_of(send)
    if len(body) > 2 * SLICE or (
        transport is not None and transport.get_write_buffer_size()
    ):  # of an answer before, which nobody has read
        await _send_slices(start, body, outlets.open(request.tenant, send))
        return
    await send(start)
    await send({"type": "http.response.body", "body": body})


def takes_gzip(request: ApiRequest) -> bool:
    """Only a plain ``gzip`` counts, without parameters (k8s.io/apiserver
    ``responsewriters/compression.go``)."""
    if not features.enabled("APIResponseCompression"):
        return False
    return any(token.strip() == "gzip" for token in request.header(b"accept-encoding").split(","))


async def _send_slices(start: Message, body: bytes, outlet: Outlet) -> None:
    await outlet.send(start)
    for at in range(0, len(body), SLICE):
        outlet.holds = len(body) - at
        await outlet.send(
            {"type": "http.response.body", "body": body[at : at + SLICE], "more_body": True}
        )
    outlet.holds = 0
    await outlet.send(
        {"type": "http.response.body", "body": b""}
    )  # once the client has read what is above the transport's limit


async def _send_parts(
    request: ApiRequest, response: PartsResponse, headers: list[tuple[bytes, bytes]], outlet: Outlet
) -> None:
    compressor = zlib.compressobj(1, zlib.DEFLATED, 31) if takes_gzip(request) else None
    if compressor is not None:
        headers += _GZIP_HEADERS
    outlet.holds = response.holds
    await outlet.send(
        {"type": "http.response.start", "status": response.status_code, "headers": headers}
    )
    for chunk in response.chunks():
        body = chunk if compressor is None else compressor.compress(chunk)
        if body:
            await outlet.send({"type": "http.response.body", "body": body, "more_body": True})
        await asyncio.sleep(
            0
        )  # other requests have their turn, also when the transport takes everything at once
    await outlet.send(
        {"type": "http.response.body", "body": b"" if compressor is None else compressor.flush()}
    )


async def _gzip(body: bytes) -> bytes:
    """Compresses slice by slice, so that the event loop goes round in between."""
    compressor = zlib.compressobj(1, zlib.DEFLATED, 31)
    out = []
    for at in range(0, len(body), SLICE):
        out.append(compressor.compress(body[at : at + SLICE]))
        await asyncio.sleep(0)
    out.append(compressor.flush())
    return b"".join(out)


async def send_text(send: Send, status: int, text: bytes) -> None:
    """Plain text to somebody whose request has not been looked at; ends the connection."""
    headers = [
        (b"content-type", b"text/plain; charset=utf-8"),
        (b"content-length", b"%d" % len(text)),
        (b"connection", b"close"),
    ]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": text})


def not_found() -> HttpResponse:
    """Go's answer to a path that nobody serves."""
    return HttpResponse(
        b"404 page not found\n", status=404, content_type="text/plain; charset=utf-8"
    )
