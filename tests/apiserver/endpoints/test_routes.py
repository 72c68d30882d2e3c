"""Documents beside the resources: which router of kube-apiserver's answers for a path shows in
methods, negotiation and texts."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import orjson
import pytest
import yaml

from apiserver.endpoints.filters.authentication import NOBODY
from apiserver.endpoints.request import ApiRequest
from apiserver.endpoints.routes import find_view
from apiserver.endpoints.server import Server
from apiserver.errors import ApiError
from apiserver.kinds import catalog
from apiserver.registry.scope import Tenant
from tests.support.api import receive_of

BUILTIN = list(catalog.resources().values())
AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
PROTOBUF_V3 = "application/com.github.proto-openapi.spec.v3.v1.0+protobuf"


async def known(tenant: Tenant) -> None:
    """There are no definitions that could have changed."""


async def ask(target: str, method: str = "GET", accept: str = "") -> tuple[int, str, Any]:
    """(status, media type, body: decoded, or the message of a refusal)"""

    async def unused(*_: Any) -> Any:
        raise AssertionError

    path, _, query = target.partition("?")
    scope = {
        "method": method,
        "path": path,
        "raw_path": path.encode(),
        "query_string": query.encode(),
    }
    request = ApiRequest(
        {**scope, "headers": [(b"accept", accept.encode())] if accept else []}, receive_of(b"")
    )
    request.tenant, request.user, request.authorized = Tenant(1, "default"), NOBODY, True
    registry = SimpleNamespace(catalog=SimpleNamespace(all=lambda tenant: BUILTIN))
    server = cast(
        Server,
        SimpleNamespace(
            registry=registry,
            git_version="v1.36.0",
            catalog=SimpleNamespace(fresh=known),
            aggregator=None,
            external=SimpleNamespace(health=dict),
        ),
    )
    try:
        response: Any = await find_view(server, request)(server, request, unused)
    except ApiError as e:
        return e.code, "application/json", e.message
    body = response.content
    if response.status_code >= 400 and b"Status" in body:  # a refusal by a view of DRF's
        return response.status_code, "application/json", yaml.safe_load(body)["message"]
    media = (
        response.content_type
        if hasattr(response, "content_type")
        else response.get("Content-Type", "")
    )
    return (
        response.status_code,
        media,
        orjson.loads(body) if body.startswith(b"{") else body.decode("latin-1"),
    )


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS", "HEAD"])
@pytest.mark.parametrize(
    ("path", "status"),
    [("/apis", 200), ("/apis/", 200), ("/apis/apps", 200), ("/apis/apps/", 200), ("/api", 405)],
)
async def test_the_aggregators_documents_know_no_methods(
    path: str, status: int, method: str
) -> None:
    assert (await ask(path, method))[0] == status


@pytest.mark.parametrize(
    "path", ["/api/v1", "/apis/apps/v1", "/apis/apiregistration.k8s.io", "/version"]
)
async def test_routed_documents_are_read_only(path: str) -> None:
    assert (await ask(path))[0] == 200
    assert await ask(path, "HEAD") == (
        405,
        "application/json",
        "the server does not allow this method on the requested resource",
    )


async def test_who_refuses_a_media_type_shows() -> None:
    assert (await ask("/apis", accept="text/html"))[2].startswith(
        "only the following media types are accepted"
    )
    assert (await ask("/apis/apps", accept="text/html"))[2].startswith(
        "only the following media types are accepted"
    )
    assert (await ask("/api", accept="text/html"))[2].startswith(
        "406: Not Acceptable\n\nAvailable representations: "
    )
    assert (await ask("/version", accept="application/yaml"))[
        2
    ] == "406: Not Acceptable\n\nAvailable representations: application/json"


async def test_only_the_bare_path_is_aggregated() -> None:
    assert (await ask("/apis", accept=AGGREGATED))[2]["kind"] == "APIGroupDiscoveryList"
    assert (await ask("/apis/", accept=AGGREGATED))[0] == 406
    assert (await ask("/apis/", accept=f"{AGGREGATED},application/json"))[2][
        "kind"
    ] == "APIGroupList"
    assert (await ask("/api/", accept=AGGREGATED))[2]["kind"] == "APIGroupDiscoveryList"


UNKNOWN = (404, "application/json", "the server could not find the requested resource")
NO_PAGE = (404, "text/plain; charset=utf-8", "404 page not found\n")


@pytest.mark.parametrize(
    ("path", "answer"),
    [
        ("//api/v1/pods", NO_PAGE),
        ("/api//v1/pods", UNKNOWN),
        ("/api/v1//pods", UNKNOWN),
        ("/apis//apps/v1/deployments", NO_PAGE),
        ("/apis/apps//v1/deployments", UNKNOWN),
        ("/apis/example.com//v1/things", NO_PAGE),
        ("/foo//bar", NO_PAGE),
        ("/version/x", UNKNOWN),
        ("/livez/", NO_PAGE),
        ("/livez/ping/", NO_PAGE),
        ("/openapi/v2/", NO_PAGE),
        ("/apis//", NO_PAGE),
        ("/livez//", NO_PAGE),
        ("/api/v1/namespaces//pods//status", UNKNOWN),
        ("/api/v1/pods//status", UNKNOWN),
    ],
)
async def test_paths_that_lead_nowhere(path: str, answer: tuple[int, str, str]) -> None:
    assert await ask(path) == answer


@pytest.mark.parametrize("path", ["/api", "/apis/apps", "/api/v1", "/apis/apps/v1", "/version"])
async def test_slashes_at_the_end_do_not_count(path: str) -> None:
    assert await ask(f"{path}//") == await ask(path)


async def test_a_path_is_decoded_before_it_is_divided() -> None:
    assert await ask("/apis%2fapps") == await ask("/apis/apps")
    assert await ask("/vers%69on") == await ask("/version")


async def test_openapi_v3_as_kube_openapi_serves_it() -> None:
    status, media, index = await ask("/openapi/v3")
    url = index["paths"]["version"]["serverRelativeURL"]
    assert (status, media) == (200, "text/plain; charset=utf-8")
    assert (await ask(url))[:2] == (200, "application/json")
    assert await ask("/openapi/v3/version?hash=old") == (301, "application/json", "")
    assert (await ask("/openapi/v3/version", accept=PROTOBUF_V3))[:2] == (200, PROTOBUF_V3)
    assert (await ask("/openapi/v3/version", accept=PROTOBUF_V3.replace("v3.v", "v3@v")))[:2] == (
        200,
        PROTOBUF_V3,
    )
    for path in ("/openapi/v3/", "/openapi/v3/apis/example.com/v1", "/openapi/v3/version/"):
        assert await ask(path) == (404, "", "")
    assert await ask("/openapi/v3/version", accept="application/yaml") == (406, "", "")


@pytest.mark.parametrize("path", ["/version", "/api", "/openapi/v3", "/nowhere"])
async def test_a_timeout_that_is_no_duration_is_refused(path: str) -> None:
    status, _, message = await ask(f"{path}?timeout=invalid")
    assert (status, message) == (
        400,
        'invalid timeout specified in the request URL - time: invalid duration "invalid"',
    )
    assert (await ask(f"{path}?timeout=32s"))[0] == (404 if path == "/nowhere" else 200)
