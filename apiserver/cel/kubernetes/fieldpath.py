"""The fieldPath of a rule: ``.spec.containers['a.b']`` (apiextensions ``schema/cel/validation.go``,
ValidFieldPath)."""

from __future__ import annotations

import re
from collections.abc import Iterator

from apiserver.fielderrors import FieldPath
from apiserver.golang.strconv import UNESCAPED
from apiserver.schema.types import Schema


class FieldPathError(ValueError):
    """The path leads to no field of the schema."""


_ESCAPES = {**UNESCAPED, "'": "'"}
_PART = re.compile(r"'(?:[^'\\]|\\.)*'|[.\[\]]|[^.\[\]]+", re.DOTALL)


def parse_field_path(path: str, schema: Schema) -> tuple[FieldPath, Schema]:
    """The path as error messages print it, and the schema that it leads to. Raises
    FieldPathError."""
    parsed = FieldPath("")
    parts = (m.group() for m in _PART.finditer(path))
    for part in parts:
        if part == "[":
            name = _quoted(_next(parts))
        elif part == ".":
            name = _next(parts)
        else:
            raise FieldPathError(f"expected [ or . but got: {part}")
        parsed, schema = _step(parsed, schema, name)
        if part == "[":
            close = _next(parts)
            if close != "]":
                raise FieldPathError(f"expected ] but got {close}")
    return parsed, schema


def _next(parts: Iterator[str]) -> str:
    part = next(parts, None)
    if part is None:
        raise FieldPathError("unexpected end of JSON path")
    return part


def _quoted(part: str) -> str:
    if len(part) < 2 or part[0] != "'" or part[-1] != "'":
        raise FieldPathError(f"expected single quoted string but got {part}")

    def replace(m: re.Match[str]) -> str:
        if m.group(1) not in _ESCAPES:
            raise FieldPathError(f"invalid string literal: invalid escape char {m.group()}")
        return _ESCAPES[m.group(1)]

    return re.sub(r"\\(.)", replace, part[1:-1])


def _step(path: FieldPath, schema: Schema, name: str) -> tuple[FieldPath, Schema]:
    if schema.properties:
        if name not in schema.properties:
            raise FieldPathError("does not refer to a valid field")
        return path.child(name), schema.properties[name]
    if schema.additional is not None:
        return path.key(name), schema.additional
    raise FieldPathError("does not refer to a valid field")
