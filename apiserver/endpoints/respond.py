"""Sends a Django response over ASGI: headers every answer carries, Warning headers, gzip for large bodies."""

from __future__ import annotations

import asyncio
import zlib

from django.http.response import HttpResponseBase

from apiserver.codec.strict import warning_headers
from apiserver.endpoints.request import ApiRequest, Send

GZIP_FROM = 128 * 1024
"""Bytes; smaller bodies go out as they are (k8s.io/apiserver ``handlers/responsewriters``)."""
_SLICE = 256 * 1024


def common_headers(request: ApiRequest) -> list[tuple[bytes, bytes]]:
    headers = [(b"audit-id", request.audit_id.encode("latin-1")), (b"cache-control", b"no-cache, private"), *request.response_headers]
    if request.warnings:
        headers += [(b"warning", text.encode()) for text in warning_headers(request.warnings)]
    return headers


async def send_response(request: ApiRequest, response: HttpResponseBase, send: Send) -> None:
    body: bytes = response.content  # type: ignore[attr-defined]  # streams go through consumers
    headers = common_headers(request)
    for name, value in response.items():
        headers.append((name.lower().encode("latin-1"), value.encode("latin-1")))
    compress = len(body) >= GZIP_FROM and request.method == "GET" and "gzip" in request.header(b"accept-encoding")
    if compress:
        headers += [(b"content-encoding", b"gzip"), (b"vary", b"Accept-Encoding")]
        body = await _gzip(body)
    if response.status_code != 304:
        headers.append((b"content-length", b"%d" % len(body)))
    await send({"type": "http.response.start", "status": response.status_code, "headers": headers})
    await send({"type": "http.response.body", "body": body})


async def _gzip(body: bytes) -> bytes:
    """Compresses slice by slice, so that the event loop goes round in between."""
    compressor = zlib.compressobj(1, zlib.DEFLATED, 31)
    out = []
    for at in range(0, len(body), _SLICE):
        out.append(compressor.compress(body[at : at + _SLICE]))
        await asyncio.sleep(0)
    out.append(compressor.flush())
    return b"".join(out)
