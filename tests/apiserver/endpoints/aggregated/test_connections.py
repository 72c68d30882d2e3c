"""Which API servers are spoken to: dead ones, those of somebody else, and those at addresses that
are nobody's business."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from apiserver.aggregation import backends, transport
from apiserver.authn.frontproxy import NAME as CLIENT
from tests.support.aggregated import (
    FRONT,
    ODD_ENDS,
    THINGS,
    answering,
    available,
    using,
)
from tests.support.api import Api
from tests.support.apiservers import (
    GROUP,
    PATH,
    ApiServer,
    api_server,
    documents,
)
from tests.support.installation import free_port

pytestmark = ODD_ENDS


async def test_a_server_that_is_dead_is_not_asked_and_hurts_nobody(api: Api) -> None:
    server = ApiServer(documents, free_port())
    for path, body in server.objects():
        await api.ok("POST", path, body)
    condition = await available(api, reason="FailedDiscoveryCheck")
    assert condition["status"] == "False" and "connection refused" in condition["message"]
    assert await api("GET", f"{THINGS}/x") == (503, b"service unavailable\n")
    assert await api("GET", PATH) == (503, b"service unavailable\n")
    groups = (await api.ok("GET", "/apis"))["groups"]
    assert GROUP in [group["name"] for group in groups]
    assert (await api("GET", "/openapi/v3"))[0] == 200


@pytest.mark.parametrize(
    ("spec", "text"),
    [
        ({"caBundle": "", "insecureSkipTLSVerify": False}, "signed by unknown authority"),
        ({"service": {"namespace": "other", "name": "theirs"}}, "not valid for theirs.other.svc"),
    ],
)
async def test_a_certificate_of_somebody_else_is_refused(
    api: Api, spec: dict[str, Any], text: str
) -> None:
    async with api_server() as server:
        if "service" in spec:
            spec["service"]["port"] = server.port
        namespace = spec.get("service", {}).get("namespace", "ns")
        for path, body in server.objects(namespace, **spec):
            await api.ok("POST", path, body)
        condition = await available(api, reason="FailedDiscoveryCheck")
        assert text in condition["message"] and server.asked == []


async def test_a_bundle_that_is_too_large_is_not_read(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backends, "MOST_BUNDLE", 64)
    async with api_server() as server:
        for path, body in server.objects():
            await api.ok("POST", path, body)
        condition = await available(api, reason="FailedDiscoveryCheck")
        assert "unable to load root certificates: more than" in condition["message"]
        assert server.asked == []


async def test_a_tenant_s_bundles_displace_its_own_only(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transport, "_KEPT", 1)
    async with using(api), using(api, prefix="/clusters/acme"):
        bundles = api.server.aggregator.transport._contexts
        assert len(bundles) == 2
        tenant = api.server.catalog.used(api.tenant.id)
        assert tenant is not None
        (backend,) = (await api.server.aggregator.backends.current(tenant)).values()
        for bundle in (b"", b" "):
            await api.server.aggregator.transport._context(tenant, replace(backend, bundle=bundle))
        assert [len(contexts.kept) for contexts in bundles.values()] == [1, 1]
        bundles.clear()


async def test_insecure_is_taken_at_its_word(api: Api) -> None:
    async with using(api, answering({"ok": 1}), caBundle="", insecureSkipTLSVerify=True):
        assert await api.ok("GET", f"{THINGS}/x") == {"ok": 1}


@pytest.mark.parametrize("host", ["169.254.169.254", "metadata.google.internal"])
async def test_no_service_leads_to_a_cloud_s_metadata(api: Api, host: str) -> None:
    server = ApiServer(documents, 80)
    (services, service), (path, body) = server.objects()
    service["spec"]["externalName"] = host
    await api.ok("POST", services, service)
    await api.ok("POST", path, body)
    condition = await available(api, reason="FailedDiscoveryCheck")
    assert ("does not call API servers at that address" in condition["message"]) == (
        host == "169.254.169.254"
    )


async def test_a_server_that_knows_its_tenant_lets_no_other_in(api: Api) -> None:
    """Somebody's APIService may point to a neighbour's server: it sees another authority."""
    async with api_server(authority=FRONT.authority(api.tenant.id)) as server:
        for prefix in ("", "/clusters/acme"):
            for path, body in server.objects():
                await api.ok("POST", prefix + path, body)
        await available(api)
        refused = await available(api, "/clusters/acme", "FailedDiscoveryCheck")
        assert refused["status"] == "False"
        assert {asked.client for asked in server.asked} == {CLIENT}
