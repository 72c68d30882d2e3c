"""64-bit arithmetic with overflow as an error (cel-go
``common/types/overflow.go``)."""

from __future__ import annotations

import math

from apiserver.cel.errors import EvalError
from apiserver.cel.scalars import Duration, Timestamp, Uint
from apiserver.cel.timestamps import MAX_SECONDS, MIN_SECONDS
from apiserver.cel.values import INT_MAX, INT_MIN, SECOND, UINT_MAX
from apiserver.effort import spend
from apiserver.golang import strconv


def int_of(value: int) -> int:
    if INT_MIN <= value <= INT_MAX:
        return value
    raise EvalError("integer overflow")


def uint_of(value: int) -> Uint:
    if 0 <= value <= UINT_MAX:
        return Uint(value)
    raise EvalError("unsigned integer overflow")


def duration_of(ns: int) -> Duration:
    if INT_MIN <= ns <= INT_MAX:
        return Duration(ns)
    raise EvalError("integer overflow")


def timestamp_of(ns: int, offset: int = 0) -> Timestamp:
    if MIN_SECONDS <= ns // SECOND <= MAX_SECONDS:
        return Timestamp(ns, offset)
    raise EvalError("timestamp overflow")


def divide_ints(a: int, b: int) -> int:
    """Towards zero."""
    if b == 0:
        raise EvalError("division by zero")
    quotient = abs(a) // abs(b)
    return int_of(quotient if (a < 0) == (b < 0) else -quotient)


def modulo_ints(a: int, b: int) -> int:
    """The sign is the dividend's."""
    if b == 0:
        raise EvalError("modulus by zero")
    if a == INT_MIN and b == -1:
        raise EvalError("integer overflow")
    rest = abs(a) % abs(b)
    return -rest if a < 0 else rest


def divide_uints(a: int, b: int) -> Uint:
    if b == 0:
        raise EvalError("division by zero")
    return Uint(int(a) // int(b))


def modulo_uints(a: int, b: int) -> Uint:
    if b == 0:
        raise EvalError("modulus by zero")
    return Uint(int(a) % int(b))


def divide_doubles(a: float, b: float) -> float:
    try:
        return a / b
    except ZeroDivisionError:
        if a == 0 or a != a:
            return math.nan
        return math.copysign(math.inf, a) * math.copysign(1.0, b)


def double_to_int(d: float) -> int:
    if math.isfinite(d) and -9223372036854775808.0 < d < 9223372036854775807.0:
        return int(d)
    raise EvalError("integer overflow")


def double_to_uint(d: float) -> Uint:
    if math.isfinite(d) and 0 <= d < 18446744073709551615.0:
        return Uint(int(d))
    raise EvalError("unsigned integer overflow")


def parse_double(text: str) -> float | None:
    """None when it is no number or too large."""
    spend(len(text) // 5)
    try:
        return strconv.parse_float(text)
    except strconv.NumError:
        return None


def parse_int(text: str) -> int | None:
    """None when it is no number of 64 bits."""
    try:
        return strconv.parse_int(text)
    except strconv.NumError:
        return None


def parse_uint(text: str) -> Uint | None:
    """None when it is no number of 64 bits."""
    try:
        return Uint(strconv.parse_uint(text))
    except strconv.NumError:
        return None
