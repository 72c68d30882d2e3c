"""Calls to webhooks: names and Services are resolved, and nothing leads to refused addresses."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Sequence
from typing import Any

import h11
import pytest
from hypothesis import given
from hypothesis import strategies as st

from admission.webhooks import names
from admission.webhooks.addresses import AddressPolicy, networks
from admission.webhooks.client import WebhookClient
from admission.webhooks.errors import CallFailed
from admission.webhooks.target import Target
from apiserver.meta.gvk import GroupResource
from apiserver.meta.objects import Object
from tests.support.waiting import PATIENCE
from tests.support.webhooks import Webhook, bundle, serving_context, webhook


class Cluster:
    """admission.Lookup over a few objects."""

    def __init__(self, *objects: Object) -> None:
        self.objects = objects

    async def get(
        self, resource: GroupResource, namespace: str, name: str, *, fresh: bool = False
    ) -> Object | None:
        return next(
            (o for o in await self.list(resource, namespace) if o["metadata"]["name"] == name), None
        )

    async def list(self, resource: GroupResource, namespace: str = "") -> Sequence[Object]:
        kinds = {"services": "Service", "endpointslices": "EndpointSlice", "endpoints": "Endpoints"}
        return [
            o
            for o in self.objects
            if o["kind"] == kinds[resource.resource] and o["metadata"]["namespace"] == namespace
        ]


EMPTY = Cluster()


async def echo(review: Object) -> Object:
    return {"got": review}


async def ask(client: WebhookClient, config: Object, tenant: int = 1, lookup: Any = EMPTY) -> bytes:
    return await client.post(tenant, config, b"{}", lookup)


async def text_of(client: WebhookClient, config: Object, lookup: Any = EMPTY) -> str:
    with pytest.raises(CallFailed) as raised:
        await ask(client, config, lookup=lookup)
    return str(raised.value)


# --- certificates and names -----------------------------------------------------------------------


async def test_the_name_that_was_called_is_the_one_that_is_verified(client: WebhookClient) -> None:
    async with webhook(echo, serving_context("localhost")) as hook:
        assert await ask(client, {"url": f"https://localhost:{hook.port}", "caBundle": bundle()})
        text = await text_of(client, hook.config())
        assert text.endswith(
            "cannot validate certificate for 127.0.0.1 because it doesn't contain any IP SANs"
        )


async def test_a_name_that_nobody_knows(
    client: WebhookClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unknown(*_: Any, **__: Any) -> Any:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(names.socket, "getaddrinfo", unknown)
    text = await text_of(client, {"url": "https://nowhere.example/x"})
    assert text == (
        'Post "https://nowhere.example/x?timeout=10s": dial tcp: lookup '
        "nowhere.example: no such host"
    )


async def test_who_asks_for_a_name_at_one_moment_shares_the_look_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked = []

    def once(host: str, *_: Any, **__: Any) -> Any:
        asked.append(host)
        return [(2, 1, 6, "", ("192.0.2.1", 0)), (2, 1, 6, "", ("192.0.2.1", 0))]

    monkeypatch.setattr(names.socket, "getaddrinfo", once)
    resolver = names.Resolver()
    found = await asyncio.gather(*(resolver.resolve(1, "a.example") for _ in range(5)))
    assert found == [["192.0.2.1"]] * 5 and asked == ["a.example"]
    assert await resolver.resolve(1, "::1") == ["::1"] and asked == ["a.example"]
    resolver.close()


async def test_names_that_never_answer_hold_up_their_tenant_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    end = threading.Event()

    def slow(host: str, *_: Any, **__: Any) -> Any:
        if host.startswith("slow"):
            end.wait(2 * PATIENCE)  # longer than anyone here waits for it
        return [(2, 1, 6, "", ("192.0.2.1", 0))]

    monkeypatch.setattr(names.socket, "getaddrinfo", slow)
    resolver = names.Resolver()
    held = [
        asyncio.create_task(resolver.resolve(1, host))
        for host in ("slow1.example", "slow2.example", "hooks.example")
    ]
    await asyncio.sleep(0)
    async with asyncio.timeout(PATIENCE):
        assert await resolver.resolve(2, "hooks.example") == ["192.0.2.1"]
    assert not any(task.done() for task in held)
    end.set()
    await asyncio.gather(*held)
    resolver.close()


async def test_many_tenants_with_such_names_hold_up_nobody_else(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    end = threading.Event()

    def slow(host: str, *_: Any, **__: Any) -> Any:
        if host.startswith("slow"):
            end.wait(PATIENCE)
        return [(2, 1, 6, "", ("192.0.2.1", 0))]

    monkeypatch.setattr(names.socket, "getaddrinfo", slow)
    monkeypatch.setattr(names, "_PATIENCE", 0.01)
    resolver = names.Resolver()
    held = [
        asyncio.create_task(resolver.resolve(tenant, f"slow{i}.example"))
        for tenant in range(names._AT_ONCE)
        for i in range(3)
    ]
    await asyncio.sleep(0)
    async with asyncio.timeout(PATIENCE):
        assert await resolver.resolve(1000, "hooks.example") == ["192.0.2.1"]
    assert not any(task.done() for task in held)
    end.set()
    await asyncio.gather(*held)
    resolver.close()


async def test_a_bundle_that_holds_no_certificate(client: WebhookClient) -> None:
    text = await text_of(client, {"url": "https://127.0.0.1:1/", "caBundle": "bm9uc2Vuc2U="})
    assert text.endswith("unable to load root certificates: unable to parse bytes as PEM block")


# --- addresses ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "address",
    [
        "169.254.169.254",
        "::ffff:169.254.169.254",
        "64:ff9b::a9fe:a9fe",
        "fe80::1",
        "fe80::1%eth0",
        "fd00:ec2::254",
        "0.0.0.0",
        "::",
        "100.100.100.200",
        "168.63.129.16",
        "224.0.0.1",
        "255.255.255.255",
        "2002:a9fe:a9fe::1",
    ],
)
def test_addresses_that_are_never_webhooks(address: str) -> None:
    assert not AddressPolicy().permits(address)
    assert AddressPolicy(allowed=networks(["0.0.0.0/0", "::/0"])).permits(address)


@pytest.mark.parametrize(
    "address", ["10.0.0.1", "192.168.1.1", "203.0.113.9", "2001:db8::1", "fd00::1"]
)
def test_private_addresses_are_where_webhooks_live(address: str) -> None:
    assert AddressPolicy(loopback=False).permits(address)
    assert not AddressPolicy(denied=networks(["0.0.0.0/0", "::/0"])).permits(address)


@pytest.mark.parametrize("address", ["127.0.0.1", "127.9.9.9", "::1", "::ffff:127.0.0.1"])
def test_loopback_is_the_operators_decision(address: str) -> None:
    assert AddressPolicy(loopback=True).permits(address) and not AddressPolicy(
        loopback=False
    ).permits(address)


async def test_a_name_that_leads_to_a_refused_address_is_not_called(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(
        names.socket, "getaddrinfo", lambda *_, **__: [(2, 1, 6, "", ("127.0.0.1", 0))]
    )
    client = WebhookClient(AddressPolicy(loopback=False))
    async with webhook(echo) as hook:
        text = await text_of(
            client, {"url": f"https://innocent.example:{hook.port}/", "caBundle": bundle()}
        )
        assert (
            text.endswith("this server does not call webhooks at that address")
            and hook.connections == 0
        )
    await client.close()


# --- URLs and Services ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("config", "url", "port"),
    [
        ({"url": "https://h"}, "https://h/?timeout=30s", 443),
        ({"url": "https://h:8443/a/b/"}, "https://h:8443/a/b?timeout=30s", 8443),
        ({"url": "https://[::1]:1/x"}, "https://[::1]:1/x?timeout=30s", 1),
        ({"service": {"namespace": "n", "name": "s"}}, "https://s.n.svc:443/?timeout=30s", 443),
        (
            {"service": {"namespace": "n", "name": "s", "port": 9, "path": "/p"}},
            "https://s.n.svc:9/p?timeout=30s",
            9,
        ),
    ],
)
def test_urls_are_written_as_upstream_writes_them(config: Object, url: str, port: int) -> None:
    target = Target.of(config, 30)
    assert (target.url, target.port) == (url, port)


@given(st.text(max_size=20), st.text(max_size=20))
async def test_whatever_a_url_says_the_call_ends_well(host: str, path: str) -> None:
    client = WebhookClient(AddressPolicy(loopback=False), timeout=5)
    try:
        target = Target.of({"url": f"https://{host}/{path}"}, 5)
        h11.Request(method="POST", target=target.path, headers=[("Host", target.authority)])
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(names.socket, "getaddrinfo", _local)
            with pytest.raises(CallFailed):
                await ask(client, {"url": f"https://{host}/{path}"})
    except CallFailed:
        pass
    finally:
        await client.close()


def _local(host: str, *_: Any, **__: Any) -> Any:
    host.encode("idna")  # as the real one does; raises UnicodeError
    return [(2, 1, 6, "", ("127.0.0.1", 0))]


def service(**spec: Any) -> Object:
    return {
        "kind": "Service",
        "metadata": {"namespace": "n", "name": "s"},
        "spec": {"ports": [{"port": 443, "name": "https"}], **spec},
    }


def in_slice(hook: Webhook, *addresses: str, port: str = "https", **conditions: bool) -> Object:
    metadata = {"namespace": "n", "name": "s-1", "labels": {"kubernetes.io/service-name": "s"}}
    endpoints = [{"addresses": [a], "conditions": conditions} for a in addresses]
    return {
        "kind": "EndpointSlice",
        "metadata": metadata,
        "ports": [{"name": port, "port": hook.port}],
        "endpoints": endpoints,
    }


CONFIG = {"service": {"namespace": "n", "name": "s", "path": "/convert"}, "caBundle": bundle()}


async def test_a_service_is_called_at_its_endpoints_under_its_own_name(
    client: WebhookClient,
) -> None:
    async with webhook(echo, serving_context("s.n.svc")) as hook:
        old = {"kind": "Endpoints", "metadata": {"namespace": "n", "name": "s"}}
        old["subsets"] = [
            {"addresses": [{"ip": "127.0.0.1"}], "ports": [{"name": "https", "port": hook.port}]}
        ]  # type: ignore[assignment]
        for more in (in_slice(hook, "127.0.0.1"), in_slice(hook, "127.0.0.1", ready=True), old):
            assert await ask(client, CONFIG, lookup=Cluster(service(), more)) == b'{"got":{}}'
        assert set(hook.requests) == {"POST /convert?timeout=10s HTTP/1.1"}
        assert hook.headers[0]["host"] == "s.n.svc:443"


async def test_an_external_name_stands_for_its_host(client: WebhookClient) -> None:
    async with webhook(echo, serving_context("s.n.svc")) as hook:
        config = {**CONFIG, "service": {"namespace": "n", "name": "s", "port": hook.port}}
        assert await ask(
            client, config, lookup=Cluster(service(type="ExternalName", externalName="localhost"))
        )


async def test_services_that_lead_nowhere(client: WebhookClient) -> None:
    async with webhook(echo) as hook:
        prefix = 'Post "https://s.n.svc:443/convert?timeout=10s": '
        for objects, text in (
            ([], 'service "s" not found'),
            ([service(ports=[{"port": 80}])], 'no service port 443 found for service "s"'),
            ([service()], 'no endpoints available for service "s"'),
            ([service(), in_slice(hook)], 'no endpoints available for service "s"'),
            (
                [service(), in_slice(hook, "127.0.0.1", ready=False)],
                'no endpoints available for service "s"',
            ),
            (
                [service(), in_slice(hook, "127.0.0.1", port="other")],
                'no endpoints available for service "s"',
            ),
        ):
            assert await text_of(client, CONFIG, Cluster(*objects)) == prefix + text
        assert hook.connections == 0
