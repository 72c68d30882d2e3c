"""minimum ... maxBytes: sizes of numbers, strings and lists (k8s.io/apimachinery
``api/validate/limits.go``)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from apiserver.fielderrors import ErrorType, FieldError, FieldPath, invalid, too_long, too_many
from apiserver.kinds.declarative.rules import DeclarationError, Rule, Run, leaf, tag

_ON = {"Items": ("list",), "Length": ("string",), "Bytes": ("string",), "imum": ("integer",)}
"""The end of a tag's name → where it may stand."""


def _limit(
    name: str,
    limit: int,
    wrong: Callable[[Any], bool],
    error: Callable[[FieldPath, Any], FieldError],
    **more: Any,
) -> Rule:
    on = next(kinds for end, kinds in _ON.items() if name.endswith(end))

    def check(run: Run, path: FieldPath, value: Any, old: Any) -> Iterator[FieldError]:
        if value is not None and wrong(value):
            yield error(path, value)

    return leaf(name, check, argument=limit, on=on, **more)


def _size(name: str, limit: int) -> int:
    if limit < 0:
        raise DeclarationError(f"{name}: must be greater than or equal to 0")
    return limit


@tag("minimum", "stable")
def minimum(low: int) -> Rule:
    return _limit(
        "minimum",
        low,
        lambda v: v < low,
        lambda p, v: invalid(p, v, f"must be greater than or equal to {low}"),
    )


@tag("maximum", "beta")
def maximum(high: int) -> Rule:
    return _limit(
        "maximum",
        high,
        lambda v: v > high,
        lambda p, v: invalid(p, v, f"must be less than or equal to {high}"),
    )


@tag("minItems", "beta")
def min_items(low: int) -> Rule:
    _size("minItems", low)
    text = f"must have at least {low} item{'' if low == 1 else 's'}"
    return _limit(
        "minItems",
        low,
        lambda v: len(v) < low,
        lambda p, v: FieldError(ErrorType.TOO_FEW, p, len(v), text),
    )


@tag("maxItems", "stable")
def max_items(high: int) -> Rule:
    """Items of a list that is too long are not looked at."""
    _size("maxItems", high)
    return _limit(
        "maxItems",
        high,
        lambda v: len(v) > high,
        lambda p, v: too_many(p, len(v), high),
        short=True,
    )


@tag("minLength", "alpha")
def min_length(low: int) -> Rule:
    """In characters."""
    _size("minLength", low)
    text = f"must be at least {low} character{'' if low == 1 else 's'}"
    return _limit(
        "minLength",
        low,
        lambda v: len(v) < low,
        lambda p, v: FieldError(ErrorType.TOO_SHORT, p, v, text),
    )


@tag("maxLength", "beta")
def max_length(high: int) -> Rule:
    """In characters."""
    _size("maxLength", high)
    text = f"may not be more than {high} character{'' if high == 1 else 's'}"
    return _limit(
        "maxLength",
        high,
        lambda v: len(v) > high,
        lambda p, v: FieldError(ErrorType.TOO_LONG, p, None, text),
    )


@tag("maxBytes", "beta")
def max_bytes(high: int) -> Rule:
    """In bytes of UTF-8."""
    _size("maxBytes", high)
    return _limit(
        "maxBytes",
        high,
        lambda v: len(v.encode("utf-8", "surrogatepass")) > high,
        lambda p, v: too_long(p, high),
    )
