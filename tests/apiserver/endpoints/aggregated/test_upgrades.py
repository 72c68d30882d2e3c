"""WebSocket and SPDY through to an API server of the tenant's own, over real connections on both
sides."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import Any

import pytest
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import InvalidStatus
from websockets.frames import Frame, Opcode
from websockets.server import ServerProtocol
from websockets.typing import Subprotocol

from apiserver.authz.attributes import Decision
from apiserver.endpoints.views import upgraded
from apiserver.flow.shares import REQUESTS, WATCHES
from tests.support.aggregated import ODD_ENDS, THINGS, answering, mine, using
from tests.support.api import Api
from tests.support.apiservers import ApiServer, Asked, Switching
from tests.support.served import client, served, trusting
from tests.support.waiting import PATIENCE

pytestmark = ODD_ENDS
EXEC = f"{THINGS}/x/exec"
SPDY = ("Connection: Upgrade", "Upgrade: SPDY/3.1", "Authorization: Bearer t")
BEARER = "base64url.bearer.authorization.k8s.io." + base64.urlsafe_b64encode(b"t").decode().rstrip(
    "="
)
SWITCHED = b"HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: %b\r\n%b\r\n"


def switching(
    *headers: bytes, protocol: bytes = b"SPDY/3.1", then: bytes = b"", echoes: bool = True
) -> Switching:
    async def switch(
        asked: Asked, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        writer.write(SWITCHED % (protocol, b"".join(h + b"\r\n" for h in headers)) + then)
        while echoes and (data := await reader.read(65536)):
            writer.write(data)
            await writer.drain()

    return switch


async def sockets(asked: Asked, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """A WebSocket that says everything again."""
    conn = ServerProtocol(subprotocols=[Subprotocol("v5.channel.k8s.io")])
    head = [f"{asked.method} {asked.target} HTTP/1.1"]
    head += [f"{name}: {value}" for name, values in asked.headers.items() for value in values]
    data = "\r\n".join(head).encode() + b"\r\n\r\n"
    while data:
        conn.receive_data(data)
        for event in conn.events_received():
            if not isinstance(event, Frame):
                conn.send_response(conn.accept(event))
            elif event.opcode == Opcode.TEXT:
                conn.send_text(event.data)
        writer.writelines(conn.data_to_send())
        await writer.drain()
        data = await reader.read(65536)


@asynccontextmanager
async def through(
    api: Api, switch: Switching | None, handler: Any = None
) -> AsyncIterator[tuple[ApiServer, int]]:
    """(the server behind, the port of this one)."""
    async with using(api, handler or answering({}, 403)) as server, served(api) as port:
        server.switching = switch
        yield server, port


def watching(api: Api) -> int:
    return api.server.shares.served(api.tenant.id, WATCHES)


async def given_back(api: Api) -> None:
    shares, number = api.server.shares, api.tenant.id
    await api.until(lambda: not shares.served(number, WATCHES) + shares.served(number, REQUESTS))


@pytest.mark.parametrize("method", ["GET", "POST"])
async def test_bytes_go_both_ways_after_the_server_has_switched(api: Api, method: str) -> None:
    switch = switching(b"X-Stream-Protocol-Version: v4", b"Set-Cookie: a=b", then=b"hello")
    async with through(api, switch) as (server, port), client(port) as spdy:
        sent = [*SPDY, "X-Stream-Protocol-Version: v4", "X-Remote-User: root", "Cookie: c=d"]
        if method == "POST":
            sent.append("Content-Length: 0")
        head = (await spdy.ask(f"{EXEC}?command=sh", *sent, method=method, after=b"early")).lower()
        assert head.startswith(b"http/1.1 101 ")
        assert b"\r\nupgrade: spdy/3.1\r\n" in head and b"\r\nconnection: upgrade\r\n" in head
        assert b"x-stream-protocol-version: v4" in head and b"set-cookie" not in head
        assert await spdy.take(10) == b"helloearly"
        data = bytes(range(256)) * 4096
        sending = asyncio.create_task(spdy.send(data))
        assert await spdy.take(len(data)) == data
        await sending
        asked = mine(server)
        assert (asked.method, asked.target) == (method, f"{EXEC}?command=sh")
        assert asked.header("connection") == "Upgrade" and asked.header("upgrade") == "SPDY/3.1"
        assert asked.header("x-remote-user") == "ann" and asked.header("cookie") == ""
        assert asked.header("x-stream-protocol-version") == "v4"
        assert "authorization" not in asked.headers


async def test_it_counts_as_a_watch_and_ends_with_its_client(api: Api) -> None:
    async with through(api, switching()) as (server, port), client(port) as spdy:
        await spdy.ask(EXEC, *SPDY)
        assert watching(api) == 1
        assert api.server.shares.served(api.tenant.id, REQUESTS) == 0
        ended = server.gone
        await spdy.leave()
        await api.until(lambda: server.gone > ended)
        await given_back(api)


async def test_what_a_client_sent_before_it_left_arrives(api: Api) -> None:
    got = bytearray()

    async def collect(
        asked: Asked, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        writer.write(SWITCHED % (b"SPDY/3.1", b""))
        while data := await reader.read(65536):
            got.extend(data)

    async with through(api, collect) as (_, port), client(port) as spdy:
        await spdy.ask(EXEC, *SPDY)
        await spdy.send(b"x" * 500_000)
        await spdy.leave()
        await api.until(lambda: len(got) == 500_000)


async def test_what_a_server_sent_before_it_left_arrives(api: Api) -> None:
    async def burst(
        asked: Asked, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        writer.write(SWITCHED % (b"SPDY/3.1", b"") + b"y" * 2_000_000)
        await writer.drain()

    async with through(api, burst) as (_, port), client(port) as spdy:
        await spdy.ask(EXEC, *SPDY)
        assert len(await spdy.rest()) == 2_000_000
        await given_back(api)


@pytest.mark.parametrize("bearer", [False, True])
async def test_a_websocket_goes_through(api: Api, bearer: bool) -> None:
    async with through(api, sockets) as (server, port):
        offered = [Subprotocol("v5.channel.k8s.io"), *([Subprotocol(BEARER)] if bearer else [])]
        async with connect(
            f"wss://localhost:{port}{EXEC}?stdin=1", ssl=trusting(), subprotocols=offered
        ) as socket:
            assert socket.subprotocol == "v5.channel.k8s.io"
            for text in ("a", "b" * 300_000):
                await socket.send(text)
                assert await said(socket) == text
            assert watching(api) == 1
        asked = mine(server)
        assert asked.header("sec-websocket-protocol") == "v5.channel.k8s.io"
        assert asked.target == f"{EXEC}?stdin=1"
        await given_back(api)


async def said(socket: ClientConnection) -> Any:
    async with asyncio.timeout(PATIENCE):
        return await socket.recv()


async def test_a_refusal_comes_back_as_it_is(api: Api) -> None:
    refusing = answering({"kind": "Status", "code": 403}, 403)
    async with through(api, None, refusing) as (_, port), client(port) as spdy:
        head = await spdy.ask(EXEC, *SPDY)
        assert head.startswith(b"HTTP/1.1 403 ")
        assert b'{"kind":"Status","code":403}' in await spdy.rest()
        with pytest.raises(InvalidStatus) as refused:
            await connect(f"wss://localhost:{port}{EXEC}", ssl=trusting())
        assert refused.value.response.status_code == 403
        assert refused.value.response.body == b'{"kind":"Status","code":403}'
        await given_back(api)


async def test_a_server_that_is_gone_is_an_answer_too(api: Api) -> None:
    async def hang_up(
        asked: Asked, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        writer.transport.abort()

    async with through(api, hang_up) as (_, port), client(port) as spdy:
        assert (await spdy.ask(EXEC, *SPDY)).startswith(b"HTTP/1.1 503 ")
        with pytest.raises(InvalidStatus) as refused:
            await connect(f"wss://localhost:{port}{EXEC}", ssl=trusting())
        assert refused.value.response.status_code == 503


@pytest.mark.parametrize("protocol", ["h2c", "SPDY/3.1, h2c", "TLS/1.0"])
async def test_no_other_protocol_is_asked_for(api: Api, protocol: str) -> None:
    """A client that speaks HTTP with the server behind says itself who asks."""
    plain = answering({"plain": True})
    async with through(api, switching(), plain) as (server, port), client(port) as spdy:
        head = await spdy.ask(EXEC, "Connection: Upgrade", f"Upgrade: {protocol}", SPDY[2])
        assert head.startswith(b"HTTP/1.1 200 ") and b'{"plain":true}' in await spdy.rest()
        assert not {"upgrade", "connection"} & set(mine(server).headers)


async def test_a_server_that_switches_to_something_else_is_not_heard(api: Api) -> None:
    switch = switching(protocol=b"h2c", then=b"secret")
    async with through(api, switch) as (_, port), client(port) as spdy:
        head = await spdy.ask(EXEC, *SPDY)
        assert head.startswith(b"HTTP/1.1 502 ") and b"secret" not in await spdy.rest()


async def test_a_request_with_a_body_switches_to_nothing(api: Api) -> None:
    async with through(api, switching()) as (server, port), client(port) as spdy:
        head = await spdy.ask(EXEC, *SPDY, "Content-Length: 2", method="POST", after=b"{}")
        assert b" 101 " not in head
        assert not [a for a in server.asked if "upgrade" in a.headers]


async def test_more_than_a_tenant_may_have_are_refused(api: Api) -> None:
    async def one(name: str) -> Any:
        return SimpleNamespace(
            id=api.tenant.id, name=name, state="active", max_watches=1, max_inflight=None
        )

    async with through(api, switching()) as (_, port), client(port) as first, client(port) as more:
        api.server.directory.tenant = one  # type: ignore[method-assign]
        assert b" 101 " in await first.ask(EXEC, *SPDY)
        assert (await more.ask(EXEC, *SPDY)).startswith(b"HTTP/1.1 429 ")
        await first.leave()
        await given_back(api)
        async with client(port) as again:
            assert b" 101 " in await again.ask(EXEC, *SPDY)


async def test_who_may_not_gets_nowhere(api: Api) -> None:
    async def deny(*_: Any) -> Decision:
        return Decision(False)

    async with through(api, switching()) as (server, port), client(port) as spdy:
        api.server.authorizer = SimpleNamespace(authorize=deny)  # type: ignore[assignment]
        assert (await spdy.ask(EXEC, *SPDY)).startswith(b"HTTP/1.1 403 ")
        with pytest.raises(InvalidStatus):
            await connect(f"wss://localhost:{port}{EXEC}", ssl=trusting())
        assert not [a for a in server.asked if a.target.startswith(EXEC)]


async def test_nobody_holds_a_connection_on_which_nothing_goes(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(upgraded, "IDLE", 0.5)
    async with through(api, switching()) as (server, port), client(port) as spdy:
        await spdy.ask(EXEC, *SPDY)
        ended = server.gone
        assert await spdy.rest() == b""
        await api.until(lambda: server.gone > ended)
        await given_back(api)


async def test_it_ends_with_the_right_to_it_and_with_the_process(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(api.server.watchdog, "_every", 0.05)

    async with through(api, switching()) as (_, port), client(port) as one, client(port) as two:
        await one.ask(EXEC, *SPDY)
        api.server.aggregator.end_exchanges()  # type: ignore[union-attr]
        assert await one.rest() == b""
        await two.ask(EXEC, *SPDY)

        async def nobody(secret: str, tenant_id: int) -> Any:
            return None

        api.server.directory.token = nobody  # type: ignore[method-assign]
        assert await two.rest() == b""
        await given_back(api)


async def test_a_client_that_does_not_read_holds_up_the_server_behind(api: Api) -> None:
    sent = 0

    async def flood(
        asked: Asked, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        nonlocal sent
        writer.write(SWITCHED % (b"SPDY/3.1", b""))
        while sent < 64 << 20:
            writer.write(bytes(65536))
            await writer.drain()
            sent += 65536

    async with through(api, flood) as (_, port), client(port) as spdy:
        await spdy.ask(EXEC, *SPDY)
        await api.until(lambda: api.server.outlets.unread[api.tenant.id])
        before = -1
        while before != sent:
            before = sent
            await asyncio.sleep(0.2)
        assert sent < 32 << 20, "the rest waits where it comes from"
        assert api.server.outlets.unread[api.tenant.id] < 1 << 20
        await spdy.take(32 << 20)
        await api.until(lambda: sent > before)


async def test_a_server_that_does_not_read_holds_up_its_client(api: Api) -> None:
    async def deaf(
        asked: Asked, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        writer.write(SWITCHED % (b"SPDY/3.1", b""))
        await asyncio.Event().wait()

    async with through(api, deaf) as (_, port), client(port) as spdy:
        await spdy.ask(EXEC, *SPDY)
        sent = 0

        async def send() -> None:
            nonlocal sent
            while sent < 64 << 20:
                await spdy.send(bytes(65536))
                sent += 65536

        sending = asyncio.create_task(send())
        before = -1
        while before != sent or not sent:
            before = sent
            await asyncio.sleep(0.2)
        assert sent < 32 << 20
        sending.cancel()


async def test_this_server_s_own_watches_still_come_over_websockets(api: Api) -> None:
    async with through(api, sockets) as (_, port):
        url = f"wss://localhost:{port}/api/v1/namespaces?watch=1"
        await api.ok("POST", "/api/v1/namespaces", {"metadata": {"name": "one"}})
        async with connect(url, ssl=trusting()) as socket:
            assert '"ADDED"' in await said(socket)
        with pytest.raises(InvalidStatus):
            await connect(f"wss://localhost:{port}/api/v1/namespaces", ssl=trusting())


async def test_nobody_sends_much_before_he_is_answered(api: Api) -> None:
    async with through(api, switching()) as (_, port), client(port) as spdy:
        with pytest.raises((asyncio.IncompleteReadError, ConnectionError)):
            await spdy.ask(EXEC, *SPDY, after=bytes(100_000))
