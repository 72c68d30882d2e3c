"""From a request to the view that serves its resource: which resource, which version, whether the
method is allowed there."""

from __future__ import annotations

import contextlib
import time

import orjson
from django.http.response import HttpResponseBase

from apiserver.aggregation.backends import Backend
from apiserver.endpoints.encode import LateResponse
from apiserver.endpoints.filters import auditing
from apiserver.endpoints.request import ApiRequest, Send
from apiserver.endpoints.respond import not_found
from apiserver.endpoints.server import Server
from apiserver.endpoints.views.aggregated import backend_of, forward
from apiserver.endpoints.views.special import view_of
from apiserver.errors import BadRequest, MethodNotAllowed, NotFound, UnknownResource
from apiserver.golang.time import TimeError, parse_duration
from apiserver.kinds.served import Resource, ServedVersion
from apiserver.registry.offload import LARGE_WITH_RULES, by_size
from apiserver.registry.options import first
from apiserver.registry.scope import MOST_SECONDS, MOST_SECONDS_OF_MANY, Scope
from apiserver.registry.translate import Outdated

_WITH_PATHS = "proxy"
"""The subresource that has paths of its own below it."""
_MOST_ROUTES = 256
"""That a version remembers; paths below a proxy may be as long as somebody likes."""
_METHOD_VERBS = {"POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
_OF_ONE = frozenset({"get", "update", "patch", "delete"})
_OF_MANY = frozenset({"list", "create", "deletecollection"})
_LIST = frozenset({"list"})
"""The verbs that a path needs one of to be there at all: with the name of an object, without it,
across all namespaces."""
_PROXIED = frozenset({"GET", "HEAD", "OPTIONS"})
"""The methods without a verb of their own that go through a proxy."""


async def dispatch(server: Server, request: ApiRequest, send: Send) -> HttpResponseBase | None:
    if request.query:
        timeout_of(request)
    if "." in request.info.group:
        await look_up(server, request)
    warned = request.warnings
    try:
        return await _serve(server, request, send)
    except Outdated:
        request.warnings = warned
        await server.catalog.fresh(request.tenant)
        now = server.registry.catalog.find(
            request.tenant, request.info.group, request.info.resource
        )
        if now is not None and now.versions.get(request.info.version) is request.served:
            raise
        return await _serve(server, request, send)


async def look_up(server: Server, request: ApiRequest) -> None:
    """To be awaited before `find_scope`: what another worker has told of a definition is known
    here, too, and its schema is ready for use. Raises StorageError, and what `by_size` raises."""
    if "." not in request.info.group:
        return
    served = _served_version(server, request)
    if served is None:
        await server.catalog.fresh(request.tenant)
        served = _served_version(server, request)
    if served is not None and served.unprepared:
        await by_size(request.asker(served.unprepared), served.prepare, LARGE_WITH_RULES)


async def _serve(server: Server, request: ApiRequest, send: Send) -> HttpResponseBase | None:
    try:
        scope = find_scope(server, request)
    except UnknownResource:
        if (backend := await _elsewhere(server, request)) is None:
            raise
        return await forward(server, request, send, backend)
    if scope is None:
        backend = await _elsewhere(server, request)
        return not_found() if backend is None else await forward(server, request, send, backend)
    request.warnings, request.served = scope.warnings, scope.served
    if scope.served.deprecated:
        scope.warn(scope.served.deprecated)
        auditing.found(request)
    try:
        response = await view_of(scope)(request, server=server, send=send, scope=scope)
        return await response.encoded() if isinstance(response, LateResponse) else response
    except (RecursionError, orjson.JSONEncodeError) as error:
        if isinstance(error, RecursionError) or str(error) == "Recursion limit reached":
            raise BadRequest("the object is nested too deeply to be stored") from None
        raise


async def served_elsewhere(server: Server, request: ApiRequest) -> Backend | None:
    """The API server of the tenant's own that the request is for; None where it is for this one.
    Raises StorageError."""
    await look_up(server, request)
    with contextlib.suppress(UnknownResource):
        if find_scope(server, request) is not None:
            return None
    return await _elsewhere(server, request)


async def _elsewhere(server: Server, request: ApiRequest) -> Backend | None:
    info = request.info
    return await backend_of(server, request.tenant, info.group, info.version)


def timeout_of(request: ApiRequest) -> float:
    """Seconds of the query's ``timeout``, 0 where it says nothing. Raises BadRequest where it is no
    duration."""
    text = first(request.query, "timeout")
    if not text:
        return 0
    try:
        return parse_duration(text) / 1e9
    except TimeError as e:
        raise BadRequest(f"invalid timeout specified in the request URL - {e}") from None


def _seconds(request: ApiRequest) -> float:
    """What may pass until admission has decided: less where the client says so."""
    most = MOST_SECONDS_OF_MANY if request.info.verb == "deletecollection" else MOST_SECONDS
    asked = timeout_of(request) if request.query else 0
    return min(asked, most) if asked > 0 else most


def find_scope(server: Server, request: ApiRequest) -> Scope | None:
    """None where not even the group exists. Raises UnknownResource, MethodNotAllowed."""
    info = request.info
    catalog = server.registry.catalog
    resource = catalog.find(request.tenant, info.group, info.resource)
    served = resource.versions.get(info.version) if resource is not None else None
    if resource is None or served is None or not served.served:
        routed = any(r.group == info.group and r.has_routes for r in catalog.all(request.tenant))
        if routed and (resource is None or resource.has_routes):
            raise UnknownResource
        return None
    route = (info.family, request.method, len(info.parts))
    if route not in served.routes:
        if not _is_route(request, resource, served):
            return None
        if len(served.routes) < _MOST_ROUTES:
            served.routes.add(route)
    parts = info.parts
    return Scope(
        tenant=request.tenant,
        resource=resource,
        served=served,
        user=request.user,
        namespace=info.namespace if resource.namespaced else "",
        name=parts[1] if len(parts) > 1 and (info.subresource or info.verb != "create") else "",
        subresource=info.subresource,
        user_agent=request.header(b"user-agent"),
        warnings=request.warnings.copy(),
        gone=request.gone,
        place=request.place,
        until=time.monotonic() + _seconds(request),
        trail=request.trail,
    )


def _is_route(request: ApiRequest, resource: Resource, served: ServedVersion) -> bool:
    """Whether the version serves such a path, by what it has in common with others of its family.
    Raises UnknownResource, NotFound, MethodNotAllowed."""
    info = request.info
    if not resource.has_routes and not _handles_path(request, resource, served):
        return False
    if not resource.has_routes:
        _check_verb(request, resource, served)
        return True
    if (len(info.parts) > 3 and info.subresource != _WITH_PATHS) or (
        info.scoped and not resource.namespaced
    ):
        raise UnknownResource
    named = len(info.parts) > 1 and info.parts[1] != ""
    across = resource.namespaced and not info.scoped
    if across and named:
        raise UnknownResource
    if info.by_path and info.verb == "watch":
        there = "watch" in served.verbs and not info.subresource
    elif info.subresource:
        there = info.subresource in served.subresources
    else:
        there = not (_OF_ONE if named else _LIST if across else _OF_MANY).isdisjoint(served.verbs)
    if not there:
        raise UnknownResource
    _check_method(request, served, named=named, across=across)
    return True


def _served_version(server: Server, request: ApiRequest) -> ServedVersion | None:
    info = request.info
    resource = server.registry.catalog.find(request.tenant, info.group, info.resource)
    served = resource.versions.get(info.version) if resource is not None else None
    return served if served is not None and served.served else None


def _handles_path(request: ApiRequest, resource: Resource, served: ServedVersion) -> bool:
    """Whether a definition's scope allows the path. Raises NotFound for a subresource that is not
    declared."""
    info = request.info
    if not resource.namespaced and info.scoped:
        return False
    if resource.namespaced and not info.namespace and info.verb not in ("list", "watch"):
        return False
    if info.subresource and info.subresource not in served.subresources:
        raise NotFound(resource.group_resource, info.name)
    return True


def _check_verb(request: ApiRequest, resource: Resource, served: ServedVersion) -> None:
    """Objects of definitions have no routes: the verb alone decides, so HEAD reads as GET does, and
    a POST may name anything (k8s.io/apiextensions-apiserver ``customresource_handler.go``). Raises
    MethodNotAllowed, BadRequest."""
    verb, subresource = request.info.verb, request.info.subresource
    verbs = served.subresources[subresource].verbs if subresource else served.verbs
    if verb not in verbs or (verb == "watch" and request.method != "GET"):
        raise MethodNotAllowed(resource.group_resource, verb)
    if verb in ("update", "patch") and len(request.info.parts) == 1:
        raise BadRequest("name must be provided")


def _check_method(request: ApiRequest, served: ServedVersion, *, named: bool, across: bool) -> None:
    """named: the path has the name of an object; across: it stands for all namespaces."""
    method, subresource = request.method or "", request.info.subresource
    if request.info.verb == "watch" and method != "GET":
        raise MethodNotAllowed
    verbs = served.subresources[subresource].verbs if subresource else served.verbs
    if method == "GET" or (subresource == "proxy" and method in _PROXIED):
        verb = "get" if named else "list"
    elif method == "DELETE" and not named:
        verb = "deletecollection"
    else:
        verb = _METHOD_VERBS.get(method, "")
        wants_name = verb != "create" or bool(subresource)
        if wants_name != named:
            verb = ""
    if verb not in verbs or (across and method != "GET"):
        raise MethodNotAllowed
