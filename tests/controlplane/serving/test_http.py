"""What the protocol answers to requests that its parser does not take."""

from __future__ import annotations

from functools import partial
from types import SimpleNamespace
from typing import Any, cast

import httptools
import pytest

from controlplane.serving.http import HttpProtocol, Refused, _go_answer


def answer(data: bytes) -> bytes:
    refused: list[Refused] = []
    parser = httptools.HttpRequestParser(SimpleNamespace())
    protocol = SimpleNamespace(_deaf=False, parser=parser, _refuse=refused.append)
    HttpProtocol._feed(cast(Any, protocol), data)
    return _go_answer(refused[0])


@pytest.mark.parametrize(
    ("line", "status", "media_type"),
    [
        (b"BREW /api/v1/pods HTTP/1.1", b"405 Method Not Allowed", b"application/json"),
        (b"get / HTTP/1.1", b"405 Method Not Allowed", b"application/json"),
        (b"G\x00T / HTTP/1.1", b"400 Bad Request", b"text/plain"),
        (b"BREW", b"400 Bad Request", b"text/plain"),
        (b"X" * 100 + b" / HTTP/1.1", b"400 Bad Request", b"text/plain"),
    ],
)
def test_a_method_that_nobody_knows(line: bytes, status: bytes, media_type: bytes) -> None:
    head, _, body = answer(line + b"\r\nHost: a\r\n\r\n").partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 " + status)
    assert b"Content-Type: " + media_type in head
    assert (b'"reason":"MethodNotAllowed"' in body) is (media_type == b"application/json")


def test_what_is_behind_a_value_is_not_of_it() -> None:
    """RFC 9110, section 5.5: white space around a value is no part of it."""
    protocol = SimpleNamespace(_phase=0, headers=[])
    heard = SimpleNamespace(on_header=partial(HttpProtocol.on_header, cast(Any, protocol)))
    httptools.HttpRequestParser(heard).feed_data(
        b"GET / HTTP/1.1\r\nX-Remote-User: \t joe \t \r\nX-Empty:  \r\nX-Two: a b\r\n\r\n"
    )
    assert protocol.headers == [(b"x-remote-user", b"joe"), (b"x-empty", b""), (b"x-two", b"a b")]


def begun(url: bytes) -> bool:
    """Whether a request for ``url`` gets further than its head. Raises Refused."""
    started: list[Any] = []
    parser = SimpleNamespace(
        get_http_version=lambda: "1.1", should_upgrade=lambda: False, get_method=lambda: b"GET"
    )
    protocol = SimpleNamespace(parser=parser, url=url, scope={}, _hosts=1, _length=-1, _calls=0)
    protocol._chunked, protocol._open = False, SimpleNamespace(now=0.0)
    protocol._begin = lambda *args: started.append(args)
    HttpProtocol.on_headers_complete(cast(Any, protocol))
    return len(started) == 1


@pytest.mark.parametrize("url", [b"/api/v1/%zz", b"/a%", b"/a%4", b"/%%41", b"/%4g?x=%41"])
def test_a_path_with_a_broken_escape_is_no_path(url: bytes) -> None:
    with pytest.raises(Refused) as refused:
        begun(url)
    assert _go_answer(refused.value).endswith(b"\r\n\r\n400 Bad Request")


@pytest.mark.parametrize("url", [b"/api/v1/%41", b"/a%2Fb%e6", b"/a?x=%zz", b"/a?%", b"/a"])
def test_escapes_of_the_query_are_for_who_reads_it(url: bytes) -> None:
    assert begun(url)
