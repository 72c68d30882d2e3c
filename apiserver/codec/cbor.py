"""CBOR as kube-apiserver reads and writes it (KEP-4222): JSON values in another notation.

Written: the self-described prefix, strings as byte strings, members in RFC 8949 deterministic
order, []byte members as raw bytes under tag 22 ("would be base64"). Read: text and byte strings
alike; tags 21 to 23 turn bytes into the text that they stand for, other tags are ignored; what JSON
cannot hold is refused (NaN, infinities, undefined, big numbers, other simple values) and so are
repeated keys. Source of the choices: k8s.io/apimachinery
``runtime/serializer/cbor/internal/modes``; of the texts: fxamacker/cbor v2.
"""

from __future__ import annotations

import base64
import binascii
import io
import math
import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

import cbor2

from apiserver.codec import cbor_form
from apiserver.golang.math import is_int64
from apiserver.golang.strconv import go_quote
from apiserver.meta.gvk import GroupVersion, GroupVersionKind
from apiserver.schema.builtin import schema_for
from apiserver.schema.types import Schema

PREFIX = b"\xd9\xd9\xf7"
_MAX_DEPTH = 900
_RFC3339 = re.compile(r"\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)")
_DUPLICATE = re.compile(r"Duplicate map key: (?:b)?['\"](.*)['\"]$", re.S)
_TEXTS = {
    "map key must be": "cbor: invalid map key type: interface {}",
    "decoding text string": "cbor: invalid UTF-8 string",
    "nesting depth": "cbor: exceeded max nested level 10000",
    "break code": 'cbor: unexpected "break" code',
}
_CACHE = "codec.cbor"


class CBORError(ValueError):
    """The bytes are not CBOR, or hold what kube-apiserver does not accept."""


class Malformed(CBORError):
    """The bytes are not one data item."""


# --- writing --------------------------------------------------------------------------------------


def dumps(obj: Any, schema: Schema | None = None) -> bytes:
    """One self-described data item. ``schema``: tells which strings are base64 of []byte members;
    by default, that of the object's kind."""
    return PREFIX + encode(obj, schema)


def encode(obj: Any, schema: Schema | None = None) -> bytes:
    """Like `dumps` without the prefix, for parts of larger answers."""
    return bytes(
        cbor2.dumps(_writable(obj, _bytes_tree(schema or _schema_of(obj))), canonical=True)
    )


def _schema_of(obj: Any) -> Schema | None:
    """The schema of an object that names a built-in kind."""
    if not isinstance(obj, dict) or "kind" not in obj:
        return None
    try:
        return schema_for(
            GroupVersionKind(*GroupVersion.parse(obj.get("apiVersion", "")), obj["kind"])
        )
    except (KeyError, ValueError):
        return None


def _writable(value: Any, tree: _Tree | None) -> Any:
    if isinstance(value, str):
        if tree is not None and tree.is_bytes:
            try:
                return cbor2.CBORTag(22, base64.b64decode(value, validate=True))
            except binascii.Error:
                pass
        return value.encode(errors="surrogatepass")
    if isinstance(value, dict):
        if tree is None:
            return {k.encode(): _writable(v, None) for k, v in value.items()}
        return {k.encode(): _writable(v, tree.member(k)) for k, v in value.items()}
    if isinstance(value, list):
        items = tree.items if tree is not None else None
        return [_writable(v, items) for v in value]
    return value


class _Tree:
    """Where []byte members are below a node of the schema; nodes without any are None, so that most
    values are walked without it."""

    __slots__ = ("additional", "is_bytes", "items", "members")

    def __init__(self) -> None:
        self.is_bytes = False
        self.members: dict[str, _Tree] = {}
        self.additional: _Tree | None = None
        self.items: _Tree | None = None

    def member(self, name: str) -> _Tree | None:
        return self.members.get(name, self.additional)


def _bytes_tree(schema: Schema | None, above: frozenset[int] = frozenset()) -> _Tree | None:
    if (
        schema is None
        or id(schema) in above
        or (schema.definition and schema.definition in _RECURSIVE)
    ):
        return None
    if _CACHE in schema.cache:
        remembered: _Tree | None = schema.cache[_CACHE]
        return remembered
    tree = _Tree()
    tree.is_bytes = schema.special == "bytes"
    above = above | {id(schema)}
    for name, member in (schema.properties or {}).items():
        below = _bytes_tree(member, above)
        if below is not None:
            tree.members[name] = below
    tree.additional = _bytes_tree(schema.additional, above)
    tree.items = _bytes_tree(schema.items, above)
    useful = tree.is_bytes or tree.members or tree.additional is not None or tree.items is not None
    schema.cache[_CACHE] = tree if useful else None
    return tree if useful else None


_RECURSIVE = frozenset({"io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps"})


# --- reading --------------------------------------------------------------------------------------


def loads(data: bytes) -> Any:
    """The value of exactly one data item; there are no strict errors, as repeated keys are never
    accepted. Raises CBORError."""
    if not data:
        raise Malformed("EOF")
    stream = io.BytesIO(data)
    try:
        value = _decode(stream)
        if stream.tell() == len(data):
            return value
    except CBORError as e:
        try:
            _check_form(data)
        except cbor_form.TooLong:
            raise Malformed(str(e)) from None
        raise
    end = stream.tell()
    try:
        _check_form(data)
    except cbor_form.TooLong:
        rest = len(data) - end
        why = f"cbor: {rest} bytes of extraneous data starting at index {end}"
        raise Malformed(why) from None
    return value


def _check_form(data: bytes) -> None:
    why = cbor_form.fault(data)
    if why:
        raise Malformed(why)


def _decode(stream: io.BytesIO) -> Any:
    try:
        decoder = cbor2.CBORDecoder(
            stream,
            tag_hook=lambda tag, immutable: tag.value,
            semantic_decoders=_TAGS,
            allow_duplicate_keys=False,
            strict_hashable_types=True,
            max_depth=_MAX_DEPTH,
        )
        return _readable(decoder.decode())
    except CBORError:
        raise
    except cbor2.CBORDecodeEOF:
        raise Malformed("unexpected EOF") from None
    except RecursionError:
        raise Malformed("cbor: exceeded max nested level 10000") from None
    except (cbor2.CBORError, ValueError, OverflowError) as e:
        raise CBORError(_explain(e)) from None


def _explain(e: BaseException) -> str:
    cause: BaseException | None = e
    while cause is not None:
        if isinstance(cause, CBORError):
            return str(cause)
        match = _DUPLICATE.search(str(cause))
        if match:
            return f"cbor: found duplicate map key {go_quote(match.group(1))}"
        for sign, text in _TEXTS.items():
            if sign in str(cause):
                return text
        cause = cause.__cause__ or cause.__context__
    return f"cbor: {e}"


def _refused(kind: str, why: str) -> CBORError:
    return CBORError(f"cbor: data item of cbor type {kind} is not accepted by protocol: {why}")


def _readable(value: Any) -> Any:
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    if value is None or isinstance(value, str | bool):
        return value
    if isinstance(value, int):
        if not is_int64(value):
            kind = "positive" if value > 0 else "negative"
            raise CBORError(
                f"cbor: cannot unmarshal {kind} integer into Go value of type int64 ({value} "
                f"overflows Go's int64)"
            )
        return value
    if isinstance(value, float):
        if not math.isfinite(value):
            raise _refused(
                "primitives",
                "floating-point NaN" if math.isnan(value) else "floating-point infinity",
            )
        return value
    if isinstance(value, Mapping):
        return _readable_map(value)
    if isinstance(value, list | tuple):
        return [_readable(v) for v in value]
    raise _refused("primitives", f"simple value {getattr(value, 'value', 23)} is not recognized")


def _readable_map(value: Mapping[Any, Any]) -> dict[str, Any]:
    readable: dict[str, Any] = {}
    for i, (key, member) in enumerate(value.items()):
        name = _readable(key)
        if not isinstance(name, str):
            raise CBORError("cbor: invalid map key type: interface {}")
        if name in readable:
            raise CBORError(
                f"cbor: found duplicate map key {go_quote(name)} at map element index {i}"
            )
        readable[name] = _readable(member)
    return readable


def _as_text(encode: Callable[[bytes], bytes]) -> Callable[[Any, bool], Any]:
    def convert(value: Any, immutable: bool = False) -> Any:
        if isinstance(value, bytes):
            return encode(value).decode()
        if isinstance(value, Mapping):
            return {k: convert(v) for k, v in value.items()}
        if isinstance(value, list | tuple):
            return [convert(v) for v in value]
        return value

    return convert


def _time_text(value: Any, immutable: bool) -> str:
    text = value.decode(errors="replace") if isinstance(value, bytes) else value
    if not isinstance(text, str):
        raise CBORError("cbor: tag number 0 must be followed by text string")
    if not _RFC3339.fullmatch(text):
        raise CBORError(f"cbor: cannot set {text} for time.Time: parsing time {go_quote(text)}")
    return text


def _time_seconds(value: Any, immutable: bool) -> str:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise CBORError("cbor: tag number 1 must be followed by integer or floating-point number")
    when = datetime.fromtimestamp(value, UTC)
    fraction = f".{when.microsecond:06}".rstrip("0").rstrip(".")
    return f"{when:%Y-%m-%dT%H:%M:%S}{fraction}Z"


def _refuse_big(value: Any, immutable: bool) -> Any:
    raise _refused("tag", "bignum")


def _content(value: Any, immutable: bool) -> Any:
    return value


_TAGS: dict[int, Callable[[Any, bool], Any]] = {
    **dict.fromkeys(
        [4, 5, 25, 28, 29, 30, 35, 36, 37, 52, 54, 100, 256, 258, 260, 261, 1004, 43000, 55799],
        _content,
    ),
    0: _time_text,
    1: _time_seconds,
    2: _refuse_big,
    3: _refuse_big,
    21: _as_text(lambda b: base64.urlsafe_b64encode(b).rstrip(b"=")),
    22: _as_text(base64.b64encode),
    23: _as_text(lambda b: b.hex().upper().encode()),
}
