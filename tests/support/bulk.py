"""Objects with one list or map filled up: what the guard against slow answers sends
(tests/robustness/test_loop_lag.py).

A place is the way to a list or a map of a kind's schema. It is filled in several ways, because each
finds other faults: many equal items find comparisons of all with all, empty ones find errors for
each item, distinct ones get past the checks, full ones have all members.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from apiserver.meta.objects import Object
from apiserver.schema.types import Schema

Steps = tuple[str, ...]
FILLS = ("empty", "equal", "distinct", "invalid", "full")
_DEEP = 2
_TIME = "2026-01-01T00:00:00Z"


class Place(NamedTuple):
    """steps: names of members, "[]" for the items of a list, "{}" for the values of a map; schema:
    of the list or map there."""

    steps: Steps
    schema: Schema

    def __str__(self) -> str:
        return ".".join(self.steps).replace(".[]", "[]").replace(".{}", "{}")


def places(schema: Schema, steps: Steps = (), within: tuple[str, ...] = ()) -> Iterator[Place]:
    """All lists and maps below a schema; a definition inside itself is not gone into again."""
    if schema.definition:
        if schema.definition in within:
            return
        within = (*within, schema.definition)
    for step, below in (("[]", schema.items), ("{}", schema.additional)):
        if below is not None:
            yield Place(steps, schema)
            yield from places(below, (*steps, step), within)
    for name, member in (schema.properties or {}).items():
        if steps or name not in ("apiVersion", "kind"):
            yield from places(member, (*steps, name), within)


def filled(base: Object, place: Place, fill: str, size: int) -> Object:
    """A copy of ``base`` with as many items at the place as make about ``size`` bytes of JSON of
    it."""
    item = _MAKERS[fill]
    below = place.schema.items or place.schema.additional
    assert below is not None
    extra = 1 if place.schema.items is not None else len('"key00000000":')
    each = (
        len(json.dumps(item(below, place.schema.map_keys, 10_000), separators=(",", ":"))) + extra
    )
    count = max((size - len(json.dumps(base))) // each, 1)
    made = (item(below, place.schema.map_keys, i) for i in range(count))
    value = (
        list(made)
        if place.schema.items is not None
        else {f"key{i:08d}": v for i, v in enumerate(made)}
    )
    return with_value(base, place.steps, value)


def with_value(base: Object, steps: Steps, value: Any) -> Object:
    out = copy.deepcopy(base)
    at: Any = out
    for step, after in zip(steps, (*steps[1:], ""), strict=True):
        empty: Any = [] if after == "[]" else {}
        if not after:
            empty = value
        if step == "[]":
            at[:] = at or [empty]
            at[0] = at[0] if after and type(at[0]) is type(empty) else empty
            at = at[0]
        else:
            key = "key" if step == "{}" else step
            if not after or not isinstance(at.get(key), type(empty)):
                at[key] = empty
            at = at[key]
    return out


def value_at(obj: Object, steps: Steps) -> Any:
    at: Any = obj
    for step in steps:
        at = at[0] if step == "[]" else at["key" if step == "{}" else step]
    return at


# --- items ----------------------------------------------------------------------------------------
Maker = Callable[[Schema, tuple[str, ...], int], Any]


def _empty(schema: Schema, keys: tuple[str, ...], i: int) -> Any:
    if schema.type == "object":
        return {}
    return [] if schema.type == "array" else _scalar(schema, "")


def _equal(schema: Schema, keys: tuple[str, ...], i: int) -> Any:
    return _distinct(schema, keys, 0)


def _distinct(schema: Schema, keys: tuple[str, ...], i: int) -> Any:
    """With nothing but what tells it from others."""
    if schema.type == "object" and schema.properties is not None:
        chosen = [k for k in keys if k in schema.properties] or [
            n for n in ("name", "key", "ip", "uid") if n in schema.properties
        ]
        chosen = (
            chosen or [n for n, member in schema.properties.items() if member.type == "string"][:1]
        )
        return {n: _scalar(schema.properties[n], f"a{i}", i) for n in chosen}
    return _full(schema, keys, i)


def _invalid(schema: Schema, keys: tuple[str, ...], i: int) -> Any:
    if schema.type == "object" and schema.properties is not None:
        made = _distinct(schema, keys, i)
        return {n: f"{v} !" if isinstance(v, str) else -i for n, v in made.items()}
    return _scalar(schema, f"a{i} !", -1 - i)


def _full(schema: Schema, keys: tuple[str, ...], i: int, deep: int = _DEEP) -> Any:
    if schema.special or schema.type not in ("object", "array"):
        return _scalar(schema, f"a{i}", i)
    if schema.type == "array":
        assert schema.items is not None
        return [_full(schema.items, schema.map_keys, i, deep - 1)] if deep else []
    if schema.properties is None:
        return (
            {f"k{i}": _full(schema.additional, (), i, deep - 1)}
            if deep and schema.additional is not None
            else {}
        )
    if not deep:
        return {}
    return {name: _full(member, (), i, deep - 1) for name, member in schema.properties.items()}


def _scalar(schema: Schema, text: str, number: int = 0) -> Any:
    if schema.special in ("time", "microtime"):
        return _TIME
    if schema.special == "bytes":
        return "YQ=="
    if schema.special in ("quantity", "int-or-string", "duration"):
        return number
    if schema.special in ("fields-v1", "raw-extension", "json"):
        return {"f:a": {}}
    if schema.type == "object":
        return {}
    if schema.type == "array":
        return []
    if schema.type in ("integer", "number"):
        return number
    if schema.type == "boolean":
        return True
    return text


_MAKERS: dict[str, Maker] = {
    "empty": _empty,
    "equal": _equal,
    "distinct": _distinct,
    "invalid": _invalid,
    "full": _full,
}
