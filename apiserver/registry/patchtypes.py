"""The types of patches, one object for each media type: how a body is read, and what it does to an
object.

Source: k8s.io/apiserver ``endpoints/handlers/patch.go``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

from apiserver.codec import negotiate, patches
from apiserver.golang.fmt import go_value
from apiserver.meta.objects import Object, copy_json
from apiserver.patch.jsonpatch import apply_json_patch
from apiserver.patch.merge import apply_merge_patch
from apiserver.patch.strategic import apply_strategic_patch
from apiserver.patch.text import merged_text, patched_text
from apiserver.registry import weight
from apiserver.schema.decode_errors import DecodeError
from apiserver.schema.restore import restore
from apiserver.schema.types import Schema

Decode = Callable[[Any], tuple[Object, list[str]]]
"""From a patched value to the decoded object and its unknown fields. Raises DecodeError."""


class Patched(NamedTuple):
    """value: the patched object, not decoded yet; quoted: makes the text of it that errors show."""

    value: Any
    quoted: Callable[[], str]


class PatchType:
    """media_type: without parameters."""

    media_type: ClassVar[str]

    def weight(self, body: bytes, schema: Schema) -> int:
        """How much work it is (`apiserver.registry.weight`), before it is read."""
        return weight.of_json(body, schema)


class Merging(PatchType):
    """Changes the live object. from_text: whether kube-apiserver decodes the result from JSON text,
    and so looks at its kind first."""

    from_text: ClassVar[bool] = True

    def decode(self, body: bytes, *, check: bool) -> tuple[Any, list[str]]:
        """(patch, strict errors). check: as for `apiserver.codec.patches`. Raises BadRequest,
        Invalid."""
        raise NotImplementedError

    def apply(self, old: Object, patch: Any, schema: Schema) -> Patched:
        """``patch``: from `decode`; ``schema``: of the object. Raises PatchRefused,
        RequestEntityTooLarge."""
        raise NotImplementedError

    def read(self, patched: Any, schema: Schema, decode: Decode) -> tuple[Object, list[str]]:
        """The patched value as an object, and its unknown fields. Raises DecodeError."""
        return decode(patched)


class Applying(PatchType):
    """Says what a field manager wants (server-side apply)."""

    def decode(self, body: bytes) -> tuple[Object, str]:
        """(applied configuration, what a strict reader would not have taken or ""). Raises
        BadRequest."""
        raise NotImplementedError


class JsonPatch(Merging):
    media_type = negotiate.JSON_PATCH

    def decode(self, body: bytes, *, check: bool) -> tuple[Any, list[str]]:
        return patches.decode_json_patch(body, check=check)

    def apply(self, old: Object, patch: Any, schema: Schema) -> Patched:
        return Patched(apply_json_patch(old, patch), lambda: patched_text(old, patch, schema))


class MergePatch(Merging):
    media_type = negotiate.MERGE_PATCH

    def decode(self, body: bytes, *, check: bool) -> tuple[Any, list[str]]:
        return patches.decode_merge_patch(body, check=check)

    def apply(self, old: Object, patch: Any, schema: Schema) -> Patched:
        merged = apply_merge_patch(old, patch)
        # decoding a built-in type makes a new object; a custom one is decoded in place
        own = merged if schema.builtin else copy_json(merged)
        return Patched(own, lambda: merged_text(old, patch, schema))


class StrategicPatch(Merging):
    """Its result is converted from maps, not decoded from JSON."""

    media_type = negotiate.STRATEGIC_PATCH
    from_text = False

    def decode(self, body: bytes, *, check: bool) -> tuple[Any, list[str]]:
        return patches.decode_strategic_patch(body, check=check)

    def apply(self, old: Object, patch: Any, schema: Schema) -> Patched:
        value, rest = apply_strategic_patch(old, patch, schema)
        return Patched(value, lambda: go_value(rest))

    def read(self, patched: Any, schema: Schema, decode: Decode) -> tuple[Object, list[str]]:
        """Unknown fields come sorted, because maps have no order."""
        try:
            new, unknown = decode(patched)
        except DecodeError:
            new, unknown = decode(restore(schema, patched))
        return new, sorted(unknown)


class ApplyYaml(Applying):
    media_type = negotiate.APPLY_YAML

    def weight(self, body: bytes, schema: Schema) -> int:
        return weight.of_yaml(body, schema)

    def decode(self, body: bytes) -> tuple[Object, str]:
        return patches.decode_apply_patch(body)


class ApplyCbor(Applying):
    media_type = negotiate.APPLY_CBOR

    def weight(self, body: bytes, schema: Schema) -> int:
        return weight.of_binary(body, schema)

    def decode(self, body: bytes) -> tuple[Object, str]:
        return patches.decode_apply_cbor(body), ""


_ALL: tuple[PatchType, ...] = (
    JsonPatch(),
    MergePatch(),
    StrategicPatch(),
    ApplyYaml(),
    ApplyCbor(),
)
BY_MEDIA_TYPE: dict[str, PatchType] = {patch_type.media_type: patch_type for patch_type in _ALL}
"""Whatever `apiserver.codec.negotiate.patch_type` lets through is a key."""
