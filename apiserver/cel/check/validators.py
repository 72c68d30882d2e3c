"""Checks of literals after the type check, as Kubernetes enables them (cel-go
``cel/validator.go``)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any, Final

from apiserver.cel.check.formatcheck import check_format_calls
from apiserver.cel.env import Env
from apiserver.cel.errors import CompileError, EvalError
from apiserver.cel.library.conversions import (
    int_to_timestamp,
    string_to_duration,
    string_to_timestamp,
)
from apiserver.cel.syntax.ast import Call, Expr, ListExpr, Literal, MapExpr, children
from apiserver.cel.types import DYN, Type, unwrap_optional
from apiserver.effort import spend
from apiserver.golang.regexp import RegexError, parse_regex

_MOST_ERRORS: Final = 1000
"""That are counted; 100 are shown."""


def validate_literals(tree: Expr, _env: Env) -> list[CompileError]:
    """What is wrong at a place that macros have doubled (optMap's target) is told as often as it
    stands in the tree."""
    nodes = list(walk(tree))
    errors = _faults(nodes)
    if not errors:
        return []
    times = _occurrences(tree)
    told = (error for node, error in errors for _ in range(times[id(node)]))
    return list(islice(told, _MOST_ERRORS))


Fault = tuple[Expr, CompileError]


def _faults(nodes: list[Expr]) -> list[Fault]:
    errors: list[Fault] = []
    for function, valid in _ARGUMENTS.items():
        for e in nodes:
            if (
                isinstance(e, Call)
                and e.function == function
                and e.args
                and isinstance(e.args[0], Literal)
                and not valid(e.args[0].value)
            ):
                errors.append((e, CompileError(e.args[0].pos, f"invalid {function} argument")))
    exempt = _inside_format(nodes)
    for e in nodes:
        if isinstance(e, ListExpr) and id(e) not in exempt:
            _same_items(e, errors)
    for e in nodes:
        if isinstance(e, MapExpr) and id(e) not in exempt:
            _same_entries(e, errors)
    return errors + list(check_format_calls(nodes))


def _occurrences(tree: Expr) -> dict[int, int]:
    """How often each node is met by a walk that goes everywhere, by id; no more than counts."""
    order: list[Expr] = []
    seen: set[int] = set()
    stack: list[tuple[Expr, bool]] = [(tree, False)]
    while stack:  # children first
        e, done = stack.pop()
        if done:
            order.append(e)
        elif id(e) not in seen:
            seen.add(id(e))
            stack.append((e, True))
            stack.extend((child, False) for child in children(e))
    times = {id(tree): 1}
    for e in reversed(order):
        for child in children(e):
            times[id(child)] = min(times.get(id(child), 0) + times[id(e)], _MOST_ERRORS)
    return times


def walk(tree: Expr) -> Iterator[Expr]:
    """Every node once, parents before children."""
    seen: set[int] = set()
    stack = [tree]
    while stack:
        e = stack.pop()
        if id(e) in seen:
            continue
        seen.add(id(e))
        spend(15)
        yield e
        stack.extend(reversed(children(e)))


def _inside_format(nodes: list[Expr]) -> set[int]:
    """Lists and maps below a call of format may mix types."""
    ids: set[int] = set()
    for e in nodes:
        if isinstance(e, Call) and e.function == "format":
            ids.update(id(below) for below in walk(e))
    return ids


def _duration(value: object) -> bool:
    return isinstance(value, str) and _succeeds(string_to_duration, value)


def _timestamp(value: object) -> bool:
    if isinstance(value, str):
        return _succeeds(string_to_timestamp, value)
    return type(value) is int and _succeeds(int_to_timestamp, value)


def _succeeds(convert: Callable[[Any], object], value: object) -> bool:
    try:
        convert(value)
    except EvalError:
        return False
    return True


def _pattern(value: object) -> bool:
    try:
        parse_regex(str(value))
    except RegexError:
        return False
    return True


_ARGUMENTS: Final[dict[str, Callable[[object], bool]]] = {
    "duration": _duration,
    "timestamp": _timestamp,
    "matches": _pattern,
}


def _equivalent(a: Type, b: Type) -> bool:
    """Same kind and name; parameters likewise, dyn only with dyn."""
    return (
        a.kind == b.kind
        and a.name == b.name
        and len(a.params) == len(b.params)
        and all(map(_equivalent, a.params, b.params))
    )


def _mismatch(errors: list[Fault], e: Expr, expected: Type, actual: Type) -> None:
    errors.append((e, CompileError(e.pos, f"expected type '{expected}' but found '{actual}'")))


def _same_items(e: ListExpr, errors: list[Fault]) -> None:
    expected: Type | None = None
    for i, item in enumerate(e.elements):
        actual = item.type or DYN
        if i in e.optionals:
            actual, _ = unwrap_optional(actual)
        if expected is None:
            expected = actual
        elif not _equivalent(expected, actual):
            _mismatch(errors, item, expected, actual)
            return


def _same_entries(e: MapExpr, errors: list[Fault]) -> None:
    expected: tuple[Type, Type] | None = None
    for entry in e.entries:
        key, value = entry.key.type or DYN, entry.value.type or DYN
        if entry.optional:
            value, _ = unwrap_optional(value)
        if expected is None:
            expected = key, value
            continue
        if not _equivalent(expected[0], key):
            _mismatch(errors, entry.key, expected[0], key)
        if not _equivalent(expected[1], value):
            _mismatch(errors, entry.value, expected[1], value)
