"""Which view answers a request. Resources go by RequestInfo; everything else by its path."""

from __future__ import annotations

from django.http.response import HttpResponseBase

from apiserver.endpoints.request import ApiRequest, Send
from apiserver.endpoints.respond import not_found
from apiserver.endpoints.server import Server
from apiserver.endpoints.views import (
    discovery,
    dispatch,
    flowcontrol,
    health,
    metrics,
    openapi,
    openid,
    version,
    zpages,
)
from apiserver.endpoints.views.base import View
from apiserver.errors import UnknownResource
from apiserver.request import RequestInfo

_ROUTED = (["api"], ["apis"], ["version"])


def find_view(server: Server, request: ApiRequest) -> View:
    """Raises BadRequest where the query's ``timeout`` is no duration."""
    path = request.info.path
    if "//" in path and _no_route(path, request.info):
        return _empty_segment(server, request)
    if request.info.verb == "proxy":
        # /api/v1/proxy/...: a verb still, for authorization, that nobody has served since 1.10
        return no_page
    if request.info.is_resource:
        return dispatch.dispatch
    dispatch.timeout_of(request)
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
    if head == "version":
        return version.dispatch
    if path.removesuffix("/") in openid.VIEWS:
        return openid.VIEWS[path.removesuffix("/")]
    if path in metrics.VIEWS:
        return metrics.VIEWS[path]
    return zpages.VIEWS.get(path) or flowcontrol.VIEWS.get(path, no_page)


def _no_route(path: str, info: RequestInfo) -> bool:
    """Whether a segment is empty in a place where no route has one: a namespace may have an empty
    name, and what a router serves may end in any number of slashes."""
    trimmed = path.rstrip("/")
    if trimmed.split("/", 2)[1:2] not in _ROUTED or trimmed == "/apis":
        return True
    if info.scoped and not info.namespace:
        trimmed = trimmed.replace("/namespaces//", "/namespaces/-/", 1)
    return "//" in trimmed


def _empty_segment(server: Server, request: ApiRequest) -> View:
    """No route has an empty segment. Which of kube-apiserver's routers finds that out shows in its
    answer: the one of built-in resources sees what begins as its documents do. Raises
    UnknownResource."""
    parts = request.info.path.split("/")
    group = parts[2] if len(parts) > 2 else ""
    built_in = group and any(
        r.group == group and r.has_routes for r in server.registry.catalog.all(request.tenant)
    )
    if parts[1] in ("api", "version") or (parts[1] == "apis" and built_in):
        raise UnknownResource
    return no_page


async def no_page(server: Server, request: ApiRequest, send: Send) -> HttpResponseBase:
    return not_found()
