"""Optional values (cel-go ``cel/library.go``). ``or`` and ``orValue`` belong to the interpreter:
they evaluate their argument lazily."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from apiserver.cel.decls import functions, overload
from apiserver.cel.errors import EvalError
from apiserver.cel.scalars import Duration, Timestamp
from apiserver.cel.values import NONE, Joined, Optional, count, flat, quoted
from apiserver.effort import hold, spend


def _of_non_zero(value: Any) -> Optional:
    return NONE if is_zero(value) else Optional(value)


def is_zero(value: Any) -> bool:
    if value is None or value is False:
        return True
    if isinstance(value, str | bytes | list | Mapping | Joined):
        return not value if not isinstance(value, Joined) else False
    if isinstance(value, int | float):
        return value == 0
    if isinstance(value, Duration):
        return value.ns == 0
    if isinstance(value, Timestamp):
        return value.ns == -62135596800 * 10**9
    return isinstance(value, Optional) and not value.present


def _value(optional: Optional) -> Any:
    if not optional.present:
        raise EvalError("optional.none() dereference")
    return optional.value


def _last(items: Any) -> Optional:
    return _element(items, count(items) - 1)


def _first(items: Any) -> Optional:
    return _element(items, 0)


def _element(items: Any, at: int) -> Optional:
    if isinstance(items, Joined):
        return Optional(items.at(at))
    return Optional(items[at]) if items else NONE


def _unwrap(items: list[Any]) -> list[Any]:
    items = flat(items)
    spend(2 * len(items))
    hold(8 * len(items))
    for item in items:
        if not isinstance(item, Optional):
            raise EvalError(f"value {quoted(item)} is not optional")
    return [item.value for item in items if item.present]


OPTIONALS = functions(
    overload("optional_of", "optional.of(V) -> optional(V)", Optional),
    overload("optional_ofNonZeroValue", "optional.ofNonZeroValue(V) -> optional(V)", _of_non_zero),
    overload("optional_none", "optional.none() -> optional(V)", lambda: NONE),
    overload("optional_value", "optional(V).value() -> V", _value),
    overload("optional_hasValue", "optional(V).hasValue() -> bool", lambda o: o.present),
    overload("optional_or_optional", "optional(V).or(optional(V)) -> optional(V)"),
    overload("optional_orValue_value", "optional(V).orValue(V) -> V"),
    overload("list_optindex_optional_int", "_[?_](list(V), int) -> optional(V)"),
    overload("optional_list_optindex_optional_int", "_[?_](optional(list(V)), int) -> optional(V)"),
    overload("map_optindex_optional_value", "_[?_](map(K, V), K) -> optional(V)"),
    overload(
        "optional_map_optindex_optional_value", "_[?_](optional(map(K, V)), K) -> optional(V)"
    ),
    overload("optional_list_index_int", "_[_](optional(list(V)), int) -> optional(V)"),
    overload("optional_map_index_value", "_[_](optional(map(K, V)), K) -> optional(V)"),
    overload("list_last", "list(V).last() -> optional(V)", _last),
    overload("list_first", "list(V).first() -> optional(V)", _first),
    overload("optional_unwrap", "optional.unwrap(list(optional(V))) -> list(V)", _unwrap),
    overload("optional_unwrapOpt", "list(optional(V)).unwrapOpt() -> list(V)", _unwrap),
)
