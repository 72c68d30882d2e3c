"""Defaults of custom resources, as structural schemas define them (k8s.io/apiextensions-apiserver
``schema/defaulting``).

A default fills a member that is missing, and one that is null where the schema does not allow null.
Each node is compiled once; a subtree without defaults compiles to nothing and is never walked.
Built-in types get their defaults from ``apiserver.kinds``, not from here.

A default within the items of a list is filled in as often as the list has items, so a small object
can become a large one: what is filled in is counted while that is done, and too much of it is
refused before it is made.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from apiserver.errors import RequestEntityTooLarge
from apiserver.meta.objects import copy_json
from apiserver.schema.prunedefaults import default_of, prune_defaults
from apiserver.schema.types import Schema

MOST = 4 * 2**20
"""Bytes of JSON that defaults may add to one object: as much as may be stored of it
(apiserver.storage.commit.MAX_OBJECT)."""


class _Room:
    """What defaults may still add to the object that is being filled in."""

    __slots__ = ("left",)

    def __init__(self) -> None:
        self.left = MOST

    def take(self, size: int) -> None:
        self.left -= size
        if self.left < 0:
            raise RequestEntityTooLarge(
                f"Request entity too large: defaults add more than {MOST} bytes to the object"
            )


_Defaulter = Callable[[Any, _Room], None]


def apply_defaults(schema: Schema, obj: Any) -> None:
    """Fill in the defaults of a custom schema, in place. Whatever does not fit the schema is left
    as it is for validation to reject. Raises RequestEntityTooLarge."""
    if "defaults" not in schema.cache:
        prune_defaults(schema)
    fill = _defaulter(schema)
    if fill is not None:
        fill(obj, _Room())


def _defaulter(schema: Schema) -> _Defaulter | None:
    if "defaults" not in schema.cache:
        schema.cache["defaults"] = _compile(schema)
    remembered: _Defaulter | None = schema.cache["defaults"]
    return remembered


def _compile(schema: Schema) -> _Defaulter | None:
    if schema.builtin:
        return None
    if schema.properties is not None or schema.additional is not None:
        return _object(schema)
    return _array(schema.items) if schema.items is not None else None


def _size(name: str, default: Any) -> int:
    """Bytes of JSON that the member adds."""
    return (
        len(name) + len(json.dumps(default, separators=(",", ":"))) + 4
        if default is not None
        else 0
    )


def _object(schema: Schema) -> _Defaulter | None:
    members = {}
    for name, member in (schema.properties or {}).items():
        default, below = default_of(member), _defaulter(member)
        if default is not None or below is not None:
            members[name] = (default, _size(name, default), member.nullable, below)
    additional = schema.additional
    value_default = default_of(additional) if additional is not None else None
    value_below = _defaulter(additional) if additional is not None else None
    if not members and value_default is None and value_below is None:
        return None
    value_size = _size("", value_default)
    nullable = additional is not None and additional.nullable
    properties = schema.properties or {}

    def fill(obj: Any, room: _Room) -> None:
        if type(obj) is not dict:
            return
        for name, (default, size, may_be_null, below) in members.items():
            value = obj.get(name)
            if value is None and default is not None and not (may_be_null and name in obj):
                room.take(size)
                value = obj[name] = copy_json(default)
            if below is not None and value is not None:
                below(value, room)
        if value_default is None and value_below is None:
            return
        for name, value in obj.items():
            if name in properties:
                continue
            if value is None and value_default is not None and not nullable:
                room.take(value_size)
                value = obj[name] = copy_json(value_default)
            if value_below is not None and value is not None:
                value_below(value, room)

    return fill


def _array(items: Schema) -> _Defaulter | None:
    default, below = default_of(items), _defaulter(items)
    if default is None and below is None:
        return None
    size = _size("", default)

    def fill(value: Any, room: _Room) -> None:
        if type(value) is not list:
            return
        for i, item in enumerate(value):
            if item is None and default is not None and not items.nullable:
                room.take(size)
                item = value[i] = copy_json(default)
            if below is not None and item is not None:
                below(item, room)

    return fill
