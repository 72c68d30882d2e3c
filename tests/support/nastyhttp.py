"""Requests that are not, or that mean two things: the list by which requests are smuggled, and
mutants of good requests."""

from __future__ import annotations

import random
from collections.abc import Iterator

HOST = b"Host: polyplane\r\n"
GET = b"GET /version HTTP/1.1\r\n" + HOST
POST = b"POST /api/v1/namespaces HTTP/1.1\r\n" + HOST
CHUNKED = POST + b"Transfer-Encoding: chunked\r\n"

REFUSED: dict[str, bytes] = {
    "Content-Length and Transfer-Encoding": POST
    + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "Transfer-Encoding and Content-Length": CHUNKED + b"Content-Length: 5\r\n\r\n0\r\n\r\n",
    "Content-Length twice": POST + b"Content-Length: 1\r\nContent-Length: 1\r\n\r\nx",
    "Content-Lengths that differ": POST + b"Content-Length: 1\r\nContent-Length: 2\r\n\r\nxx",
    "Content-Length list": POST + b"Content-Length: 1, 1\r\n\r\nx",
    "Content-Length with a sign": POST + b"Content-Length: +1\r\n\r\nx",
    "negative Content-Length": POST + b"Content-Length: -1\r\n\r\nx",
    "empty Content-Length": POST + b"Content-Length:\r\n\r\nx",
    "hexadecimal Content-Length": POST + b"Content-Length: 0x10\r\n\r\nx",
    "Content-Length of 30 digits": POST + b"Content-Length: " + b"9" * 30 + b"\r\n\r\nx",
    "Transfer-Encoding twice": CHUNKED + b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
    "Transfer-Encoding gzip, chunked": POST + b"Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
    "Transfer-Encoding chunked, identity": POST
    + b"Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n",
    "Transfer-Encoding identity": POST + b"Transfer-Encoding: identity\r\n\r\n",
    "Transfer-Encoding xchunked": POST + b"Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
    "Transfer-Encoding after a vertical tab": POST
    + b"Transfer-Encoding: \x0bchunked\r\n\r\n0\r\n\r\n",
    "Transfer-Encoding, space, colon": POST + b"Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n",
    "Transfer-Encoding of HTTP/1.0": CHUNKED.replace(b"HTTP/1.1", b"HTTP/1.0") + b"\r\n0\r\n\r\n",
    "folded header": GET + b"A: b\r\n c\r\n\r\n",
    "folded first header": b"GET / HTTP/1.1\r\n A: b\r\n" + HOST + b"\r\n",
    "folded Transfer-Encoding": POST + b"Transfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n",
    "bare line feeds": GET.replace(b"\r\n", b"\n") + b"\n",
    "one bare line feed": GET + b"A: b\nB: c\r\n\r\n",
    "bare carriage return": GET + b"A: b\rB: c\r\n\r\n",
    "NUL in a name": GET + b"A\0: b\r\n\r\n",
    "NUL in a value": GET + b"A: b\0c\r\n\r\n",
    "space in a name": GET + b"a b: c\r\n\r\n",
    "no name": GET + b": b\r\n\r\n",
    "no colon": GET + b"abc\r\n\r\n",
    "name that is not ASCII": GET + b"\xc3\xa9: c\r\n\r\n",
    "escape character in a value": GET + b"A: \x1b[2J\r\n\r\n",
    "DEL in a value": GET + b"A: \x7f\r\n\r\n",
    "no Host": b"GET /version HTTP/1.1\r\n\r\n",
    "two Hosts": GET + HOST + b"\r\n",
    "two Hosts of HTTP/1.0": b"GET /version HTTP/1.0\r\n" + HOST + HOST + b"\r\n",
    "space in the target": GET.replace(b"/version", b"/ver sion") + b"\r\n",
    "NUL in the target": GET.replace(b"/version", b"/ver\0sion") + b"\r\n",
    "tab in the target": GET.replace(b"/version", b"/ver\tsion") + b"\r\n",
    "target that is not ASCII": GET.replace(b"/version", b"/\xc3\xa9") + b"\r\n",
    "authority": GET.replace(b"/version", b"polyplane:6443") + b"\r\n",
    "CONNECT": b"CONNECT polyplane:6443 HTTP/1.1\r\n" + HOST + b"\r\n",
    "method in small letters": GET.replace(b"GET", b"get") + b"\r\n",
    "method that nobody knows": GET.replace(b"GET", b"BREW") + b"\r\n",
    "HTTP/0.9": b"GET /version\r\n\r\n",
    "HTTP/1.2": GET.replace(b"1.1", b"1.2") + b"\r\n",
    "HTTP/2.0": GET.replace(b"1.1", b"2.0") + b"\r\n",
    "HTTP/9.9": GET.replace(b"1.1", b"9.9") + b"\r\n",
    "preface of HTTP/2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "TLS inside TLS": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\0" * 500,
    "zeros": b"\0" * 1000,
    "expectation that is none": POST + b"Expect: 200-ok\r\nContent-Length: 2\r\n\r\n{}",
    "201 headers": GET + b"a: b\r\n" * 200 + b"\r\n",
    "340,000 headers": GET + b"a: b\r\n" * 340_000 + b"\r\n",
    "headers of 70 KB": GET
    + b"".join(b"a%d: %s\r\n" % (i, b"x" * 500) for i in range(140))
    + b"\r\n",
    "header of 70 KB": GET + b"a: " + b"x" * 70_000 + b"\r\n\r\n",
    "header of 30 MB without an end": GET + b"a: " + b"x" * 30_000_000,
    "name of 1 MB": GET + b"a" * 1_000_000,
    "target of 70 KB": GET.replace(b"/version", b"/" + b"x" * 70_000) + b"\r\n",
    "target of 5 MB without an end": b"GET /" + b"x" * 5_000_000,
    "chunk size of 17 digits": CHUNKED + b"\r\n" + b"f" * 17 + b"\r\nx",
    "negative chunk size": CHUNKED + b"\r\n-1\r\nx",
    "chunk size with 0x": CHUNKED + b"\r\n0x1\r\nx\r\n0\r\n\r\n",
    "chunk that is longer than it says": CHUNKED + b"\r\n1\r\nxyz\r\n0\r\n\r\n",
    "line feed in a chunk extension": CHUNKED + b"\r\n1;a\nb\r\nx\r\n0\r\n\r\n",
}
"""Complete requests, or as much as any server must read of them: answered with 4xx, and closed."""

ANSWERED: dict[str, bytes] = {
    "absolute target": GET.replace(b"/version", b"http://elsewhere/version?a=b") + b"\r\n",
    "asterisk": GET.replace(b"/version", b"*") + b"\r\n",
    "asterisk for OPTIONS": GET.replace(b"GET /version", b"OPTIONS *") + b"\r\n",
    "HTTP/1.0": b"GET /version HTTP/1.0\r\n\r\n",
    "empty lines first": b"\r\n\r\n" + GET + b"\r\n",
    "upgrade to h2c": GET
    + b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABk\r\n\r\n",
    "upgrade to SPDY, with a body": POST
    + b"Connection: Upgrade\r\nUpgrade: SPDY/3.1\r\nContent-Length: 2\r\n\r\n{}",
    "trailers": CHUNKED
    + b"\r\n2\r\n{}\r\n0\r\nAuthorization: Bearer x\r\nImpersonate-User: root\r\n\r\n",
    "199 headers": GET + b"a: b\r\n" * 198 + b"\r\n",
    "60,000 ampersands": GET.replace(b"/version", b"/version?" + b"a&" * 30_000) + b"\r\n",
    "60,000 slashes": GET.replace(b"/version", b"/" * 60_000) + b"\r\n",
    "20,000 escapes": GET.replace(b"/version", b"/%2e" * 15_000) + b"\r\n",
    "60,000 commas to accept": GET + b"Accept: " + b"," * 60_000 + b"\r\n\r\n",
    "60,000 semicolons to accept": GET + b"Accept: a/b" + b";" * 60_000 + b"\r\n\r\n",
    "10,000 media types": GET + b"Accept: " + b"a/b;q=1," * 7_500 + b"\r\n\r\n",
    "60,000 encodings": GET + b"Accept-Encoding: " + b"a," * 30_000 + b"\r\n\r\n",
    "Authorization twice": GET + b"Authorization: Bearer a\r\nAuthorization: Bearer b\r\n\r\n",
    "token of 60 KB": GET + b"Authorization: Bearer " + b"." * 60_000 + b"\r\n\r\n",
    "line feed in the path": GET.replace(
        b"/version", b"/api/v1/namespaces/%0A2026-01-01%20CRITICAL%20forged"
    )
    + b"\r\n",
    "NUL in the path": GET.replace(b"/version", b"/api/v1/namespaces/a%00b") + b"\r\n",
    "path that is no UTF-8": GET.replace(b"/version", b"/api/v1/namespaces/%ff%fe") + b"\r\n",
    "static file outside": GET.replace(b"/version", b"/static/../manage.py") + b"\r\n",
    "static file far outside": GET.replace(b"/version", b"/static/..%2f..%2f..%2fetc/passwd")
    + b"\r\n",
    "static file with NUL": GET.replace(b"/version", b"/static/a%00b") + b"\r\n",
    "static file with a long name": GET.replace(b"/version", b"/static/" + b"a" * 10_000) + b"\r\n",
    "Host that is no name": b"GET /admin/login/ HTTP/1.1\r\nHost: a/b@c\r\n\r\n",
    "Audit-ID of 60 KB": GET.replace(b"/version", b"/nothing")
    + b"Audit-ID: "
    + b"x" * 60_000
    + b"\r\n\r\n",
    "Content-Length of 18 exabytes": POST + b"Content-Length: 18446744073709551615\r\n\r\n{}",
    "chunk of 18 exabytes": CHUNKED + b"\r\nffffffffffffffff\r\n{}",
    "100-continue": POST + b"Expect: 100-continue\r\nContent-Length: 2\r\n\r\n{}",
    "Upgrade: websocket without a key": GET + b"Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
    "Upgrade: websocket of an old version": GET
    + (
        b"Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: "
        b"dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 8\r\n\r\n"
    ),
    "Upgrade: websocket by POST": POST
    + b"Connection: Upgrade\r\nUpgrade: websocket\r\nContent-Length: 2\r\n\r\n{}",
    "Upgrade: websocket with 150 headers": GET
    + b"Connection: Upgrade\r\nUpgrade: websocket\r\n"
    + b"a: b\r\n" * 150
    + b"\r\n",
    "Upgrade: websocket with a header of 60 KB": GET
    + b"Connection: Upgrade\r\nUpgrade: websocket\r\na: "
    + b"x" * 60_000
    + b"\r\n\r\n",
    "Upgrade: websocket of nothing": GET
    + (
        b"Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: "
        b"dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"
    ),
}
"""Requests that can be answered, whatever one thinks of them: with anything but 5xx."""

HALF: dict[str, bytes] = {
    "nothing": b"",
    "half a method": b"GE",
    "half a header": GET + b"Acce",
    "headers without an end": GET,
    "half a body": POST + b"Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{",
    "half a chunk": CHUNKED + b"\r\nff\r\n{",
    "empty lines": b"\r\n" * 1000,
}
"""Requests whose rest never comes."""

FLOODS: dict[str, bytes] = {
    "20,000 requests at once": (GET + b"\r\n") * 20_000,
    "20,000 requests that are not found": (GET.replace(b"/version", b"/x") + b"\r\n") * 20_000,
    "1,000,000 chunks of one byte": CHUNKED + b"\r\n" + b"1\r\nx\r\n" * 1_000_000,
    "extensions of 20 MB": CHUNKED + b"\r\n1;" + b"a" * 20_000_000,
    "chunk size of 20 MB of zeros": CHUNKED + b"\r\n" + b"0" * 20_000_000,
    "trailers of 20 MB": CHUNKED + b"\r\n0\r\n" + b"a: b\r\n" * 3_300_000,
    "trailer of 20 MB": CHUNKED + b"\r\n0\r\na: " + b"b" * 20_000_000,
    "body of 40 MB that nobody asked for": POST
    + b"Content-Length: 40000000\r\n\r\n"
    + b"x" * 40_000_000,
    "20 MB of empty lines": b"\r\n" * 10_000_000,
}
"""More than a server can take at a time."""


def mutants(count: int, seed: int = 1) -> Iterator[bytes]:
    """Good requests with some bytes changed, lost, doubled or put elsewhere; the same for the same
    seed."""
    chance = random.Random(seed)
    good = [
        GET + b"Accept: application/json\r\nAuthorization: Bearer x\r\n\r\n",
        POST + b"Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{}",
        CHUNKED + b"Content-Type: application/json\r\n\r\n2;a=b\r\n{}\r\n0\r\nTrailer: x\r\n\r\n",
        GET
        + (
            b"Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: "
            b"13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
        ),
    ]
    pieces = [
        b"\0",
        b"\r",
        b"\n",
        b"\r\n",
        b" ",
        b"\t",
        b":",
        b";",
        b"%",
        b"\xff",
        b"chunked",
        b"0",
        b"Content-Length: 3\r\n",
        b"HTTP/1.1",
    ]
    for _ in range(count):
        text = bytearray(chance.choice(good))
        for _ in range(chance.randint(1, 6)):
            at = chance.randrange(len(text))
            end = at + chance.choice((0, 0, 1, 1, 8, 30))
            text[at:end] = chance.choice(
                [*pieces, bytes(text[at:end]) * 2, bytes([chance.randrange(256)])]
            )
        yield bytes(text)
