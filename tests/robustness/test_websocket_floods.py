"""WebSocket clients that break the protocol, or send what nobody reads, against a real worker."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.robustness.test_http_fuzz import LAG, Neighbour
from tests.support.installation import Installation
from tests.support.raw import Raw
from tests.support.waiting import PATIENCE

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, prepared: Path) -> Iterator[Installation]:
    installation = Installation(tmp_path_factory.mktemp("sockets"), prepared)
    installation.env |= {"POLYPLANE_WORKERS": "1"}
    installation.start()
    yield installation
    installation.stop()


@pytest.fixture(scope="module")
def neighbour(server: Installation) -> Iterator[Neighbour]:
    client = Neighbour(server)
    for _ in range(50):
        client.get("warming up")
    yield client
    client.close()


def frame(opcode: int, data: bytes = b"", *, fin: bool = True, masked: bool = True) -> bytes:
    """A client's frame (RFC 6455, 5.2), with a mask of zeros."""
    size, mask = len(data), 0x80 if masked else 0
    if size < 126:
        length = bytes([mask | size])
    elif size < 1 << 16:
        length = bytes([mask | 126]) + size.to_bytes(2)
    else:
        length = bytes([mask | 127]) + size.to_bytes(8)
    return bytes([opcode | (0x80 if fin else 0)]) + length + (bytes(4) if masked else b"") + data


def watch(server: Installation) -> Raw:
    """An open socket that watches namespaces."""
    client = Raw(server)
    client.send(
        b"GET /api/v1/namespaces?watch=true HTTP/1.1\r\nHost: polyplane\r\nConnection: "
        b"Upgrade\r\nUpgrade: websocket\r\n"
        b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n",
        f"Authorization: Bearer {server.token}\r\n\r\n".encode(),
    )
    answer = b""
    while b'"ADDED"' not in answer:
        part = client.receive()
        assert part, answer
        answer += part
    assert answer.startswith(b"HTTP/1.1 101 ")
    return client


TEXT, BINARY, CLOSE, PING = 1, 2, 8, 9
CASES: dict[str, tuple[bytes, int]] = {
    "100,000 messages": (frame(TEXT, b"x") * 100_000, 1008),
    "100,000 empty pings": (frame(PING) * 100_000, 1008),
    "20,000 fragments": (frame(TEXT, fin=False) + frame(0, fin=False) * 20_000, 1008),
    "message of 1 MB": (frame(BINARY, b"x" * 1_000_000), 1009),
    "message of 18 exabytes": (b"\x82\xff" + b"\x7f" + b"\xff" * 7 + bytes(4), 1009),
    "frame without a mask": (frame(TEXT, b"x", masked=False), 1002),
    "opcode that is none": (frame(3), 1002),
    "reserved bits": (b"\xf1\x80" + bytes(4), 1002),
    "continuation of nothing": (frame(0, b"x"), 1002),
    "ping of 200 bytes": (frame(PING, b"x" * 200), 1002),
    "ping in fragments": (frame(PING, fin=False), 1002),
    "text that is no UTF-8": (frame(TEXT, b"\xff\xfe"), 1007),
    "close of one byte": (frame(CLOSE, b"\x03"), 1002),
    "close with a code that is none": (frame(CLOSE, b"\x00\x01"), 1002),
    "close": (frame(CLOSE, (1000).to_bytes(2)), 1000),
}


@pytest.mark.parametrize("name", CASES)
def test_is_closed_with_the_right_code(
    server: Installation, neighbour: Neighbour, name: str
) -> None:
    data, code = CASES[name]
    with watch(server) as client:
        sending = client.send_in_background([data])
        lags = [neighbour.get(name) for _ in range(20)]
        rest = client.rest()
        sending.join(PATIENCE)
    closing = re.search(rb"\x88[\x02-\x7d]" + code.to_bytes(2), rest, re.DOTALL)
    assert closing, rest[-200:]
    assert max(lags) < LAG
    quiet(server)


def test_abrupt_ends_leave_nothing_in_the_log(server: Installation, neighbour: Neighbour) -> None:
    for i in range(20):
        client = watch(server)
        client.send(frame(TEXT, b"half a message", fin=False)[: i % 10])
        client.close()
        assert (
            server.request("POST", "/api/v1/namespaces", {"metadata": {"generateName": "abrupt-"}})[
                0
            ]
            == 201
        )
        neighbour.get("abrupt")
    quiet(server)


def quiet(server: Installation) -> None:
    log = server.output()
    assert "Traceback" not in log and not re.search(r" (ERROR|CRITICAL) ", log), log[-3000:]
