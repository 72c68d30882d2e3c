"""Kubernetes' protobuf encoding: ``k8s\\0``, then runtime.Unknown around the message of the kind.

Objects are JSON dictionaries before and after. Watches are frames of a 4-byte big-endian length and
a WatchEvent whose object is a whole encoded object. Lists can be joined from encoded items. Output
is deterministic (fields by number, map keys sorted). Source: k8s.io/apimachinery
``runtime/serializer/protobuf``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from google.protobuf.message import DecodeError

from apiserver.codec.body import not_registered
from apiserver.codec.json import JSONError
from apiserver.codec.protobuf_kinds import find_kind
from apiserver.codec.protobuf_messages import message_class
from apiserver.codec.protobuf_plan import plan_for
from apiserver.meta.gvk import GroupVersion, GroupVersionKind
from apiserver.meta.objects import Object
from apiserver.schema import builtin

PREFIX = b"k8s\x00"
_UNKNOWN = "apimachinery.pkg.runtime.Unknown"
_LIST_META = "io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta"
_TAIL = b"\x1a\x00\x22\x00"  # contentEncoding and contentType, both empty


class ProtobufError(ValueError):
    """The bytes are not what Kubernetes' protobuf decoder takes; the text is its. kind: of the
    object, where that much could be read."""

    def __init__(self, text: str, kind: GroupVersionKind | None = None) -> None:
        super().__init__(text)
        self.kind = kind


# --- writing --------------------------------------------------------------------------------------


def encode(obj: Object) -> bytes:
    """A whole object or list with its envelope. Raises KeyError where its kind has no protobuf
    form. The core group's list of resources is the one object without an apiVersion."""
    version, kind = obj.get("apiVersion", ""), obj["kind"]
    gvk = None if version else GroupVersionKind("", "v1", kind)
    return b"".join(_envelope(version, kind, [encode_message(obj, gvk)]))


def encode_message(obj: Object, gvk: GroupVersionKind | None = None) -> bytes:
    """The message without envelope: an item for `encode_list`. ``gvk``: where ``obj`` does not name
    its kind."""
    if gvk is None:
        gvk = GroupVersionKind(*GroupVersion.parse(obj["apiVersion"]), obj["kind"])
    name, schema = find_kind(gvk)
    message = message_class(name)()
    plan_for(name, schema).write(message, obj)
    return bytes(message.SerializeToString(deterministic=True))


def encode_list(
    kind: str, api_version: str, metadata: Object, items: Sequence[bytes]
) -> Iterator[bytes]:
    """Parts of a list made of items that are encoded already; ``metadata`` as in ListMeta."""
    return stream_list(kind, api_version, metadata, [len(item) for item in items], items)


def stream_list(
    kind: str, api_version: str, metadata: Object, sizes: Sequence[int], items: Iterable[bytes]
) -> Iterator[bytes]:
    """Like `encode_list`, from items that come one by one; ``sizes``: how many bytes each of them
    will have."""
    message = message_class("apimachinery.pkg.apis.meta.v1.ListMeta")()
    plan_for("apimachinery.pkg.apis.meta.v1.ListMeta", builtin.definition(_LIST_META)).write(
        message, metadata
    )
    start = _field(1, message.SerializeToString(deterministic=True))
    total = len(start) + sum(1 + len(_varint(size)) + size for size in sizes)
    yield PREFIX + _type_meta(api_version, kind) + b"\x12" + _varint(total) + start
    for item in items:
        yield b"\x12" + _varint(len(item)) + item
    yield _TAIL


def encode_watch_event(event_type: str, obj: Object) -> bytes:
    """A WatchEvent without the length before it."""
    return watch_event(event_type, encode(obj))


def watch_event(event_type: str, encoded: bytes) -> bytes:
    """Like `encode_watch_event`, from an object that is encoded already, envelope included."""
    return _field(1, event_type.encode()) + _field(2, _field(1, encoded))


def frame(event: bytes) -> bytes:
    """A WatchEvent as it stands in the stream."""
    return len(event).to_bytes(4, "big") + event


def _envelope(api_version: str, kind: str, raw: Sequence[bytes]) -> Iterator[bytes]:
    yield PREFIX + _type_meta(api_version, kind) + b"\x12" + _varint(sum(map(len, raw)))
    yield from raw
    yield _TAIL


def _type_meta(api_version: str, kind: str) -> bytes:
    return _field(1, _field(1, api_version.encode()) + _field(2, kind.encode()))


def _field(number: int, value: bytes) -> bytes:
    return bytes([number << 3 | 2]) + _varint(len(value)) + value


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


# --- reading --------------------------------------------------------------------------------------


def decode(data: bytes, default: GroupVersionKind | None = None) -> Object:
    """An object from its encoding with envelope, as Go would print it in JSON. ``default``
    completes an envelope that names no kind.

    Raises ProtobufError."""
    if not data:
        raise ProtobufError("empty data")
    if not data.startswith(PREFIX):
        raise ProtobufError(
            "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]"
        )
    if len(data) == len(PREFIX):
        raise ProtobufError("empty body")
    unknown = _parse(_UNKNOWN, data[len(PREFIX) :])
    gvk = _kind_of(unknown.typeMeta, default)
    try:
        name, schema = find_kind(gvk)
    except KeyError:
        raise ProtobufError(not_registered(gvk), gvk) from None
    try:
        obj = plan_for(name, schema).read(_parse(name, unknown.raw))
    except (
        ProtobufError,
        JSONError,
        OverflowError,
        UnicodeDecodeError,
    ) as e:  # raw JSON that is none, times beyond year 9999, broken text
        raise ProtobufError(str(e), gvk) from None
    return {"kind": gvk.kind, "apiVersion": gvk.api_version, **obj}


def _kind_of(type_meta: Any, default: GroupVersionKind | None) -> GroupVersionKind:
    try:
        gv = GroupVersion.parse(type_meta.apiVersion)
    except ValueError as e:
        raise ProtobufError(str(e)) from None
    kind = type_meta.kind
    if default is not None:
        kind = kind or default.kind
        if not gv.version and gv.group in ("", default.group):
            gv = default.group_version
    type_text = f'runtime.TypeMeta{{APIVersion:"{type_meta.apiVersion}", Kind:"{type_meta.kind}"}}'
    if not kind:
        raise ProtobufError(f"Object 'Kind' is missing in '{type_text}'")
    if not gv.version:
        raise ProtobufError(f"Object 'apiVersion' is missing in '{type_text}'")
    return GroupVersionKind(gv.group, gv.version, kind)


def _parse(name: str, data: bytes) -> Any:
    message = message_class(name)()
    try:
        message.ParseFromString(data)
    except DecodeError:
        raise ProtobufError("unexpected EOF") from None
    return message
