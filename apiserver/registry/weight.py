"""How much work the text of an object is, counted in bytes of text as it usually is.

What is done on the event loop is bounded by the size of an object (`apiserver.registry.offload`).
Its bytes alone do not tell: 60 KB are some 2,000 values as people and controllers write them, but
20,000 empty containers too, and a few of them are megabytes once a custom resource's defaults, or
YAML's aliases, have been filled in.
"""

from __future__ import annotations

from typing import Any

import orjson

from apiserver.schema.types import MISSING, Schema

VALUE = 24
"""Bytes of JSON for one value and its name, in the objects of real clusters at the least."""
_BINARY = 4
"""How many times smaller the same object may be in CBOR or protobuf."""
_MANY = 1 << 20
"""What aliases stand for is not known before the text has been read: as much as a large object."""


MOST = 8 * 1024 * 1024
"""What more weighs is as large as large can be."""


def of_json(text: bytes, schema: Schema) -> int:
    """The weight of an object, or of a patch of one: at least its bytes. ``schema``: of the
    object."""
    values, defaults = _count(text, b",") + 1, _defaults_of(schema)
    size = max(len(text), VALUE * values)
    if defaults:
        size += defaults * (_count(text, b"{") + text.count(b"null"))
    return _bounded(size, text)


def of_yaml(text: bytes, schema: Schema) -> int:
    """YAML has one value a line, and aliases; JSON is YAML, too."""
    if text.startswith(b"{"):
        return of_json(text, schema)
    if b"&" in text:
        return max(len(text), _MANY)
    values = _count(text, b",") + _count(text, b"\n") + 1
    return _bounded(max(len(text), VALUE * values) + _defaults_of(schema) * values, text)


def of_binary(text: bytes, schema: Schema) -> int:
    """CBOR and protobuf."""
    return _bounded(max(_BINARY, _defaults_of(schema)) * len(text), text)


def _count(text: bytes, byte: bytes) -> int:
    """``bytes.count`` of one byte looks at each byte by itself; to look for the next one is sixty
    times as fast where there are few, as in a megabyte of one value, and else as fast."""
    return len(text) - len(text.replace(byte, b""))


def _bounded(size: int, text: bytes) -> int:
    return max(len(text), min(size, MOST))


def _defaults_of(schema: Schema) -> int:
    """Bytes of all defaults of a custom schema: what one value of it may grow by. 0 for built-in
    types, whose defaults are short."""
    if schema.builtin:
        return 0
    if schema.defaults_size is None:
        schema.defaults_size = _sum(schema)
    return schema.defaults_size


def _sum(schema: Schema) -> int:
    own = len(orjson.dumps(schema.default)) if schema.default is not MISSING else 0
    below: list[Any] = [*(schema.properties or {}).values(), schema.items, schema.additional]
    return own + sum(_sum(s) for s in below if s is not None)
