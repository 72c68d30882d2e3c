"""Lists, sets, and what two-variable comprehensions need (cel-go ``ext/lists.go``, ``ext/sets.go``; Kubernetes' ``library/lists.go``)."""

from __future__ import annotations

import operator
from itertools import islice
from typing import Any, Final

from apiserver.cel.ast import Call, Comprehension, Expr, Ident, ListExpr, Literal, Select
from apiserver.cel.decls import Overload, functions, overload
from apiserver.cel.errors import BudgetExceeded, EvalError
from apiserver.cel.macros import STANDARD, Expander, MacroError, MacroKey
from apiserver.cel.numbers import duration_of, int_of, uint_of
from apiserver.cel.values import Duration, Uint, contains, equal, type_of

_COMPARABLE = ("int", "uint", "double", "bool", "duration", "timestamp", "string", "bytes")


# --- cel-go's lists -----------------------------------------------------------------------------------------------------------------
def _slice(items: list[Any], start: int, end: int) -> list[Any]:
    if start < 0 or end < 0:
        raise EvalError(f"cannot slice({start}, {end}), negative indexes not supported")
    if start > end:
        raise EvalError(f"cannot slice({start}, {end}), start index must be less than or equal to end index")
    if len(items) < end:
        raise EvalError(f"cannot slice({start}, {end}), list is length {len(items)}")
    return list(items[start:end])


def _flatten(items: list[Any], depth: int = 1) -> list[Any]:
    if depth < 0:
        raise EvalError("level must be non-negative")
    made: list[Any] = []
    for item in items:
        if isinstance(item, list) and depth > 0:
            made += _flatten(item, depth - 1)
        else:
            made.append(item)
    return made


def _sort(items: list[Any]) -> list[Any]:
    return _sort_by_keys(items, items)


def _sort_by_keys(items: list[Any], keys: list[Any]) -> list[Any]:
    if len(items) != len(keys):
        sizes = f"{len(items)} and {len(keys)} elements respectively"
        raise EvalError(f"@sortByAssociatedKeys() expected a list of the same size as the associated keys list, but got {sizes}")
    if len({type_of(k) for k in keys}) > 1:
        raise EvalError("list elements must have the same type")
    if keys and type_of(keys[0]).kind not in _COMPARABLE:
        raise EvalError("list elements must be comparable")
    return [items[i] for i in sorted(range(len(items)), key=keys.__getitem__)]


_MAX_RANGE = 10_000_000


def _range(n: int) -> list[int]:
    if n > _MAX_RANGE:
        raise BudgetExceeded  # a list costs its length, and no caller allows as much
    return list(range(n))


def _distinct(items: list[Any]) -> list[Any]:
    made: list[Any] = []
    for item in items:
        if not contains(made, item):
            made.append(item)
    return made


def _sort_by(pos: int, target: Expr | None, args: list[Expr]) -> Expr:
    if not isinstance(target, ListExpr | Ident | Comprehension | Call | Select):
        at = target.pos if target is not None else pos
        raise MacroError(at, "sortBy can only be applied to a list, identifier, comprehension, call or select expression")
    name = "@__sortBy_input__"
    keys = STANDARD[("map", 2, True)](pos, Ident(pos, name), args)
    assert keys is not None
    body = Call(pos, "@sortByAssociatedKeys", [keys], Ident(pos, name))
    return Comprehension(pos, "bind", ListExpr(pos, []), "#unused", "", name, target, Literal(pos, False), Ident(pos, name), body)


LIST_MACROS: Final[dict[MacroKey, Expander]] = {("sortBy", 2, True): _sort_by}


def _type_name(t: str) -> str:
    return {"duration": "google.protobuf.Duration", "timestamp": "google.protobuf.Timestamp"}.get(t, t)


LISTS = functions(
    overload("list_slice", "list(T).slice(int, int) -> list(T)", _slice),
    overload("list_flatten", "list(list(T)).flatten() -> list(T)", _flatten),
    overload("list_flatten_int", "list(dyn).flatten(int) -> list(dyn)", _flatten),
    *(overload(f"list_{_type_name(t)}_sort", f"list({t}).sort() -> list({t})", _sort) for t in _COMPARABLE),
    *(
        overload(f"list_{_type_name(t)}_sortByAssociatedKeys", f"list(T).@sortByAssociatedKeys(list({t})) -> list(T)", _sort_by_keys)
        for t in _COMPARABLE
    ),
    overload("lists_range", "lists.range(int) -> list(int)", _range),
    overload("list_reverse", "list(T).reverse() -> list(T)", lambda items: items[::-1]),
    overload("list_distinct", "list(T).distinct() -> list(T)", _distinct),
)


# --- sets ---------------------------------------------------------------------------------------------------------------------------
def _sets_contains(items: list[Any], some: list[Any]) -> bool:
    return all(contains(items, item) for item in some)


SETS = functions(
    overload("list_sets_contains_list", "sets.contains(list(T), list(T)) -> bool", _sets_contains),
    overload(
        "list_sets_equivalent_list", "sets.equivalent(list(T), list(T)) -> bool", lambda a, b: _sets_contains(a, b) and _sets_contains(b, a)
    ),
    overload("list_sets_intersects_list", "sets.intersects(list(T), list(T)) -> bool", lambda a, b: any(contains(b, item) for item in a)),
)

# the interpreter folds the two-variable macros itself; the checker wants the function that their expansion calls
MAP_INSERT = functions(
    overload("@mapInsert_map_map", "cel.@mapInsert(map(K, V), map(K, V)) -> map(K, V)"),
    overload("@mapInsert_map_key_value", "cel.@mapInsert(map(K, V), K, V) -> map(K, V)"),
)


# --- Kubernetes' lists --------------------------------------------------------------------------------------------------------------
def _is_sorted(items: list[Any]) -> bool:
    return not any(map(operator.lt, islice(items, 1, None), items))


def _sum(zero: Any) -> Any:
    def total(items: list[Any]) -> Any:
        if isinstance(zero, Duration):
            return duration_of(sum(i.ns for i in items))
        if isinstance(zero, float):
            return float(sum(items, 0.0))
        whole = sum(int(i) for i in items)
        return uint_of(whole) if isinstance(zero, Uint) else int_of(whole)

    return total


def _extreme(name: str, pick: Any) -> Any:
    def find(items: list[Any]) -> Any:
        if not items:
            raise EvalError(f"{name} called on empty list")
        return pick(items)

    return find


def _index_of(items: list[Any], value: Any) -> int:
    if type(value) is str:
        try:
            return items.index(value)
        except ValueError:
            return -1
    return next((i for i, item in enumerate(items) if equal(item, value)), -1)


def _last_index_of(items: list[Any], value: Any) -> int:
    return next((i for i in range(len(items) - 1, -1, -1) if equal(items[i], value)), -1)


_ZEROS: Final[dict[str, Any]] = {"int": 0, "uint": Uint(0), "double": 0.0, "duration": Duration(0)}


def _kubernetes_lists() -> list[Overload]:
    made = [overload(f"list_{t}_is_sorted_bool", f"list({t}).isSorted() -> bool", _is_sorted) for t in _COMPARABLE]
    made += [overload(f"list_{t}_sum_{t}", f"list({t}).sum() -> {t}", _sum(zero)) for t, zero in _ZEROS.items()]
    for name, pick in (("max", max), ("min", min)):
        made += [overload(f"list_{t}_{name}_self", f"list({t}).{name}() -> {t}", _extreme(name, pick)) for t in _COMPARABLE]
    made.append(overload("list_a_index_of_int", "list(T).indexOf(T) -> int", _index_of))
    made.append(overload("list_a_last_index_of_int", "list(T).lastIndexOf(T) -> int", _last_index_of))
    return made


KUBERNETES_LISTS = functions(*_kubernetes_lists())
