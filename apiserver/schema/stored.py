"""What storage makes of empty lists and maps: those that Go writes without ``omitempty`` come back
as null.

kube-apiserver stores built-in types as protobuf, which does not tell an empty list from a missing
one. Ownership is decided before that, on the object as it was sent, so decoding keeps ``[]`` and
this step runs afterwards. CustomResourceDefinitions and APIServices are stored as JSON and keep it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from apiserver.schema.types import Schema

JSON_STORED = ("io.k8s.apiextensions-apiserver.", "io.k8s.kube-aggregator.")

_Step = Callable[[Any], None]
_NOTHING: _Step = lambda value: None  # noqa: E731  a marker that is compared by identity


def null_empty_lists(schema: Schema, obj: Any) -> None:
    """In place, on a decoded object of a built-in type."""
    _step(schema)(obj)


def _step(schema: Schema, above: frozenset[int] = frozenset()) -> _Step:
    """``above``: ids of the schemas whose steps are being made, which recursive types meet again. A
    step is kept once it is complete: other threads may look for it at the same time."""
    step: _Step | None = schema.cache.get("stored")
    if step is not None:
        return step
    if id(schema) in above:
        return lambda value: _step(schema)(value)
    step = schema.cache["stored"] = _compile(schema, above | {id(schema)})
    return step


def _compile(schema: Schema, above: frozenset[int]) -> _Step:
    if schema.properties is not None:
        return _struct(schema, above)
    inner = schema.items or schema.additional
    step = _step(inner, above) if inner is not None and not schema.special else _NOTHING
    if step is _NOTHING:
        return _NOTHING
    if schema.items is not None:
        return lambda value: _each(step, value)
    return lambda value: _each(step, value.values())


def _each(step: _Step, values: Any) -> None:
    for value in values:
        if value is not None:
            step(value)


def _struct(schema: Schema, above: frozenset[int]) -> _Step:
    keeps = schema.definition.startswith(JSON_STORED)
    nulled: list[str] = []
    members: list[tuple[str, _Step]] = []
    for name, member in (schema.properties or {}).items():
        collection = not member.special and (
            member.items is not None or member.additional is not None
        )
        if collection and not keeps and not member.go_omit and not member.go_pointer:
            nulled.append(name)
        step = _step(member, above)
        if step is not _NOTHING:
            members.append((name, step))
    if not nulled and not members:
        return _NOTHING

    def run(value: Any) -> None:
        for name in nulled:
            if name in value and not value[name]:
                value[name] = None
        for name, step in members:
            member = value.get(name)
            if member:
                step(member)

    return run
