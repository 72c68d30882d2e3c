"""Values for schemas: what a schema asks for at the least, and what it must refuse.

`fill` adds to a value whatever is required, so that a test has to write down only what it is about.
`faults` makes, for one node, a value for each of its restrictions that breaks it, with the error
that kube-apiserver reports.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from apiserver.meta.objects import copy_json
from apiserver.schema.structural import structural
from apiserver.schema.types import MISSING, Schema
from apiserver.schema.validate import validate

Step = str
"""A member's name, "[]" for the items of a list, "{}" for the values of a map."""

_SAMPLES = (
    "",
    "a",
    "A",
    "a.b",
    "example.com/a",
    "/a",
    "1s",
    "1",
    "a/b",
    "2026-01-01T00:00:00Z",
    "*",
    "https://a",
)


class Node(NamedTuple):
    """One schema of a definition and the way to it."""

    steps: tuple[Step, ...]
    schema: Schema


def nodes(schema: Schema, steps: tuple[Step, ...] = ()) -> Iterator[Node]:
    yield Node(steps, schema)
    for name, member in (schema.properties or {}).items():
        if not steps and name in ("apiVersion", "kind", "metadata"):
            continue
        yield from nodes(member, (*steps, name))
    for step, below in (("[]", schema.items), ("{}", schema.additional)):
        if below is not None:
            yield from nodes(below, (*steps, step))


def sample(schema: Schema) -> Any:
    """The least value that the schema accepts."""
    if schema.default is not MISSING:
        return copy_json(schema.default)
    if schema.enum:
        return schema.enum[0]
    if schema.type == "object":
        return fill(schema, {})
    if schema.type == "array":
        count = schema.min_items or 0
        return [sample(schema.items) for _ in range(count)] if schema.items is not None else []
    if schema.type in ("integer", "number"):
        return max(schema.minimum or 0, 0)
    if schema.type == "boolean":
        return False
    found = [
        text for text in (*_SAMPLES, "a" * (schema.min_length or 0)) if not validate(schema, text)
    ]
    assert found, f"no sample fits {schema.pattern!r}"
    return found[0]


def fill(schema: Schema, value: Any) -> Any:
    """The value with all that is required and missing in it, at any depth."""
    if type(value) is dict:
        properties = schema.properties or {}
        made = {
            name: fill(known, v) if (known := properties.get(name) or schema.additional) else v
            for name, v in value.items()
        }
        return {
            **{
                n: sample(properties[n])
                for n in schema.required
                if n not in value and properties[n].default is MISSING
            },
            **made,
        }
    if type(value) is list and schema.items is not None:
        return [fill(schema.items, item) for item in value]
    return value


def wrap(root: Schema, steps: tuple[Step, ...], value: Any) -> Any:
    """An object that holds the value, as it is, at the end of the way, and what is required around
    it."""
    if not steps:
        return value
    step, rest = steps[0], steps[1:]
    if step == "[]":
        assert root.items is not None
        return [wrap(root.items, rest, value)]
    if step == "{}":
        assert root.additional is not None
        return {"key": wrap(root.additional, rest, value)}
    return {**fill(root, {}), step: wrap((root.properties or {})[step], rest, value)}


def path_of(steps: tuple[Step, ...], *, rules: bool = False) -> str:
    """As errors name the place in what `wrap` makes. ``rules``: errors of rules put the keys of
    maps into brackets."""
    text = ""
    for step in steps:
        text += {"[]": "[0]", "{}": "[key]" if rules else ".key"}.get(step, f".{step}")
    return text.removeprefix(".")


class Fault(NamedTuple):
    """A value that must be refused at its place. error: below it, "<path>" standing for where it
    is."""

    what: str
    value: Any
    error: str


def faults(schema: Schema) -> Iterator[Fault]:
    """One for each restriction of the node itself. Nothing that it holds is broken in another
    way."""
    yield from _of_type(schema)
    for name in schema.required:
        known = (schema.properties or {})[name]
        if known.default is MISSING:
            value = sample(schema)
            del value[name]
            yield Fault("required", value, f"<path>.{name}: Required value")
    if schema.enum and schema.type == "string":
        listed = ", ".join(f'"{v}"' for v in schema.enum)
        yield Fault(
            "enum", "no such", f'<path>: Unsupported value: "no such": supported values: {listed}'
        )
    if schema.type == "string":
        yield from _of_string(schema)
    elif schema.type in ("integer", "number"):
        yield from _of_number(schema)
    elif schema.type == "array":
        yield from _of_list(schema)
    elif (
        schema.type == "object"
        and schema.max_properties is not None
        and schema.additional is not None
    ):
        value = {f"a{i}": sample(schema.additional) for i in range(schema.max_properties + 1)}
        most = schema.max_properties
        yield Fault(
            "maxProperties",
            value,
            f"<path>: Too many: {len(value)}: must have at most {most} "
            f"item{'' if most == 1 else 's'}",
        )


def _of_type(schema: Schema) -> Iterator[Fault]:
    wrong: dict[str, tuple[Any, str]] = {
        "string": (7, "integer"),
        "boolean": ("x", "string"),
        "integer": ("x", "string"),
    }
    wrong |= {"number": ("x", "string"), "array": ("x", "string"), "object": ([], "array")}
    if schema.type in wrong:
        value, found = wrong[schema.type]
        wanted = schema.type
        if wanted == "string" and schema.format:
            wanted, found = schema.format, "int64"
        yield Fault(
            "type",
            value,
            f'<path>: Invalid value: "{found}": <path> in body must be of type {wanted}: "{found}"',
        )


def _of_string(schema: Schema) -> Iterator[Fault]:
    if schema.max_length is not None:
        yield Fault(
            "maxLength",
            "ä" * (schema.max_length + 1),
            f"<path>: Too long: may not be more than {schema.max_length} bytes",
        )
    if schema.min_length and not schema.enum:
        value = "a" * (schema.min_length - 1)
        yield Fault(
            "minLength",
            value,
            f'<path>: Invalid value: "{value}": <path> in body should be at least '
            f"{schema.min_length} chars long",
        )
    if schema.pattern:
        value = next(
            v
            for v in ("\x01", "!" * (schema.min_length or 1), "")
            if _breaks_only_pattern(schema, v)
        )
        shown = value.replace("\x01", "\\x01")
        yield Fault(
            "pattern",
            value,
            f"<path>: Invalid value: \"{shown}\": <path> in body should match '{schema.pattern}'",
        )


def _breaks_only_pattern(schema: Schema, value: str) -> bool:
    found = validate(structural({"type": "string", "pattern": schema.pattern}), value)
    return bool(found) and len(value) >= (schema.min_length or 0)


def _of_number(schema: Schema) -> Iterator[Fault]:
    for bound, by, how in (
        (schema.minimum, -1, "greater than or equal to"),
        (schema.maximum, 1, "less than or equal to"),
    ):
        if bound is not None:
            value = int(bound) + by
            yield Fault(
                "bounds",
                value,
                f"<path>: Invalid value: {value}: <path> in body should be {how} {int(bound)}",
            )


def _of_list(schema: Schema) -> Iterator[Fault]:
    assert schema.items is not None
    item = sample(schema.items)
    if schema.min_items:
        yield Fault(
            "minItems",
            [],
            f"<path>: Invalid value: 0: <path> in body should have at least {schema.min_items} "
            f"items",
        )
    if schema.max_items is not None:
        most, size = schema.max_items, schema.max_items + 1
        yield Fault(
            "maxItems",
            [item] * size,
            f"<path>: Too many: {size}: must have at most {most} item{'' if most == 1 else 's'}",
        )
    if schema.list_type == "set":
        yield Fault("set", [item, item], f"<path>[1]: Duplicate value: {_json(item)}")
    if schema.list_type == "map":
        keys = ",".join(f'"{k}":{_json(item[k])}' for k in sorted(schema.map_keys) if k in item)
        yield Fault("map", [item, item], f"<path>[1]: Duplicate value: {{{keys}}}")


def _json(value: Any) -> str:
    return f'"{value}"' if type(value) is str else str(value)


def at_path(error: str, path: str) -> str:
    """The fault's error at a place."""
    return re.sub(r"^\.", "", error.replace("<path>", path))
