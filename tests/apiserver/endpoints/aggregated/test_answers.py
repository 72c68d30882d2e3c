"""What comes back from an API server of the tenant's own: slow, huge, odd, broken off."""

from __future__ import annotations

import asyncio

import pytest

from apiserver.endpoints.views import aggregated
from tests.support.aggregated import (
    ODD_ENDS,
    THINGS,
    answering,
    sent_by,
    using,
)
from tests.support.api import Api
from tests.support.apiservers import (
    PATH,
    Answering,
    Asked,
    Handler,
)

pytestmark = ODD_ENDS


async def test_an_answer_cannot_act_as_a_page_of_this_host(api: Api) -> None:
    page = answering(
        b"<script>1</script>",
        content_type="text/html",
        set_cookie="polyplane_session=x",
        access_control_allow_origin="*",
        connection="x-hop",
        x_hop="1",
        keep_alive="timeout=5",
        strict_transport_security="max-age=1",
        x_theirs="1",
    )
    async with using(api, page):
        start = (await sent_by(api, f"{THINGS}/x"))[0]
        headers = dict(start["headers"])
        assert headers[b"content-security-policy"] == b"default-src 'none'; sandbox"
        assert headers[b"x-content-type-options"] == b"nosniff"
        assert headers[b"x-theirs"] == b"1" and headers[b"content-type"] == b"text/html"
        gone = {b"set-cookie", b"access-control-allow-origin", b"x-hop", b"keep-alive"}
        assert not {*gone, b"connection", b"strict-transport-security"} & set(headers)


async def test_a_watch_streams_and_ends_with_its_client(api: Api) -> None:
    more = asyncio.Event()

    async def handler(asked: Asked, answer: Answering) -> None:
        await answer.start(content_type="application/json", transfer_encoding="chunked")
        await answer.send(b'{"type":"ADDED","object":{}}\n')
        await more.wait()
        await answer.send(b'{"type":"MODIFIED","object":{}}\n')
        await asyncio.Event().wait()

    async with using(api, handler) as server:
        watch = api.watch(f"{THINGS}?watch=true")
        assert (await watch.next() or {})["type"] == "ADDED"
        more.set()
        assert (await watch.next() or {})["type"] == "MODIFIED"
        ended = server.gone
        await watch.stop()
        await api.until(lambda: server.gone > ended)


async def test_a_huge_answer_streams(api: Api) -> None:
    async def handler(asked: Asked, answer: Answering) -> None:
        await answer.start(content_type="application/json", transfer_encoding="chunked")
        for _ in range(64):
            await answer.send(b"x" * 262_144)
        await answer.end()

    async with using(api, handler):
        status, body = await api.raw("GET", f"{THINGS}/x", b"", "")
        assert (status, len(body)) == (200, 64 * 262_144)


async def test_a_watch_that_does_not_begin_is_given_up(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(aggregated, "BEGINNING", 0.2)

    async def never(asked: Asked, answer: Answering) -> None:
        await asyncio.Event().wait()

    async with using(api, never):
        status, answer = await api("GET", f"{THINGS}?watch=1")
        assert (status, answer["reason"]) == (504, "Timeout")


@pytest.mark.parametrize("long", [False, True])
async def test_a_slow_answer_is_given_up_unless_it_is_a_watch(
    api: Api, monkeypatch: pytest.MonkeyPatch, long: bool
) -> None:
    monkeypatch.setattr(aggregated, "PATIENCE", 0.3)
    go = asyncio.Event()

    async def handler(asked: Asked, answer: Answering) -> None:
        await go.wait()
        await answer.whole({"slow": True})

    async with using(api, handler):
        if long:
            asyncio.get_running_loop().call_later(0.6, go.set)
            assert await api("GET", f"{THINGS}?watch=1") == (200, {"slow": True})
        else:
            status, answer = await api("GET", f"{THINGS}/x")
            assert (status, answer["reason"]) == (504, "Timeout")
            assert answer["message"] == "request did not complete within the allotted timeout"


async def test_a_slow_document_is_given_up_sooner(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with using(api) as server:
        monkeypatch.setattr(aggregated, "DISCOVERY", 0.2)

        async def never(asked: Asked, answer: Answering) -> None:
            await asyncio.Event().wait()

        server.handler = never
        status, text = await api("GET", PATH)
        assert status == 503
        assert text == b"error trying to reach service: context deadline exceeded\n"


async def test_redirects_are_not_followed_and_not_passed_on(api: Api) -> None:
    async with using(api, answering(b"", 302, location="http://169.254.169.254/")):
        assert await api("GET", f"{THINGS}/x") == (
            502,
            b"the backend attempted to redirect this request, which is not permitted",
        )


async def test_a_status_code_that_is_none_is_not_passed_on(api: Api) -> None:
    async with using(api, answering(b"", 600)):
        assert (await api("GET", f"{THINGS}/x"))[0] == 502


async def test_tiny_chunks_go_on_together(api: Api) -> None:
    async def handler(asked: Asked, answer: Answering) -> None:
        await answer.start(content_type="text/plain", transfer_encoding="chunked")
        answer.raw(b"1\r\nx\r\n" * 2_000 + b"0\r\n\r\n")

    async with using(api, handler):
        sent = await sent_by(api, f"{THINGS}/x")
        parts = [m["body"] for m in sent[1:] if m["body"]]
        assert b"".join(parts) == b"x" * 2_000 and len(parts) < 20


def hangs_up() -> Handler:
    async def handler(asked: Asked, answer: Answering) -> None:
        answer.hang_up()

    return handler


async def test_a_server_that_hangs_up_is_told_of(api: Api) -> None:
    async with using(api, hangs_up()):
        status, text = await api("GET", f"{THINGS}/x")
        assert status == 503 and text.startswith(b"error trying to reach service: ")


async def test_an_answer_that_breaks_off_does_not_look_complete(api: Api) -> None:
    async def handler(asked: Asked, answer: Answering) -> None:
        await answer.start(content_type="application/json", content_length="100")
        await answer.send(b"{")
        answer.hang_up()

    async with using(api, handler):
        sent = await sent_by(api, f"{THINGS}/x")
        assert sent[0]["status"] == 200
        assert all(message["more_body"] for message in sent[1:])
