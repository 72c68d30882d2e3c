"""Literals of protobuf's well-known messages: ``google.protobuf.BoolValue{value: true}`` and the
like, which are plain values in CEL.

Kubernetes declares no other messages, but these are always there (cel-go ``common/types/pb``).
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from typing import Any, Final

from apiserver.cel.env import Field
from apiserver.cel.errors import EvalError
from apiserver.cel.numbers import duration_of, timestamp_of
from apiserver.cel.scalars import Uint
from apiserver.cel.types import (
    BOOL,
    BYTES,
    DOUBLE,
    DURATION,
    DYN,
    INT,
    LIST,
    STRING,
    TIMESTAMP,
    UINT,
    Type,
    map_type,
    nullable,
)
from apiserver.cel.values import SECOND

_PREFIX: Final = "google.protobuf."
_OBJECT: Final = map_type(STRING, DYN)


class WellKnown:
    """A message that is a plain value. type: of its literals, as the checker sees them."""

    def __init__(
        self,
        name: str,
        type_: Type,
        fields: Mapping[str, Type],
        make: Callable[[dict[str, Any]], Any],
    ) -> None:
        self.name = _PREFIX + name
        self.type = type_
        self.fields = fields
        self.make = make

    def field(self, name: str) -> Field | None:
        field_type = self.fields.get(name)
        return Field(field_type, name) if field_type is not None else None


def _wrapper(
    name: str, type_: Type, default: Any, convert: Callable[[Any], Any] | None = None
) -> WellKnown:
    def make(fields: dict[str, Any]) -> Any:
        value = fields.get("value", default)
        return convert(value) if convert is not None else value

    return WellKnown(name, nullable(type_), {"value": type_}, make)


def _within(low: int, high: int) -> Callable[[Any], Any]:
    def check(value: Any) -> Any:
        if not low <= value <= high:
            raise EvalError("integer overflow" if low else "unsigned integer overflow")
        return value

    return check


def _single(value: float) -> float:
    try:
        return float(struct.unpack("f", struct.pack("f", value))[0])
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")


def _value(fields: dict[str, Any]) -> Any:
    """A oneof: the last field given counts; no field is null."""
    given = [v for k, v in fields.items() if k != "null_value"]
    return given[-1] if given else None


def _nanoseconds(fields: dict[str, Any]) -> int:
    return int(fields.get("seconds", 0)) * SECOND + int(fields.get("nanos", 0))


_TIME: Final = {"seconds": INT, "nanos": INT}
_VALUE: Final = {
    "null_value": INT,
    "number_value": DOUBLE,
    "string_value": STRING,
    "bool_value": BOOL,
    "struct_value": _OBJECT,
    "list_value": LIST,
}
MESSAGES: Final[dict[str, WellKnown]] = {
    m.name: m
    for m in (
        _wrapper("BoolValue", BOOL, False),
        _wrapper("BytesValue", BYTES, b""),
        _wrapper("DoubleValue", DOUBLE, 0.0),
        _wrapper("FloatValue", DOUBLE, 0.0, _single),
        _wrapper("Int32Value", INT, 0, _within(-(1 << 31), (1 << 31) - 1)),
        _wrapper("Int64Value", INT, 0),
        _wrapper("StringValue", STRING, ""),
        _wrapper("UInt32Value", UINT, Uint(0), _within(0, (1 << 32) - 1)),
        _wrapper("UInt64Value", UINT, Uint(0)),
        WellKnown("ListValue", LIST, {"values": LIST}, lambda fields: fields.get("values", [])),
        WellKnown("Struct", _OBJECT, {"fields": _OBJECT}, lambda fields: fields.get("fields", {})),
        WellKnown("Value", DYN, _VALUE, _value),
        WellKnown("Duration", DURATION, _TIME, lambda fields: duration_of(_nanoseconds(fields))),
        WellKnown("Timestamp", TIMESTAMP, _TIME, lambda fields: timestamp_of(_nanoseconds(fields))),
    )
}
