"""Request bodies: from bytes to a decoded, defaulted object of the kind that the endpoint takes.

Source: k8s.io/apiserver ``endpoints/handlers/{create,update,rest}.go`` (transformDecodeError),
k8s.io/apimachinery ``runtime/serializer``.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from apiserver.codec import body, negotiate, strict
from apiserver.codec.json import Duplicates
from apiserver.endpoints.encodings import BY_MEDIA_TYPE
from apiserver.endpoints.encodings.base import Encoding
from apiserver.endpoints.request import ApiRequest
from apiserver.errors import BadRequest
from apiserver.kinds.served import Resource
from apiserver.meta.gvk import GroupVersion, GroupVersionKind
from apiserver.meta.objects import Object
from apiserver.meta.raw import way_of
from apiserver.registry import patchtypes
from apiserver.registry.offload import by_size
from apiserver.registry.patchtypes import PatchType
from apiserver.registry.scope import Scope
from apiserver.schema import builtin
from apiserver.schema.decode import DecodeError, decode
from apiserver.schema.types import Schema


class Body(NamedTuple):
    """object: decoded and defaulted; size: bytes that the client sent."""

    object: Object
    size: int


async def read_object(
    request: ApiRequest, scope: Scope, validation: str, encoding: Encoding | None = None
) -> Body:
    """The body of a create or an update. ``encoding``: of `encoding_of`, where it has been asked
    for. Warnings go to ``scope``. Raises BadRequest, UnsupportedMediaType,
    RequestEntityTooLarge."""
    encoding = encoding or encoding_of(request, scope)
    data = await request.read_body()
    size = encoding.weight(data, scope.schema)
    asker = scope.asker(size)
    return Body(await by_size(asker, lambda: told_body(encoding, data, scope, validation)), size)


def told_body(encoding: Encoding, data: bytes, scope: Scope, validation: str) -> Object:
    """As `decode_body`; the audit log is told of what was sent."""
    if scope.trail is not None:
        scope.trail.decodes()
    obj = decode_body(encoding, data, scope, validation)
    if scope.trail is not None:
        scope.trail.decoded(obj, len(data))
    return obj


def encoding_of(request: ApiRequest, scope: Scope) -> Encoding:
    """Of the body. Raises UnsupportedMediaType."""
    content_type = request.header(b"content-type")
    return BY_MEDIA_TYPE[negotiate.body_type(content_type, scope.resource.encodings)]


def patch_type(request: ApiRequest, scope: Scope) -> PatchType:
    """The type of the patch in the body. Raises UnsupportedMediaType."""
    resource, content_type = scope.resource, request.header(b"content-type")
    media_type = negotiate.patch_type(
        content_type, resource.patch_types, routed=resource.has_routes
    )
    return patchtypes.BY_MEDIA_TYPE[media_type]


def decode_body(encoding: Encoding, data: bytes, scope: Scope, validation: str) -> Object:
    """As `read_object`, of bytes that are there."""
    kind, typed = body_kind(scope), scope.resource.has_go_type
    value, problems = encoding.read(data, kind, merge=typed)
    gvk = identify(value, data, kind, scope.resource)
    if raw_fields := scope.resource.hooks.raw_fields:
        value = encoding.keep_raw(value, data, way_of(raw_fields))
    try:
        if typed and isinstance(problems, Duplicates):
            decode(_schema(scope, kind), problems.given)  # what comes twice has to fit each time
        obj, unknown = decode_value(scope, value)
    except DecodeError as e:
        text = encoding.type_error(str(e), value, kind)
        raise strict.cannot_handle(text, gvk, kind.kind) from None
    if typed:
        problems = strict.join_errors(problems, encoding.unknown_fields(unknown, value))
    else:
        problems = [*problems, *unknown]
    scope.report(problems, validation, lambda: strict.reject_strict(problems, gvk, kind.kind))
    return obj


def body_kind(scope: Scope) -> GroupVersionKind:
    """The kind that this endpoint takes: a subresource may have its own (Scale)."""
    if scope.subresource:
        sub = scope.served.subresources[scope.subresource].kind
        if sub.version:
            return sub
        if sub.kind != scope.resource.kind:
            return GroupVersionKind(sub.group, scope.version, sub.kind)
    return scope.gvk


def decode_value(scope: Scope, value: Any) -> tuple[Object, list[str]]:
    """Decodes into the endpoint's kind. Raises DecodeError."""
    kind = body_kind(scope)
    if kind == scope.gvk:
        return scope.decode(value)
    decoded = decode(_schema(scope, kind), value)
    obj = decoded.value
    obj.setdefault("metadata", {})
    obj["kind"], obj["apiVersion"] = kind.kind, kind.api_version
    return obj, decoded.strict


def _schema(scope: Scope, kind: GroupVersionKind) -> Schema:
    return scope.schema if kind == scope.gvk else builtin.schema_for(kind)


def identify(
    value: dict[str, Any], data: bytes, expected: GroupVersionKind, resource: Resource
) -> GroupVersionKind:
    """The body's kind, with what it leaves out taken from ``expected``. Raises BadRequest where it
    is another kind."""
    if value.get("kind") == expected.kind and value.get("apiVersion") == expected.api_version:
        return expected
    api_version, kind = body.read_kind(value)
    try:
        gv = GroupVersion.parse(api_version)
    except ValueError as e:
        raise body.unrecognized(e, expected.kind, data) from None
    if not resource.has_go_type and expected.group == resource.group:
        return _identify_custom(gv, kind, data, expected)
    if not gv.version:
        gv = expected.group_version
    sent = GroupVersionKind(gv.group, gv.version, kind or expected.kind)
    if sent != expected:
        _refuse(sent, expected, resource)
    return sent


def _identify_custom(
    gv: GroupVersion, kind: str, data: bytes, expected: GroupVersionKind
) -> GroupVersionKind:
    """A custom object must say itself what it is; another kind is refused, and named, by
    validation."""
    if not kind:
        raise body.unrecognized(
            f"Object 'Kind' is missing in '{data.decode(errors='replace')}'", expected.kind, data
        )
    sent = GroupVersionKind(gv.group, gv.version, kind)
    _same_version(sent, expected)
    return sent


def _same_version(sent: GroupVersionKind, expected: GroupVersionKind) -> None:
    if sent.api_version != expected.api_version:
        raise BadRequest(
            f"the API version in the data ({sent.api_version}) does not match the expected API "
            f"version ({expected.api_version})"
        )


def known_once(gvk: GroupVersionKind) -> bool:
    """Whether a version that is no longer served still has its type: removed versions are told
    apart from ones that never were."""
    return gvk.kind in builtin.unserved_kinds().get(gvk.api_version, ())


def _refuse(sent: GroupVersionKind, expected: GroupVersionKind, resource: Resource) -> None:
    """A body of another kind or version. Another served version of the endpoint's own kind passes
    for built-in kinds."""
    if not resource.has_go_type:
        _same_version(sent, expected)
        return  # a Scale; validation refuses another kind, and names it
    same = sent.kind == expected.kind and sent.group == expected.group
    if same and sent.kind == "Eviction" and known_once(sent):
        return  # the one old version that its endpoint still reads
    if not builtin.has_go_type(sent):
        raise strict.cannot_handle(body.not_registered(sent), sent, expected.kind)
    if same or (sent.kind == expected.kind == "Scale" and known_once(sent)):
        gv = GroupVersion(expected.group, expected.version)
        raise BadRequest(
            f"the API version in the data ({sent.api_version}) does not match the expected API "
            f"version ({gv})"
        )
    raise strict.cannot_handle(body.not_converted(sent, expected), sent, expected.kind)
