"""Go's package ``strconv``: texts in quotes, and numbers from texts, with its errors.

Python refuses to convert more than 4,300 digits (the time grows with their square) with a
ValueError that says so; Go's parsers say that the number is out of range. So whatever is longer
than any range that is asked for becomes a number outside of all of them (`whole`).
"""

from __future__ import annotations

import math
import re

from apiserver.golang.math import MAX_INT64, MAX_UINT64, MIN_INT64

ESCAPES = {
    "\a": "\\a",
    "\b": "\\b",
    "\f": "\\f",
    "\n": "\\n",
    "\r": "\\r",
    "\t": "\\t",
    "\v": "\\v",
    "\\": "\\\\",
    '"': '\\"',
}
"""What strconv.Quote writes in two characters."""
UNESCAPED = {escape[1]: c for c, escape in ESCAPES.items() if c != '"'}
"""What a letter stands for after a backslash; which quotes may follow one differs by language."""


def go_quote(s: str) -> str:
    """Go's strconv.Quote: double quotes, escapes for what does not print."""
    if s.isascii() and s.isprintable() and '"' not in s and "\\" not in s:
        return f'"{s}"'
    return f'"{s.translate(_QUOTED)}"'


class _Quoted(dict[int, str]):
    """How each character is written; those beyond ASCII are worked out when they are met."""

    def __missing__(self, code: int) -> str:
        c = chr(code)
        if c.isprintable():
            return c
        return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


_QUOTED = _Quoted({c: chr(c) if chr(c).isprintable() else f"\\x{c:02x}" for c in range(0x80)})
_QUOTED.update({ord(c): escape for c, escape in ESCAPES.items()})


LONG = 40
"""Significant digits; 64 bits need 20, addresses of 128 bits 39."""
BEYOND: int = 10**LONG


def whole(text: str) -> int:
    """The number that decimal digits with or without a sign stand for; -BEYOND or BEYOND for those
    that are longer than LONG. Raises ValueError for other texts, as int() does."""
    if len(text) <= LONG:
        return int(text)
    digits = text.lstrip("+-0")
    if not (digits.isascii() and digits.isdigit() and len(text) - len(text.lstrip("+-")) <= 1):
        raise ValueError(f"no whole number of {len(text)} characters")
    if len(digits) > LONG:
        return -BEYOND if text[0] == "-" else BEYOND
    return -int(digits) if text[0] == "-" else int(digits)


class NumError(ValueError):
    """The text is Go's: ``strconv.Atoi: parsing "x": invalid syntax``."""

    def __init__(self, function: str, text: str, why: str) -> None:
        super().__init__(f"strconv.{function}: parsing {go_quote(text)}: {why}")


_SYNTAX, _RANGE = "invalid syntax", "value out of range"


def _decimal(text: str, digits: str, function: str, low: int, high: int) -> int:
    if not digits.isascii() or not digits.isdigit():
        raise NumError(function, text, _SYNTAX)
    value = whole(text)
    if not low <= value <= high:
        raise NumError(function, text, _RANGE)
    return value


def parse_int(text: str, function: str = "ParseInt") -> int:
    """ParseInt(text, 10, 64): digits with or without a sign. Raises NumError."""
    digits = text[1:] if text[:1] in ("+", "-") else text
    return _decimal(text, digits, function, MIN_INT64, MAX_INT64)


def parse_uint(text: str, most: int = MAX_UINT64) -> int:
    """ParseUint(text, 10, bits): digits only; most: the highest number of so many bits. Raises
    NumError."""
    return _decimal(text, text, "ParseUint", 0, most)


def atoi(text: str) -> int:
    """As `parse_int`, with an error of its own name."""
    return parse_int(text, "Atoi")


_TRUE = frozenset({"1", "t", "T", "TRUE", "true", "True"})
_FALSE = frozenset({"0", "f", "F", "FALSE", "false", "False"})


def parse_bool(text: str) -> bool:
    """Raises NumError."""
    if text not in _TRUE and text not in _FALSE:
        raise NumError("ParseBool", text, _SYNTAX)
    return text in _TRUE


_FLOAT = re.compile(
    r"[+-]?(?:[0-9]*(?:\.[0-9]*)?(?:[eE][+-]?[0-9]+)?|inf(?:inity)?|nan)", re.IGNORECASE
)


def parse_float(text: str) -> float:
    """ParseFloat(text, 64), without hexadecimal numbers. Raises NumError."""
    if not _FLOAT.fullmatch(text):
        raise NumError("ParseFloat", text, _SYNTAX)
    try:
        value = float(text)
    except ValueError:
        raise NumError("ParseFloat", text, _SYNTAX) from None
    if math.isinf(value) and "inf" not in text.lower():
        raise NumError("ParseFloat", text, _RANGE)
    return value


def format_float(d: float) -> str:
    """FormatFloat(d, 'g', -1, 64), which is also %v and %g: the shortest digits that tell it from
    others, with an exponent below 1e-04 and from 1e+06 on."""
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
    """Significant digits without trailing zeros, and the decimal exponent of the first one. d: not
    negative."""
    if d == 0:
        return "0", 0
    mantissa, _, exponent = f"{d!r}".partition("e")
    integer, _, fraction = mantissa.partition(".")
    digits = integer + fraction
    point = len(integer) + int(exponent or "0")
    stripped = digits.lstrip("0")
    point -= len(digits) - len(stripped)
    return stripped.rstrip("0") or "0", point - 1


def plain_digits(digits: str, exponent: int) -> str:
    """What `shortest_digits` gives, written without an exponent."""
    if exponent < 0:
        return "0." + "0" * (-exponent - 1) + digits
    integer = digits[: exponent + 1].ljust(exponent + 1, "0")
    fraction = digits[exponent + 1 :]
    return integer + ("." + fraction if fraction else "")
