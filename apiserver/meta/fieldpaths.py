"""Fields that a tenant selects by: names of members joined by dots (``spec.strategy.type``), and
what an object has there as a text that selectors compare."""

from __future__ import annotations

import hashlib
import re
from typing import Any

from apiserver.meta.objects import ReadOnlyObject

LONGEST = 256
"""Characters of a path."""
_PATH = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*(\.[A-Za-z_][A-Za-z0-9_-]*)*")
_LONGEST_VALUE = 256
"""Bytes that an index holds as they are: PostgreSQL's have room for some 2,700."""


def is_path(text: str) -> bool:
    return len(text) <= LONGEST and _PATH.fullmatch(text) is not None


def value_at(obj: ReadOnlyObject, path: str) -> str:
    """A string, a whole number or a boolean as a text; "" for anything else, and where nothing
    is."""
    value: Any = obj
    for name in path.split("."):
        if not isinstance(value, dict):
            return ""
        value = value.get(name)
    return text_of(value)


def text_of(value: Any) -> str:
    """Numbers that are equal have equal texts."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return str(value) if isinstance(value, int) else ""


def indexed(value: str) -> str:
    """What stands in the index for a value, and can stand there for others, too: a hash of long
    ones, and of what PostgreSQL cannot hold."""
    encoded = value.encode("utf-8", "surrogatepass")
    try:
        encoded.decode()
    except UnicodeDecodeError:
        return _hash(encoded)
    return value if len(encoded) <= _LONGEST_VALUE and b"\0" not in encoded else _hash(encoded)


def _hash(encoded: bytes) -> str:
    return "#" + hashlib.blake2b(encoded, digest_size=16).hexdigest()
