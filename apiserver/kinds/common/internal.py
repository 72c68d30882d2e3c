"""Values of built-in types in the JSON of Kubernetes' internal Go types, which messages quote.

Internal types carry no JSON tags: members have Go's names and stand in Go's order, none is left
out, and what is absent shows as Go's zero value (``null`` for pointers, lists and maps). What they
hold of apimachinery (ObjectMeta, LabelSelector, Time ...) has tags and looks as ever; embedded
metadata shows among the members. The order and the names are those of the versioned types, but for
what ``data/internal-types.json`` says: Go's names, members that stand elsewhere or nowhere, and
numbers that are no pointers. What a PodSpec says of its host lies in the internal security context.
Source: k8s.io/kubernetes ``pkg/apis/*/types.go``.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from apiserver.fielderrors import GoSyntax, go_json
from apiserver.meta.raw import RawObject
from apiserver.schema.builtin import definition
from apiserver.schema.order import in_order
from apiserver.schema.types import Schema

_TAGLESS = "io.k8s.api."
_OF_HOST = ("hostNetwork", "hostPID", "hostIPC", "shareProcessNamespace", "hostUsers")
_SCALARS: dict[str, Any] = {"string": "", "boolean": False, "integer": 0, "number": 0}


def quote(name: str, value: Any) -> GoSyntax:
    """A bad value of the type with the OpenAPI name ``io.k8s.api.<name>``, for a message."""
    return quoted(plain(name, value))


def quote_list(name: str, values: list[Any] | None) -> GoSyntax:
    """A bad list of values of that type."""
    return quoted(None if values is None else [plain(name, value) for value in values])


def quoted(value: Any) -> GoSyntax:
    """What `plain` made, as encoding/json writes it."""
    return GoSyntax(go_json(value))


def plain(name: str, value: Any) -> Any:
    """The same as a value, for a diff; None stays None, as a null pointer does."""
    return None if value is None else _go_value(definition(_TAGLESS + name), value)


def plain_part(name: str, value: Any, members: Sequence[str]) -> Any:
    """The same of a struct that the type embeds: these members, in this order."""
    struct = plain(name, value)
    go_names = {member: go for member, go, _ in _members(_TAGLESS + name)}
    return {go_names[member]: struct[go_names[member]] for member in members}


def versioned(definition_name: str, value: Any) -> GoSyntax:
    """A bad value of a type that has tags, of the full name of its definition: its members in the
    order of the Go type."""
    return quoted(None if value is None else _go_value(definition(definition_name), value))


@cache
def _facts() -> dict[str, Any]:
    path = Path(__file__).parent.parent / "data" / "internal-types.json"
    facts: dict[str, Any] = json.loads(path.read_text())
    return facts


@cache
def _members(name: str) -> list[tuple[str, str, Schema]]:
    """(member, Go's name, schema) in Go's order; "" for the name of embedded metadata."""
    facts, properties = _facts(), definition(name).properties or {}
    names, order = facts["own_names"].get(name, {}), facts["order"].get(name, list(properties))
    host = definition(f"{_TAGLESS}core.v1.PodSpec").properties or {}
    return [
        (
            member,
            ""
            if member == "metadata"
            else names.get(member) or facts["names"].get(member) or member[:1].upper() + member[1:],
            properties[member] if member in properties else host[member],
        )
        for member in order
    ]


def _go_value(schema: Schema, value: Any) -> Any:
    if isinstance(value, RawObject):
        return json.loads(value.text)
    if schema.special or not isinstance(value, dict | list):
        return value
    if isinstance(value, list):
        items = schema.items
        return [_go_value(items, item) for item in value] if items is not None else value
    if schema.properties is None:
        values = schema.additional
        return {
            k: _go_value(values, v) if values is not None else v for k, v in sorted(value.items())
        }
    if not schema.definition.startswith(_TAGLESS):
        return in_order(schema, value)
    return _struct(schema, value)


def _struct(schema: Schema, value: dict[str, Any]) -> dict[str, Any]:
    name = schema.definition
    if name == f"{_TAGLESS}core.v1.PodSpec":
        value = _with_host(value)
    numbers = _facts()["numbers"].get(name, ())
    out: dict[str, Any] = {}
    for member, go_name, declared in _members(name):
        given = value.get(member)
        if not go_name:
            out.update(_go_value(declared, given or {}))
        elif given is not None:
            out[go_name] = _go_value(declared, given)
        else:
            out[go_name] = 0 if member in numbers else _zero(declared)
    return out


def _with_host(spec: dict[str, Any]) -> dict[str, Any]:
    host = {member: spec[member] for member in _OF_HOST if spec.get(member) is not None}
    context = spec.get("securityContext") or {}
    return {**spec, "securityContext": {**context, **host}} if host else spec


def _zero(schema: Schema) -> Any:
    if schema.go_pointer:
        return None
    if schema.special == "quantity":
        return "0"
    if schema.special == "int-or-string":
        return 0
    if schema.properties is not None and not schema.special:
        return _go_value(schema, {})
    return _SCALARS.get(schema.type) if not schema.special else None
