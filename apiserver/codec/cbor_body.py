"""CBOR bodies: what kube-apiserver says of those that it cannot read.

Its decoder reads a body twice. The first pass wants apiVersion and kind alone: what stops it leaves
the kind unknown. The second one reads the object, and tells of a wrong type by the outermost member
that it stands in, and of a repeated or an unknown member by its place in its map. It tells of one
only: of a map's own first one, whatever stands further down, else of what the first of its members
has to tell. Source: k8s.io/apimachinery ``runtime/serializer/cbor``, fxamacker/cbor v2
``decode.go``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import cbor2

from apiserver.codec import cbor
from apiserver.codec.body import BodyError, read_kind

_NO_KIND = "unable to determine group/version/kind: "
_TYPE_ERROR = re.compile(
    r"json: cannot unmarshal (\w+)(?: (\S+))? into Go (?:struct field \w+\.(\S+)|value) of type "
    r"(.+)"
)
_UNKNOWN = re.compile(r'unknown field "(.+)"')
_INDEX, _END = re.compile(r"\[(\d+)\]"), re.compile(r"[.\[]")
_INTEGERS = ("int32", "int64")
_CBOR_TYPES: dict[type, str] = {str: "UTF-8 text string", list: "array", dict: "map"}
_JSON_WORDS: dict[type, str] = {str: "string", list: "array", dict: "object", bool: "bool"}


class Refused(ValueError):
    """A well-formed body of a known kind that holds what the decoder does not take."""


def read(data: bytes) -> Any:
    """The value of a body. Raises BodyError where its kind does not show, Refused where only the
    rest is at fault."""
    try:
        value = cbor.loads(data)
    except cbor.Malformed as e:
        raise BodyError(f"{_NO_KIND}{e}") from None
    except cbor.CBORError as e:
        repeated = _repeated(data, 0)[0]
        if repeated is None:
            raise (BodyError(f"{_NO_KIND}{e}") if _hides_kind(data) else Refused(str(e))) from None
        text = f'cbor: found duplicate map key "{repeated.key}" at map element index '
        text += str(repeated.pair)
        raise (Refused(text) if repeated.depth else BodyError(_NO_KIND + text)) from None
    if value is None:
        value = {}
    if not isinstance(value, dict):
        raise BodyError(f"{_NO_KIND}{_mismatch(value, 'v1.TypeMeta', '')}")
    for name in ("kind", "apiVersion"):
        if not isinstance(value.get(name), str | None):
            raise BodyError(f"{_NO_KIND}{_mismatch(value[name], 'string', 'v1.TypeMeta.' + name)}")
    read_kind(value)
    return value


def type_text(text: str, value: Any, go_type: str) -> str:
    """An error of apiserver.schema.decode as this decoder tells it. value: the body; go_type: of
    the whole ("v1.ConfigMap")."""
    match = _TYPE_ERROR.fullmatch(text)
    if match is None:
        return text
    names = (match[3] or "").split(".") if match[3] else []
    wrong = next((v for v in _at(value, names) if _word(v) == match[1]), None)
    return _mismatch(wrong, match[4], f"{go_type}.{names[0]}" if names else "")


def unknown_texts(errors: Sequence[str], value: Any) -> list[str]:
    """Strict errors likewise: one tells where an unknown member stands in its map."""
    steps = [_steps(match[1], value) for error in errors if (match := _UNKNOWN.fullmatch(error))]
    index = _first_unknown(value, [path for path in steps if path])
    if index is None:
        return list(errors)
    return [f"cbor: found unknown field at map element index {index}"]


def _steps(path: str, value: Any) -> tuple[str | int, ...]:
    """``spec.containers[1].x`` as keys and indexes; () where there is no such place. Keys may have
    dots and brackets themselves."""
    if isinstance(value, list):
        match = _INDEX.match(path)
        if match is None or int(match[1]) >= len(value):
            return ()
        index, rest = int(match[1]), path[match.end() :].removeprefix(".")
        return (index, *below) if (below := _steps(rest, value[index])) else ()
    if not isinstance(value, dict):
        return ()
    if path in value:
        return (path,)
    for end in _END.finditer(path):
        key = path[: end.start()]
        if key in value and (below := _steps(path[len(key) :].removeprefix("."), value[key])):
            return (key, *below)
    return ()


def _first_unknown(value: Any, unknown: Sequence[tuple[str | int, ...]]) -> int | None:
    """``unknown``: where they are, from here."""
    own = {path[0] for path in unknown if len(path) == 1}
    below: dict[str | int, list[tuple[str | int, ...]]] = {}
    for path in unknown:
        if len(path) > 1:
            below.setdefault(path[0], []).append(path[1:])
    if own:
        return next(i for i, key in enumerate(value) if key in own)
    members = enumerate(value) if isinstance(value, list) else value.items()
    for key, member in members:
        if key in below:
            return _first_unknown(member, below[key])
    return None


def _mismatch(value: Any, go_type: str, field: str) -> str:
    place = f"Go struct field {field}" if field else "Go value"
    text = f"cbor: cannot unmarshal {_cbor_type(value)} into {place} of type {go_type}"
    if isinstance(value, list) and "." in go_type and "[" not in go_type:
        return f"{text} (cannot decode CBOR array to struct without toarray option)"
    overflows = type(value) is int and go_type in _INTEGERS
    return f"{text} ({value} overflows {go_type})" if overflows else text


def _cbor_type(value: Any) -> str:
    if isinstance(value, int) and not isinstance(value, bool):
        return "negative integer" if value < 0 else "positive integer"
    return _CBOR_TYPES.get(type(value), "primitives")


def _word(value: Any) -> str:
    """What the JSON decoder calls the value."""
    return _JSON_WORDS.get(type(value), "number")


def _at(value: Any, names: Sequence[str]) -> Iterator[Any]:
    """Values at a path that leaves out indexes of lists and keys of maps, in order of the
    document."""
    if isinstance(value, list):
        for item in value:
            yield from _at(item, names)
    elif isinstance(value, dict) and names and names[0] in value:
        yield from _at(value[names[0]], names[1:])
    elif isinstance(value, dict):
        if not names:
            yield value
        for member in value.values():
            yield from _at(member, names)
    if not names and not isinstance(value, dict):
        yield value


class _Repeated(NamedTuple):
    """depth: of its map, 0 for the outermost one; pair: number of the one that has the key
    again."""

    depth: int
    pair: int
    key: str


def _repeated(data: bytes, at: int, depth: int = 0) -> tuple[_Repeated | None, int]:
    """(what is told of the item at ``at``, where it ends). The data is known to be well-formed."""
    major, info, count, at = _head(data, at)
    if major in (2, 3) and info != 31:
        return None, at + count
    if major in (0, 1, 7):
        return None, at
    items = {4: count, 5: 2 * count, 6: 1}.get(major, 0)
    own: _Repeated | None = None
    below: _Repeated | None = None
    seen: set[str] = set()
    i = 0
    while (data[at] != 0xFF) if info == 31 else i < items:
        start = at
        inner, at = _repeated(data, at, depth + (major != 6))
        below = below or inner
        if major == 5 and i % 2 == 0 and own is None:
            name = _text(data[start:at])
            if name in seen:
                own = _Repeated(depth, i // 2, name)
            if name is not None:
                seen.add(name)
        i += 1
    return own or below, at + (info == 31)


def _text(item: bytes) -> str | None:
    """Of a key or a value; None for one that cannot be read."""
    try:
        value = cbor2.loads(item)
    except (cbor2.CBORError, ValueError, OverflowError):
        return None
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)


def _hides_kind(data: bytes) -> bool:
    """Whether what cannot be read is a key of the outermost map, apiVersion or kind. The data is
    known to be well-formed."""
    major, info, count, at = _head(data, 0)
    while major == 6:
        major, info, count, at = _head(data, at)
    if major != 5:
        return False
    i = 0
    while (data[at] != 0xFF) if info == 31 else i < count:
        value_at = _repeated(data, at)[1]
        end = _repeated(data, value_at)[1]
        name = _text(data[at:value_at])
        if name is None or (name in ("apiVersion", "kind") and _text(data[value_at:end]) is None):
            return True
        at = end
        i += 1
    return False


def _head(data: bytes, at: int) -> tuple[int, int, int, int]:
    """(major type, additional information, argument, where the content begins)"""
    major, info = data[at] >> 5, data[at] & 31
    size = {24: 1, 25: 2, 26: 4, 27: 8}.get(info, 0)
    argument = int.from_bytes(data[at + 1 : at + 1 + size], "big") if size else info
    return major, info, argument, at + 1 + size
