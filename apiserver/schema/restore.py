"""Conversion of maps into built-in types, as kube-apiserver does it with the result of a strategic
merge patch and of apply: laxer with numbers than decoding, and with words of its own for what does
not fit.

Source: k8s.io/apimachinery ``runtime/converter.go``. What the conversion takes, `decode` takes too,
but for numbers, so this only looks at values that `decode` has refused.
"""

from __future__ import annotations

import math
from typing import Any

from apiserver.golang.math import int64_of
from apiserver.meta.gvk import GroupVersionKind
from apiserver.schema.decode import decoder
from apiserver.schema.decode_errors import DecodeError, Run
from apiserver.schema.types import Schema

_KINDS: dict[type, str] = {
    dict: "map",
    list: "slice",
    str: "string",
    bool: "bool",
    int: "int64",
    float: "float64",
}
_INTEGERS = {"int32": 32, "int64": 64, "uint8": 8}
_BYTE = Schema(type="integer", format="uint8", go_type="uint8")


def restored_object(schema: Schema, obj: Any, gvk: GroupVersionKind) -> Any:
    """As `restore`, of an object of this kind that was merged of maps. Raises DecodeError."""
    try:
        return restore(schema, obj)
    except DecodeError as error:
        text = f"unable to convert unstructured object to {gvk}: {error}"
        raise DecodeError(text) from None


def restore(schema: Schema, value: Any) -> Any:
    """``value`` with the numbers that the types of ``schema`` hold: integers that do not fit are
    cut to size as Go cuts them, and whole floats are integers. Raises DecodeError at the first
    value of another kind, members in Go's order."""
    if value is None:
        return None
    if schema.special == "bytes" and type(value) is not str:
        return _list(_BYTE, value)
    if schema.special:
        return _special(schema, value)
    if schema.properties is not None:
        return _struct(schema, value)
    if schema.additional is not None:
        return _map(schema.additional, value)
    if schema.items is not None:
        return _list(schema.items, value)
    return _scalar(schema, value) if schema.type else value


def _special(schema: Schema, value: Any) -> Any:
    """Types that read themselves say the same as ever; base64 is read as JSON."""
    run = Run("")
    decoder(schema)(value, run, None)
    if run.error:
        of = "error decoding from json: " if schema.special == "bytes" else ""
        raise DecodeError(of + run.error)
    return value


def _struct(schema: Schema, value: Any) -> Any:
    if type(value) is not dict:
        raise DecodeError(f"cannot restore struct from: {_KINDS[type(value)]}")
    members = schema.properties or {}
    restored = {
        name: restore(member, value[name]) for name, member in members.items() if name in value
    }
    return {name: restored.get(name, member) for name, member in value.items()}


def _map(values: Schema, value: Any) -> Any:
    if type(value) is not dict:
        raise DecodeError(f"cannot restore map from {_KINDS[type(value)]}")
    return {name: restore(values, member) for name, member in value.items()}


def _list(items: Schema, value: Any) -> Any:
    if type(value) is not list:
        raise DecodeError(f"cannot restore slice from {_KINDS[type(value)]}")
    return [restore(items, item) for item in value]


def _scalar(schema: Schema, value: Any) -> Any:
    """Go converts between bools, numbers and strings, JSON does not: what only Go would convert is
    called so."""
    kind = {"integer": schema.format or "int64", "number": "float64", "boolean": "bool"}.get(
        schema.type, schema.type
    )
    source = _KINDS[type(value)]
    if source == kind:
        return value
    if kind in _INTEGERS and source in ("int64", "float64"):
        if not math.isfinite(value) or value != int(value):
            raise DecodeError(f"cannot convert {source} to {schema.go_type or kind}")
        whole = int64_of(value)
        return whole % 256 if kind == "uint8" else _cut(whole, _INTEGERS[kind])
    if kind == "float64" and source == "int64":
        return value
    if kind == "string" and source == "int64":
        raise DecodeError(f"cannot convert int64 to {schema.go_type or kind}")
    raise DecodeError(f"unrecognized type: {kind}")


def _cut(value: int, bits: int) -> int:
    """The lowest bits as a signed number."""
    half = 1 << (bits - 1)
    return (value + half) % (1 << bits) - half
