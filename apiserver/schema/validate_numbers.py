"""Bounds of numbers, with the quirks of kube-openapi's ``numberValidator``: a bound that does not
fit the field's type is an error too."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from apiserver.fielderrors import FieldErrors, invalid
from apiserver.golang.fmt import go_number
from apiserver.golang.math import MAX_FLOAT32, is_int64, is_integral
from apiserver.schema.types import Schema
from apiserver.schema.validate_errors import Path, text_of, whole

Check = Callable[[Any, Any, Path, FieldErrors], int]
_MULTIPLE = "MultipleOf"


def number_check(schema: Schema, types: tuple[str, ...], format_: str) -> Check | None:
    """The check of an int64 or a float64. ``types``, ``format_``: as compiled for the node."""
    kind = types[0] if len(types) == 1 and types[0] in ("integer", "number") else ""
    bounds = [b for b in (_multiple(schema), _maximum(schema), _minimum(schema)) if b is not None]
    if not bounds and kind != "integer" and format_ != "float":
        return None
    limits = [
        (value, holds, text, name, _fits(value, kind, format_))
        for value, holds, text, name in bounds
    ]
    kind_text = f"{kind} with format {format_}" if format_ and kind else f"{kind} (default format)"

    def check(value: Any, old: Any, path: Path, errors: FieldErrors) -> int:
        if (kind != "number" or format_ == "float") and not _fits(value, kind, format_):
            errors.append(whole(f"Checked value must be of type {kind_text} in {text_of(path)}"))
        for bound, holds, text, name, fits in limits:
            if not fits:
                errors.append(whole(f"{name} value must be of type {kind_text} in {text_of(path)}"))
            exact = fits and is_int64(value)
            limit = int(bound) if exact else float(bound)
            if not holds(value, limit):
                where = text_of(path)
                if name == _MULTIPLE and limit <= 0:  # of an int64, 0.5 is none: it becomes 0
                    why = f"factor MultipleOf declared for {where} must be positive"
                    errors.append(invalid(where, limit, f"{why}: {go_number(limit)}"))
                    continue
                errors.append(
                    invalid(where, value, f"{where} in body should be {text} {go_number(limit)}")
                )
        return 1

    return check


def _fits(value: float, kind: str, format_: str) -> bool:
    """Whether the value can be held by the type: k8s.io/kube-openapi
    ``IsValueValidAgainstRange``."""
    if kind == "integer":
        if type(value) is float:
            if not value.is_integer():
                return False
            value = int(value)
        return abs(value + 0.5) < 2**31 if format_ == "int32" else is_int64(value)
    return format_ != "float" or abs(value) < MAX_FLOAT32


Bound = tuple[float, Callable[[float, float], bool], str, str]
"""(the bound, whether a value keeps it, how the message goes, what it is called)."""


def _maximum(schema: Schema) -> Bound | None:
    if schema.maximum is None:
        return None
    if schema.exclusive_maximum:
        return schema.maximum, lambda v, bound: v < bound, "less than", "Maximum boundary"
    return schema.maximum, lambda v, bound: v <= bound, "less than or equal to", "Maximum boundary"


def _minimum(schema: Schema) -> Bound | None:
    if schema.minimum is None:
        return None
    if schema.exclusive_minimum:
        return schema.minimum, lambda v, bound: v > bound, "greater than", "Minimum boundary"
    return (
        schema.minimum,
        lambda v, bound: v >= bound,
        "greater than or equal to",
        "Minimum boundary",
    )


def _multiple(schema: Schema) -> Bound | None:
    if schema.multiple_of is None:
        return None
    return schema.multiple_of, _is_multiple, "a multiple of", _MULTIPLE


def _is_multiple(value: float, factor: float) -> bool:
    if factor <= 0:
        return False
    if type(value) is int and type(factor) is int:
        return value % factor == 0
    ratio = 1 / factor * value if factor < 1 else value / factor
    return math.isfinite(ratio) and is_integral(ratio)
