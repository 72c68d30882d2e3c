"""Definitions of the built-in types as both OpenAPI versions publish them.

Version 2 is what `apiserver.schema.definitions` holds, without defaults (kube-apiserver prunes them
there). Version 3 refers by ``allOf`` where something stands beside the reference, and tells the
zero value that Go gives a member that is neither a pointer nor ``omitempty``. Both list the values
of Go types marked ``+enum`` (data/openapi-enums.json), which only documents tell: nothing is held
to them. Source: k8s.io/kube-openapi ``pkg/generators`` (mustEnforceDefault, EnumType) and
``pkg/handler`` (PruneDefaults).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cache
from typing import Any

from apiserver.schema.definitions import (
    INT_OR_STRING,
    QUANTITY,
    go_types,
    load_data,
    raw_definitions,
)

Node = dict[str, Any]
V2, V3 = "#/definitions/", "#/components/schemas/"
_ZERO = {"string": "", "integer": 0, "number": 0, "boolean": False}


def references(node: Any) -> Iterator[str]:
    """Names of the definitions that a node refers to."""
    if isinstance(node, dict):
        ref = node.get("$ref")
        if isinstance(ref, str):
            yield ref.rsplit("/", 1)[1]
        for value in node.values():
            if isinstance(value, dict | list):
                yield from references(value)
    elif isinstance(node, list):
        for value in node:
            yield from references(value)


def closure(names: Iterable[str], get: Callable[[str], Node | None]) -> dict[str, Node]:
    """The definitions of ``names`` and all that they refer to, sorted. ``get`` returns None for a
    name that is defined elsewhere."""
    nodes: dict[str, Node] = {}
    waiting = list(names)
    while waiting:
        name = waiting.pop()
        if name in nodes:
            continue
        node = get(name)
        if node is not None:
            nodes[name] = node
            waiting += references(node)
    return dict(sorted(nodes.items()))


@cache
def v2(name: str) -> Node | None:
    raw = raw_definitions()
    if name not in raw:
        return None
    pruned: Node = _pruned(raw[name])
    for member, values in _enums().get(name, {}).items():
        _list_values(pruned["properties"][member], values)
    return pruned


def _pruned(node: Any, *, members: bool = False) -> Any:
    """``members``: the keys are names of properties, of which one may be called default."""
    if isinstance(node, dict):
        return {
            k: _pruned(v, members=not members and k == "properties")
            for k, v in node.items()
            if members or k != "default"
        }
    if isinstance(node, list):
        return [_pruned(v) for v in node]
    return node


@cache
def v3(name: str) -> Node | None:
    raw = raw_definitions()
    if name not in raw:
        return None
    go = go_types().get(name, {})
    schema = {
        k: v
        for k, v in raw[name].items()
        if k not in ("properties", "items", "additionalProperties")
    }
    if name in _V3_TYPES:
        schema = {k: v for k, v in schema.items() if k not in ("type", "format")} | _V3_TYPES[name]
    if "properties" in raw[name]:
        members = {
            member: _member(node, go.get(member, " "))
            for member, node in raw[name]["properties"].items()
        }
        for member, values in _enums().get(name, {}).items():
            _list_values(members[member], values)
        schema["properties"] = members
    for key in ("items", "additionalProperties"):
        if isinstance(raw[name].get(key), dict):
            schema[key] = _node(raw[name][key], _NO_DEFAULT)
    return schema


_NO_DEFAULT = ""
"""In the place of a Go type: items of lists and values of maps have no default."""
_V3_TYPES: dict[str, Node] = {
    QUANTITY: {"oneOf": [{"type": "string"}, {"type": "number"}]},
    INT_OR_STRING: {
        "format": "int-or-string",
        "oneOf": [{"type": "integer"}, {"type": "string"}],
    },
}


@cache
def _enums() -> dict[str, dict[str, list[str]]]:
    """Definition → member → its values, sorted."""
    return load_data("openapi-enums.json")


def _list_values(member: Node, values: list[str]) -> None:
    """Lists ``values`` where the string stands: the member itself, or its items, or the values of
    its map. A member that is the string itself has them in its description, too, which ``kubectl
    explain`` shows."""
    place = member.get("items") or member.get("additionalProperties") or member
    place["enum"] = values
    if place is not member:
        return
    lines = "".join(f'\n - `"{value}"`' for value in values)
    member["description"] = f"{member.get('description', '')}\n\nPossible enum values:{lines}"


def _member(raw: Node, go: str) -> Node:
    flags, go_type = go.split(" ", 1)
    return _node(raw, go_type, optional=bool(flags.partition(">")[0]))


def _node(raw: Node, go_type: str, *, optional: bool = False) -> Node:
    """``go_type``: as in go-types.json, "" where it is not known; ``optional``: Go leaves the zero
    value out."""
    node = {k: v for k, v in raw.items() if k not in ("$ref", "items", "additionalProperties")}
    for key in ("items", "additionalProperties"):
        if isinstance(raw.get(key), dict):
            node[key] = _node(raw[key], _NO_DEFAULT)
    if "default" not in raw:
        zero = _zero(raw, go_type, optional)
        if zero is not None:
            node["default"] = zero
    return refer(node, V3 + raw["$ref"].rsplit("/", 1)[1]) if "$ref" in raw else node


def refer(beside: Node, target: str) -> Node:
    """A reference in version 3: in ``allOf`` as soon as anything stands beside it."""
    return {"allOf": [{"$ref": target}], **beside} if beside else {"$ref": target}


def _zero(raw: Node, go_type: str, optional: bool) -> Any:
    """None where there is no default."""
    if not go_type or go_type.startswith("*"):
        return None
    if "$ref" in raw:
        target = raw_definitions().get(raw["$ref"].rsplit("/", 1)[1], {})
        return {} if target.get("type") == "object" and "properties" in target else None
    if optional or raw.get("format") == "byte":
        return None
    return _ZERO.get(raw.get("type", ""))
