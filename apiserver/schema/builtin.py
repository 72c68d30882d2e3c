"""The schema tree of the built-in types: OpenAPI definitions joined with what only the Go types
tell.

OpenAPI says nothing about Go's type names (which error messages show), pointers and ``omitempty``
(which decide how an object looks after it went through the server), so ``data/go-types.json`` holds
them: definition → member → "<flags> <Go type>". Flags: ``e`` omitempty, ``z`` omitzero, and after
``>`` the embedded structs that the member lies in (``>RuleWithOperations.Rule``). The type is
written as reflection prints it, with ``*`` for a pointer; where a list or a map has a name of its
own, the name comes with what it is made of:
``v1.ResourceList=map[v1.ResourceName]resource.Quantity``.

Members are resolved at first use, and each definition's members exist once per process, so
recursive definitions end and everything that a consumer compiles into ``Schema.cache`` is compiled
once.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache, partial
from typing import Any

from apiserver.meta.gvk import GroupVersionKind
from apiserver.schema.definitions import (
    APIEXTENSIONS,
    INT_OR_STRING,
    META,
    QUANTITY,
    go_types,
    load_data,
    raw_definitions,
    value_shape,
)
from apiserver.schema.types import MISSING, LazyProperties, Schema

__all__ = ["definition", "has_go_type", "kinds", "raw_definitions", "schema_for", "unserved_kinds"]

_SPECIAL = {
    QUANTITY: "quantity",
    INT_OR_STRING: "int-or-string",
    META + "Time": "time",
    META + "MicroTime": "microtime",
    META + "FieldsV1": "fields-v1",
    "io.k8s.apimachinery.pkg.runtime.RawExtension": "raw-extension",
    APIEXTENSIONS + "JSON": "json",
}
_UNTYPED = frozenset({"fields-v1", "raw-extension", "json"})
_EVERY_GROUP = frozenset(
    {
        "CreateOptions",
        "DeleteOptions",
        "GetOptions",
        "ListOptions",
        "PatchOptions",
        "UpdateOptions",
        "WatchEvent",
    }
)
_HELD = frozenset(
    {
        "type",
        "format",
        "properties",
        "additionalProperties",
        "items",
        "description",
        "default",
        "required",
        "$ref",
    }
)
_MARKERS = "x-kubernetes-list-", "x-kubernetes-map-type", "x-kubernetes-patch-"


def schema_for(gvk: GroupVersionKind) -> Schema:
    """The schema of a built-in kind. Raises KeyError for any other. The options kinds belong to
    every group and version."""
    name = kinds().get(gvk)
    if name is None and gvk.kind in _EVERY_GROUP:
        name = META + gvk.kind
    if name is None:
        raise KeyError(gvk)
    return definition(name)


@cache
def kinds() -> Mapping[GroupVersionKind, str]:
    """Every built-in kind and the name of its definition."""
    raw = raw_definitions()
    return {
        GroupVersionKind(k["group"], k["version"], k["kind"]): name
        for name in raw
        for k in raw.group_version_kinds(name)
    }


@cache
def unserved_kinds() -> Mapping[str, frozenset[str]]:
    """apiVersion → kinds that Kubernetes has Go types for but does not serve (any more): errors
    tell them from what never was."""
    return {
        version: frozenset(names) for version, names in load_data("unserved-kinds.json").items()
    }


def has_go_type(gvk: GroupVersionKind) -> bool:
    """Whether Kubernetes knows the kind, served or not."""
    return gvk in kinds() or gvk.kind in unserved_kinds().get(gvk.api_version, ())


@cache
def definition(name: str) -> Schema:
    """The schema of a definition such as ``io.k8s.api.core.v1.PodSpec``. Raises KeyError where
    there is none."""
    raw = raw_definitions()[name]
    package, struct = name.rsplit(".", 2)[1:]
    special = _SPECIAL.get(name, "")
    node = _node(raw, f"{package}.{struct}")
    if special:
        return replace(
            node,
            definition=name,
            special=special,
            go_struct=struct,
            preserve_unknown=special in _UNTYPED,
            int_or_string=special == "int-or-string",
        )
    if raw.get("type") != "object":
        return replace(node, definition=name, go_struct=struct)
    return replace(node, definition=name, go_struct=struct, properties=_members(name, raw))


def _members(name: str, raw: dict[str, Any]) -> LazyProperties:
    """Members in the order of the Go struct, which is the order in which the server writes them."""
    go = go_types().get(name, {})
    properties = raw.get("properties", {})
    place = {member: i for i, member in enumerate(go)}
    make: dict[str, Callable[[], Schema]] = {}
    for member in sorted(properties, key=lambda m: place.get(m, len(place))):
        make[member] = partial(_member, properties[member], go.get(member, " "))
    return LazyProperties(make)


def _member(raw: dict[str, Any], go: str) -> Schema:
    flags, go_type = go.split(" ", 1)
    node = _node(raw, go_type.lstrip("*"))
    node.go_omit, _, node.go_embedded = flags.partition(">")
    node.go_pointer = go_type.startswith("*")
    return node


def _node(raw: dict[str, Any], go_type: str) -> Schema:
    """A schema from one OpenAPI node; ``go_type`` as in the data file, without the pointer."""
    printed = re.sub(r"=.*", "", go_type)
    shape = go_type if go_type.startswith("map[") else go_type.split("=", 1)[-1]
    ref = raw.get("$ref")
    if ref is not None:
        target = definition(ref.rsplit("/", 1)[1])
        node = replace(
            target,
            cache={},
            go_type=printed or target.go_type,
            description=raw.get("description", ""),
        )
        node.default = raw.get("default", MISSING)
    else:
        node = Schema(
            builtin=True,
            type=raw.get("type", ""),
            format=raw.get("format", ""),
            go_type=printed,
            description=raw.get("description", ""),
            default=raw.get("default", MISSING),
            required=tuple(raw.get("required", ())),
            extensions={
                k: v for k, v in raw.items() if k not in _HELD and not k.startswith(_MARKERS)
            },
        )
        if raw.get("format") == "byte":
            node.special = "bytes"
        elif printed == "v1.Duration":
            node.special = "duration"
        if "items" in raw:
            node.items = _node(raw["items"], shape.removeprefix("[]").lstrip("*"))
        if "additionalProperties" in raw:
            node.additional = _node(raw["additionalProperties"], value_shape(shape).lstrip("*"))
    _mark(node, raw)
    return node


def _mark(node: Schema, raw: dict[str, Any]) -> None:
    """The merge markers; those beside a reference win over those of its target."""
    node.list_type = raw.get("x-kubernetes-list-type", node.list_type)
    node.map_keys = tuple(raw.get("x-kubernetes-list-map-keys", node.map_keys))
    node.map_type = raw.get("x-kubernetes-map-type", node.map_type)
    node.patch_merge_key = raw.get("x-kubernetes-patch-merge-key", node.patch_merge_key)
    strategy = raw.get("x-kubernetes-patch-strategy", "")
    if strategy:
        node.patch_strategy = frozenset(strategy.split(","))
