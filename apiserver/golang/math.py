"""Go's package ``math``: its limits, and what decides between int64 and float64."""

from __future__ import annotations

from typing import Any

MAX_INT64 = 2**63 - 1
MIN_INT64 = -(2**63)
MAX_UINT64 = 2**64 - 1
MAX_FLOAT32 = 3.4028235677973366e38
"""Values from here on round to infinity."""


def is_int64(value: object) -> bool:
    """Whether Go's JSON decoder makes an int64 of the number (anything larger becomes a
    float64)."""
    return type(value) is int and MIN_INT64 <= value <= MAX_INT64


def int64_of(value: float) -> int:
    """int64(value) of a finite number, as amd64 converts: what does not fit is the least one."""
    whole = int(value)
    return whole if is_int64(whole) else MIN_INT64


def is_integral(value: float) -> bool:
    """swag.IsFloat64AJSONInteger, near enough: no fraction, and within what a float holds
    exactly."""
    return (
        value == value
        and abs(value) <= 2**53
        and (float(value).is_integer() or abs(value - round(value)) < 1e-9 * max(1.0, abs(value)))
    )


def whole_numbers(value: Any) -> Any:
    """The value with floats that have no fraction as integers, which is how Go writes them, as far
    as JSON can be written of them here; lists and maps change in place."""
    kind = type(value)
    if kind is dict:
        for name, member in value.items():
            if type(member) in _MAY_HOLD:
                value[name] = whole_numbers(member)
    elif kind is list:
        for i, member in enumerate(value):
            if type(member) in _MAY_HOLD:
                value[i] = whole_numbers(member)
    elif kind is float and value.is_integer() and -(2**63) <= value < 2**64:
        return int(value)
    return value


_MAY_HOLD = frozenset({dict, list, float})
