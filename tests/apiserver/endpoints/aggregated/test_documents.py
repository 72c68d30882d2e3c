"""Discovery and OpenAPI of what API servers of a tenant's own serve."""

from __future__ import annotations

from typing import Any

import pytest

from apiserver.aggregation import documents as kept
from tests.support.aggregated import (
    ODD_ENDS,
    SERVICE,
    THINGS,
    available,
    until,
    using,
)
from tests.support.api import Api
from tests.support.apiservers import (
    GROUP,
    PATH,
    Answering,
    Asked,
    api_server,
    documents,
)

pytestmark = ODD_ENDS


async def test_discovery_and_openapi_name_what_it_serves(api: Api) -> None:
    async with using(api) as server:
        accept = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"

        def group(document: Any) -> Any:
            return next(i for i in document["items"] if i["metadata"].get("name") == GROUP)

        document = await until(
            lambda: api.ok("GET", "/apis", accept=accept),
            lambda document: group(document)["versions"][0]["freshness"] == "Current",
        )
        (version,) = group(document)["versions"]
        (resource,) = version["resources"]
        assert (version["version"], resource["resource"]) == ("v1", "things")
        assert resource["responseKind"] == {"group": GROUP, "version": "v1", "kind": "Thing"}
        assert resource["scope"] == "Namespaced" and resource["shortNames"] == ["th"]
        assert [s["subresource"] for s in resource["subresources"]] == ["status"]
        alone = await api.ok("GET", f"/apis/{GROUP}")
        assert alone["preferredVersion"] == {"groupVersion": f"{GROUP}/v1", "version": "v1"}
        assert (await api.ok("GET", PATH))["groupVersion"] == f"{GROUP}/v1"
        assert PATH in (await api.ok("GET", "/"))["paths"]
        index = await api.ok("GET", "/openapi/v3")
        url = index["paths"][PATH[1:]]["serverRelativeURL"]
        assert url == f"/openapi/v3{PATH}?hash=ABC"
        assert (await api.ok("GET", url))["info"]["title"] == "theirs"
        await api.ok("DELETE", SERVICE)
        assert (await api("GET", f"/apis/{GROUP}"))[0] == 404
        server.asked.clear()
        assert (await api("GET", f"{THINGS}/x"))[0] == 404
        assert not [a for a in server.asked if a.target.startswith(THINGS)]


async def test_an_odd_document_stays_outside(api: Api) -> None:
    odd: Any = {
        "kind": "APIGroupDiscoveryList",
        "items": [
            1,
            {
                "metadata": {"name": GROUP},
                "versions": [{"version": "v1", "resources": [{"resource": "x", "verbs": [1]}, 7]}],
            },
            {"metadata": {"name": "apps"}, "versions": [{"version": "v1", "resources": []}]},
        ],
    }

    async def handler(asked: Asked, answer: Answering) -> None:
        await (answer.whole(odd) if asked.target == "/apis" else documents(asked, answer))

    async with api_server(handler) as server:
        for path, body in server.objects():
            await api.ok("POST", path, body)
        accept = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
        document = await until(
            lambda: api.ok("GET", "/apis", accept=accept),
            lambda d: d["items"][-1]["versions"][0]["freshness"] == "Current",
        )
        assert [r["resource"] for r in document["items"][-1]["versions"][0]["resources"]] == ["x"]
        apps = next(i for i in document["items"] if i["metadata"].get("name") == "apps")
        assert apps["versions"][0]["resources"]


async def test_discovery_keeps_no_more_than_a_tenant_may_have(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kept, "MOST_ROWS", 3)
    nameless = [{}, {"subresource": "status"}] * 500
    document: Any = {"kind": "APIGroupDiscoveryList"}

    def row(subresources: int) -> Any:
        named = [{"subresource": f"s{n}"} for n in range(subresources)]
        return {"resource": "things", "subresources": [{}] * 900 + named}

    async def handler(asked: Asked, answer: Answering) -> None:
        await (answer.whole(document) if asked.target == "/apis" else documents(asked, answer))

    async with api_server(handler) as server:
        for path, body in server.objects():
            await api.ok("POST", path, body)
        await available(api)
        aggregator, tenant = api.server.aggregator, api.server.catalog.used(api.tenant.id)
        assert aggregator is not None and tenant is not None
        for subresources, rows in ((2, 3), (3, 0)):
            version = {"version": "v1", "resources": [*nameless, row(subresources)]}
            version["resources"] = version["resources"][-1000:]
            document["items"] = [{"metadata": {"name": GROUP}, "versions": [version]}]
            of = await aggregator.backends.current(tenant)
            await aggregator.documents.refresh(tenant, api.registry.lookup(tenant), of)
            (listed,) = aggregator.documents.of(tenant.id, of)
            assert (listed.served.rows, len(listed.served.resources)) == (rows, bool(rows))
            assert listed.served.current and bool(listed.served.size) == bool(rows)
