"""Values as Go sees them: what a member holds when it is absent, whether it is set, and when two values count as equal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from apiserver.schema.types import Schema

_ZERO: dict[str, Any] = {"integer": 0, "number": 0, "string": "", "boolean": False}


def nilable(schema: Schema) -> bool:
    """Whether an absent value is told from a zero one: Go pointers, and types with a JSON form of their own (quantities, times)."""
    return schema.go_pointer or bool(schema.special) or schema.int_or_string


def read(schema: Schema, holder: Mapping[str, Any] | None, name: str) -> Any:
    """A member of a struct; the zero value where a value type is absent, None where a pointer is."""
    value = None if holder is None else holder.get(name)
    if value is not None or nilable(schema):
        return value
    if schema.type == "array":
        return []
    if schema.type == "object":
        return {}
    return _ZERO.get(schema.type)


def is_set(schema: Schema, value: Any) -> bool:
    return value is not None if nilable(schema) else bool(value)


def same(one: Any, other: Any) -> bool:
    """Go's Semantic.DeepEqual on JSON: null, empty and absent lists and maps are equal; true is not 1."""
    if isinstance(one, dict) and isinstance(other, dict):
        return all(same(one.get(k), other.get(k)) for k in one.keys() | other.keys())
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(same(a, b) for a, b in zip(one, other, strict=True))
    if one is None or other is None:
        return one in (None, [], {}) and other in (None, [], {})
    return isinstance(one, bool) == isinstance(other, bool) and bool(one == other)
