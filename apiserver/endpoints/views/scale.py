"""The scale subresource: an autoscaling/v1 Scale in front of the object's replicas (k8s.io/apiserver ``rest.UpdatedObjectInfo`` for scale)."""

from __future__ import annotations

from django.http.response import HttpResponseBase

from apiserver.codec import negotiate, patches, strict
from apiserver.endpoints import bodies, encode
from apiserver.endpoints.views.resource import ResourceView
from apiserver.errors import Invalid, UnsupportedMediaType
from apiserver.fielderrors import invalid
from apiserver.kinds.base import Object
from apiserver.meta.gvk import GroupKind, GroupVersionKind
from apiserver.patch.jsonpatch import apply_json_patch
from apiserver.patch.merge import apply_merge_patch
from apiserver.patch.strategic import apply_strategic_patch
from apiserver.registry import reading, update
from apiserver.registry.objectmeta import check_name
from apiserver.registry.options import WriteOptions, first
from apiserver.registry.result import Stored
from apiserver.schema import builtin
from apiserver.schema.decode import decode

SCALE = GroupVersionKind("autoscaling", "v1", "Scale")


class ScaleView(ResourceView):
    def _scale(self, stored: Stored) -> Stored:
        return Stored.of_object(self.scope.resource.hooks.scale_of(stored.object))

    async def get(self) -> HttpResponseBase | None:
        kind = encode.accepted(self.request, self.scope)
        stored = await reading.get(self.registry, self.scope, first(self.request.query, "resourceVersion"))
        return encode.object_response(self.request, self.scope, kind, self._scale(stored))

    async def put(self) -> HttpResponseBase | None:
        options = WriteOptions.parse(self.request.query, "UpdateOptions")
        kind = encode.accepted(self.request, self.scope)
        scale = await bodies.read_object(self.request, self.scope, strict.directive(options.field_validation))
        check_name(scale, self.scope.name)

        async def change(old: Object | None) -> Object:
            return self._with_scale(old, scale)

        stored = await update.update(self.registry, self.scope, change, self._request(options))
        return encode.object_response(self.request, self.scope, kind, self._scale(stored))

    def _request(self, options: WriteOptions) -> update.Request:
        return update.Request(manager=self.manager(options), dry_run=options.dry_run)

    def _with_scale(self, old: Object | None, scale: Object) -> Object:
        assert old is not None, "the update loop answers 404 for subresources of absent objects"
        replicas = scale.get("spec", {}).get("replicas", 0)
        if replicas < 0 and not self.scope.resource.custom:
            error = invalid("spec.replicas", replicas, "must be greater than or equal to 0")
            raise Invalid(GroupKind("autoscaling", "Scale"), self.scope.name, [error])
        new = update.copy_of(old)
        self.scope.resource.hooks.set_scale(new, replicas)
        metadata = scale.get("metadata", {})
        new["metadata"]["resourceVersion"] = metadata.get("resourceVersion") or old["metadata"]["resourceVersion"]
        if metadata.get("uid"):
            new["metadata"]["uid"] = metadata["uid"]
        return new

    async def patch(self) -> HttpResponseBase | None:
        options = WriteOptions.parse(self.request.query, "PatchOptions")
        kind = encode.accepted(self.request, self.scope)
        custom = self.scope.resource.custom
        supported = negotiate.CUSTOM_PATCHES if custom else negotiate.BUILTIN_PATCHES
        media_type = negotiate.patch_type(self.request.header(b"content-type"), supported, custom=custom)
        body = await self.request.read_body()

        async def change(old: Object | None) -> Object:
            assert old is not None, "the update loop answers 404 for subresources of absent objects"
            scale = patched_scale(media_type, body, self.scope.resource.hooks.scale_for_update(old))
            return self._with_scale(old, scale)

        stored = await update.update(self.registry, self.scope, change, self._request(options))
        return encode.object_response(self.request, self.scope, kind, self._scale(stored))


def patched_scale(media_type: str, body: bytes, scale: Object) -> Object:
    schema = builtin.schema_for(SCALE)
    if media_type == negotiate.JSON_PATCH:
        patched = apply_json_patch(scale, patches.decode_json_patch(body)[0])
    elif media_type == negotiate.MERGE_PATCH:
        patched = apply_merge_patch(scale, patches.decode_merge_patch(body)[0])
    elif media_type == negotiate.STRATEGIC_PATCH:
        patched = apply_strategic_patch(scale, patches.decode_strategic_patch(body)[0], schema)[0]
    else:
        raise UnsupportedMediaType("apply to the scale subresource is not served")
    result: Object = decode(schema, patched).value
    return result
