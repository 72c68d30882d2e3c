"""Go's package ``fmt``: JSON values as its verbs ``%v``, ``%T`` and ``%#v`` print them."""

from __future__ import annotations

from typing import Any

from apiserver.golang.strconv import format_float, go_quote


def go_value(value: Any) -> str:
    """%v: ``map[a:1 b:[x y]]``, keys sorted."""
    if value is None:
        return "<nil>"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict):
        return f"map[{' '.join(f'{k}:{go_value(v)}' for k, v in sorted(value.items()))}]"
    if isinstance(value, list):
        return f"[{' '.join(map(go_value, value))}]"
    return value if isinstance(value, str) else go_number(value)


def go_number(value: float) -> str:
    """%v of a number: an int64 in digits, a float64 as `format_float` writes it."""
    return str(value) if isinstance(value, int) else format_float(value)


def go_type(value: Any) -> str:
    """%T: ``map[string]interface {}``, ``[]interface {}``, ``int64`` ..., ``<nil>``."""
    return _TYPES.get(type(value), "<nil>")


_TYPES: dict[type, str] = {
    bool: "bool",
    str: "string",
    int: "int64",
    float: "float64",
    list: "[]interface {}",
    dict: "map[string]interface {}",
}


def go_syntax(value: Any, key_type: str = "string") -> str:
    """%#v: ``map[string]interface {}{"a":1}``, keys sorted."""
    if value is None:
        return "interface {}(nil)"
    if isinstance(value, str):
        return go_quote(value)
    if isinstance(value, list):
        return f"[]interface {{}}{{{', '.join(go_syntax(v, key_type) for v in value)}}}"
    if isinstance(value, dict):
        members = ", ".join(
            f"{go_syntax(k)}:{go_syntax(v, key_type)}" for k, v in sorted(value.items())
        )
        return f"map[{key_type}]interface {{}}{{{members}}}"
    return go_value(value)
