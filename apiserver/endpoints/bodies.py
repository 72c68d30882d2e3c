"""Request bodies: from bytes to a decoded, defaulted object of the kind that the endpoint takes.

Source: k8s.io/apiserver ``endpoints/handlers/{create,update,rest}.go`` (transformDecodeError), k8s.io/apimachinery ``runtime/serializer``.
"""

from __future__ import annotations

from typing import Any

from apiserver.codec import body, cbor_body, negotiate, protobuf, strict
from apiserver.endpoints.request import ApiRequest
from apiserver.errors import BadRequest
from apiserver.kinds.base import Object, Resource
from apiserver.meta.gvk import GroupVersion, GroupVersionKind
from apiserver.registry.offload import by_size
from apiserver.registry.scope import Scope
from apiserver.registry.typing import type_object
from apiserver.schema import builtin
from apiserver.schema.decode import DecodeError, decode

SCHEME = "pkg/api/legacyscheme/scheme.go:30"


async def read_object(request: ApiRequest, scope: Scope, validation: str) -> Object:
    """The body of a create or an update. Warnings go to ``scope``. Raises BadRequest, UnsupportedMediaType, RequestEntityTooLarge."""
    encoding = media_type(request, scope)
    data = await request.read_body()
    scope.size = len(data)
    return await by_size(scope.size, lambda: _read(encoding, data, scope, validation))


def media_type(request: ApiRequest, scope: Scope) -> str:
    """The encoding of the body. Raises UnsupportedMediaType."""
    supported = negotiate.CUSTOM if scope.resource.custom else negotiate.ALL
    return negotiate.body_type(request.header(b"content-type"), supported)


def _read(encoding: str, data: bytes, scope: Scope, validation: str) -> Object:
    kind = body_kind(scope)
    if encoding == negotiate.PROTOBUF:
        value, duplicates = _protobuf(data, kind), list[str]()
    else:
        value, duplicates = _value(encoding, data, kind, merge=not scope.resource.custom)
    gvk = identify(value, data, kind, scope.resource)
    try:
        obj, unknown = decode_value(scope, value)
    except DecodeError as e:
        text = cbor_body.type_text(str(e), value, _go_type(kind)) if encoding == negotiate.CBOR else str(e)
        raise strict.cannot_handle(text, gvk, kind.kind) from None
    if encoding == negotiate.CBOR and not scope.resource.custom:
        unknown = cbor_body.unknown_texts(unknown, value)
    problems = [*duplicates, *unknown] if scope.resource.custom else strict.join_errors(duplicates, unknown)
    report(scope, problems, validation, gvk, kind.kind)
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
        return type_object(scope.resource, scope.served, value)
    decoded = decode(builtin.schema_for(kind), value)
    obj = decoded.value
    obj.setdefault("metadata", {})
    obj["kind"], obj["apiVersion"] = kind.kind, kind.api_version
    return obj, decoded.strict


def _value(encoding: str, data: bytes, kind: GroupVersionKind, *, merge: bool) -> tuple[Any, list[str]]:
    """(value, duplicate errors) of a body in any encoding but protobuf."""
    try:
        if encoding == negotiate.CBOR:
            return cbor_body.read(data), []
        value, errors = body.decode_text(data, is_yaml=encoding == negotiate.YAML, merge=merge)
        return (_key_sorted(value) if encoding == negotiate.YAML else value), errors
    except cbor_body.Refused as e:
        raise strict.cannot_handle(str(e), kind) from None
    except body.BodyError as e:
        raise body.unrecognized(e, kind.kind, data) from None


def _go_type(kind: GroupVersionKind) -> str:
    return builtin.schema_for(kind).go_type if kind in builtin.kinds() else ""


def _key_sorted(value: Any) -> Any:
    """YAML is turned into JSON on the way, whose encoder sorts members: errors about unknown ones come in that order."""
    if isinstance(value, dict):
        return {k: _key_sorted(value[k]) for k in sorted(value)}
    if isinstance(value, list):
        return [_key_sorted(v) for v in value]
    return value


def _protobuf(data: bytes, kind: GroupVersionKind) -> Any:
    try:
        return protobuf.decode(data, default=kind)
    except protobuf.ProtobufError as e:
        if e.kind is not None:
            raise strict.cannot_handle(str(e), e.kind, kind.kind) from None
        raise body.unrecognized(e, kind.kind, data) from None


def identify(value: dict[str, Any], data: bytes, wanted: GroupVersionKind, resource: Resource) -> GroupVersionKind:
    """The body's kind, with what it leaves out taken from ``wanted``. Raises BadRequest where it is another kind."""
    api_version, kind = body.read_kind(value)
    try:
        gv = GroupVersion.parse(api_version)
    except ValueError as e:
        raise body.unrecognized(e, wanted.kind, data) from None
    if resource.custom and wanted.group == resource.group:
        return _identify_custom(gv, kind, data, wanted)
    if not gv.version:
        gv = wanted.group_version
    found = GroupVersionKind(gv.group, gv.version, kind or wanted.kind)
    if found != wanted:
        _refuse(found, wanted, resource)
    return found


def _identify_custom(gv: GroupVersion, kind: str, data: bytes, wanted: GroupVersionKind) -> GroupVersionKind:
    """A custom object must say itself what it is; another kind is refused, and named, by validation."""
    if not kind:
        raise body.unrecognized(f"Object 'Kind' is missing in '{data.decode(errors='replace')}'", wanted.kind, data)
    found = GroupVersionKind(gv.group, gv.version, kind)
    _same_version(found, wanted)
    return found


def _same_version(found: GroupVersionKind, wanted: GroupVersionKind) -> None:
    if found.api_version != wanted.api_version:
        raise BadRequest(
            f"the API version in the data ({found.api_version}) does not match the expected API version ({wanted.api_version})"
        )


def known_once(gvk: GroupVersionKind) -> bool:
    """Whether a version that is no longer served still has its type: removed versions are told apart from ones that never were."""
    return gvk.kind in builtin.unserved_kinds().get(gvk.api_version, ())


def _refuse(found: GroupVersionKind, wanted: GroupVersionKind, resource: Resource) -> None:
    """A body of another kind or version. Another served version of the endpoint's own kind passes for built-in kinds."""
    if resource.custom:
        _same_version(found, wanted)
        return  # a Scale; validation refuses another kind, and names it
    same = found.kind == wanted.kind and found.group == wanted.group
    if same and found.kind == "Eviction" and known_once(found):
        return  # the one old version that its endpoint still reads
    if found not in builtin.kinds() and not known_once(found):
        text = f'no kind "{found.kind}" is registered for version "{found.api_version}" in scheme "{SCHEME}"'
        raise strict.cannot_handle(text, found, wanted.kind)
    if same or (found.kind == wanted.kind == "Scale" and known_once(found)):
        gv = GroupVersion(wanted.group, wanted.version)
        raise BadRequest(f"the API version in the data ({found.api_version}) does not match the expected API version ({gv})")
    package = wanted.group.split(".")[0] or "core"
    text = f"converting ({found.version}.{found.kind}) to ({package}.{wanted.kind}): unknown conversion"
    raise strict.cannot_handle(text, found, wanted.kind)


def report(scope: Scope, errors: list[str], validation: str, gvk: GroupVersionKind, wanted: str) -> None:
    """Unknown and duplicate fields: nothing under Ignore, Warning headers under Warn, BadRequest under Strict."""
    if not errors or validation == strict.IGNORE:
        return
    if validation == strict.STRICT:
        raise strict.reject_strict(errors, gvk, wanted)
    for text in strict.warnings_of(errors):
        scope.warn(text)
