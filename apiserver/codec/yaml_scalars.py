"""Which value a plain YAML scalar stands for: go-yaml v2's resolution of YAML 1.1 words, integers
and floats.

Unlike YAML 1.1 there are no numbers to base 60; timestamps stay strings, because the target is
JSON.
"""

from __future__ import annotations

import re
from datetime import datetime
from typing import Any

from apiserver.golang.math import MAX_INT64, MAX_UINT64, MIN_INT64
from apiserver.golang.strconv import whole

STR = "str"
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_DOT_FLOAT = re.compile(r"\.[0-9]+([eE][-+]?[0-9]+)?")
_BASE60 = re.compile(r"[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?")
_TIMESTAMP = re.compile(
    r"(\d{4})-(\d\d?)-(\d\d?)"
    r"(?:[Tt](\d\d?):(\d\d?):(\d\d?)(?:\.\d+)?(?:Z|[-+]\d\d:\d\d)"
    r"| (\d\d?):(\d\d?):(\d\d?)(?:\.\d+)?)?",
    re.ASCII,
)
_INT = re.compile(r"([-+]?)(?:0[xX]([0-9a-fA-F]+)|0[bB]([01]+)|0[oO]?([0-7]+)|([1-9][0-9]*|0))")


def _words() -> dict[str, tuple[str, Any]]:
    table: dict[str, tuple[str, Any]] = {}

    def put(tag: str, value: Any, *names: str) -> None:
        table.update((name, (tag, value)) for name in names)

    for value, names in ((True, "y yes true on"), (False, "n no false off")):
        for name in names.split():
            put("bool", value, name, name.capitalize(), name.upper())
    put("null", None, "", "~", "null", "Null", "NULL")
    put("float", float("nan"), ".nan", ".NaN", ".NAN")
    put("float", float("inf"), ".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF")
    put("float", float("-inf"), "-.inf", "-.Inf", "-.INF")
    put("merge", "<<", "<<")
    return table


_WORDS = _words()


def resolve(text: str) -> tuple[str, Any]:
    """(short tag, value): "str", "int", "float", "bool", "null" or "merge"."""
    word = _WORDS.get(text)
    if word is not None:
        return word
    first = text[0]
    if first == ".":
        return ("float", float(text)) if _DOT_FLOAT.fullmatch(text) else (STR, text)
    if first not in "+-0123456789":
        return STR, text
    plain = text.replace("_", "")
    number = _integer(plain)
    if number is not None:
        return "int", number
    if _FLOAT.fullmatch(plain):
        value = float(plain)
        return ("float", value) if abs(value) != float("inf") else (STR, text)
    return STR, text


def _integer(plain: str) -> int | None:
    """Go's ParseInt and ParseUint with base 0: 0x, 0b, 0o and a leading 0 (octal); at most 64
    bits."""
    match = _INT.fullmatch(plain)
    if not match:
        return None
    sign, hexadecimal, binary, octal, decimal = match.groups()
    for digits, base in ((hexadecimal, 16), (binary, 2), (octal, 8), (decimal, 10)):
        if digits is not None:
            size = whole(digits) if base == 10 else int(digits, base)
            break
    if sign == "-":
        return -size if -size >= MIN_INT64 else None
    return size if size <= (MAX_INT64 if sign else MAX_UINT64) else None


def is_base60(text: str) -> bool:
    """Whether other YAML 1.1 readers would take the text for a number to base 60; such text is
    written quoted."""
    return bool(_BASE60.fullmatch(text))


def is_timestamp(text: str) -> bool:
    """Whether a plain scalar would be a timestamp to go-yaml; such text is written quoted."""
    match = _TIMESTAMP.fullmatch(text)
    if not match:
        return False
    year, month, day, *clock = (int(group) for group in match.groups() if group is not None)
    hour, minute, second = clock or (0, 0, 0)
    try:
        datetime(year or 4, month, day, hour, minute, second)  # Go's year 0 is a leap year, too
    except ValueError:
        return False
    return True
