"""Sends a Django response over ASGI: headers every answer carries, Warning headers, gzip for large bodies, large lists chunk by chunk."""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import Iterator

from django.http import HttpResponse
from django.http.response import HttpResponseBase

from apiserver.codec.strict import warning_headers
from apiserver.endpoints.request import ApiRequest, Send
from apiserver.meta import features

GZIP_FROM = 128 * 1024
"""Bytes; smaller bodies go out as they are (k8s.io/apiserver ``handlers/responsewriters``)."""
_SLICE = 256 * 1024
_GZIP_HEADERS = [(b"content-encoding", b"gzip"), (b"vary", b"Accept-Encoding")]


def common_headers(request: ApiRequest) -> list[tuple[bytes, bytes]]:
    headers = [(b"audit-id", request.audit_id.encode("latin-1")), (b"cache-control", b"no-cache, private"), *request.response_headers]
    if request.warnings:
        headers += [(b"warning", text.encode()) for text in warning_headers(request.warnings)]
    return headers


class BytesResponse(HttpResponseBase):
    """A whole body with no header but its type, which is what most answers are: HttpResponse takes as long to make as a GET to answer."""

    def __init__(self, content: bytes, content_type: str, status: int = 200) -> None:
        # HttpResponseBase.__init__ makes cookies, signals and a mapping of headers
        self.content, self.content_type, self.status_code = content, content_type, status


class PartsResponse(HttpResponseBase):
    """An answer that is made while it is sent. ``size``: bytes sent so far, before compression."""

    streaming = True

    def __init__(self, parts: Iterator[bytes], content_type: str) -> None:
        super().__init__(content_type=content_type)
        self.parts = parts
        self.size = 0

    def chunks(self) -> Iterator[bytes]:
        """The parts gathered to chunks of about `_SLICE` bytes."""
        waiting: list[bytes] = []
        size = 0
        for part in self.parts:
            waiting.append(part)
            size += len(part)
            if size >= _SLICE:
                self.size += size
                yield b"".join(waiting)
                waiting, size = [], 0
        self.size += size
        yield b"".join(waiting)


async def send_response(request: ApiRequest, response: HttpResponseBase, send: Send) -> None:
    headers = common_headers(request)
    if isinstance(response, BytesResponse):
        headers.append((b"content-type", response.content_type.encode()))
    else:
        if response.has_header("Cache-Control"):
            headers = [(name, value) for name, value in headers if name != b"cache-control"]
        for name, value in response.items():
            headers.append((name.lower().encode("latin-1"), value.encode("latin-1")))
    if isinstance(response, PartsResponse):
        await _send_parts(request, response, headers, send)
        return
    body: bytes = response.content  # type: ignore[attr-defined]  # whatever has no parts has content
    if len(body) > GZIP_FROM and takes_gzip(request):
        headers += _GZIP_HEADERS
        body = await _gzip(body)
    if response.status_code != 304:
        headers.append((b"content-length", b"%d" % len(body)))
    await send({"type": "http.response.start", "status": response.status_code, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def takes_gzip(request: ApiRequest) -> bool:
    """Only a plain ``gzip`` counts, without parameters (k8s.io/apiserver ``responsewriters/compression.go``)."""
    if not features.enabled("APIResponseCompression"):
        return False
    return any(token.strip() == "gzip" for token in request.header(b"accept-encoding").split(","))


async def _send_parts(request: ApiRequest, response: PartsResponse, headers: list[tuple[bytes, bytes]], send: Send) -> None:
    compressor = zlib.compressobj(1, zlib.DEFLATED, 31) if takes_gzip(request) else None
    if compressor is not None:
        headers += _GZIP_HEADERS
    await send({"type": "http.response.start", "status": response.status_code, "headers": headers})
    for chunk in response.chunks():
        body = chunk if compressor is None else compressor.compress(chunk)
        if body:
            await send({"type": "http.response.body", "body": body, "more_body": True})
        await asyncio.sleep(0)  # other requests have their turn, also when the transport takes everything at once
    await send({"type": "http.response.body", "body": b"" if compressor is None else compressor.flush()})


async def _gzip(body: bytes) -> bytes:
    """Compresses slice by slice, so that the event loop goes round in between."""
    compressor = zlib.compressobj(1, zlib.DEFLATED, 31)
    out = []
    for at in range(0, len(body), _SLICE):
        out.append(compressor.compress(body[at : at + _SLICE]))
        await asyncio.sleep(0)
    out.append(compressor.flush())
    return b"".join(out)


def not_found() -> HttpResponse:
    """Go's answer to a path that nobody serves."""
    return HttpResponse(b"404 page not found\n", status=404, content_type="text/plain; charset=utf-8")
