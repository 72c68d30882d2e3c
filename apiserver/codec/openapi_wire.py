"""Protobuf on the wire for OpenAPI documents, written straight from their JSON form.

Proto3 leaves zero values out, and nothing is ever read. What a schema leaves open (extensions,
examples) travels as YAML: JSON is YAML. Field numbers stand in ``data/openapi-v*-fields.json``:
JSON names with their numbers and types per message, where ``*`` repeats and ``x-`` stands for all
extensions.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson

from apiserver.meta.objects import ReadOnlyObject

Write = Callable[[Any], bytes]

_DATA = Path(__file__).parent / "data"


def varint(value: int) -> bytes:
    value &= (1 << 64) - 1
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def field(number: int, value: bytes) -> bytes:
    return varint(number << 3 | 2) + varint(len(value)) + value


def double(number: int, value: float) -> bytes:
    return varint(number << 3 | 1) + struct.pack("<d", value)


def named(name: str, value: bytes) -> bytes:
    """NamedAny and its siblings: name 1, value 2."""
    return (field(1, name.encode()) if name else b"") + field(2, value)


def any_value(value: Any) -> bytes:
    return field(2, orjson.dumps(value) + b"\n")


def named_map(value_of: Write) -> Write:
    """A map, which gnostic writes as a message with a list of names and values."""
    return lambda members: b"".join(
        field(1, named(name, value_of(value))) for name, value in members.items()
    )


def with_extensions(
    members: ReadOnlyObject, number: int, value_of: Write, extensions: int
) -> bytes:
    """A map whose ``x-`` members are extensions: the others as names and values at ``number``."""
    plain = (
        field(number, named(name, value_of(value)))
        for name, value in members.items()
        if not name.startswith("x-")
    )
    extra = (
        field(extensions, named(name, any_value(value)))
        for name, value in members.items()
        if name.startswith("x-")
    )
    return b"".join([*plain, *extra])


class Messages:
    """The messages of one version of OpenAPI. ``file``: their table; ``special``: types that are no
    plain structs."""

    def __init__(self, file: str) -> None:
        self._file = file
        self._loaded: dict[str, dict[str, tuple[int, str, bool]]] = {}
        self.special: dict[str, Write] = {"Any": any_value}

    def write(self, name: str, value: ReadOnlyObject) -> bytes:
        table = self._tables()[name]
        fields: list[tuple[int, bytes]] = []
        for member, content in value.items():
            field_number = table.get(member)
            if field_number is not None:
                number, kind, repeated = field_number
                parts = content if repeated else [content]
                fields.append(
                    (number, b"".join(self._value(number, kind, part, repeated) for part in parts))
                )
            elif member.startswith("x-"):
                fields.append(
                    (table["x-"][0], field(table["x-"][0], named(member, any_value(content))))
                )
        fields.sort(key=lambda pair: pair[0])
        return b"".join(part for _, part in fields)

    def writer(self, name: str) -> Write:
        return lambda value: self.write(name, value)

    def _tables(self) -> dict[str, dict[str, tuple[int, str, bool]]]:
        """message → JSON name → (number, type, repeated); read at first use."""
        if not self._loaded:
            raw: dict[str, str] = json.loads((_DATA / self._file).read_bytes())
            for message, line in raw.items():
                table = self._loaded[message] = {}
                for text in line.split(","):
                    name, number, kind = text.split(" ")
                    table[name] = (int(number), kind.lstrip("*"), kind.startswith("*"))
        return self._loaded

    def _value(self, number: int, kind: str, value: Any, repeated: bool) -> bytes:
        if kind == "string":
            return field(number, value.encode()) if value or repeated else b""
        if kind in ("bool", "int64"):
            return varint(number << 3) + varint(int(value)) if value else b""
        if kind == "double":
            return double(number, value) if value else b""
        write = self.special.get(kind)
        return field(number, write(value) if write is not None else self.write(kind, value))
