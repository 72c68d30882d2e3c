"""The way to a conversion webhook: nobody there, certificates, addresses, silence, and clients that
leave."""

from __future__ import annotations

import asyncio

import pytest

from admission.webhooks.addresses import AddressPolicy
from apiserver.meta.objects import Object
from apiserver.storage.postgres import PostgresStore
from tests.support.api import Api, serving
from tests.support.conversionfailures import WHO, is_defined, refused
from tests.support.webhooks import (
    bundle,
    converting,
    nobody,
    serving_context,
    webhook,
)
from tests.support.widgets import V1, V2, define, redefine, widget


async def unreachable(api: Api, config: Object, text: str) -> None:
    await redefine(api, config) if await is_defined(api) else await define(api, config)
    if not (await api.ok("GET", V1))["items"]:
        await api.ok("POST", V1, widget("a", host="h"))
    refused(await api("GET", f"{V2}/a"), f"{WHO} failed: {text}")
    assert (await api.ok("GET", f"{V1}/a"))["spec"] == {"host": "h"}


async def test_nobody_listens(api: Api) -> None:
    config = nobody()
    host = config["url"].removeprefix("https://").removesuffix("/convert")
    await unreachable(
        api,
        config,
        f'Post "{config["url"]}?timeout=30s": dial tcp {host}: connect: connection refused',
    )


async def test_certificates_that_do_not_fit(api: Api) -> None:
    prefix = 'Post "<url>": tls: failed to verify certificate: x509: '
    async with webhook(converting) as hook:
        await unreachable(
            api,
            hook.config(caBundle=bundle("two")),
            prefix + "certificate signed by unknown authority",
        )
        await unreachable(
            api, {"url": hook.url}, prefix + "certificate signed by unknown authority"
        )
    async with webhook(converting, serving_context("elsewhere")) as hook:
        text = "cannot validate certificate for 127.0.0.1 because it doesn't contain any IP SANs"
        await unreachable(api, hook.config(), prefix + text)
    async with webhook(converting, serving_context("127.0.0.1", days=0)) as hook:
        await unreachable(
            api, hook.config(), prefix + "certificate has expired or is not yet valid"
        )
    async with webhook(converting, plain=True) as hook:
        await unreachable(
            api, hook.config(), 'Post "<url>": http: server gave HTTP response to HTTPS client'
        )


async def test_a_webhook_that_never_answers_holds_up_nobody_but_its_own(
    store: PostgresStore, tenant: int
) -> None:
    never = asyncio.Event()

    async def silent(review: Object) -> Object:
        await never.wait()
        return await converting(review)

    async with serving(store, tenant, seconds=3.0) as api, webhook(silent) as hook:
        await define(api, hook.config())
        await api.ok("POST", V1, widget("a", host="h"))
        waiting = asyncio.create_task(api("GET", f"{V2}/a"))
        await api.until(lambda: hook.calls)
        assert (await api.ok("GET", f"{V1}/a"))["spec"] == {"host": "h"}
        await api.ok("POST", V1, widget("b", host="h"))
        refused(
            await waiting,
            f'{WHO} failed: Post "<url>": context deadline exceeded (Client.Timeout exceeded while '
            f"awaiting headers)",
        )
        never.set()
        assert (await api.ok("GET", f"{V2}/a"))["spec"] == {"address": "h:80"}


async def test_who_leaves_does_not_take_the_answer_away_from_others(api: Api) -> None:
    go = asyncio.Event()

    async def slow(review: Object) -> Object:
        await go.wait()
        return await converting(review)

    async with webhook(slow) as hook:
        await define(api, hook.config())
        await api.ok("POST", V1, widget("a", host="h"))
        await api.ok("GET", V1)  # whatever reads now finds it in the cache
        first = asyncio.create_task(api("GET", f"{V2}/a"))
        await api.until(lambda: hook.calls)
        second = asyncio.create_task(api("GET", f"{V2}/a"))
        await asyncio.sleep(0)
        first.cancel()
        with pytest.raises(asyncio.CancelledError):
            await first
        go.set()
        assert (await second)[1]["spec"] == {"address": "h:80"}
        assert hook.asked == 1


async def test_addresses_that_are_refused_are_never_connected_to(
    store: PostgresStore, tenant: int
) -> None:
    async with (
        serving(store, tenant, policy=AddressPolicy(loopback=False)) as api,
        webhook(converting) as hook,
    ):
        text = "this server does not call webhooks at that address"
        await unreachable(
            api, hook.config(), f'Post "<url>": dial tcp 127.0.0.1:{hook.port}: {text}'
        )
        url = "https://169.254.169.254/latest"
        await unreachable(
            api, {"url": url}, f'Post "{url}?timeout=30s": dial tcp 169.254.169.254:443: {text}'
        )
        assert hook.connections == 0
