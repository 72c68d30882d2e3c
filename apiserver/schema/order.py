"""Values with their members in the order in which Go writes them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from apiserver.meta.raw import RawObject
from apiserver.schema.types import Schema

_RAW = "raw-extension"


def in_order(schema: Schema | None, value: Any) -> Any:
    """A copy with the members of built-in structs in the order of the Go type and those of maps,
    and of values without ``schema``, sorted; a RawExtension is left as it is. Empty lists and
    maps that Go leaves out are left out."""
    if isinstance(value, RawObject) or (schema is not None and schema.special == _RAW):
        return value
    if isinstance(value, list):
        items = schema.items if schema is not None else None
        return [in_order(items, item) for item in value]
    if not isinstance(value, Mapping):
        return value
    members = (schema.properties or {}) if schema is not None and schema.builtin else {}
    order = [name for name in members if name in value and not _omitted(members[name], value[name])]
    order += sorted(value.keys() - members.keys())
    return {name: in_order(below(schema, name), value[name]) for name in order}


def _omitted(member: Schema, value: Any) -> bool:
    """A struct is written even when it is empty."""
    is_list_or_map = member.items is not None or member.additional is not None
    return is_list_or_map and "e" in member.go_omit and not member.go_pointer and value in ([], {})


def below(schema: Schema | None, name: str) -> Schema | None:
    """The schema of a member of a struct or of a value of a map; None where nothing is known."""
    if schema is None or schema.special == _RAW:
        return schema
    return (schema.properties or {}).get(name) or schema.additional
