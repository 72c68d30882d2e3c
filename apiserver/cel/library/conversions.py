"""Conversions between the simple types: ``int(x)``, ``string(x)``, ``timestamp(x)`` ... (cel-go
``common/types``)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from apiserver.cel.decls import functions, overload
from apiserver.cel.errors import EvalError
from apiserver.cel.numbers import (
    double_to_int,
    double_to_uint,
    int_of,
    parse_double,
    parse_int,
    parse_uint,
    uint_of,
)
from apiserver.cel.scalars import Timestamp
from apiserver.cel.timestamps import (
    checked_timestamp,
    format_seconds,
    format_timestamp,
    parse_duration,
    parse_timestamp,
)
from apiserver.cel.values import SECOND, type_of
from apiserver.golang.strconv import NumError, format_float, parse_bool


def _from_string(parse: Callable[[str], Any], target: str) -> Callable[[str], Any]:
    def convert(text: str) -> Any:
        value = parse(text)
        if value is None:
            raise EvalError(f"type conversion error from 'string' to '{target}'")
        return value

    return convert


def _parse_bool(text: str) -> bool | None:
    try:
        return parse_bool(text)
    except NumError:
        return None


def _same(value: Any) -> Any:
    return value


def _decode(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        raise EvalError("invalid UTF-8 in bytes, cannot convert to string") from None


def int_to_timestamp(seconds: int) -> Timestamp:
    return checked_timestamp(seconds * SECOND)


def _int_to_duration(_value: int) -> Any:
    # declared, but cel-go's integers do not convert
    raise EvalError("type conversion error from 'int' to 'google.protobuf.Duration'")


string_to_int = _from_string(parse_int, "int")
string_to_duration = _from_string(parse_duration, "google.protobuf.Duration")
string_to_timestamp = _from_string(parse_timestamp, "google.protobuf.Timestamp")

CONVERSIONS = functions(
    overload("type", "type(A) -> type(A)", type_of),
    overload("bool_to_bool", "bool(bool) -> bool", _same),
    overload("string_to_bool", "bool(string) -> bool", _from_string(_parse_bool, "bool")),
    overload("bytes_to_bytes", "bytes(bytes) -> bytes", _same),
    overload("string_to_bytes", "bytes(string) -> bytes", str.encode),
    overload("double_to_double", "double(double) -> double", _same),
    overload("int64_to_double", "double(int) -> double", float),
    overload("string_to_double", "double(string) -> double", _from_string(parse_double, "double")),
    overload("uint64_to_double", "double(uint) -> double", float),
    overload("duration_to_duration", "duration(duration) -> duration", _same),
    overload("int64_to_duration", "duration(int) -> duration", _int_to_duration),
    overload("string_to_duration", "duration(string) -> duration", string_to_duration),
    overload("to_dyn", "dyn(A) -> dyn", _same),
    overload("int64_to_int64", "int(int) -> int", _same),
    overload("double_to_int64", "int(double) -> int", double_to_int),
    overload("duration_to_int64", "int(duration) -> int", lambda d: d.ns),
    overload("string_to_int64", "int(string) -> int", string_to_int),
    overload("timestamp_to_int64", "int(timestamp) -> int", lambda t: t.ns // SECOND),
    overload("uint64_to_int64", "int(uint) -> int", lambda u: int_of(int(u))),
    overload("string_to_string", "string(string) -> string", _same),
    overload("bool_to_string", "string(bool) -> string", lambda b: "true" if b else "false"),
    overload("bytes_to_string", "string(bytes) -> string", _decode),
    overload("double_to_string", "string(double) -> string", format_float),
    overload("duration_to_string", "string(duration) -> string", format_seconds),
    overload("int64_to_string", "string(int) -> string", str),
    overload("timestamp_to_string", "string(timestamp) -> string", format_timestamp),
    overload("uint64_to_string", "string(uint) -> string", str),
    overload("timestamp_to_timestamp", "timestamp(timestamp) -> timestamp", _same),
    overload("int64_to_timestamp", "timestamp(int) -> timestamp", int_to_timestamp),
    overload("string_to_timestamp", "timestamp(string) -> timestamp", string_to_timestamp),
    overload("uint64_to_uint64", "uint(uint) -> uint", _same),
    overload("double_to_uint64", "uint(double) -> uint", double_to_uint),
    overload("int64_to_uint64", "uint(int) -> uint", uint_of),
    overload("string_to_uint64", "uint(string) -> uint", _from_string(parse_uint, "uint")),
)
