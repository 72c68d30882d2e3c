"""Connections to webhooks: kept, used again and replaced; and how answers end."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack

import pytest

from admission.webhooks import client as client_module
from admission.webhooks.client import WebhookClient
from apiserver.meta.objects import Object
from tests.admission.webhooks.test_client import EMPTY, ask, echo, text_of
from tests.support.webhooks import Answer, Reply, webhook


def sending(data: bytes, *, closes: bool = False) -> Answer:
    """Always the same bytes."""

    async def answer(review: Object) -> Reply:
        made = Reply(b"", closes=closes)
        made.data = data
        return made

    return answer


async def test_a_connection_is_used_again_by_its_tenant_only(client: WebhookClient) -> None:
    async with webhook(echo) as hook:
        for _ in range(3):
            assert await ask(client, hook.config()) == b'{"got":{}}'
        assert hook.connections == 1
        await ask(client, hook.config(), tenant=2)
        assert hook.connections == 2


async def test_a_tenant_keeps_few_connections_however_many_addresses_it_names(
    client: WebhookClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client._idle, "_most_of_owner", 2)
    async with AsyncExitStack() as stack:
        hooks = [await stack.enter_async_context(webhook(echo)) for _ in range(3)]
        for _ in range(2):
            for hook in hooks:
                await ask(client, hook.config())
        await ask(client, hooks[2].config(), tenant=2)
        await ask(client, hooks[2].config(), tenant=2)
        assert [hook.connections for hook in hooks] == [1, 1, 3]


async def test_an_answer_is_bounded_by_its_question(
    client: WebhookClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client_module, "MOST_BYTES", 10)

    async def long(review: Object) -> Reply:
        return Reply(b"[" + b"0" * 50 + b"]")

    async with webhook(long) as hook:
        assert (await text_of(client, hook.config())).endswith("the response is too large")
        assert len(await client.post(1, hook.config(), b'{"a":"%b"}' % (b"x" * 20), EMPTY)) == 52


async def test_calls_at_one_moment_have_connections_of_their_own(client: WebhookClient) -> None:
    async with webhook(echo) as hook:
        await asyncio.gather(*(ask(client, hook.config()) for _ in range(5)))
        assert hook.connections == 5


async def test_a_connection_that_was_closed_meanwhile_is_replaced(client: WebhookClient) -> None:
    turn = 0

    async def moody(review: Object) -> Object | None:
        nonlocal turn
        turn += 1
        return None if turn == 2 else {"turn": turn}

    async with webhook(moody) as hook:
        assert await ask(client, hook.config()) == b'{"turn":1}'
        assert (
            await ask(client, hook.config()) == b'{"turn":3}'
        )  # the second was cut off, and asked again
        assert hook.connections == 2


@pytest.mark.parametrize("together", [True, False])
async def test_what_comes_unasked_is_not_taken_for_the_next_answer(
    client: WebhookClient, *, together: bool
) -> None:
    turn = 0

    async def babbling(review: Object) -> Reply:
        nonlocal turn
        turn += 1
        made = Reply(b'{"turn":%d}' % turn)
        if together:
            made.data += b"more"
        return made

    async with webhook(babbling) as hook:
        assert await ask(client, hook.config()) == b'{"turn":1}'
        if not together:
            (kept,) = (one for kept in client._idle._kept.values() for one in kept)
            kept._reader.feed_data(b"more")
        assert await ask(client, hook.config()) == b'{"turn":2}'
        assert hook.connections == 2


async def test_a_connection_is_not_used_again_where_a_body_may_still_follow(
    client: WebhookClient,
) -> None:
    late = sending(b"HTTP/1.1 204 No Content\r\nContent-Length: 4\r\n\r\n")
    async with webhook(late) as hook:
        for _ in range(2):
            assert "0-length response with status code: 204" in await text_of(client, hook.config())
        assert hook.connections == 2


async def test_chunked_answers(client: WebhookClient) -> None:
    chunked = sending(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n")
    async with webhook(chunked) as hook:
        assert await ask(client, hook.config()) == b"{}"


async def test_an_answer_that_is_cut_off_is_no_answer(client: WebhookClient) -> None:
    cut = sending(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{", closes=True)
    async with webhook(cut) as hook:
        assert await text_of(client, hook.config()) == (
            "unexpected error when reading response body. Please retry. Original error: "
            "unexpected EOF"
        )


async def test_an_answer_may_end_with_the_connection(client: WebhookClient) -> None:
    closing = sending(b"HTTP/1.1 200 OK\r\n\r\n{}", closes=True)
    async with webhook(closing) as hook:
        for _ in range(2):
            assert await ask(client, hook.config()) == b"{}"
        assert hook.connections == 2
