"""JSON values as Go's structured-merge-diff sees them: their order, and the texts that errors and
path elements quote. (Equality: `apiserver.meta.equality.equal`.)"""

from __future__ import annotations

from typing import Any

from apiserver.golang import json
from apiserver.golang.fmt import go_value
from apiserver.golang.strconv import go_quote

Value = Any
"""null, bool, int, float, str, list or dict."""


def rank(value: Value) -> tuple[Any, ...]:
    """A sort key with the order of value.Compare: numbers, strings, booleans, lists, objects,
    null."""
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


_HTML = {
    "&": "\\u0026",
    "<": "\\u003c",
    ">": "\\u003e",
    "\u2028": "\\u2028",
    "\u2029": "\\u2029",
    '"': '\\"',
    "\\": "\\\\",
}
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
    return json.number(value)


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
    return go_value(value)
