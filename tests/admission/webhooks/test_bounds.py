"""How many webhooks there may be, and what they may take of the server."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Iterator

import orjson
import pytest

from admission.webhooks import client as client_module
from admission.webhooks import hooks as hooks_module
from admission.webhooks import tls
from admission.webhooks.errors import CallFailed
from admission.webhooks.hooks import Hook
from apiserver.meta.objects import Object
from tests.support.admissionhooks import (
    allowing,
    answer,
    collection,
    configmap,
    configure,
    entry,
)
from tests.support.api import Api
from tests.support.webhooks import bundle, webhook

MAPS = "/api/v1/namespaces/ns/configmaps"
BOTH = pytest.mark.parametrize("kind", ["mutating", "validating"])


async def test_a_question_is_written_when_its_turn_comes(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who waits holds no copy of the objects; large ones have fewer turns than others."""
    monkeypatch.setattr(client_module, "LARGE_AT_ONCE", 1)
    go_on, begun, written = asyncio.Event(), asyncio.Event(), list[int]()

    async def waits(review: Object) -> Object:
        begun.set()
        await go_on.wait()
        return answer(review)

    def body() -> bytes:
        written.append(1)
        return orjson.dumps({"apiVersion": "x", "kind": "y", "request": {"uid": "1"}})

    client, lookup, size = api.registry.webhooks, api.registry.lookup(api.tenant), 256 * 1024
    async with webhook(waits) as hook:
        calls = [
            asyncio.create_task(client.post(1, hook.config(), body, lookup, 10.0, size))
            for _ in range(3)
        ]
        await begun.wait()
        assert len(written) == 1
        go_on.set()
        await asyncio.gather(*calls)
    assert len(written) == 3


@BOTH
async def test_webhooks_of_one_request_are_bounded(
    api: Api, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    monkeypatch.setattr(f"admission.plugins.{kind}webhook.MOST", 2)
    async with webhook(allowing) as hook:
        entries = [entry(hook.config(), f"h{i}.example.com") for i in range(3)]
        await configure(api, kind, *entries[:2], name="a")
        await api.ok("POST", MAPS, configmap("few"))
        await configure(api, kind, entries[2], name="b")
        status, refusal = await api("POST", MAPS, configmap("many"))
        assert (status, refusal["reason"]) == (403, "Forbidden")
        assert f"{kind} admission webhooks match this request" in refusal["message"]
        await api.ok("DELETE", f"{collection(kind)}/b")  # who is locked out can repair that
        await api.ok("POST", MAPS, configmap("many"))


@BOTH
async def test_webhooks_of_one_tenant_are_bounded(
    api: Api, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    monkeypatch.setattr(hooks_module, "MOST", 2)
    nobody_asks = [
        entry({"url": "https://x.example"}, f"h{i}.example.com", rules=[]) for i in (1, 2)
    ]
    await configure(api, kind, *nobody_asks, name="a")
    await api.ok("POST", MAPS, configmap("few"))
    await configure(api, kind, nobody_asks[0], name="b")
    status, refusal = await api("POST", MAPS, configmap("many"))
    assert (status, refusal["reason"]) == (403, "Forbidden")
    assert f"more than 2 webhooks in {kind}webhookconfigurations" in refusal["message"]
    await api.ok("DELETE", f"{collection(kind)}/b")
    await api.ok("POST", MAPS, configmap("many"))


async def test_what_is_read_is_shared_until_it_changes_and_can_be_forgotten(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    read, hooks_of = list[str](), hooks_module._hooks_of

    def counted(configuration: Object) -> Iterator[Hook]:
        read.append(configuration["metadata"]["name"])
        return hooks_of(configuration)

    monkeypatch.setattr(hooks_module, "_hooks_of", counted)
    monkeypatch.setattr(hooks_module, "_FEW", 1)  # the rest is looked at in a bounded way
    async with webhook(allowing) as hook:
        for name in ("a", "b"):
            await configure(api, "mutating", entry(hook.config()), name=name)
            await api.ok("POST", MAPS, configmap(name))
        assert read == ["a", "b"]
        api.registry.chain.forget(api.tenant.id)
        await api.ok("POST", MAPS, configmap("c"))
        assert read == ["a", "b", "a", "b"]
        assert len(hook.calls) == 5


async def test_certificates_of_webhooks_are_bounded_for_each_tenant() -> None:
    contexts, [pem] = tls.Contexts(), [base64.b64decode(bundle())]
    theirs = await contexts.of(2, pem)
    assert await contexts.of(2, pem + b"\n") is not theirs
    for i in range(300):
        await contexts.of(1, pem + b"\n" * i)
    assert await contexts.of(2, pem) is theirs
    both = await contexts.of(3, b"# a\n" + pem + b"# b\n" + pem + b"# c\n")
    assert len(both.get_ca_certs()) == len(theirs.get_ca_certs()) == 1
    for bad in (b"-----BEGIN CERTIFICATE-----\n", pem + b"-----BEGIN CERTIFICATE-----\nx", b"x"):
        with pytest.raises(CallFailed, match="unable to parse bytes as PEM block"):
            await contexts.of(1, bad)
    with pytest.raises(CallFailed, match="at most 65536"):
        await contexts.of(1, pem + b"\n" * 65_536)
