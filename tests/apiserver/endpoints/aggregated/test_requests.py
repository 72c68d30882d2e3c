"""Requests that an API server of the tenant's own answers, over real HTTPS: what it sees of them,
and whose they are."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from apiserver.authn.frontproxy import NAME as CLIENT
from apiserver.endpoints.request import Message
from apiserver.endpoints.views import aggregated
from tests.support.aggregated import (
    FRONT,
    ODD_ENDS,
    THINGS,
    answering,
    mine,
    scope_of,
    sent_by,
    using,
)
from tests.support.api import Api
from tests.support.apiservers import (
    GROUP,
    Answering,
    Asked,
)

pytestmark = ODD_ENDS


@pytest.mark.parametrize("method", ["GET", "POST", "PUT", "PATCH", "DELETE"])
async def test_every_method_goes_on_as_it_came(api: Api, method: str) -> None:
    async with using(api, answering({"kind": "Thing"}, 201, x_theirs="1")) as server:
        body = {"a": 1} if method != "GET" else None
        path, kind = f"{THINGS}/x%20y?dryRun=All&a=%20", "application/merge-patch+json"
        length = {"content-length": str(len(b'{"a":1}'))} if body else {}
        status, answer = await api(method, path, body, kind, **length)
        assert (status, answer) == (201, {"kind": "Thing"})
        asked = mine(server)
        assert (asked.method, asked.target) == (method, f"{THINGS}/x%20y?dryRun=All&a=%20")
        assert asked.header("content-type") == "application/merge-patch+json"


@pytest.mark.parametrize(
    "path",
    ["a%2Fstatus", "a%2fstatus", "../things", "a/%2e%2e/b", "%2E", "a%5Cstatus", "a%00", "a%0Ab"],
)
async def test_a_path_that_can_be_read_in_two_ways_goes_nowhere(api: Api, path: str) -> None:
    async with using(api, answering({})) as server:
        assert (await api("GET", f"{THINGS}/{path}"))[0] == 404
        assert not [a for a in server.asked if THINGS in a.target]


async def test_a_body_goes_on_with_its_length_or_in_chunks(api: Api) -> None:
    async with using(api, answering({})) as server:
        body = b"x" * 300_000
        await api.raw("POST", THINGS, body, "a/b", **{"content-length": str(len(body))})
        await api.raw("POST", THINGS, body, "a/b", **{"transfer-encoding": "chunked"})
        length = {"content-length": str(len(body)), "connection": "content-length"}
        await api.raw("POST", THINGS, body, "a/b", **length)
        bodies = [a.body for a in server.asked if a.method == "POST"]
        assert bodies == [body, body, body]


async def test_the_server_is_told_who_asks_and_nothing_that_is_not_its_business(api: Api) -> None:
    async with using(api, answering({}), authority=FRONT.authority(api.tenant.id)) as server:
        sent = {
            "authorization": "Bearer secret",
            "cookie": "polyplane_session=s",
            "x-remote-user": "root",
            "x-remote-group": "system:masters",
            "x-remote-uid": "0",
            "x-remote-extra-scopes": "all",
            "x_remote_user": "root",
            "x-remote_group": "system:masters",
            "x_remote_extra_scopes": "all",
            "impersonate_user": "root",
            "content_length": "9",
            "x-forwarded-for": "192.0.2.1",
            "connection": "x-mine, keep-alive",
            "x-mine": "1",
            "te": "trailers",
            "proxy-authorization": "Basic x",
            "accept": "application/json",
            "user-agent": "kubectl/1",
            "audit-id": "an-audit-id",
        }
        assert (await sent_by(api, f"{THINGS}/x", **sent))[0]["status"] == 200
        asked = mine(server)
        assert asked.client == CLIENT
        assert asked.headers["x-remote-user"] == ["ann"]
        assert asked.headers["x-remote-uid"] == ["u-1"]
        assert asked.headers["x-remote-group"] == ["dev", "system:authenticated"]
        assert asked.headers["x-remote-extra-team%2fx"] == ["a", "b"]
        gone = {"authorization", "cookie", "x-remote-extra-scopes", "x-mine", "te", "connection"}
        assert not {*gone, "proxy-authorization"} & set(asked.headers)
        assert not [name for name in asked.headers if "_" in name]
        assert asked.header("x-forwarded-for") == "192.0.2.1"
        assert asked.header("x-forwarded-uri") == f"{THINGS}/x"
        assert asked.header("audit-id") == "an-audit-id"
        assert (asked.header("accept"), asked.header("user-agent")) == (
            "application/json",
            "kubectl/1",
        )
        assert asked.header("host") == f"theirs.ns.svc:{server.port}"


async def test_a_client_that_hangs_up_ends_the_request_behind(api: Api) -> None:
    async def never(asked: Asked, answer: Answering) -> None:
        await asyncio.Event().wait()

    async with using(api, never) as server:
        leaving = asyncio.Event()
        parts: list[Message] = [{"type": "http.request", "body": b""}]

        async def receive() -> Message:
            if parts:
                return parts.pop()
            await leaving.wait()
            return {"type": "http.disconnect"}

        async def send(message: Message) -> None:
            raise AssertionError("nobody is there")

        asking = asyncio.create_task(api._entry(scope_of(f"{THINGS}/x", {}), receive, send))
        await api.until(lambda: any(a.target == f"{THINGS}/x" for a in server.asked))
        ended = server.gone
        leaving.set()
        await asking
        await api.until(lambda: server.gone > ended)


@pytest.mark.parametrize("query", ["", "?watch=1"])
async def test_a_request_that_cannot_be_sent_on_is_answered(
    api: Api, monkeypatch: pytest.MonkeyPatch, query: str
) -> None:
    def broken(*_: Any) -> Any:
        raise ValueError("no such header")

    async with using(api, answering({})):
        status, text = await api("GET", f"{THINGS}{query}", **{"x-odd": "a\x00b"})
        assert status == 503 and text.startswith(b"error trying to reach service: Illegal header")
        monkeypatch.setattr(aggregated.headers, "onward", broken)
        assert await api("GET", f"{THINGS}{query}") == (
            503,
            b"error trying to reach service: no such header\n",
        )


async def test_two_tenants_have_a_server_each_and_know_nothing_of_the_other_s(api: Api) -> None:
    acme = "/clusters/acme"
    neighbour = await api("GET", f"{acme}{THINGS}/x")
    async with using(api, answering({"of": "default"})) as one:
        assert await api("GET", f"{acme}{THINGS}/x") == neighbour and neighbour[0] == 404
        assert (await api("GET", f"{acme}/apis/{GROUP}"))[0] == 404
        names = [g["name"] for g in (await api.ok("GET", f"{acme}/apis"))["groups"]]
        assert GROUP not in names
        async with using(api, answering({"of": "acme"}), prefix=acme) as two:
            assert await api.ok("GET", f"{THINGS}/x") == {"of": "default"}
            assert await api.ok("GET", f"{acme}{THINGS}/x") == {"of": "acme"}
            assert mine(two).target == f"{THINGS}/x", "the prefix is this server's business"
            assert mine(one).target == f"{THINGS}/x"


async def test_what_this_server_serves_is_nobody_else_s(api: Api) -> None:
    async with using(api) as server:
        spec = {**server.api_service()["spec"], "group": "apps"}
        body = {"metadata": {"name": "v1.apps"}, "spec": spec}
        await api.ok("POST", "/apis/apiregistration.k8s.io/v1/apiservices", body)
        assert (await api.ok("GET", "/apis/apps/v1/deployments"))["kind"] == "DeploymentList"
        assert (await api("GET", "/apis/apps/v1/nonsense"))[0] == 404
        assert not [a for a in server.asked if "nonsense" in a.target]
