"""Clients that do not read: they are aborted when their tenant leaves too much unread, or one keeps
too much alive; nobody else is."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from apiserver.endpoints import outlets as outlets_module
from apiserver.endpoints.outlets import SLICE, Outlets
from apiserver.endpoints.request import ApiRequest
from apiserver.endpoints.respond import BytesResponse, PartsResponse, send_response
from apiserver.registry.offload import ClientGone
from apiserver.registry.scope import Tenant
from apiserver.watch.turnover import Turnover
from tests.support.waiting import PATIENCE

BOUND = 10 * SLICE


class Connection:
    """A transport and the server's ``send`` on top of it, as uvicorn has them: what is read leaves
    the buffer at once."""

    def __init__(self) -> None:
        self.transport = self
        self.buffered = self.read = self.high = self.most = 0
        self.aborted = False
        self._low = 0
        self._writable = asyncio.Event()
        self._writable.set()

    async def send(self, message: Any) -> None:
        await self._writable.wait()
        self.buffered += len(message.get("body", b""))
        self.most = max(self.most, self.buffered)
        if self.buffered > self.high:
            self._writable.clear()

    def take(self, size: int) -> None:
        """The client reads."""
        self.buffered = max(self.buffered - size, 0)
        if self.buffered <= self._low:
            self._writable.set()

    def get_write_buffer_size(self) -> int:
        return self.buffered

    def set_write_buffer_limits(self, high: int, low: int) -> None:
        self.high, self._low = high, low

    def get_extra_info(self, name: str) -> None:
        return None

    def is_closing(self) -> bool:
        return self.aborted

    def abort(self) -> None:
        self.aborted, self.buffered = True, 0
        self._writable.set()


class Turned:
    """Turnovers by tenant."""

    def __init__(self) -> None:
        self.tenants: dict[int, Turnover] = {}

    def __call__(self, tenant: int) -> Turnover:
        return self.tenants.setdefault(tenant, Turnover(BOUND))


def outlets(turned: Turned | None = None) -> Outlets:
    return Outlets(BOUND, turned or Turned())


def body(size: int = SLICE) -> dict[str, Any]:
    return {"type": "http.response.body", "body": bytes(size), "more_body": True}


async def stream(made: Outlets, connection: Connection, tenant: int = 1, size: int = SLICE) -> None:
    outlet = made.open(Tenant(tenant, f"t{tenant}"), connection.send)
    while True:
        await outlet.send(body(size))


async def test_a_tenant_that_leaves_too_much_unread_loses_who_waited_longest() -> None:
    made = Outlets(BOUND, Turned())
    connections = [Connection() for _ in range(12)]
    other = Connection()
    tasks = [asyncio.create_task(stream(made, c)) for c in connections] + [
        asyncio.create_task(stream(made, other, tenant=2))
    ]
    for _ in range(50):
        await asyncio.sleep(0)
    gone = [c.aborted for c in connections]
    assert gone == sorted(gone, reverse=True) and 1 <= sum(gone) < len(gone) and not other.aborted
    assert made.unread[1] <= BOUND
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    assert not made.unread


async def test_an_answer_that_keeps_old_state_alive_ends_when_too_much_has_changed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    turned = Turned()
    made, keeps, later = Outlets(BOUND, turned), Connection(), Connection()
    writing = asyncio.create_task(stream(made, keeps))
    await asyncio.sleep(0.01)
    monkeypatch.setattr(outlets_module, "_LOOK_EVERY", 0.01)
    turned(1).add(BOUND, 1)
    also = asyncio.create_task(stream(made, later))
    reading = asyncio.create_task(_trickle(keeps, later))
    with pytest.raises(ClientGone):
        await asyncio.wait_for(writing, PATIENCE)
    assert keeps.aborted and not later.aborted
    for task in (also, reading):
        task.cancel()


async def _trickle(*connections: Connection) -> None:
    while True:
        await asyncio.sleep(0.01)
        for connection in connections:
            connection.take(64)


def request() -> ApiRequest:
    async def receive() -> Any:
        raise AssertionError

    made = ApiRequest(
        {"method": "GET", "path": "/api", "raw_path": b"/api", "headers": []}, receive
    )
    made.tenant = Tenant(1, "t1")
    return made


def _parts() -> Iterator[bytes]:
    yield from (bytes(SLICE // 3) for _ in range(40))


@pytest.mark.parametrize(
    "response",
    [lambda: BytesResponse(bytes(8 * SLICE), "x"), lambda: PartsResponse(_parts(), "x")],
    ids=["bytes", "parts"],
)
async def test_large_answers_go_out_by_slices_and_end_with_who_does_not_read(response: Any) -> None:
    connection = Connection()
    sending = asyncio.create_task(send_response(outlets(), request(), response(), connection.send))
    for _ in range(100):
        await asyncio.sleep(0)
    assert not sending.done() and 0 < connection.most <= 2 * SLICE
    connection.abort()
    with pytest.raises(ClientGone):
        await sending
    assert connection.most <= 2 * SLICE


async def test_what_is_held_for_an_answer_alone_counts_for_its_tenant() -> None:
    made, connection = Outlets(BOUND, Turned()), Connection()
    with pytest.raises(ClientGone):
        await send_response(made, request(), BytesResponse(bytes(12 * SLICE), "x"), connection.send)
    assert connection.aborted and not made.unread


async def test_a_small_answer_behind_one_that_is_not_read_counts_as_well() -> None:
    made, connection = outlets(), Connection()
    connection.buffered = SLICE
    connection._writable.clear()
    sending = asyncio.create_task(
        send_response(made, request(), BytesResponse(b"{}", "x"), connection.send)
    )
    for _ in range(10):
        await asyncio.sleep(0)
    assert made.unread[1] >= SLICE
    connection.abort()
    with pytest.raises(ClientGone):
        await sending
    assert not made.unread
