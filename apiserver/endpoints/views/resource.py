"""ResourceView: the REST verbs on every resource and its plain subresources (k8s.io/apiserver ``endpoints/handlers``)."""

from __future__ import annotations

from django.http.response import HttpResponseBase

from apiserver.codec import negotiate, strict
from apiserver.endpoints import bodies, encode
from apiserver.endpoints.consumers import serve_watch
from apiserver.endpoints.delete_body import read_delete_options
from apiserver.endpoints.filters.authorization import authorize_create
from apiserver.endpoints.request import ApiRequest, Send
from apiserver.endpoints.routes import not_found
from apiserver.endpoints.server import Server
from apiserver.endpoints.views import special
from apiserver.endpoints.views.base import KubernetesView
from apiserver.errors import BadRequest, MethodNotAllowed, NotFound, UnknownResource
from apiserver.fieldmanager.names import manager_name
from apiserver.kinds.base import Object, Resource, ServedVersion
from apiserver.meta.times import TimeError, parse_duration
from apiserver.registry import collection, deletion, patching, reading, selection, update
from apiserver.registry.create import create
from apiserver.registry.objectmeta import check_name, ensure_namespace
from apiserver.registry.options import ListOptions, WriteOptions, first
from apiserver.registry.scope import Scope

_METHOD_VERBS = {"POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}


async def dispatch(server: Server, request: ApiRequest, send: Send) -> HttpResponseBase | None:
    check_timeout(request)
    if "." in request.info.group and not _is_served(server, request):
        await server.catalog.fresh(request.tenant)
    scope = find_scope(server, request)
    if scope is None:
        return await not_found(server, request, send)
    request.warnings = scope.warnings
    if scope.served.deprecated:
        scope.warn(scope.served.deprecated)
    view = special.view_of(scope) or ResourceView
    return await view(server, request, send, scope).dispatch()


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


class ResourceView(KubernetesView):
    def __init__(self, server: Server, request: ApiRequest, send: Send, scope: Scope) -> None:
        super().__init__(server, request, send)
        self.scope = scope
        self.registry = server.registry

    # --- reading ---------------------------------------------------------------------------------------------------------------
    async def get(self) -> HttpResponseBase | None:
        if not self.scope.name or self.request.info.verb == "watch":
            return await self._list()
        kind = encode.accepted(self.request, self.scope)
        stored = await reading.get(self.registry, self.scope, first(self.request.query, "resourceVersion"))
        return encode.object_response(self.request, self.scope, kind, stored)

    async def _list(self) -> HttpResponseBase | None:
        options = ListOptions.parse(self.request.query)
        scope = self.scope
        chosen = selection.parse(scope.resource, scope.version, options)
        if options.watch or self.request.info.verb == "watch":
            await serve_watch(self.server, self.request, scope, options, chosen, self.send)
            return None
        kind = encode.accepted(self.request, scope)
        listing = await reading.list_(self.registry, scope, options, chosen)
        return encode.list_response(self.request, self.registry, scope, kind, listing)

    # --- writing ---------------------------------------------------------------------------------------------------------------
    def manager(self, options: WriteOptions) -> str:
        return manager_name(options.field_manager, self.scope.user_agent)

    async def post(self) -> HttpResponseBase | None:
        options = WriteOptions.parse(self.request.query, "CreateOptions")
        kind = encode.accepted(self.request, self.scope)
        obj = await self._body(options)
        stored = await create(self.registry, self.scope, obj, dry_run=options.dry_run, manager=self.manager(options))
        return encode.object_response(self.request, self.scope, kind, stored, 201)

    async def _body(self, options: WriteOptions) -> Object:
        obj = await bodies.read_object(self.request, self.scope, strict.directive(options.field_validation))
        ensure_namespace(obj["metadata"], self.scope.namespace)
        return obj

    async def put(self) -> HttpResponseBase | None:
        options = WriteOptions.parse(self.request.query, "UpdateOptions")
        kind = encode.accepted(self.request, self.scope)
        obj = await self._body(options)
        check_name(obj, self.scope.name)

        async def change(old: Object | None) -> Object:
            return update.copy_of(obj)

        wanted = update.Request(manager=self.manager(options), dry_run=options.dry_run, before_create=self._may_create)
        stored = await update.update(self.registry, self.scope, change, wanted)
        return encode.object_response(self.request, self.scope, kind, stored, 201 if stored.created else 200)

    async def _may_create(self) -> None:
        await authorize_create(self.server, self.request)

    async def patch(self) -> HttpResponseBase | None:
        scope = self.scope
        patch_types = negotiate.CUSTOM_PATCHES if scope.resource.custom else negotiate.BUILTIN_PATCHES
        media_type = negotiate.patch_type(self.request.header(b"content-type"), patch_types, custom=scope.resource.custom)
        is_apply = media_type in (negotiate.APPLY_YAML, negotiate.APPLY_CBOR)
        kind = encode.accepted(self.request, scope)
        body = await self.request.read_body()
        options = WriteOptions.parse(self.request.query, "PatchOptions", apply=is_apply)
        wanted = patching.Patch(media_type, body, self.manager(options), options)
        stored = await patching.patch(self.registry, scope, wanted, before_create=self._may_create)
        return encode.object_response(self.request, scope, kind, stored, 201 if stored.created else 200)

    # --- deleting --------------------------------------------------------------------------------------------------------------
    async def delete(self) -> HttpResponseBase | None:
        if not self.scope.name:
            return await self._delete_collection()
        kind = encode.accepted(self.request, self.scope)
        options = await read_delete_options(self.request)
        deleted = await deletion.delete(self.registry, self.scope, options)
        status = 202 if not deleted.gone and options.orphan_dependents is False else 200
        stored = deletion.answer(self.scope, deleted)
        return encode.object_response(self.request, self.scope, kind, stored, status)

    async def _delete_collection(self) -> HttpResponseBase:
        list_options = ListOptions.parse(self.request.query)
        chosen = selection.parse(self.scope.resource, self.scope.version, list_options)
        kind = encode.accepted(self.request, self.scope)
        options = await read_delete_options(self.request)
        listing = await collection.delete_collection(self.registry, self.scope, list_options, chosen, options)
        return encode.list_response(self.request, self.registry, self.scope, kind, listing)
