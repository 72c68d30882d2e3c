"""The scale subresource over HTTP: a Scale is read, replaced, patched or applied in front of the object (apiserver.registry.scaling)."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from django.http.response import HttpResponseBase

from apiserver.codec import negotiate, strict
from apiserver.endpoints import bodies, encode, scale_table
from apiserver.endpoints.views.resource import ResourceView
from apiserver.kinds.base import Object
from apiserver.registry import patching, reading, scaling, update
from apiserver.registry.options import WriteOptions, first
from apiserver.registry.result import Stored
from apiserver.schema import builtin

Make = Callable[[Object, str], Object]
"""From the live object and the field manager to the scaled object."""


class ScaleView(ResourceView):
    def _response(self, kind: negotiate.Accepted, stored: Stored) -> HttpResponseBase:
        scope, scale = self.scope, Stored.of_object(self.scope.resource.hooks.scale_of(stored.object))
        printed = scale_table.columns(scope), partial(scale_table.cells, scope)
        return encode.object_response(self.request, scope, kind, scale, printed=printed)

    async def get(self) -> HttpResponseBase | None:
        kind = encode.accepted(self.request, self.scope)
        stored = await reading.get(self.registry, self.scope, first(self.request.query, "resourceVersion"))
        return self._response(kind, stored)

    async def put(self) -> HttpResponseBase | None:
        kind = encode.accepted(self.request, self.scope)
        options = WriteOptions.parse(self.request.query, "UpdateOptions")
        scale = await bodies.read_object(self.request, self.scope, strict.directive(options.field_validation))
        patching.check_name_and_namespace(self.scope, scale)
        make = partial(scaling.scaled, self.scope, wanted=lambda live: scale)
        return await self._write(kind, options, make, uid_precondition=True)

    async def patch(self) -> HttpResponseBase | None:
        custom = self.scope.resource.custom
        supported = negotiate.CUSTOM_PATCHES if custom else negotiate.BUILTIN_PATCHES
        media_type = negotiate.patch_type(self.request.header(b"content-type"), supported, custom=custom)
        kind = encode.accepted(self.request, self.scope)
        body = await self.request.read_body()
        apply = media_type in (negotiate.APPLY_YAML, negotiate.APPLY_CBOR)
        options = WriteOptions.parse(self.request.query, "PatchOptions", apply=apply)
        patch = patching.Patch(media_type, body, self.manager(options), options)
        make = (
            partial(scaling.applied, self.scope, wanted=patch) if apply else partial(scaling.scaled, self.scope, wanted=self._patch(patch))
        )
        return await self._write(kind, options, make, uid_precondition=False)

    def _patch(self, patch: patching.Patch) -> scaling.Wanted:
        """What a JSON, merge or strategic merge patch makes of a Scale."""
        merge = patching.merger(self.scope, patch, builtin.schema_for(scaling.SCALE))

        def patched(live: Object) -> Object:
            scale = merge(live, lambda *_: None, scaling.decode_scale)
            patching.check_name_and_namespace(self.scope, scale)
            return scale

        return patched

    async def _write(self, kind: negotiate.Accepted, options: WriteOptions, make: Make, *, uid_precondition: bool) -> HttpResponseBase:
        manager = self.manager(options)

        async def change(old: Object | None) -> Object:
            assert old is not None, "the update loop answers 404 for subresources of absent objects"
            return make(old, manager)

        request = update.Request(manager=manager, dry_run=options.dry_run, managed=True, uid_precondition=uid_precondition)
        stored = await update.update(self.registry, self.scope, change, request)
        return self._response(kind, stored)
