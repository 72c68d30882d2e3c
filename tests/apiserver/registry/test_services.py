"""Cluster IPs: by what the process knows, and by what is so where that does not do."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from apiserver.registry.services import ADDRESSES, SERVICES, AddressHook, ServiceHook
from apiserver.storage.postgres import PostgresStore
from apiserver.watch.watches import Watches
from tests.support.api import Api, serving
from tests.support.fixtures import store, tenant

__all__ = ["store", "tenant"]

PATH = "/api/v1/namespaces/ns/services"


@pytest_asyncio.fixture
async def apis(store: PostgresStore, tenant: int) -> AsyncIterator[tuple[Api, Api]]:
    """Two processes; the second one hears of the first one's writes when it asks."""
    async with serving(store, tenant) as one, serving(store, tenant) as two:
        for api in (one, two):
            api.registry.hooks.update({SERVICES: ServiceHook(), ADDRESSES: AddressHook()})
        yield one, two


def service(name: str, address: str = "", node_port: int = 0) -> object:
    port = {"port": 80, **({"nodePort": node_port} if node_port else {})}
    given = {"clusterIP": address} if address else {}
    kind = {"type": "NodePort"} if node_port else {}
    return {"metadata": {"name": name}, "spec": {"ports": [port], **given, **kind}}


async def test_nobody_asks_for_the_head_when_an_address_is_free(
    apis: tuple[Api, Api], monkeypatch: pytest.MonkeyPatch
) -> None:
    api = apis[0]
    await api.ok("POST", PATH, service("first"))  # the caches are there now
    asked: list[int] = []
    fresh = Watches.fresh

    async def counted(self: Watches, *args: object) -> object:
        asked.append(1)
        return await fresh(self, *args)  # type: ignore[arg-type]

    monkeypatch.setattr(Watches, "fresh", counted)
    await api.ok("POST", PATH, service("s"))
    await api.ok("POST", PATH, service("t", "10.0.0.77", 30077))
    assert asked == []
    code, answer = await api("POST", PATH, service("u", "10.0.0.77"))
    assert code == 422 and "provided IP is already allocated" in answer["message"] and asked


@pytest.mark.parametrize("taken", [("10.0.0.88", 0), ("", 30088)])
async def test_what_another_process_has_given_is_refused(
    apis: tuple[Api, Api], monkeypatch: pytest.MonkeyPatch, taken: tuple[str, int]
) -> None:
    one, two = apis
    await two.ok("POST", PATH, service("warm"))
    await one.ok("POST", PATH, service("s", *taken))
    code, answer = await two("POST", PATH, service("t", *taken))
    assert code == 422 and "already allocated" in answer["message"]


async def test_what_another_process_has_freed_is_given(apis: tuple[Api, Api]) -> None:
    one, two = apis
    await one.ok("POST", PATH, service("s", "10.0.0.99"))
    await two.ok("GET", PATH)
    await one.ok("DELETE", f"{PATH}/s")
    made = await two.ok("POST", PATH, service("t", "10.0.0.99"))
    assert made["spec"]["clusterIPs"] == ["10.0.0.99"]


async def test_one_address_has_one_form(apis: tuple[Api, Api]) -> None:
    claims = ServiceHook().claims({"spec": {"type": "ClusterIP", "clusterIPs": ["010.0.0.5"]}})
    assert claims == ("service-ip/10.0.0.5",)


async def test_an_external_name_has_no_internal_traffic_policy(apis: tuple[Api, Api]) -> None:
    """It is accepted, validated, and never shown (kubernetes ``pkg/registry/core/service/storage``,
    ``defaultOnReadInternalTrafficPolicy``)."""
    api, spec = apis[0], {"type": "ExternalName", "externalName": "a.example.com"}

    def named(policy: str) -> object:
        return {"metadata": {"name": "s"}, "spec": {**spec, "internalTrafficPolicy": policy}}

    code, answer = await api("POST", PATH, named("Somewhere"))
    assert code == 422 and "spec.internalTrafficPolicy" in answer["message"]
    for method, path in (("POST", PATH), ("PUT", f"{PATH}/s")):
        made = await api.ok(method, path, named("Cluster"))
        assert "internalTrafficPolicy" not in made["spec"]
        assert "internalTrafficPolicy" not in (await api.ok("GET", f"{PATH}/s"))["spec"]
