"""Lists, sets, and what two-variable comprehensions need (cel-go ``ext/lists.go``, ``ext/sets.go``;
Kubernetes' ``library/lists.go``)."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable
from functools import reduce
from itertools import accumulate, islice
from typing import Any, Final

from apiserver.cel.decls import Overload, functions, overload
from apiserver.cel.errors import EvalError
from apiserver.cel.numbers import duration_of, int_of, uint_of
from apiserver.cel.scalars import Duration, Uint
from apiserver.cel.syntax.ast import Call, Comprehension, Expr, Ident, ListExpr, Literal, Select
from apiserver.cel.syntax.macros import STANDARD, Expander, MacroError, MacroKey
from apiserver.cel.values import (
    Joined,
    contains,
    count,
    equal,
    flat,
    index_of,
    size_of_text,
    type_of,
)
from apiserver.effort import hold, spend

_COMPARABLE = ("int", "uint", "double", "bool", "duration", "timestamp", "string", "bytes")


# --- cel-go's lists -------------------------------------------------------------------------------
def _slice(items: list[Any] | Joined, start: int, end: int) -> list[Any]:
    if start < 0 or end < 0:
        raise EvalError(f"cannot slice({start}, {end}), negative indexes not supported")
    if start > end:
        raise EvalError(
            f"cannot slice({start}, {end}), start index must be less than or equal to end index"
        )
    if count(items) < end:
        raise EvalError(f"cannot slice({start}, {end}), list is length {count(items)}")
    spend((end - start) // 4)
    hold(8 * (end - start))
    return (
        [items.at(i) for i in range(start, end)]
        if isinstance(items, Joined)
        else list(items[start:end])
    )


def _flatten(items: list[Any] | Joined, depth: int = 1) -> list[Any]:
    if depth < 0:
        raise EvalError("level must be non-negative")
    leaves: list[Any] = []
    for item in items:
        spend(3)
        if isinstance(item, list | Joined) and depth > 0:
            leaves += _flatten(item, depth - 1)
        else:
            hold(9)
            leaves.append(item)
    return leaves


def _sort(items: list[Any] | Joined) -> list[Any]:
    return _sort_by_keys(items, items)


def _sort_by_keys(items: list[Any] | Joined, keys: list[Any] | Joined) -> list[Any]:
    items, keys = flat(items), flat(keys)
    if len(items) != len(keys):
        sizes = f"{len(items)} and {len(keys)} elements respectively"
        raise EvalError(
            f"@sortByAssociatedKeys() expected a list of the same size as the associated keys "
            f"list, but got {sizes}"
        )
    if len({type_of(k) for k in keys}) > 1:
        raise EvalError("list elements must have the same type")
    if keys and type_of(keys[0]).kind not in _COMPARABLE:
        raise EvalError("list elements must be comparable")
    spend(len(keys) * 20 + sum(map(size_of_text, keys)) // 10)
    return [items[i] for i in sorted(range(len(items)), key=keys.__getitem__)]


def _range(n: int) -> list[int]:
    spend(n // 2)
    hold(40 * n)
    return list(range(n))


def _reverse(items: list[Any] | Joined) -> list[Any]:
    hold(8 * count(items))
    return flat(items)[::-1]


def _distinct(items: list[Any]) -> list[Any]:
    distinct: list[Any] = []
    for item in items:
        if not contains(distinct, item):
            distinct.append(item)
    return distinct


def _sort_by(pos: int, target: Expr | None, args: list[Expr]) -> Expr:
    if not isinstance(target, ListExpr | Ident | Comprehension | Call | Select):
        at = target.pos if target is not None else pos
        raise MacroError(
            at,
            "sortBy can only be applied to a list, identifier, comprehension, call or select "
            "expression",
        )
    name = "@__sortBy_input__"
    keys = STANDARD[("map", 2, True)](pos, Ident(pos, name), args)
    assert keys is not None
    body = Call(pos, "@sortByAssociatedKeys", [keys], Ident(pos, name))
    return Comprehension(
        pos,
        "bind",
        ListExpr(pos, []),
        "#unused",
        "",
        name,
        target,
        Literal(pos, False),
        Ident(pos, name),
        body,
    )


LIST_MACROS: Final[dict[MacroKey, Expander]] = {("sortBy", 2, True): _sort_by}


def _type_name(t: str) -> str:
    return {"duration": "google.protobuf.Duration", "timestamp": "google.protobuf.Timestamp"}.get(
        t, t
    )


LISTS = functions(
    overload("list_slice", "list(T).slice(int, int) -> list(T)", _slice),
    overload("list_flatten", "list(list(T)).flatten() -> list(T)", _flatten),
    overload("list_flatten_int", "list(dyn).flatten(int) -> list(dyn)", _flatten),
    *(
        overload(f"list_{_type_name(t)}_sort", f"list({t}).sort() -> list({t})", _sort)
        for t in _COMPARABLE
    ),
    *(
        overload(
            f"list_{_type_name(t)}_sortByAssociatedKeys",
            f"list(T).@sortByAssociatedKeys(list({t})) -> list(T)",
            _sort_by_keys,
        )
        for t in _COMPARABLE
    ),
    overload("lists_range", "lists.range(int) -> list(int)", _range),
    overload("list_reverse", "list(T).reverse() -> list(T)", _reverse),
    overload("list_distinct", "list(T).distinct() -> list(T)", _distinct),
)


# --- sets -----------------------------------------------------------------------------------------
def _sets_contains(items: list[Any], some: list[Any]) -> bool:
    return all(contains(items, item) for item in some)


SETS = functions(
    overload("list_sets_contains_list", "sets.contains(list(T), list(T)) -> bool", _sets_contains),
    overload(
        "list_sets_equivalent_list",
        "sets.equivalent(list(T), list(T)) -> bool",
        lambda a, b: _sets_contains(a, b) and _sets_contains(b, a),
    ),
    overload(
        "list_sets_intersects_list",
        "sets.intersects(list(T), list(T)) -> bool",
        lambda a, b: any(contains(b, item) for item in a),
    ),
)

# the interpreter folds the two-variable macros itself; the checker wants the function that their
# expansion calls
MAP_INSERT = functions(
    overload("@mapInsert_map_map", "cel.@mapInsert(map(K, V), map(K, V)) -> map(K, V)"),
    overload("@mapInsert_map_key_value", "cel.@mapInsert(map(K, V), K, V) -> map(K, V)"),
)


# --- Kubernetes' lists ----------------------------------------------------------------------------
def _is_sorted(items: list[Any]) -> bool:
    items = flat(items)
    spend(len(items))
    return not any(map(operator.lt, islice(items, 1, None), items))


def _sum(zero: Any) -> Any:
    """From the left: a total that overflows on the way is an error, and so is an item of
    another type than the first."""
    kind = type(zero)

    def total(items: list[Any]) -> Any:
        items = flat(items)
        spend(2 * len(items))
        if any(type(i) is not kind for i in items):
            raise EvalError("no such overload")
        if kind is float:
            return reduce(operator.add, items, zero)
        if kind is Duration:
            return _last(duration_of, (i.ns for i in items))
        return _last(uint_of if kind is Uint else int_of, map(int, items))

    return total


def _last(checked: Callable[[int], Any], numbers: Iterable[int]) -> Any:
    """The last of the totals, all of which have to be in range."""
    totals = list(accumulate(numbers, initial=0))
    checked(min(totals))
    checked(max(totals))
    return checked(totals[-1])


def _extreme(name: str, pick: Any) -> Any:
    def find(items: list[Any]) -> Any:
        items = flat(items)
        spend(len(items))
        if not items:
            raise EvalError(f"{name} called on empty list")
        return pick(items)

    return find


def _last_index_of(items: list[Any], value: Any) -> int:
    items = flat(items)
    spend(4 * len(items))
    return next((i for i in range(len(items) - 1, -1, -1) if equal(items[i], value)), -1)


_ZEROS: Final[dict[str, Any]] = {"int": 0, "uint": Uint(0), "double": 0.0, "duration": Duration(0)}


def _kubernetes_lists() -> list[Overload]:
    overloads = [
        overload(f"list_{t}_is_sorted_bool", f"list({t}).isSorted() -> bool", _is_sorted)
        for t in _COMPARABLE
    ]
    overloads += [
        overload(f"list_{t}_sum_{t}", f"list({t}).sum() -> {t}", _sum(zero))
        for t, zero in _ZEROS.items()
    ]
    for name, pick in (("max", max), ("min", min)):
        overloads += [
            overload(f"list_{t}_{name}_self", f"list({t}).{name}() -> {t}", _extreme(name, pick))
            for t in _COMPARABLE
        ]
    overloads.append(overload("list_a_index_of_int", "list(T).indexOf(T) -> int", index_of))
    overloads.append(
        overload("list_a_last_index_of_int", "list(T).lastIndexOf(T) -> int", _last_index_of)
    )
    return overloads


KUBERNETES_LISTS = functions(*_kubernetes_lists())
