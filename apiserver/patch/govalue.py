"""JSON values as Go's ``%v`` and ``%T`` print them, for error texts that quote a patch."""

from __future__ import annotations

from typing import Any

from apiserver.fielderrors import go_number


def go_value(value: Any) -> str:
    """``map[a:1 b:[x y]]``, keys sorted."""
    if value is None:
        return "<nil>"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict):
        return f"map[{' '.join(f'{k}:{go_value(v)}' for k, v in sorted(value.items()))}]"
    if isinstance(value, list):
        return f"[{' '.join(map(go_value, value))}]"
    return value if isinstance(value, str) else go_number(value)


def go_type(value: Any) -> str:
    """Type of a decoded JSON value: ``map[string]interface {}``, ``[]interface {}``, ``int64`` ..."""
    if value is None:
        return "%!s(<nil>)"
    names = {bool: "bool", int: "int64", float: "float64", str: "string", dict: "map[string]interface {}", list: "[]interface {}"}
    return names[type(value)]


def same(a: Any, b: Any) -> bool:
    """Go's == on two scalars in interfaces: 1, 1.0 and true are three different values; containers are never the same."""
    return type(a) is type(b) and not isinstance(a, dict | list) and bool(a == b)
