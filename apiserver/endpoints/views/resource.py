"""ResourceView: the REST verbs on every resource and its plain subresources (k8s.io/apiserver ``endpoints/handlers``)."""

from __future__ import annotations

from django.http.response import HttpResponseBase

from apiserver.codec import negotiate, strict
from apiserver.endpoints import bodies, encode
from apiserver.endpoints.consumers import serve_watch
from apiserver.endpoints.delete_body import read_delete_options
from apiserver.endpoints.filters.authorization import authorize_create, authorize_unsafe
from apiserver.endpoints.request import ApiRequest, Send
from apiserver.endpoints.server import Server
from apiserver.endpoints.views.base import KubernetesView
from apiserver.errors import MethodNotAllowed
from apiserver.fieldmanager.names import manager_name
from apiserver.kinds.base import Object
from apiserver.registry import collection, deletion, patching, reading, selection, update
from apiserver.registry.create import create
from apiserver.registry.mutation import drop_doubled_owners
from apiserver.registry.objectmeta import check_name, ensure_namespace
from apiserver.registry.options import ListOptions, WriteOptions, first
from apiserver.registry.scope import Scope


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
        if self.scope.subresource:  # what is posted there is never an object of the resource; special.py has views for those that are built
            raise MethodNotAllowed
        kind = encode.accepted(self.request, self.scope)
        bodies.media_type(self.request, self.scope)
        options = WriteOptions.parse(self.request.query, "CreateOptions")
        obj = await self._body(options)
        stored = await create(self.registry, self.scope, obj, dry_run=options.dry_run, manager=self.manager(options))
        return encode.object_response(self.request, self.scope, kind, stored, 201)

    async def _body(self, options: WriteOptions) -> Object:
        obj = await bodies.read_object(self.request, self.scope, strict.directive(options.field_validation))
        ensure_namespace(obj["metadata"], self.scope.namespace)
        return obj

    async def put(self) -> HttpResponseBase | None:
        kind = encode.accepted(self.request, self.scope)
        options = WriteOptions.parse(self.request.query, "UpdateOptions")
        obj = await self._body(options)
        check_name(obj, self.scope.name)
        drop_doubled_owners(self.scope, obj)

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
        if options.unsafe:
            await authorize_unsafe(self.server, self.request)
        deletion.warn(self.scope, options)
        deleted = await deletion.delete(self.registry, self.scope, options)
        status = 202 if not deleted.gone and options.orphan_dependents is False else 200
        stored = deletion.answer(self.scope, deleted)
        return encode.object_response(self.request, self.scope, kind, stored, status)

    async def _delete_collection(self) -> HttpResponseBase:
        kind = encode.accepted(self.request, self.scope)
        list_options = ListOptions.parse(self.request.query)
        chosen = selection.parse(self.scope.resource, self.scope.version, list_options)
        options = await read_delete_options(self.request)
        deletion.warn(self.scope, options)
        listing = await collection.delete_collection(self.registry, self.scope, list_options, chosen, options)
        return encode.list_response(self.request, self.registry, self.scope, kind, listing)
