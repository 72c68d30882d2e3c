"""From a request to the view that serves its resource: which resource, which version, whether the method is allowed there."""

from __future__ import annotations

import orjson
from django.http.response import HttpResponseBase

from apiserver.endpoints.request import ApiRequest, Send
from apiserver.endpoints.respond import not_found
from apiserver.endpoints.server import Server
from apiserver.endpoints.views.resource import ResourceView
from apiserver.endpoints.views.special import view_of
from apiserver.errors import BadRequest, MethodNotAllowed, NotFound, UnknownResource
from apiserver.kinds.base import Resource, ServedVersion
from apiserver.meta.times import TimeError, parse_duration
from apiserver.registry.options import first
from apiserver.registry.scope import Scope
from apiserver.registry.translate import Outdated

_METHOD_VERBS = {"POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}


async def dispatch(server: Server, request: ApiRequest, send: Send) -> HttpResponseBase | None:
    check_timeout(request)
    await look_up(server, request)
    try:
        return await _serve(server, request, send)
    except Outdated:
        await server.catalog.fresh(request.tenant)
        now = server.registry.catalog.find(request.tenant, request.info.group, request.info.resource)
        if now is not None and now.versions.get(request.info.version) is request.served:
            raise
        return await _serve(server, request, send)


async def look_up(server: Server, request: ApiRequest) -> None:
    """To be awaited before `find_scope`: what another worker has told of a definition is known here, too. Raises StorageError."""
    if "." in request.info.group and not _is_served(server, request):
        await server.catalog.fresh(request.tenant)


async def _serve(server: Server, request: ApiRequest, send: Send) -> HttpResponseBase | None:
    scope = find_scope(server, request)
    if scope is None:
        return not_found()
    request.warnings, request.served = scope.warnings, scope.served
    if scope.served.deprecated:
        scope.warn(scope.served.deprecated)
    view = view_of(scope) or ResourceView
    try:
        return await view(server, request, send, scope).dispatch()
    except (RecursionError, orjson.JSONEncodeError) as error:
        if isinstance(error, RecursionError) or str(error) == "Recursion limit reached":
            raise BadRequest("the object is nested too deeply to be stored") from None
        raise


def check_timeout(request: ApiRequest) -> None:
    """The query's ``timeout`` must be a duration. Raises BadRequest."""
    text = first(request.query, "timeout")
    if not text:
        return
    try:
        parse_duration(text)
    except TimeError as e:
        raise BadRequest(f"invalid timeout specified in the request URL - {e}") from None


def find_scope(server: Server, request: ApiRequest) -> Scope | None:
    """None where not even the group exists. Raises UnknownResource, MethodNotAllowed."""
    info = request.info
    catalog = server.registry.catalog
    resource = catalog.find(request.tenant, info.group, info.resource)
    served = resource.versions.get(info.version) if resource is not None else None
    if resource is None or served is None or not served.served:
        built_in = any(r.group == info.group and not r.custom for r in catalog.all(request.tenant))
        if built_in and (resource is None or not resource.custom):
            raise UnknownResource
        return None
    if resource.custom and not _custom_path(request, resource, served):
        return None
    namespace = info.namespace if resource.namespaced else ""
    if len(info.parts) > 3 or (not resource.namespaced and info.namespace and info.resource != "namespaces"):
        raise UnknownResource
    name = info.parts[1] if len(info.parts) > 1 else ""
    if resource.namespaced and not namespace and name:
        raise UnknownResource
    if info.subresource and info.subresource not in served.subresources:
        raise UnknownResource
    scope = Scope(
        tenant=request.tenant,
        resource=resource,
        served=served,
        user=request.user,
        namespace=namespace,
        name=name,
        subresource=info.subresource,
        user_agent=request.header(b"user-agent"),
        warnings=[],
    )
    _check_method(request, scope)
    return scope


def _is_served(server: Server, request: ApiRequest) -> bool:
    info = request.info
    resource = server.registry.catalog.find(request.tenant, info.group, info.resource)
    served = resource.versions.get(info.version) if resource is not None else None
    return served is not None and served.served


def _custom_path(request: ApiRequest, resource: Resource, served: ServedVersion) -> bool:
    """Whether a definition's scope allows the path. Raises NotFound for a subresource that is not declared."""
    info = request.info
    if not resource.namespaced and info.namespace:
        return False
    if resource.namespaced and not info.namespace and info.verb not in ("list", "watch"):
        return False
    if info.subresource and info.subresource not in served.subresources:
        raise NotFound(resource.group_resource, info.name)
    return True


def _check_method(request: ApiRequest, scope: Scope) -> None:
    method = request.method or ""
    if request.info.verb == "watch" and method != "GET":
        raise MethodNotAllowed
    verbs = scope.served.subresources[scope.subresource].verbs if scope.subresource else scope.served.verbs
    if method == "GET":
        verb = "get" if scope.name else "list"
    elif method == "DELETE" and not scope.name:
        verb = "deletecollection"
    else:
        verb = _METHOD_VERBS.get(method, "")
        wants_name = verb != "create" or bool(scope.subresource)
        if wants_name != bool(scope.name):
            verb = ""
    across = scope.resource.namespaced and not scope.namespace
    if verb not in verbs or (across and method != "GET"):
        if scope.resource.custom:
            raise MethodNotAllowed(scope.resource.group_resource, request.info.verb)
        raise MethodNotAllowed
