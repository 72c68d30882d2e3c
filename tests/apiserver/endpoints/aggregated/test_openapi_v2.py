"""/openapi/v2 of a tenant that has API servers of its own: theirs is in it, and whatever they do,
it stays a document."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import orjson
import pytest

from apiserver.aggregation import swagger
from apiserver.codec import openapi_pb
from apiserver.endpoints.views import openapi as view
from tests.support.aggregated import ODD_ENDS, SERVICE, until
from tests.support.api import Api
from tests.support.apiservers import (
    GROUP,
    PATH,
    Answering,
    ApiServer,
    Asked,
    Handler,
    api_server,
    documents,
)

pytestmark = ODD_ENDS
THINGS = f"{PATH}/namespaces/{{namespace}}/things"
META = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"
THING = "com.example.things.v1.Thing"
KIND = {"group": GROUP, "version": "v1", "kind": "Thing"}


def theirs(**thing: Any) -> Any:
    return {
        "swagger": "2.0",
        "info": {"title": "theirs", "version": "1"},
        "paths": {
            THINGS: {
                "get": {
                    "responses": {
                        "200": {
                            "description": "OK",
                            "schema": {"$ref": f"#/definitions/{THING}"},
                        }
                    }
                }
            }
        },
        "definitions": {
            THING: {
                "type": "object",
                "properties": {"metadata": {"$ref": f"#/definitions/{META}"}},
                "x-kubernetes-group-version-kind": [KIND],
                **thing,
            },
            META: {"type": "object", "description": "another", "properties": {}},
        },
    }


def describing(answer: Callable[[Asked, Answering], Any]) -> Handler:
    """A server whose OpenAPI document of version 2 is answered by ``answer``."""

    async def handler(asked: Asked, answering: Answering) -> None:
        if asked.target == "/openapi/v2":
            await answer(asked, answering)
        else:
            await documents(asked, answering)

    return handler


def saying(body: Any, **headers: str) -> Handler:
    async def answer(asked: Asked, answering: Answering) -> None:
        await answering.whole(body, **headers)

    return describing(answer)


async def use(api: Api, server: ApiServer, prefix: str = "") -> None:
    for path, body in server.objects():
        await api.ok("POST", prefix + path, body)


async def refreshed(api: Api) -> None:
    """As the controller does it now and then."""
    aggregator, tenant = api.server.aggregator, api.server.catalog.used(api.tenant.id)  # type: ignore[attr-defined]
    of = await aggregator.backends.current(tenant)
    await aggregator.documents.refresh(tenant, api.registry.lookup(tenant), of)


async def until_said(api: Api, prefix: str = "") -> Any:
    return await until(
        lambda: api.ok("GET", f"{prefix}/openapi/v2"), lambda found: THINGS in found["paths"]
    )


async def test_what_it_serves_is_in_the_document(api: Api) -> None:
    before = await api.ok("GET", "/openapi/v2")
    async with api_server(saying(theirs())) as server:
        await use(api, server)
        found = await until_said(api)
        assert found["definitions"][THING]["x-kubernetes-group-version-kind"] == [KIND]
        member = found["definitions"][THING]["properties"]["metadata"]
        assert member == {"$ref": f"#/definitions/{META}_v2"}
        assert found["definitions"][f"{META}_v2"]["description"] == "another"
        added = {THING, f"{META}_v2"}
        assert {n: d for n, d in found["definitions"].items() if n not in added} == before[
            "definitions"
        ]
        assert {p: i for p, i in found["paths"].items() if p != THINGS} == before["paths"]
        status, binary = await api.raw("GET", "/openapi/v2", b"", "", accept=openapi_pb.MEDIA_TYPE)
        assert status == 200 and THING.encode() in binary and THINGS.encode() in binary
        assert THINGS not in (await api.ok("GET", "/clusters/acme/openapi/v2"))["paths"]
        await api.ok("DELETE", SERVICE)
        assert await api.ok("GET", "/openapi/v2") == before


async def test_the_document_has_its_tag_and_is_made_once(api: Api) -> None:
    async with api_server(saying(theirs())) as server:
        await use(api, server)
        await until_said(api)
        documents = view.documents_of(api.server)
        first = await api.raw("GET", "/openapi/v2", b"", "")
        keys = list(documents._v2._documents)
        assert await api.raw("GET", "/openapi/v2", b"", "") == first
        assert list(documents._v2._documents) == keys


async def test_what_has_not_changed_is_not_sent_again(api: Api) -> None:
    said: list[int] = []
    document: dict[str, Any] = {"now": theirs(), "tag": '"1"'}

    async def answer(asked: Asked, answering: Answering) -> None:
        if asked.header("if-none-match") == document["tag"]:
            said.append(304)
            await answering.start(304)
            await answering.end()
        else:
            said.append(200)
            await answering.whole(document["now"], etag=document["tag"])

    async with api_server(describing(answer)) as server:
        await use(api, server)
        await until_said(api)
        await refreshed(api)
        assert said[-1] == 304
        assert THINGS in (await api.ok("GET", "/openapi/v2"))["paths"]
        document |= {"now": theirs(description="new"), "tag": '"2"'}
        await refreshed(api)
        assert said[-1] == 200
        found = await api.ok("GET", "/openapi/v2")
        assert found["definitions"][THING]["description"] == "new"


async def test_a_server_that_dies_leaves_what_it_said(api: Api) -> None:
    async with api_server(saying(theirs())) as server:
        await use(api, server)
        await until_said(api)
    await refreshed(api)
    assert THINGS in (await api.ok("GET", "/openapi/v2"))["paths"]


def many() -> Any:
    document = theirs()
    document["definitions"][THING]["properties"] |= {
        f"p{n}": {"type": "string", "description": "x" * 1000} for n in range(3000)
    }
    return document


@pytest.mark.parametrize(
    "said",
    [
        b"{",
        b"",
        b"[1]",
        orjson.dumps({"swagger": "2.0", "paths": {THINGS: 1}}),
        theirs(type="banana"),
        theirs(properties={"a": {"$ref": "#/definitions/nowhere"}}),
        many(),
        b"[" * 100_000,
    ],
    ids=["cut", "empty", "list", "path", "type", "reference", "huge", "deep"],
)
async def test_whatever_it_says_there_is_a_document(api: Api, said: Any) -> None:
    before = await api.raw("GET", "/openapi/v2", b"", "")
    async with api_server(saying(said)) as server:
        await use(api, server)
        await until(lambda: _all(server), lambda targets: "/openapi/v2" in targets)
        await refreshed(api)
        assert await api.raw("GET", "/openapi/v2", b"", "") == before


async def _all(server: ApiServer) -> list[str]:
    return [asked.target for asked in server.asked]


async def test_a_server_that_takes_its_time_keeps_nobody_waiting(api: Api) -> None:
    async def never(asked: Asked, answering: Answering) -> None:
        await asyncio.Event().wait()

    async with api_server(describing(never)) as server:
        await use(api, server)
        await until(lambda: _all(server), lambda targets: "/openapi/v2" in targets)
        assert (await api("GET", "/openapi/v2"))[0] == 200


async def test_a_tenant_keeps_no_more_than_it_may_have(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with api_server(saying(theirs())) as server:
        await use(api, server)
        await until_said(api)
        monkeypatch.setattr(swagger, "MOST_KEPT", 100)
        await refreshed(api)
        assert THINGS not in (await api.ok("GET", "/openapi/v2"))["paths"]
        assert api.server.aggregator is not None
        assert api.server.aggregator.documents._swagger[api.tenant.id] == {}
