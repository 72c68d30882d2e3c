"""Answers on the wire: compression from 128 KiB on, large lists in chunks."""

from __future__ import annotations

import asyncio
import gzip
from collections.abc import Iterator
from time import thread_time
from typing import Any

import pytest
from django.http import HttpResponse
from django.http.response import HttpResponseBase

from apiserver.endpoints.outlets import Outlets
from apiserver.endpoints.request import ApiRequest
from apiserver.endpoints.respond import GZIP_FROM, PartsResponse, send_response
from apiserver.meta import features
from apiserver.registry.scope import Tenant
from apiserver.watch.turnover import Turnover


def request(encoding: str) -> ApiRequest:
    async def receive() -> Any:
        raise AssertionError

    path = "/api/v1/pods"
    scope = {
        "method": "GET",
        "path": path,
        "raw_path": path.encode(),
        "headers": [(b"accept-encoding", encoding.encode())],
    }
    made = ApiRequest(scope, receive)
    made.tenant = Tenant(1, "t")
    return made


def sent(response: HttpResponseBase, encoding: str = "") -> tuple[dict[bytes, bytes], list[bytes]]:
    messages: list[Any] = []

    async def send(message: Any) -> None:
        messages.append(message)

    outlets = Outlets(2**27, lambda tenant: Turnover(2**27))
    asyncio.run(send_response(outlets, request(encoding), response, send))
    assert not messages[-1].get("more_body")
    return dict(messages[0]["headers"]), [m["body"] for m in messages[1:]]


@pytest.mark.parametrize(
    ("size", "encoding", "compressed"),
    [
        (GZIP_FROM, "gzip", False),
        (GZIP_FROM + 1, "gzip", True),
        (GZIP_FROM + 1, "br, gzip", True),
        (GZIP_FROM + 1, "gzip;q=1", False),
        (GZIP_FROM + 1, "", False),
    ],
)
def test_compression(size: int, encoding: str, compressed: bool) -> None:
    headers, bodies = sent(HttpResponse(b"x" * size, content_type="application/json"), encoding)
    body = b"".join(bodies)
    assert (headers.get(b"content-encoding") == b"gzip") is compressed
    assert (gzip.decompress(body) if compressed else body) == b"x" * size
    assert headers[b"content-length"] == str(len(body)).encode()


def test_the_feature_gate_switches_compression_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(features.ENABLED, "APIResponseCompression", False)
    headers, _ = sent(HttpResponse(b"x" * 200_000, content_type="application/json"), "gzip")
    assert b"content-encoding" not in headers


@pytest.mark.parametrize("encoding", ["", "gzip"])
def test_parts_go_out_in_chunks(encoding: str) -> None:
    def parts() -> Iterator[bytes]:
        for i in range(20_000):
            yield b"%05d " % i * 10

    response = PartsResponse(parts(), content_type="application/json")
    headers, bodies = sent(response, encoding)
    body = b"".join(bodies)
    assert b"content-length" not in headers and len(bodies) > 2
    assert (gzip.decompress(body) if encoding else body) == b"".join(parts())
    assert response.size == 20_000 * 60


def test_parts_that_take_long_do_not_wait_for_others() -> None:
    def parts() -> Iterator[bytes]:
        for i in range(5):
            until = thread_time() + 0.02
            while thread_time() < until:
                pass
            yield b"%d" % i

    _, bodies = sent(PartsResponse(parts(), content_type="application/json"))
    assert [body for body in bodies if body] == [b"0", b"1", b"2", b"3", b"4"]


def test_a_view_may_say_how_long_its_answer_holds() -> None:
    response = HttpResponse(b"{}", content_type="application/json")
    response["Cache-Control"] = "public, immutable"
    headers, _ = sent(response)
    assert headers[b"cache-control"] == b"public, immutable"
    assert sent(HttpResponse(b"{}"))[0][b"cache-control"] == b"no-cache, private"
