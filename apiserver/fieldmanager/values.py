"""JSON values as Go's structured-merge-diff sees them: equality, order, and the texts that errors and path elements quote.

Python's ``==`` takes true for 1; Go does not. Both take 1 for 1.0.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import orjson

from apiserver.fielderrors import go_quote

Value = Any
"""null, bool, int, float, str, list or dict."""


def same(a: Value, b: Value) -> bool:
    """Deep equality (value.Equals): numbers by value, booleans only with booleans, members of objects in any order."""
    if a is b:
        return True
    if a != b:
        return False
    cls = a.__class__
    if cls is b.__class__ and cls is not dict and cls is not list:
        return True
    if cls is bool or b.__class__ is bool:
        return False
    if cls is not dict and cls is not list:
        return True
    try:
        if orjson.dumps(a) == orjson.dumps(b):
            return True
    except TypeError:  # an integer beyond 64 bits
        pass
    if cls is dict:
        return all(same(item, b[key]) for key, item in a.items())
    return all(map(same, a, b))


def copy(value: Value) -> Value:
    """A copy that shares no container with the original."""
    if value.__class__ is dict:
        return {key: copy(item) if item.__class__ is dict or item.__class__ is list else item for key, item in value.items()}
    if value.__class__ is list:
        return [copy(item) for item in value]
    return value


def rank(value: Value) -> tuple[Any, ...]:
    """A sort key with the order of value.Compare: numbers, strings, booleans, lists, objects, null."""
    if value is None:
        return (5,)
    cls = value.__class__
    if cls is bool:
        return (2, value)
    if cls is str:
        return (1, value)
    if cls is list:
        return (3, tuple(rank(item) for item in value))
    if cls is dict:
        return (4, tuple((key, rank(value[key])) for key in sorted(value)))
    return (0, value)


def number(value: float) -> str:
    """A number as Go's encoding/json prints it: with an exponent below 1e-6 and from 1e21 on."""
    if isinstance(value, int):
        return str(value)
    sign, digits, point = _digits(value)
    if value == 0 or 1e-6 <= abs(value) < 1e21:
        return sign + _positional(digits, point)
    return sign + _scientific(digits, point, 2 if point > 0 else 1)


def _digits(value: float) -> tuple[str, str, int]:
    """(sign, shortest digits, position of the decimal point in them)"""
    sign, digits, exponent = Decimal(repr(value)).normalize().as_tuple()
    assert isinstance(exponent, int)  # finite
    return "-" if sign else "", "".join(map(str, digits)), len(digits) + exponent


def _positional(digits: str, point: int) -> str:
    if point <= 0:
        return f"0.{'0' * -point}{digits}"
    return digits + "0" * (point - len(digits)) if point >= len(digits) else f"{digits[:point]}.{digits[point:]}"


def _scientific(digits: str, point: int, width: int) -> str:
    mantissa = f"{digits[0]}.{digits[1:]}" if len(digits) > 1 else digits
    return f"{mantissa}e{'+' if point > 0 else '-'}{str(abs(point - 1)).zfill(width)}"


_HTML = {"&": "\\u0026", "<": "\\u003c", ">": "\\u003e", "\u2028": "\\u2028", "\u2029": "\\u2029", '"': '\\"', "\\": "\\\\"}
_HTML |= {chr(c): f"\\u{c:04x}" for c in range(0x20)} | {"\n": "\\n", "\r": "\\r", "\t": "\\t"}
_ESCAPES = str.maketrans(_HTML)


def to_json(value: Value) -> str:
    """Compact JSON as Go writes it with HTML escaping, members sorted."""
    if value is None:
        return "null"
    cls = value.__class__
    if cls is str:
        return f'"{value.translate(_ESCAPES)}"'
    if cls is bool:
        return "true" if value else "false"
    if cls is list:
        return f"[{','.join(map(to_json, value))}]"
    if cls is dict:
        members = ",".join(f"{to_json(key)}:{to_json(value[key])}" for key in sorted(value))
        return f"{{{members}}}"
    return number(value)


def to_string(value: Value) -> str:
    """value.ToString: how a path quotes a key (strings as %q, everything else as %v)."""
    if value is None:
        return "null"
    cls = value.__class__
    if cls is str:
        return go_quote(value)
    if cls is list:
        return f"[{','.join(map(to_string, value))}]"
    if cls is dict:
        return "".join(f"{key}={to_string(value[key])}" for key in sorted(value))
    return verb_v(value)


def verb_v(value: Value) -> str:
    """Go's %v of a decoded JSON value."""
    if value is None:
        return "<nil>"
    cls = value.__class__
    if cls is bool:
        return "true" if value else "false"
    if cls is list:
        return f"[{' '.join(map(verb_v, value))}]"
    if cls is dict:
        return f"map[{' '.join(f'{key}:{verb_v(value[key])}' for key in sorted(value))}]"
    if cls is float:
        return _float_v(value)
    return str(value)


def _float_v(value: float) -> str:
    """%v of a float64: the shortest digits, with an exponent below 1e-4 and from 1e6 on (strconv, format 'g')."""
    sign, digits, point = _digits(value)
    if value == 0 or -4 <= point - 1 < 6:
        return sign + _positional(digits, point)
    return sign + _scientific(digits, point, 2)


def verb_sharp_v(value: Value) -> str:
    """Go's %#v of a decoded JSON value."""
    if value is None:
        return "interface {}(nil)"
    cls = value.__class__
    if cls is str:
        return go_quote(value)
    if cls is list:
        return f"[]interface {{}}{{{', '.join(map(verb_sharp_v, value))}}}"
    if cls is dict:
        members = ", ".join(f"{go_quote(key)}:{verb_sharp_v(value[key])}" for key in sorted(value))
        return f"map[string]interface {{}}{{{members}}}"
    return verb_v(value)


def verb_t(value: Value) -> str:
    """Go's %T of a decoded JSON value."""
    if value is None:
        return "<nil>"
    return _GO_TYPES[value.__class__]


_GO_TYPES: dict[type, str] = {
    bool: "bool",
    str: "string",
    int: "int64",
    float: "float64",
    list: "[]interface {}",
    dict: "map[string]interface {}",
}
