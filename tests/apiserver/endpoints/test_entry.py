"""The ASGI entry apart from any server: starting once, failures as Status, probes without a
database, sockets that carry watches only."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any, cast

import orjson
import pytest

from apiserver.authz.attributes import Decision
from apiserver.endpoints.entry import Entry
from apiserver.endpoints.request import ApiRequest, Message
from apiserver.endpoints.server import Server
from apiserver.storage.errors import DiskFull, TenantGone, Unavailable
from tests.support.api import receive_of


class Directory:
    def __init__(self, error: Exception | None = None) -> None:
        self.error = error

    async def tenant(self, name: str) -> Any:
        if self.error is not None:
            raise self.error
        return SimpleNamespace(id=1, name=name, state="active", max_watches=None, max_inflight=None)

    async def token(self, secret: str, tenant_id: int) -> None:
        return None


class Store:
    async def head(self, tenant: int) -> int:
        raise Unavailable("secret of the database")

    async def heads(self, tenants: list[int]) -> dict[int, Any]:
        raise Unavailable("secret of the database")


class AllowsAll:
    async def authorize(self, *_: Any) -> Decision:
        return Decision(True)


async def nothing(*_: Any) -> None:
    return None


def server(error: Exception | None = None) -> Server:
    steps = SimpleNamespace(ensure=nothing, ready=nothing, fresh=nothing)
    return Server(
        registry=cast(Any, SimpleNamespace(store=Store(), watches=SimpleNamespace(heard=nothing))),
        catalog=cast(Any, steps),
        definitions=cast(Any, steps),
        directory=cast(Any, Directory(error)),
        authorizer=cast(Any, AllowsAll()),
        seeder=cast(Any, steps),
        git_version="v1",
        started=True,
    )


def entry(made: Server) -> Entry:
    async def make() -> Server:
        return made

    return Entry(make, nothing, nothing)


async def answer(
    application: Entry, path: str, kind: str = "http", headers: tuple[tuple[bytes, bytes], ...] = ()
) -> list[Message]:
    sent: list[Message] = []

    async def send(message: Message) -> None:
        sent.append(message)

    target, _, query = path.partition("?")
    scope = {
        "type": kind,
        "method": "GET",
        "path": target,
        "raw_path": target.encode(),
        "query_string": query.encode(),
        "headers": headers,
    }
    first = b"" if kind == "http" else {"type": "websocket.connect"}
    await application(scope, receive_of(first), send)
    return sent


async def status(
    application: Entry, path: str, *headers: tuple[bytes, bytes]
) -> tuple[int, dict[bytes, bytes], Any]:
    start, body = await answer(application, path, headers=headers)
    return (
        start["status"],
        dict(start["headers"]),
        orjson.loads(body["body"]) if body["body"].startswith(b"{") else body["body"],
    )


async def test_first_requests_that_come_together_start_one_server() -> None:
    starts = 0

    async def make() -> Server:
        nonlocal starts
        starts += 1
        await asyncio.sleep(0.01)
        return server()

    application = Entry(make, nothing, nothing)
    await asyncio.gather(*(answer(application, "/livez/ping") for _ in range(5)))
    assert starts == 1


@pytest.mark.parametrize(
    ("error", "text", "retry"),
    [
        (Unavailable("host=10.0.0.1 refused"), "the database cannot be reached", b"1"),
        (
            Unavailable("lost", unknown=True),
            "the database did not confirm the write; it may have been committed",
            None,
        ),
        (DiskFull("could not extend file"), "the disk of the database is full", b"15"),
        (TenantGone("tenant 7 is gone"), "the tenant is being deleted", None),
    ],
)
async def test_a_database_that_is_away_is_503_wherever_it_is_noticed(
    error: Exception, text: str, retry: bytes | None
) -> None:
    code, headers, body = await status(entry(server(error)), "/api/v1/pods")
    assert (code, body["reason"], body["message"]) == (503, "ServiceUnavailable", text)
    assert headers.get(b"retry-after") == retry


async def test_probes_answer_without_the_database() -> None:
    application = entry(server(Unavailable("away")))
    assert (await status(application, "/livez?exclude=etcd"))[0] == 200
    code, _, body = await status(application, "/readyz")
    assert code == 500 and b"etcd" in body and b"secret of the database" not in body


@pytest.mark.parametrize(
    "headers", [((b"a", b"b"),) * 201, ((b"a", b"b" * 65_537),)], ids=["too many", "too large"]
)
async def test_headers_are_bounded_under_any_server(
    headers: tuple[tuple[bytes, bytes], ...],
) -> None:
    """Our workers refuse such requests themselves; Daphne has bounds of its own."""
    assert (await status(entry(server()), "/api", *headers))[0] == 431
    [closed] = await answer(entry(server()), "/api", "websocket", headers)
    assert (closed["type"], closed["code"]) == ("websocket.close", 4431)


async def test_the_first_of_repeated_headers_counts() -> None:
    """As Header.Get of Go; what a WebSocket client offers may come in several."""

    async def receive() -> Message:
        raise AssertionError("nobody reads a body")

    repeated = [
        (b"accept", b"a"),
        (b"accept", b"b"),
        (b"sec-websocket-protocol", b"x"),
        (b"sec-websocket-protocol", b"y"),
    ]
    request = ApiRequest({"method": "GET", "path": "/api", "headers": repeated}, receive)
    assert (request.header(b"accept"), request.header(b"sec-websocket-protocol")) == ("a", "x,y")


async def test_a_subprotocol_that_is_no_token_is_401() -> None:
    protocol = (b"sec-websocket-protocol", b"base64url.bearer.authorization.k8s.io.a")
    (closed,) = await answer(entry(server()), "/api", "websocket", headers=(protocol,))
    assert (closed["type"], closed["code"]) == ("websocket.close", 4401)


@pytest.mark.parametrize(
    "path",
    [
        "/api/v1/namespaces/a/secrets/b",
        "/api/v1/namespaces/a/secrets",
        "/api/v1/namespaces/a/pods/b/log?watch=1",
        "/api/v1/watch/namespaces/a/pods/b/log",
        "/version",
    ],
)
async def test_a_socket_watches_only_what_was_authorized_as_a_watch(path: str) -> None:
    (closed,) = await answer(entry(server()), path, "websocket")
    assert (closed["type"], closed["code"]) == ("websocket.close", 4400)


async def test_a_socket_is_not_told_what_went_wrong_inside() -> None:
    (closed,) = await answer(
        entry(server(RuntimeError("internals"))), "/api/v1/pods?watch=1", "websocket"
    )
    assert (closed["code"], closed["reason"]) == (4500, "")


# --- the console ----------------------------------------------------------------------------------
BROWSER = b"text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"


@pytest.mark.parametrize(
    ("path", "accept", "leads_to_console"),
    [
        ("/", BROWSER, True),
        ("/", b" text/html", True),
        ("/", b"application/json, text/html", False),
        ("/", b"*/*", False),
        ("/", None, False),
        ("/apis", BROWSER, False),
        ("/admin/", None, True),
    ],
)
async def test_the_root_leads_browsers_to_the_console(
    path: str, accept: bytes | None, leads_to_console: bool
) -> None:
    paths = []

    async def console(scope: Message, *_: Any) -> None:
        paths.append(scope["path"])

    async def make() -> Server:
        return server()

    headers = ((b"accept", accept),) if accept is not None else ()
    sent = await answer(Entry(make, nothing, console), path, headers=headers)
    assert (paths == [path]) is leads_to_console
    assert (sent == []) is leads_to_console
