"""What Django REST framework does here: its views, negotiation, parsers and renderers, each reached
by a request."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any, cast

import orjson
import pytest
import pytest_asyncio
import yaml

from apiserver.codec import cbor, negotiate, protobuf
from apiserver.codec import yaml as yaml_codec
from apiserver.endpoints.filters.authentication import NOBODY
from apiserver.endpoints.request import ApiRequest
from apiserver.endpoints.server import Server
from apiserver.endpoints.views import discovery, version
from apiserver.endpoints.views.base import KubernetesView, routed
from apiserver.endpoints.views.resource import ResourceView
from apiserver.endpoints.views.reviews import ReviewView
from apiserver.registry.scope import Tenant
from tests.support.api import Api, receive_of, serving
from tests.support.memorystore import MemoryStore

REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
REVIEW: dict[str, Any] = {
    "kind": "SelfSubjectAccessReview",
    "apiVersion": "authorization.k8s.io/v1",
    "spec": {"resourceAttributes": {"verb": "get", "resource": "pods"}},
}
ENCODERS = {
    negotiate.JSON: orjson.dumps,
    negotiate.YAML: yaml_codec.dumps,
    negotiate.PROTOBUF: protobuf.encode,
    negotiate.CBOR: cbor.dumps,
}
DECODERS = {
    negotiate.JSON: orjson.loads,
    negotiate.YAML: yaml.safe_load,
    negotiate.PROTOBUF: protobuf.decode,
    negotiate.CBOR: cbor.loads,
}


@pytest_asyncio.fixture
async def api() -> AsyncIterator[Api]:
    async with serving(MemoryStore(), 1) as served:
        yield served


@pytest.mark.parametrize("media_type", negotiate.ALL)
async def test_parsers_read_reviews(api: Api, media_type: str) -> None:
    answer = await api.ok("POST", REVIEWS, ENCODERS[media_type](REVIEW), media_type)
    assert answer["status"] == {"allowed": True}


@pytest.mark.parametrize("media_type", negotiate.ALL)
async def test_a_body_that_is_none_is_refused_by_its_parser(api: Api, media_type: str) -> None:
    status, answer = await api("POST", REVIEWS, b"\xff", media_type)
    assert status == 400 and answer["reason"] == "BadRequest"


async def test_a_body_of_another_type_has_no_parser(api: Api) -> None:
    status, answer = await api("POST", REVIEWS, b"x", "text/plain")
    assert status == 415 and answer["reason"] == "UnsupportedMediaType"


async def test_an_unknown_field_is_an_error_for_a_strict_parser(api: Api) -> None:
    body = orjson.dumps({**REVIEW, "nothing": 1})
    assert (await api("POST", REVIEWS + "?fieldValidation=Strict", body))[0] == 400
    assert (await api("POST", REVIEWS + "?fieldValidation=Ignore", body))[0] == 201


@pytest.mark.parametrize("media_type", negotiate.ALL)
async def test_renderers_write_lists_of_resources(api: Api, media_type: str) -> None:
    status, body = await api.raw("GET", "/apis/apps/v1", b"", "", accept=media_type)
    assert status == 200 and DECODERS[media_type](body)["kind"] == "APIResourceList"


async def test_what_a_view_does_not_offer_is_not_acceptable(api: Api) -> None:
    status, answer = await api("GET", "/apis/apps", accept="text/html")
    assert status == 406 and answer["kind"] == "Status"


async def test_people_get_indented_json(api: Api) -> None:
    _, body = await api.raw("GET", "/apis/apps?pretty=true", b"", "")
    assert body.startswith(b'{\n  "kind"')


@pytest.mark.parametrize("method", ["POST", "HEAD", "OPTIONS"])
async def test_a_method_without_handler_becomes_a_status(api: Api, method: str) -> None:
    status, answer = await api(method, "/version")
    assert status == 405 and answer["reason"] == "MethodNotAllowed"


@pytest.mark.parametrize(
    "view", [version.VersionView, discovery.DiscoveryView, ResourceView, ReviewView]
)
def test_views_are_made_by_as_view(view: type[KubernetesView]) -> None:
    made: Any = view.as_view()
    assert made.view_class is view


async def test_a_view_routed_around_the_filters_answers_nobody() -> None:
    scope = {"method": "GET", "path": "/version", "query_string": b"", "headers": []}
    request = ApiRequest(scope, receive_of(b""))
    request.tenant, request.user = Tenant(1, "default"), NOBODY
    view = routed(version.VersionView)
    refused: Any = await view(cast(Server, None), request, cast(Any, None))
    assert refused.status_code == 403
    assert b"system:anonymous" in refused.content
