"""Who may learn that a tenant exists, who makes it work, and how much of it one may take at a
time."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import orjson
import pytest

from apiserver.authz.attributes import Decision
from apiserver.endpoints.entry import Entry
from apiserver.endpoints.filters import limits
from apiserver.endpoints.request import ApiRequest, Message
from apiserver.endpoints.routes import find_view, no_page
from apiserver.endpoints.server import Defaults, Server
from apiserver.errors import TooManyRequests
from apiserver.flow.shares import REQUESTS, WATCHES
from apiserver.user import ANONYMOUS, User
from tests.support.api import receive_of

TENANTS = {"here": "active", "asleep": "suspended"}


class Directory:
    async def tenant(self, name: str) -> Any:
        return (
            SimpleNamespace(id=1, name=name, state=TENANTS[name], max_watches=1, max_inflight=2)
            if name in TENANTS
            else None
        )

    def remembered(self, secret: str, tenant: str) -> None:
        return None

    async def token(self, secret: str, tenant_id: int) -> User | None:
        return User(secret) if secret == "everywhere" or (secret, tenant_id) == ("one", 1) else None


class NothingForAnonymous:
    async def authorize(self, tenant: Any, attributes: Any) -> Decision:
        return Decision(attributes.user.name != ANONYMOUS)


def made(seeded: list[str]) -> Server:
    async def ensure(tenant: Any) -> None:
        seeded.append(tenant.name)

    async def nothing(*_: Any) -> None:
        return None

    steps = SimpleNamespace(ensure=ensure, ready=nothing)
    return Server(
        registry=cast(Any, SimpleNamespace(watches=SimpleNamespace(heard=nothing))),
        catalog=cast(Any, steps),
        definitions=cast(Any, steps),
        directory=cast(Any, Directory()),
        authorizer=cast(Any, NothingForAnonymous()),
        seeder=cast(Any, steps),
        git_version="v1",
        started=True,
    )


def request(path: str, token: str = "", query: bytes = b"") -> ApiRequest:
    headers = [(b"authorization", f"Bearer {token}".encode())] if token else []
    scope = {
        "type": "http",
        "method": "GET",
        "path": path,
        "raw_path": path.encode(),
        "query_string": query,
        "headers": headers,
    }

    return ApiRequest(scope, receive_of(b""))


async def get(server: Server, path: str, token: str = "") -> tuple[int, Any]:
    async def make() -> Server:
        return server

    async def stop(_: Any) -> None:
        return None

    sent: list[Message] = []

    async def send(message: Message) -> None:
        sent.append(message)

    asked = request(path, token)
    await Entry(make, stop, cast(Any, stop))(asked.scope, asked.receive, send)
    return sent[0]["status"], orjson.loads(sent[1]["body"])


@pytest.mark.parametrize(
    "path", ["/api", "/version", "/api/v1/namespaces/x/secrets", "/apis/example.com/v1/things"]
)
async def test_without_a_token_all_tenants_that_serve_nobody_look_alike(path: str) -> None:
    seeded: list[str] = []
    answers = [await get(made(seeded), f"/clusters/{name}{path}") for name in ("nowhere", "asleep")]
    assert answers[0] == answers[1] and seeded == []
    if path != "/version":
        assert (
            answers[0] == await get(made(seeded), f"/clusters/here{path}") and answers[0][0] == 403
        )


async def test_a_token_of_one_tenant_says_nothing_about_others() -> None:
    seeded: list[str] = []
    assert (await get(made(seeded), "/clusters/nowhere/api", "one"))[0] == 401
    assert (await get(made(seeded), "/clusters/here/api", "unknown"))[0] == 401
    assert seeded == []


async def test_a_token_of_all_tenants_is_told_what_is_the_matter() -> None:
    status, body = await get(made([]), "/clusters/nowhere/version", "everywhere")
    assert (status, body["reason"]) == (404, "NotFound")
    status, body = await get(made([]), "/clusters/asleep/version", "everywhere")
    assert status == 403 and "suspended" in body["message"]
    assert (await get(made([]), "/clusters/here/version", "everywhere"))[0] == 200


async def test_nothing_is_served_under_the_old_proxy_path() -> None:
    asked = request("/api/v1/proxy/namespaces/a/secrets/b")
    assert find_view(made([]), asked) is no_page


async def test_limits_count_requests_and_watches_apart_and_until_they_end() -> None:
    server = made([])
    found = await server.directory.tenant("here")
    reads = [request("/clusters/here/api/v1/pods") for _ in range(3)]
    watches = [request("/clusters/here/api/v1/pods", query=b"watch=true") for _ in range(2)]
    for taken in (reads[0], reads[1], watches[0]):
        limits.take(server, taken, found)
    for refused, limit in ((reads[2], "2 requests at a time"), (watches[1], "1 open watches")):
        with pytest.raises(TooManyRequests, match=f"tenant here is limited to {limit}, ") as raised:
            limits.take(server, refused, found)
        assert raised.value.retry_after == 1 and raised.value.to_status()["code"] == 429
        limits.give_back(server, refused)
    limits.give_back(server, reads[0])
    limits.take(server, reads[2], found)
    for taken in (reads[1], reads[2], watches[0]):
        limits.give_back(server, taken)
    assert not server.shares.served(1, REQUESTS) and not server.shares.served(1, WATCHES)


async def test_the_entry_gives_back_what_a_request_took() -> None:
    server = made([])
    for _ in range(5):
        assert (await get(server, "/clusters/here/version", "one"))[0] == 200
    assert not server.shares.served(1, REQUESTS) and not server.shares.served(1, WATCHES)


async def test_a_tenant_whose_row_says_nothing_has_the_limits_of_the_installation() -> None:
    server = made([])
    server.defaults = Defaults(watches=1, inflight=2)
    free = cast(
        Any, SimpleNamespace(id=5, name="free", state="active", max_watches=None, max_inflight=None)
    )
    for query, most in ((b"", 2), (b"watch=true", 1)):
        for _ in range(most):
            limits.take(server, request("/clusters/free/api/v1/pods", query=query), free)
        with pytest.raises(TooManyRequests):
            limits.take(server, request("/clusters/free/api/v1/pods", query=query), free)
    free.max_inflight = 3  # counts at once
    limits.take(server, request("/clusters/free/api/v1/pods"), free)
