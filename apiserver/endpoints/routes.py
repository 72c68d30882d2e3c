"""Which view answers a request. Resources go by RequestInfo; everything else by its path."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from django.http import HttpResponse
from django.http.response import HttpResponseBase

from apiserver.endpoints.request import ApiRequest, Send
from apiserver.endpoints.server import Server
from apiserver.errors import UnknownResource

View = Callable[[Server, ApiRequest, Send], Awaitable[HttpResponseBase | None]]
"""None: the view has sent its answer itself (a stream)."""


def find_view(server: Server, request: ApiRequest) -> View:
    from apiserver.endpoints.views import discovery, health, metrics, openapi, resource, version

    path = request.info.path
    if "//" in path:
        raise UnknownResource
    if path.endswith("/") and path.rstrip("/").rsplit("/", 1)[-1] in health.ROOTS:
        return not_found
    if request.info.is_resource:
        return resource.dispatch
    parts = [p for p in path.split("/") if p]
    if not parts:
        return discovery.paths
    head = parts[0]
    if head in ("api", "apis"):
        return discovery.dispatch
    if head in health.ROOTS:
        return health.dispatch
    if head == "openapi":
        return openapi.dispatch
    if path == "/version" or path == "/version/":
        return version.dispatch
    if path == "/metrics":
        return metrics.dispatch
    return not_found


async def not_found(server: Server, request: ApiRequest, send: Send) -> HttpResponseBase:
    """Go's answer to a path that nobody serves."""
    return HttpResponse(b"404 page not found\n", status=404, content_type="text/plain; charset=utf-8")
