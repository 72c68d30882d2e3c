"""Operators and functions of the standard library (cel-go ``common/stdlib/standard.go``).

Operators whose implementation is None are the interpreter's own: logic, conditionals, equality,
selection and indexing.
"""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable
from typing import Any

from apiserver.cel.decls import Overload, functions, merge, overload
from apiserver.cel.library.clock import CLOCK
from apiserver.cel.library.conversions import CONVERSIONS
from apiserver.cel.library.regex import found_in
from apiserver.cel.numbers import (
    divide_doubles,
    divide_ints,
    divide_uints,
    duration_of,
    int_of,
    modulo_ints,
    modulo_uints,
    timestamp_of,
    uint_of,
)
from apiserver.cel.values import contains, join
from apiserver.effort import hold

_ORDERS = {
    "less": ("_<_", operator.lt),
    "less_equals": ("_<=_", operator.le),
    "greater": ("_>_", operator.gt),
    "greater_equals": ("_>=_", operator.ge),
}
_ORDERED = (
    "bool",
    "int64",
    "int64_double",
    "int64_uint64",
    "uint64",
    "uint64_double",
    "uint64_int64",
    "double",
    "double_int64",
    "double_uint64",
    "string",
    "bytes",
    "timestamp",
    "duration",
)
_SHORT = {"int64": "int", "uint64": "uint"}


def _orders() -> list[Overload]:
    overloads = []
    for name, (symbol, impl) in _ORDERS.items():
        for types in _ORDERED:
            parts = [_SHORT.get(t, t) for t in types.split("_")]
            lossy = "_" in types and "double" in types
            overloads.append(
                overload(
                    f"{name}_{types}",
                    f"{symbol}({parts[0]}, {parts[-1]}) -> bool",
                    _as_doubles(impl) if lossy else impl,
                )
            )
    return overloads


def _as_doubles(order: Callable[[Any, Any], bool]) -> Callable[[Any, Any], bool]:
    """An integer and a double are compared as doubles, so that large integers lose their last
    digits."""
    return lambda a, b: order(float(a), float(b))


_LONG = 1000


def _add_texts(a: Any, b: Any) -> Any:
    if len(a) + len(b) > _LONG:
        hold(sys.getsizeof(a) + sys.getsizeof(b))
    return a + b


def matches(text: str, pattern: str) -> bool:
    return found_in(pattern, text)


def _not_strictly_false(value: Any) -> bool:
    return value is not False


def _in_map(key: Any, m: Any) -> bool:
    try:
        return key in m
    except TypeError:  # a list or a map, which no map has as a key
        return False


def _additions() -> list[Overload]:
    return [
        overload("add_bytes", "_+_(bytes, bytes) -> bytes", _add_texts),
        overload("add_double", "_+_(double, double) -> double", operator.add),
        overload(
            "add_duration_duration",
            "_+_(duration, duration) -> duration",
            lambda a, b: duration_of(a.ns + b.ns),
        ),
        overload(
            "add_duration_timestamp",
            "_+_(duration, timestamp) -> timestamp",
            lambda a, b: timestamp_of(a.ns + b.ns, b.offset),
        ),
        overload(
            "add_timestamp_duration",
            "_+_(timestamp, duration) -> timestamp",
            lambda a, b: timestamp_of(a.ns + b.ns, a.offset),
        ),
        overload("add_int64", "_+_(int, int) -> int", lambda a, b: int_of(a + b)),
        overload("add_list", "_+_(list(A), list(A)) -> list(A)", join),
        overload("add_string", "_+_(string, string) -> string", _add_texts),
        overload("add_uint64", "_+_(uint, uint) -> uint", lambda a, b: uint_of(int(a) + int(b))),
    ]


def _products() -> list[Overload]:
    return [
        overload("divide_double", "_/_(double, double) -> double", divide_doubles),
        overload("divide_int64", "_/_(int, int) -> int", divide_ints),
        overload("divide_uint64", "_/_(uint, uint) -> uint", divide_uints),
        overload("modulo_int64", "_%_(int, int) -> int", modulo_ints),
        overload("modulo_uint64", "_%_(uint, uint) -> uint", modulo_uints),
        overload("multiply_double", "_*_(double, double) -> double", operator.mul),
        overload("multiply_int64", "_*_(int, int) -> int", lambda a, b: int_of(a * b)),
        overload(
            "multiply_uint64", "_*_(uint, uint) -> uint", lambda a, b: uint_of(int(a) * int(b))
        ),
    ]


def _differences() -> list[Overload]:
    return [
        overload("negate_double", "-_(double) -> double", operator.neg),
        overload("negate_int64", "-_(int) -> int", lambda a: int_of(-a)),
        overload("subtract_double", "_-_(double, double) -> double", operator.sub),
        overload(
            "subtract_duration_duration",
            "_-_(duration, duration) -> duration",
            lambda a, b: duration_of(a.ns - b.ns),
        ),
        overload("subtract_int64", "_-_(int, int) -> int", lambda a, b: int_of(a - b)),
        overload(
            "subtract_timestamp_duration",
            "_-_(timestamp, duration) -> timestamp",
            lambda a, b: timestamp_of(a.ns - b.ns, a.offset),
        ),
        overload(
            "subtract_timestamp_timestamp",
            "_-_(timestamp, timestamp) -> duration",
            lambda a, b: duration_of(a.ns - b.ns),
        ),
        overload(
            "subtract_uint64", "_-_(uint, uint) -> uint", lambda a, b: uint_of(int(a) - int(b))
        ),
    ]


def _containers() -> list[Overload]:
    return [
        overload("index_list", "_[_](list(A), int) -> A"),
        overload("index_map", "_[_](map(A, B), A) -> B"),
        overload("in_list", "@in(A, list(A)) -> bool", lambda value, items: contains(items, value)),
        overload("in_map", "@in(A, map(A, B)) -> bool", _in_map),
        overload("size_bytes", "size(bytes) -> int", len),
        overload("bytes_size", "bytes.size() -> int", len),
        overload("size_list", "size(list(A)) -> int", len),
        overload("list_size", "list(A).size() -> int", len),
        overload("size_map", "size(map(A, B)) -> int", len),
        overload("map_size", "map(A, B).size() -> int", len),
        overload("size_string", "size(string) -> int", len),
        overload("string_size", "string.size() -> int", len),
    ]


_endswith: Callable[..., bool] = str.endswith

STANDARD = merge(
    functions(
        overload("conditional", "_?_:_(bool, A, A) -> A"),
        overload("logical_and", "_&&_(bool, bool) -> bool"),
        overload("logical_or", "_||_(bool, bool) -> bool"),
        overload("logical_not", "!_(bool) -> bool", operator.not_),
        overload("not_strictly_false", "@not_strictly_false(bool) -> bool", _not_strictly_false),
        overload("equals", "_==_(A, A) -> bool"),
        overload("not_equals", "_!=_(A, A) -> bool"),
        *_additions(),
        *_products(),
        *_differences(),
        *_orders(),
        *_containers(),
        overload("contains_string", "string.contains(string) -> bool", operator.contains),
        overload("ends_with_string", "string.endsWith(string) -> bool", _endswith),
        overload("starts_with_string", "string.startsWith(string) -> bool", str.startswith),
        overload("matches", "matches(string, string) -> bool", matches),
        overload("matches_string", "string.matches(string) -> bool", matches),
    ),
    CONVERSIONS,
    CLOCK,
)
