"""The object that Go makes of nothing: what a create is compared with.

A built-in object is a Go value, so even an empty one has the members that Go always writes: structs that are no pointers, and members
without omitempty. They were there before, so a create does not own them (but what it puts into them). A custom object starts empty.
"""

from __future__ import annotations

from typing import Any

from apiserver.schema.types import Schema

_ZEROS = {"string": "", "integer": 0, "number": 0, "boolean": False}
_SPECIAL_ZEROS = {"quantity": "0", "int-or-string": 0, "duration": "0s"}


def zero_object(schema: Schema, api_version: str, kind: str) -> dict[str, Any]:
    """A new object each time."""
    return {"kind": kind, "apiVersion": api_version, **(_struct(schema) if schema.builtin else {})}


def _struct(schema: Schema) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for name, member in (schema.properties or {}).items():
        if "z" in member.go_omit or name in ("apiVersion", "kind"):
            continue
        if member.properties is not None and not member.go_pointer:
            result[name] = _struct(member)
        elif "e" not in member.go_omit:
            result[name] = _zero(member)
    return result


def _zero(schema: Schema) -> Any:
    if schema.go_pointer:
        return None
    if schema.special:
        return _SPECIAL_ZEROS.get(schema.special)
    return _ZEROS.get(schema.type)
