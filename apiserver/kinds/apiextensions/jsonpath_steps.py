"""The steps of a JSONPath, each from the values so far to those that it leads to."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

Step = Callable[[list[Any]], list[Any]]


class PathError(ValueError):
    """The text is no JSONPath, or a value cannot be walked by it."""


def _run(steps: Sequence[Step], values: list[Any]) -> list[Any]:
    for step in steps:
        values = step(values)
    return values


def field(name: str) -> Step:
    def step(values: list[Any]) -> list[Any]:
        return [value[name] for value in values if type(value) is dict and name in value]

    return step


def everything(values: list[Any]) -> list[Any]:
    """``.*``"""
    results: list[Any] = []
    for value in values:
        results += _children(value)
    return results


def _children(value: Any) -> Sequence[Any]:
    if type(value) is dict:
        return list(value.values())
    return value if type(value) is list else list(value.encode()) if type(value) is str else ()


def recursive(values: list[Any]) -> list[Any]:
    """``..``: whatever has parts, and all of them that have."""
    results: list[Any] = []
    for value in values:
        children = _children(value)
        if children:
            results.append(value)
            if type(value) is not str:
                results += recursive(list(children))
    return results


def sliced(first: int | None, last: int | None, by: int | None, derived: bool) -> Step:
    """``[0]``, ``[1:3]``, ``[*]``. An empty slice ends the step for all values that follow, as it
    does upstream."""

    def step(values: list[Any]) -> list[Any]:
        items: list[Any] = []
        for value in values:
            if value is None:
                continue
            if type(value) is not list:
                raise PathError(f"{value!r} is not array or slice")
            size = len(value)
            start = first or 0
            start += size if start < 0 else 0
            end = size if last is None else last
            end += size if end < 0 or (end == 0 and derived) else 0
            if start == end:
                return items
            if not 0 <= start < size:
                raise PathError(f"array index out of bounds: index {start}, length {size}")
            if not 0 <= end <= size:
                raise PathError(f"array index out of bounds: index {end - 1}, length {size}")
            if start > end:
                raise PathError(f"starting index {start} is greater than ending index {end}")
            if by is not None and by <= 0:
                raise PathError("step must be > 0")
            items += value[start : end : by or 1]
        return items

    return step


def union(parts: Sequence[Sequence[Step]]) -> Step:
    def step(values: list[Any]) -> list[Any]:
        return [value for steps in parts for value in _run(steps, values)]

    return step


def literal(value: Any, *, lone: bool = False) -> Step:
    """``lone``: stands for all values together (text); otherwise once for each."""
    return lambda values: [value] if lone else [value] * len(values)


_COMPARE = {
    "==": operator.eq,
    "!=": operator.ne,
    "<=": operator.le,
    ">=": operator.ge,
    "<": operator.lt,
    ">": operator.gt,
}


def filtered(left: Sequence[Step], sign: str, right: Sequence[Step]) -> Step:
    """``[?(left sign right)]``; sign "exists": ``[?(left)]``."""

    def keep(item: Any) -> bool:
        if sign == "exists":
            try:
                return bool(_run(left, [item]))
            except PathError:
                return True  # upstream takes what it had before the error for a result
        a = _run(left, [item])
        if not a:
            return False
        b = _run(right, [item])
        if not b:
            return False
        if len(a) > 1 or len(b) > 1:
            raise PathError("can only compare one element at a time")
        return _compare(a[0], sign, b[0])

    def step(values: list[Any]) -> list[Any]:
        items: list[Any] = []
        for value in values:
            if type(value) is not list:
                raise PathError(f"{value!r} is not array or slice and cannot be filtered")
            items += [item for item in value if keep(item)]
        return items

    return step


def _compare(a: Any, sign: str, b: Any) -> bool:
    if sign not in _COMPARE:
        raise PathError(f"unrecognized filter operator {sign}")
    if type(a) is not type(b) or type(a) not in (bool, int, float, str):
        raise PathError("incompatible types for comparison")
    if type(a) is bool and sign not in ("==", "!="):
        raise PathError("invalid type for comparison")
    return bool(_COMPARE[sign](a, b))
