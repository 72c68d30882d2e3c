"""CBOR bodies: what kube-apiserver says of those that it cannot read.

Its decoder reads a body twice. The first pass wants apiVersion and kind alone: what stops it leaves
the kind unknown. The second one reads the object, and tells of a wrong type by the outermost member
that it stands in, and of an unknown member by its position, the first only. Source:
k8s.io/apimachinery ``runtime/serializer/cbor``, fxamacker/cbor v2 ``decode.go``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

import cbor2

from apiserver.codec import cbor
from apiserver.codec.body import BodyError, read_kind

_NO_KIND = "unable to determine group/version/kind: "
_TYPE_ERROR = re.compile(
    r"json: cannot unmarshal (\w+)(?: (\S+))? into Go (?:struct field \w+\.(\S+)|value) of type "
    r"(.+)"
)
_UNKNOWN = re.compile(r'unknown field "(.+)"')
_STEP = re.compile(r"\[(\d+)\]|([^.\[\]]+)")
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
        repeated = min(_repeats(data, 0)[0], default=None)
        if repeated is None:
            raise Refused(str(e)) from None
        depth, index, key = repeated
        text = f'cbor: found duplicate map key "{key}" at map element index {index}'
        raise (Refused(text) if depth else BodyError(_NO_KIND + text)) from None
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
    """Strict errors likewise: where the first unknown member stands in its map."""
    for error in errors:
        match = _UNKNOWN.fullmatch(error)
        steps = _STEP.findall(match[1]) if match else []
        holder = value
        for index, name in steps[:-1]:
            holder = (
                holder[int(index)]
                if index
                else holder.get(name)
                if isinstance(holder, dict)
                else None
            )
        if steps and isinstance(holder, dict) and steps[-1][1] in holder:
            return [
                f"cbor: found unknown field at map element index {list(holder).index(steps[-1][1])}"
            ]
    return list(errors)


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


def _repeats(data: bytes, at: int, depth: int = 0) -> tuple[list[tuple[bool, int, str]], int]:
    """([(whether it is below the outermost map, index, key) of each map's first repeated key], end)
    of the item at ``at``.

    The data is known to be well-formed."""
    major, info, count, at = _head(data, at)
    repeats: list[tuple[bool, int, str]] = []
    if major in (2, 3) and info != 31:
        return repeats, at + count
    if major in (0, 1, 7):
        return repeats, at
    items = {4: count, 5: 2 * count, 6: 1}.get(major, 0)
    seen: set[str] = set()
    i, told = 0, False
    while (data[at] != 0xFF) if info == 31 else i < items:
        start = at
        inner, at = _repeats(data, at, depth + (major != 6))
        repeats += inner
        if major == 5 and i % 2 == 0 and not told:
            key = cbor2.loads(data[start:at])
            name = key.decode(errors="replace") if isinstance(key, bytes) else str(key)
            if name in seen:
                repeats.append((depth > 0, i // 2, name))
                told = True
            seen.add(name)
        i += 1
    return repeats, at + (info == 31)


def _head(data: bytes, at: int) -> tuple[int, int, int, int]:
    """(major type, additional information, argument, where the content begins)"""
    major, info = data[at] >> 5, data[at] & 31
    size = {24: 1, 25: 2, 26: 4, 27: 8}.get(info, 0)
    argument = int.from_bytes(data[at + 1 : at + 1 + size], "big") if size else info
    return major, info, argument, at + 1 + size
