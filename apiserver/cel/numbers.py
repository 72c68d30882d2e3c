"""64-bit arithmetic with overflow as an error, and Go's way of writing numbers (cel-go ``common/types/overflow.go``)."""

from __future__ import annotations

import math
import re

from apiserver.cel.errors import EvalError
from apiserver.cel.gotime import MAX_SECONDS, MIN_SECONDS
from apiserver.cel.values import INT_MAX, INT_MIN, SECOND, UINT_MAX, Duration, Timestamp, Uint


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


_GO_FLOAT = re.compile(r"[+-]?(?:(?:[0-9]+(?:_?[0-9]+)*)?\.?[0-9]*(?:[eE][+-]?[0-9]+)?|inf(?:inity)?|nan)", re.IGNORECASE)


def parse_double(text: str) -> float | None:
    """Go's ParseFloat (without hexadecimal); None when it is no number or too large."""
    if not text or "_" in text or not _GO_FLOAT.fullmatch(text):
        return None
    try:
        value = float(text)
    except ValueError:
        return None
    return None if math.isinf(value) and "inf" not in text.lower() else value


def parse_int(text: str) -> int | None:
    if not re.fullmatch(r"[+-]?[0-9]+", text, re.ASCII) or len(text) > 400:
        return None
    value = int(text)
    return value if INT_MIN <= value <= INT_MAX else None


def parse_uint(text: str) -> Uint | None:
    if not re.fullmatch(r"[0-9]+", text, re.ASCII) or len(text) > 400:
        return None
    value = int(text)
    return Uint(value) if value <= UINT_MAX else None


def format_double(d: float) -> str:
    """Go's %g: the shortest digits, with an exponent below 1e-04 and from 1e+06 on."""
    if math.isnan(d):
        return "NaN"
    if math.isinf(d):
        return "+Inf" if d > 0 else "-Inf"
    sign = "-" if math.copysign(1.0, d) < 0 else ""
    digits, exponent = shortest_digits(abs(d))
    if exponent < -4 or exponent >= 6:
        mantissa = digits[0] + ("." + digits[1:] if len(digits) > 1 else "")
        return f"{sign}{mantissa}e{'-' if exponent < 0 else '+'}{abs(exponent):02d}"
    return sign + plain_digits(digits, exponent)


def shortest_digits(d: float) -> tuple[str, int]:
    """Significant digits without trailing zeros, and the decimal exponent of the first one."""
    if d == 0:
        return "0", 0
    mantissa, _, exponent = f"{d!r}".partition("e")
    whole, _, fraction = mantissa.partition(".")
    digits = whole + fraction
    point = len(whole) + int(exponent or "0")
    stripped = digits.lstrip("0")
    point -= len(digits) - len(stripped)
    return stripped.rstrip("0") or "0", point - 1


def plain_digits(digits: str, exponent: int) -> str:
    if exponent < 0:
        return "0." + "0" * (-exponent - 1) + digits
    whole = digits[: exponent + 1].ljust(exponent + 1, "0")
    fraction = digits[exponent + 1 :]
    return whole + ("." + fraction if fraction else "")
