"""How one answer gets onto the wire."""

from __future__ import annotations

import asyncio
import logging
from types import SimpleNamespace
from typing import Any

import pytest

from controlplane.serving import cycle as cycle_module
from controlplane.serving.cycle import Cycle, Flow

Headers = list[tuple[bytes, bytes]]


class Wire:
    def __init__(self) -> None:
        self.writes: list[bytes] = []
        self.closed = False

    def write(self, data: bytes) -> None:
        self.writes.append(data)

    def close(self) -> None:
        self.closed = True

    def is_closing(self) -> bool:
        return self.closed


async def sent(
    status: int, headers: Headers, *bodies: bytes, method: str = "GET"
) -> tuple[Wire, Cycle]:
    wire: Any = Wire()
    log = logging.getLogger("polyplane.test")
    cycle = Cycle(
        {"type": "http", "method": method},
        wire,
        Flow(wire),
        log,
        log,
        False,
        [],
        asyncio.Event(),
        False,
        True,
        SimpleNamespace,
    )
    await cycle.send({"type": "http.response.start", "status": status, "headers": headers})
    for i, body in enumerate(bodies):
        more = i < len(bodies) - 1
        await cycle.send({"type": "http.response.body", "body": body, "more_body": more})
    return wire, cycle


def sized(body: bytes) -> Headers:
    return [(b"Content-Length", b"%d" % len(body))]


async def test_head_and_body_are_one_write() -> None:
    wire, cycle = await sent(200, sized(b"abc"), b"abc")
    assert wire.writes == [b"HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\nabc"]
    assert cycle.response_complete and not wire.closed


async def test_the_head_of_a_stream_does_not_wait() -> None:
    wire, _ = await sent(200, [])
    assert wire.writes == [b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"]


async def test_a_body_in_parts_follows_its_head() -> None:
    wire, cycle = await sent(200, sized(b"abcd"), b"ab", b"cd")
    assert b"".join(wire.writes).endswith(b"\r\n\r\nabcd") and cycle.response_complete


@pytest.mark.parametrize(("status", "method"), [(304, "GET"), (204, "GET"), (200, "HEAD")])
async def test_the_length_of_a_body_that_is_not_sent(status: int, method: str) -> None:
    wire, cycle = await sent(status, sized(b"abc"), b"", method=method)
    assert b"".join(wire.writes).endswith(b"content-length: 3\r\n\r\n")
    assert cycle.response_complete and not wire.closed


async def test_a_status_that_nobody_has_named() -> None:
    wire, cycle = await sent(799, sized(b"x"), b"x")
    assert wire.writes[0].startswith(b"HTTP/1.1 799 \r\n") and cycle.response_complete


@pytest.mark.parametrize("value", [b"a\r\nb: c", b"a\nb", b"a\rb", b"a\0b"])
async def test_a_header_cannot_begin_another(value: bytes) -> None:
    with pytest.raises(RuntimeError):
        await sent(200, [(b"a", value), *sized(b"")])


@pytest.mark.parametrize("bodies", [(b"abcd",), (b"ab",)])
async def test_a_body_of_another_length_is_not_passed_off(bodies: tuple[bytes, ...]) -> None:
    with pytest.raises(RuntimeError):
        await sent(200, sized(b"abc"), *bodies)


async def test_a_large_body_goes_in_pieces_where_tenants_share_the_loop(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    body = bytes(range(256)) * 4096
    whole, _ = await sent(200, sized(body), body)
    assert len(whole.writes) == 2
    monkeypatch.setattr(cycle_module, "is_shared", lambda: True)
    pieces, cycle = await sent(200, sized(body), body)
    assert max(map(len, pieces.writes)) <= 128 * 1024 and cycle.response_complete
    assert b"".join(pieces.writes) == b"".join(whole.writes)


async def test_others_come_between_large_parts_of_a_body_where_tenants_share_the_loop(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    passed: list[int] = []

    async def moves_bytes(size: int) -> None:
        passed.append(size)

    monkeypatch.setattr(cycle_module, "moves_bytes", moves_bytes)
    part = bytes(256 * 1024)
    await sent(200, [], part, part, b"")
    assert not passed
    monkeypatch.setattr(cycle_module, "is_shared", lambda: True)
    await sent(200, [], b"a few", part, part, b"")
    assert passed == [len(part), len(part)]
