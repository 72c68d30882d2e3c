"""What APIServices say about the servers that they name."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from apiserver.aggregation import backends
from apiserver.controllers import aggregation
from tests.support.aggregated import (
    ODD_ENDS,
    SERVICE,
    available,
    until,
    using,
)
from tests.support.api import Api
from tests.support.apiservers import (
    GROUP,
    NAME,
    PATH,
    Answering,
    ApiServer,
    Asked,
    api_server,
    documents,
)

pytestmark = ODD_ENDS


@pytest.mark.parametrize(
    ("service", "slices", "reason", "message"),
    [
        (None, [], "ServiceNotFound", 'service/theirs in "ns" is not present'),
        ([80], [], "ServicePortError", 'service/theirs in "ns" is not listening on port 443'),
        (
            [443],
            [],
            "EndpointsNotFound",
            'cannot find endpointslices for service/theirs in "ns"',
        ),
        (
            [443],
            [False],
            "MissingEndpoints",
            'endpointslices for service/theirs in "ns" have no addresses with port name "https"',
        ),
    ],
)
async def test_conditions_before_it_is_asked(
    api: Api, service: list[int] | None, slices: list[bool], reason: str, message: str
) -> None:
    if service is not None:
        ports = [{"name": "https", "port": port} for port in service]
        body = {"metadata": {"name": "theirs"}, "spec": {"ports": ports}}
        await api.ok("POST", "/api/v1/namespaces/ns/services", body)
    for ready in slices:
        body = {
            "metadata": {"name": "s", "labels": {"kubernetes.io/service-name": "theirs"}},
            "addressType": "IPv4",
            "ports": [{"name": "https", "port": 8443}],
            "endpoints": [{"addresses": ["10.0.0.1"], "conditions": {"ready": ready}}],
        }
        await api.ok("POST", "/apis/discovery.k8s.io/v1/namespaces/ns/endpointslices", body)
    (_, (path, body)) = ApiServer(documents, 443).objects()
    await api.ok("POST", path, body)
    condition = await available(api, reason=reason)
    assert (condition["status"], condition["message"]) == ("False", message)


async def test_one_too_many_is_not_asked(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backends, "MOST", 1)
    async with using(api) as server:
        spec = {**server.api_service()["spec"], "version": "v2"}
        name = f"v2.{GROUP}"
        body = {"metadata": {"name": name}, "spec": spec}
        await api.ok("POST", SERVICE.removesuffix(f"/{NAME}"), body)
        v2 = SERVICE.replace(NAME, name)
        condition = await until(
            lambda: api.ok("GET", v2), lambda o: (o.get("status") or {}).get("conditions")
        )
        (said,) = condition["status"]["conditions"]
        assert (said["status"], said["reason"]) == ("False", "TooManyAPIServices")
        assert await api("GET", PATH.replace("v1", "v2")) == (503, b"service unavailable\n")
        assert [v["version"] for v in (await api.ok("GET", f"/apis/{GROUP}"))["versions"]] == ["v1"]
        assert not [a for a in server.asked if a.target == PATH.replace("v1", "v2")]


async def test_only_its_own_service_and_slices_make_a_server_be_looked_at(api: Api) -> None:
    async with using(api):
        tenant = api.server.catalog.used(api.tenant.id)
        assert tenant is not None
        (backend,) = (await api.server.aggregator.backends.current(tenant)).values()

        async def state() -> object:
            return (await aggregation._Around.of(api.registry, tenant)).state(backend)

        def labelled(service: str) -> Any:
            labels = {"kubernetes.io/service-name": service}
            metadata = {"name": service, "labels": labels}
            return {"metadata": metadata, "addressType": "IPv4", "endpoints": []}

        before = await state()
        slices = "/apis/discovery.k8s.io/v1/namespaces/ns/endpointslices"
        await api.ok("POST", slices, labelled("another"))
        body = {"metadata": {"name": "another"}, "spec": {"ports": [{"port": 1}]}}
        await api.ok("POST", "/api/v1/namespaces/ns/services", body)
        assert await state() == before
        await api.ok("POST", slices, labelled("theirs"))
        await until(state, lambda now: now != before)


async def test_a_server_that_comes_back_is_found_again(api: Api) -> None:
    down = asyncio.Event()

    async def handler(asked: Asked, answer: Answering) -> None:
        if down.is_set():
            await documents(asked, answer)
        else:
            await answer.whole({}, 500)

    async with api_server(handler) as server:
        for path, body in server.objects():
            await api.ok("POST", path, body)
        condition = await available(api, reason="FailedDiscoveryCheck")
        assert condition["message"].endswith(
            f"bad status from https://theirs.ns.svc:{server.port}{PATH}: 500"
        )
        down.set()
        assert (await available(api))["status"] == "True"
