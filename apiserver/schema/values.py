"""JSON values as keys and as texts of errors."""

from __future__ import annotations

import json
from typing import Any


def text_key(value: Any) -> Any:
    """A hashable stand-in for a value: equal for values that are equal."""
    if type(value) in (dict, list):
        return json.dumps(value, sort_keys=True, separators=(",", ":"))
    return (type(value) is bool, value)


def enum_text(value: Any) -> str:
    """An allowed value as the message lists it: strings as they are, everything else as JSON."""
    return (
        value
        if type(value) is str
        else json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    )
