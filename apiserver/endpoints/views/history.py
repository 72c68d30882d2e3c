"""history.polyplane.dev/v1: revisions of objects, and what is made of them (apiserver.history)."""

from __future__ import annotations

from dataclasses import dataclass

import orjson
from django.http.response import HttpResponseBase

from apiserver.authz.attributes import Attributes, Decision
from apiserver.codec import strict
from apiserver.endpoints import bodies, disclosure, encode
from apiserver.endpoints.request import ApiRequest
from apiserver.endpoints.views.resource import ResourceView
from apiserver.errors import BadRequest, MethodNotAllowed
from apiserver.history import changes, question, restore
from apiserver.history.listing import list_
from apiserver.history.reach import retained
from apiserver.history.revisions import revisions_of
from apiserver.history.visit import Visit
from apiserver.meta.objects import Object
from apiserver.registry.objectmeta import ensure_namespace
from apiserver.registry.offload import by_size
from apiserver.registry.options import ListOptions, WriteOptions, first
from apiserver.registry.reading import Listing
from apiserver.registry.result import Stored
from apiserver.registry.write import Request


@dataclass(frozen=True, slots=True)
class _Item:
    json: bytes


class HistoryView(ResourceView):
    def visit(self) -> Visit:
        async def authorize(attributes: Attributes) -> Decision:
            return await self.server.authorizer.authorize(self.request.tenant, attributes)

        async def fresh() -> None:
            await self.server.catalog.fresh(self.request.tenant)

        return Visit(self.registry, self.scope, authorize, fresh)

    @property
    def api_version(self) -> str:
        """In which version of its kind the object is wanted."""
        return first(self.request.query, "apiVersion")


class RevisionView(HistoryView):
    async def get(self, request: ApiRequest) -> HttpResponseBase | None:
        if self.request.info.verb == "watch":
            raise MethodNotAllowed
        if not self.scope.name:
            return await self._revisions()
        kind, visit = encode.accepted(self.request, self.scope), self.visit()
        version = await visit.revision(self.scope.name)
        answer = await visit.object_at(version, self.api_version)
        (revision,) = await revisions_of(visit, [(version, answer)], whole=True)
        disclosure.note_revisions(self.request, [revision], kind)
        stored = Stored.of_object(revision)
        return encode.object_response(self.request, self.scope, kind, stored)

    async def _revisions(self) -> HttpResponseBase:
        options = ListOptions.parse(self.request.query)
        if options.watch:
            raise MethodNotAllowed
        options.validate()
        options.check_unasked("revisions")
        if options.resource_version not in ("", "0") or options.shard_selector:
            raise BadRequest("revisions are listed as they are now: select asOf for a past state")
        kind, visit, scope = encode.accepted(self.request, self.scope), self.visit(), self.scope
        resources = self.registry.catalog.all(scope.tenant)
        asked = question.parse(options, resources, namespaced=scope.resource.namespaced)
        if asked.definition_gone:
            await visit.fresh()
            resources = self.registry.catalog.all(scope.tenant)
            asked = question.parse(options, resources, namespaced=scope.resource.namespaced)
        page = await list_(visit, asked, options)
        disclosure.note_revisions(self.request, page.items, kind)
        items = await by_size(
            scope.asker(page.size), lambda: [_Item(orjson.dumps(item)) for item in page.items]
        )
        listing = Listing(items, page.resource_version, page.token)
        return encode.list_response(self.request, self.registry, scope, kind, listing)


class RetainedLogView(HistoryView):
    async def get(self, request: ApiRequest) -> HttpResponseBase | None:
        if self.request.info.verb == "watch" or ListOptions.parse(self.request.query).watch:
            raise MethodNotAllowed
        kind, scope = encode.accepted(self.request, self.scope), self.scope
        log = await retained(self.visit())
        if scope.name:
            return encode.object_response(self.request, scope, kind, Stored.of_object(log))
        listing = Listing([_Item(orjson.dumps(log))], int(log["newest"]), "")
        return encode.list_response(self.request, self.registry, scope, kind, listing)


class DiffView(HistoryView):
    async def get(self, request: ApiRequest) -> HttpResponseBase | None:
        kind = encode.accepted(self.request, self.scope)
        other = first(self.request.query, "from")
        answer = await changes.diff(self.visit(), self.scope.name, other, self.api_version)
        disclosure.note_revisions(self.request, [answer], kind)
        return encode.object_response(self.request, self.scope, kind, Stored.of_object(answer))


class BlameView(HistoryView):
    async def get(self, request: ApiRequest) -> HttpResponseBase | None:
        kind = encode.accepted(self.request, self.scope)
        answer = await changes.blame(self.visit(), self.scope.name, self.api_version)
        return encode.object_response(self.request, self.scope, kind, Stored.of_object(answer))


class RestoreView(HistoryView):
    """POST to rollback and undelete. The body, a RevisionRestore, may be left out."""

    async def post(self, request: ApiRequest) -> HttpResponseBase | None:
        kind = encode.accepted(self.request, self.scope)
        options = WriteOptions.parse(self.request.query, "CreateOptions")
        body = await self._asked(options)
        visit = self.visit()
        version = await visit.revision(self.scope.name)
        members = options.as_object()
        write = Request(self.manager(options), options.dry_run, options=members)
        how = restore.rollback if self.scope.subresource == "rollback" else restore.undelete
        done = await how(visit, version, write, body.get("preconditions") or {})
        stored = Stored.of_object(restore.answer(version, done))
        return encode.object_response(self.request, self.scope, kind, stored, 201)

    async def _asked(self, options: WriteOptions) -> Object:
        if not await self.request.read_body():
            return {}
        body = await bodies.read_object(
            self.request, self.scope, strict.directive(options.field_validation)
        )
        name = body.object["metadata"].get("name", "")
        if name and name != self.scope.name:
            raise BadRequest("name in URL does not match name in RevisionRestore object")
        ensure_namespace(body.object["metadata"], self.scope.namespace)
        return body.object
