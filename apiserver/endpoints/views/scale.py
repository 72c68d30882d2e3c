"""The scale subresource over HTTP: a Scale is read, replaced, patched or applied in front of the
object (apiserver.registry.scaling)."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from django.http.response import HttpResponseBase

from apiserver.codec import body, negotiate, strict
from apiserver.endpoints import bodies, encode, scale_table
from apiserver.endpoints.request import ApiRequest
from apiserver.endpoints.views.resource import ResourceView
from apiserver.meta.objects import Object
from apiserver.registry import patching, reading, scaling
from apiserver.registry.options import WriteOptions, read_version
from apiserver.registry.result import Stored
from apiserver.registry.scope import Scope
from apiserver.registry.update import update
from apiserver.registry.write import Request
from apiserver.schema import builtin

Make = Callable[[Object, str], Object]
"""From the live object and the field manager to the scaled object."""


class ScaleView(ResourceView):
    def _response(self, kind: negotiate.Accepted, scale: Object) -> HttpResponseBase:
        scope, stored = self.scope, Stored.of_object(scale)
        printed = scale_table.columns(scope), partial(scale_table.cells, scope)
        return encode.object_response(self.request, scope, kind, stored, printed=printed)

    async def get(self, request: ApiRequest) -> HttpResponseBase | None:
        kind = encode.accepted(self.request, self.scope)
        stored = await reading.get(self.registry, self.scope, read_version(self.request.query))
        return self._response(kind, self.scope.resource.hooks.scale_of(stored.object))

    async def put(self, request: ApiRequest) -> HttpResponseBase | None:
        kind = encode.accepted(self.request, self.scope)
        options = WriteOptions.parse(self.request.query, "UpdateOptions")
        scale, _ = await bodies.read_object(
            self.request, self.scope, strict.directive(options.field_validation)
        )
        patching.check_name_and_namespace(self.scope, scale)
        make = partial(scaling.scaled, self.scope, rescale=lambda live: scale)
        return await self._write(kind, options, make, uid_is_precondition=True)

    async def patch(self, request: ApiRequest) -> HttpResponseBase | None:
        patch_type = bodies.patch_type(self.request, self.scope)
        kind = encode.accepted(self.request, self.scope)
        patch = await self.read_patch(patch_type)
        make = (
            partial(scaling.applied, self.scope, patch=patch)
            if patch.is_apply
            else partial(scaling.scaled, self.scope, rescale=self._patch(patch))
        )
        return await self._write(
            kind, patch.options, make, uid_is_precondition=False, applies=patch.is_apply
        )

    def _patch(self, patch: patching.Patch) -> scaling.Rescale:
        """What a JSON, merge or strategic merge patch makes of a Scale."""
        merge = patching.merger(self.scope, patch, builtin.schema_for(scaling.SCALE))

        def patched(live: Object) -> Object:
            scale = merge(live, _still_scale, scaling.decode_scale)
            patching.check_name_and_namespace(self.scope, scale)
            return scale

        return patched

    async def _write(
        self,
        kind: negotiate.Accepted,
        options: WriteOptions,
        make: Make,
        *,
        uid_is_precondition: bool,
        applies: bool = False,
    ) -> HttpResponseBase:
        request = Request(
            self.manager(options), options.dry_run, options=options.as_object(), applies=applies
        )
        change = scaling.Scaled(
            lambda old: make(old, request.manager), uid_is_precondition=uid_is_precondition
        )
        stored = await update(self.registry, self.scope, change, request)
        return self._response(kind, self.scope.resource.hooks.scale_written(stored.object))


_CUSTOM_SCALES = "k8s.io/client-go/scale/util.go:146"
"""Where kube-apiserver registers what it takes for a Scale of a custom resource."""


def _still_scale(scope: Scope, patched: Any, patched_text: Callable[[], str]) -> None:
    scheme = body.SCHEME if scope.resource.has_go_type else _CUSTOM_SCALES
    patching.check_kind(scaling.SCALE, patched, patched_text, scheme)
