"""JSON values compared as Go compares them: True is not 1, a list equals a list item by item."""

from __future__ import annotations

import json
from typing import Any


def same(a: Any, b: Any) -> bool:
    """Equal as JSON. Python holds True equal to 1; JSON does not. An int64 and a float64 of one value are taken for equal."""
    if type(a) is dict:
        return type(b) is dict and len(a) == len(b) and all(k in b and same(v, b[k]) for k, v in a.items())
    if type(a) is list:
        return type(b) is list and len(a) == len(b) and all(map(same, a, b))
    if type(a) is bool or type(b) is bool:
        return a is b
    return bool(a == b)


def text_key(value: Any) -> Any:
    """A hashable stand-in for a value: equal for values that are the same."""
    if type(value) in (dict, list):
        return json.dumps(value, sort_keys=True, separators=(",", ":"))
    return (type(value) is bool, value)


def enum_text(value: Any) -> str:
    """An allowed value as the message lists it: strings as they are, everything else as JSON."""
    return value if type(value) is str else json.dumps(value, separators=(",", ":"), ensure_ascii=False)
