"""ResourceView: the REST verbs on every resource and its plain subresources (k8s.io/apiserver
``endpoints/handlers``)."""

from __future__ import annotations

from typing import Any

from django.http.response import HttpResponseBase

from apiserver.codec import strict
from apiserver.endpoints import bodies, encode
from apiserver.endpoints.consumers import serve_watch
from apiserver.endpoints.delete_body import read_delete_options
from apiserver.endpoints.encodings.base import Encoding
from apiserver.endpoints.filters.authorization import authorize_create, authorize_unsafe
from apiserver.endpoints.request import ApiRequest, Send
from apiserver.endpoints.server import Server
from apiserver.endpoints.views.base import KubernetesView
from apiserver.errors import BadRequest, MethodNotAllowed
from apiserver.fieldmanager.names import manager_name
from apiserver.registry import (
    answers,
    collection,
    deletion,
    indexes,
    patching,
    questions,
    reading,
    selection,
)
from apiserver.registry.changes import Replace
from apiserver.registry.create import create
from apiserver.registry.mutation import drop_doubled_owners
from apiserver.registry.objectmeta import check_name, ensure_namespace
from apiserver.registry.options import ListOptions, WriteOptions, read_version
from apiserver.registry.patchtypes import Applying, PatchType
from apiserver.registry.scope import Scope
from apiserver.registry.selection import Selection
from apiserver.registry.update import update
from apiserver.registry.write import Request


class ResourceView(KubernetesView):
    """``as_view()`` makes a coroutine function of (request, server=, send=, scope=)."""

    scope: Scope

    def setup(  # type: ignore[override]  # who routes to a resource knows its scope
        self, request: ApiRequest, *, server: Server, send: Send, scope: Scope
    ) -> None:
        self.request, self.server, self.send = request, server, send
        self.scope, self.registry = scope, server.registry

    async def dispatch(self, request: ApiRequest, **_: Any) -> HttpResponseBase | None:
        """The handler alone: DRF's steps cost nearly what a GET does (docs/architecture.md), and
        answers are mostly bytes that storage keeps."""
        return await self.handler()(request)

    # --- reading ----------------------------------------------------------------------------------
    async def get(self, request: ApiRequest) -> HttpResponseBase | None:
        if not self.scope.name or self.request.info.verb == "watch":
            return await self._list()
        kind = encode.accepted(self.request, self.scope)
        stored = await reading.get(self.registry, self.scope, read_version(self.request.query))
        return encode.object_response(self.request, self.scope, kind, stored)

    async def head(self, request: ApiRequest) -> HttpResponseBase | None:
        return await self.get(request)

    async def _list(self) -> HttpResponseBase | None:
        options = ListOptions.parse(self.request.query)
        scope = self.scope
        chosen = await self._selected(options)
        if options.watch or self.request.info.verb == "watch":
            await serve_watch(self.server, self.request, scope, options, chosen, self.send)
            return None
        kind = encode.accepted(self.request, scope)
        read = answers.list_ if questions.is_asked(options, chosen) else reading.list_
        listing = await read(self.registry, scope, options, chosen)
        return encode.list_response(self.request, self.registry, scope, kind, listing)

    async def _selected(self, options: ListOptions) -> Selection:
        """What the kind does not know may be a field that the tenant has declared. Raises
        BadRequest where the path of a watch names another object than the selector."""
        if options.field_selector:
            chosen = await indexes.select(self.registry, self.scope, options)
            if self.scope.name and chosen.name != self.scope.name:
                raise BadRequest("fieldSelector metadata.name doesn't match requested name")
            return chosen
        return selection.parse(self.scope.resource, self.scope.version, options)

    # --- writing ----------------------------------------------------------------------------------
    def manager(self, options: WriteOptions) -> str:
        return manager_name(options.field_manager, self.scope.user_agent)

    async def post(self, request: ApiRequest) -> HttpResponseBase | None:
        # what is posted there is never an object of the resource; special.py has views for those
        # that are built
        if self.scope.subresource:
            raise MethodNotAllowed
        kind = encode.accepted(self.request, self.scope)
        encoding = bodies.encoding_of(self.request, self.scope)
        options = WriteOptions.parse(self.request.query, "CreateOptions")
        body = await self._body(options, encoding)
        write = Request(self.manager(options), options.dry_run, options=options.as_object())
        stored = await create(self.registry, self.scope, body.object, write, size=body.size)
        return encode.object_response(self.request, self.scope, kind, stored, 201)

    async def _body(self, options: WriteOptions, encoding: Encoding | None = None) -> bodies.Body:
        validation = strict.directive(options.field_validation)
        body = await bodies.read_object(self.request, self.scope, validation, encoding)
        ensure_namespace(body.object["metadata"], self.scope.namespace)
        return body

    async def put(self, request: ApiRequest) -> HttpResponseBase | None:
        kind = encode.accepted(self.request, self.scope)
        options = WriteOptions.parse(self.request.query, "UpdateOptions")
        body = await self._body(options)
        check_name(body.object, self.scope.name)
        await drop_doubled_owners(self.scope, self.scope.asker(body.size), body.object)
        write = Request(
            self.manager(options), options.dry_run, self._may_create, options.as_object()
        )
        stored = await update(self.registry, self.scope, Replace(body.object, body.size), write)
        return encode.object_response(
            self.request, self.scope, kind, stored, 201 if stored.created else 200
        )

    async def _may_create(self) -> None:
        await authorize_create(self.server, self.request)

    async def patch(self, request: ApiRequest) -> HttpResponseBase | None:
        scope = self.scope
        patch_type = bodies.patch_type(self.request, scope)
        kind = encode.accepted(self.request, scope)
        patch = await self.read_patch(patch_type)
        stored = await patching.patch(
            self.registry, scope, patch, authorize_create=self._may_create
        )
        return encode.object_response(
            self.request, scope, kind, stored, 201 if stored.created else 200
        )

    async def read_patch(self, patch_type: PatchType) -> patching.Patch:
        body = await self.request.read_body()
        apply = isinstance(patch_type, Applying)
        options = WriteOptions.parse(self.request.query, "PatchOptions", apply=apply)
        return patching.Patch(patch_type, body, self.manager(options), options)

    # --- deleting ---------------------------------------------------------------------------------
    async def delete(self, request: ApiRequest) -> HttpResponseBase | None:
        if not self.scope.name:
            return await self._delete_collection()
        kind = encode.accepted(self.request, self.scope)
        options = await read_delete_options(self.request)
        if options.unsafe:
            await authorize_unsafe(self.server, self.request)
        deletion.warn(self.scope, options)
        deleted = await deletion.delete(self.registry, self.scope, options)
        status = 202 if not deleted.gone and options.orphan_dependents is False else 200
        stored = deletion.answer_body(self.scope, deleted)
        return encode.object_response(self.request, self.scope, kind, stored, status)

    async def _delete_collection(self) -> HttpResponseBase:
        kind = encode.accepted(self.request, self.scope)
        list_options = ListOptions.parse(self.request.query)
        list_options.check_unasked("DELETE")
        chosen = await self._selected(list_options)
        options = await read_delete_options(self.request)
        deletion.warn(self.scope, options)
        listing = await collection.delete_collection(
            self.registry, self.scope, list_options, chosen, options
        )
        return encode.list_response(self.request, self.registry, self.scope, kind, listing)
