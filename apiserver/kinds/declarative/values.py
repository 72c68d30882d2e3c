"""Values as Go sees them: what a member holds when it is absent, whether it is set, and when two
values count as equal."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from apiserver.meta.equality import without_empty
from apiserver.schema.types import Schema

_ZERO: dict[str, Any] = {"integer": 0, "number": 0, "string": "", "boolean": False}


def kind_of(schema: Schema) -> str:
    """string, integer, number, boolean, list, map, struct, or any: as validation-gen tells Go types
    apart."""
    if schema.is_struct() or schema.int_or_string or schema.special not in ("", "bytes"):
        return "struct"
    if schema.type == "object":
        return "map"
    return "list" if schema.type == "array" or schema.special == "bytes" else schema.type or "any"


def nilable(schema: Schema) -> bool:
    """Whether an absent value is told from a zero one: Go pointers, and types with a JSON form of
    their own (quantities, times)."""
    return schema.go_pointer or bool(schema.special) or schema.int_or_string


def read(schema: Schema, holder: Mapping[str, Any] | None, name: str) -> Any:
    """A member of a struct; the zero value where a value type is absent, None where a pointer
    is."""
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


def identity(value: Any) -> str:
    """One text for all values that are `semantic_equal`."""
    return json.dumps(without_empty(value), sort_keys=True)
