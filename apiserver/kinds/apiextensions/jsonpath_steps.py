"""The steps of a JSONPath, each from the values so far to those that it leads to.

Few characters can ask for very much: each ``[0,0]`` doubles the values, and ``..n..n..n`` walks the
same part of an object again and again. So whatever a path looks at is taken from a `Walk`, which
ends it. The paths are their tenant's, and are walked on the event loop where objects are small.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

from apiserver.effort import spend

MOST_LOOKED_AT = 100_000
"""Values that one path looks at."""


class PathError(ValueError):
    """The text is no JSONPath, or a value cannot be walked by it."""


class Walk:
    """What may still be looked at by one path, or by several together."""

    __slots__ = ("_left", "_most")

    def __init__(self, most: int = MOST_LOOKED_AT) -> None:
        self._most = self._left = most

    def take(self, values: int) -> None:
        """Before so many values are looked at. Raises PathError where they are too many, and what
        the account raises on which the work is done (`apiserver.effort`)."""
        spend(values)
        self._left -= values
        if self._left < 0:
            raise PathError(f"leads to more than {self._most} values")


Step = Callable[[list[Any], Walk], list[Any]]


def run(steps: Sequence[Step], values: list[Any], walk: Walk) -> list[Any]:
    for step in steps:
        walk.take(len(values) + 1)
        values = step(values, walk)
    return values


def field(name: str) -> Step:
    def step(values: list[Any], walk: Walk) -> list[Any]:
        return [value[name] for value in values if type(value) is dict and name in value]

    return step


def everything(values: list[Any], walk: Walk) -> list[Any]:
    """``.*``"""
    results: list[Any] = []
    for value in values:
        results += _children(value, walk)
    return results


def _children(value: Any, walk: Walk) -> Sequence[Any]:
    if type(value) not in (dict, list, str):
        return ()
    walk.take(len(value))
    if type(value) is dict:
        return list(value.values())
    return value if type(value) is list else list(value.encode())


def recursive(values: list[Any], walk: Walk) -> list[Any]:
    """``..``: whatever has parts, and all of them that have."""
    results: list[Any] = []
    for value in values:
        if type(value) is str and value:
            results.append(value)
        elif type(value) in (dict, list) and value:
            results.append(value)
            results += recursive(list(_children(value, walk)), walk)
    return results


def sliced(first: int | None, last: int | None, by: int | None, derived: bool) -> Step:
    """``[0]``, ``[1:3]``, ``[*]``. An empty slice ends the step for all values that follow, as it
    does upstream."""

    def step(values: list[Any], walk: Walk) -> list[Any]:
        items: list[Any] = []
        for value in values:
            if value is None:
                continue
            if type(value) is not list:
                raise PathError(f"a {type(value).__name__} is not array or slice")
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
            walk.take(end - start)
            items += value[start : end : by or 1]
        return items

    return step


def union(parts: Sequence[Sequence[Step]]) -> Step:
    def step(values: list[Any], walk: Walk) -> list[Any]:
        return [value for steps in parts for value in run(steps, values, walk)]

    return step


def literal(value: Any, *, lone: bool = False) -> Step:
    """``lone``: stands for all values together (text); otherwise once for each."""
    return lambda values, walk: [value] if lone else [value] * len(values)


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

    def keep(item: Any, walk: Walk) -> bool:
        if sign == "exists":
            try:
                return bool(run(left, [item], walk))
            except PathError:
                return True  # upstream takes what it had before the error for a result
        a = run(left, [item], walk)
        if not a:
            return False
        b = run(right, [item], walk)
        if not b:
            return False
        if len(a) > 1 or len(b) > 1:
            raise PathError("can only compare one element at a time")
        return _compare(a[0], sign, b[0])

    def step(values: list[Any], walk: Walk) -> list[Any]:
        items: list[Any] = []
        for value in values:
            if type(value) is not list:
                text = f"a {type(value).__name__} is not array or slice and cannot be filtered"
                raise PathError(text)
            walk.take(len(value))
            items += [item for item in value if keep(item, walk)]
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
