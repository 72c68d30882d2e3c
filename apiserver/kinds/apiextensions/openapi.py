"""What kube-apiserver asks of an openAPIV3Schema beside its structure: which keywords, list and map
types may be used how (k8s.io/apiextensions-apiserver ``apis/apiextensions/validation``,
ValidateCustomResourceDefinitionOpenAPISchema)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from apiserver.fielderrors import (
    FieldErrors,
    FieldPath,
    forbidden,
    invalid,
    not_supported,
    required,
)
from apiserver.kinds.apiextensions.goform import quoted_items
from apiserver.schema.formats import recognized

Props = Mapping[str, Any]
_TYPES = ["array", "boolean", "integer", "number", "object", "string"]
_META = ("metadata", "kind", "apiVersion")
_NOT_SUPPORTED = (
    "id",
    "additionalItems",
    "patternProperties",
    "definitions",
    "dependencies",
    "$ref",
)


@dataclass(frozen=True, slots=True)
class Rules:
    """What holds at a node. no_defaults: why defaults are forbidden here ("" where they are not);
    inside_meta: below the metadata, kind or apiVersion of a resource; the rest is off for updates
    of objects that broke the rule before it was made."""

    no_defaults: str = ""
    inside_meta: bool = False
    known_types: bool = True
    atomic_sets: bool = True
    key_rules: bool = True


def schema_errors(props: Props, path: FieldPath, rules: Rules, *, root: bool = True) -> FieldErrors:
    """All but structure, defaults and rules in CEL."""
    errors = _keywords(props, path, rules)
    if props.get("uniqueItems"):
        text = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic"
        errors.append(forbidden(path.child("uniqueItems"), text))
    properties, additional = props.get("properties") or {}, props.get("additionalProperties")
    if additional is not None and properties and additional is not True:
        errors.append(
            forbidden(
                path.child("additionalProperties"),
                "additionalProperties and properties are mutual exclusive",
            )
        )
    if isinstance(additional, dict):
        why = "inside additionalProperties applying to object metadata"
        below = replace(rules, no_defaults=why) if rules.inside_meta else rules
        errors += schema_errors(additional, path.child("additionalProperties"), below, root=False)
    for name, member in properties.items():
        below = rules
        if name in _META and (root or props.get("x-kubernetes-embedded-resource")):
            below = replace(
                rules,
                inside_meta=True,
                no_defaults=f"in top-level {name}" if root else rules.no_defaults,
            )
        errors += schema_errors(member, path.child("properties").key(name), below, root=False)
    for member, where in _clauses(props, path):
        errors += schema_errors(member, where, rules, root=False)
    if props.get("x-kubernetes-preserve-unknown-fields") is False:
        errors.append(
            invalid(
                path.child("x-kubernetes-preserve-unknown-fields"),
                False,
                "must be true or undefined",
            )
        )
    return errors + _map_type(props, path) + _list_type(props, path, rules)


def _clauses(props: Props, path: FieldPath) -> Iterator[tuple[Props, FieldPath]]:
    if props.get("not") is not None:
        yield props["not"], path.child("not")
    for name in ("allOf", "oneOf", "anyOf"):
        for i, member in enumerate(props.get(name) or ()):
            yield member, path.child(name).at(i)
    for name, member in (props.get("definitions") or {}).items():
        yield member, path.child("definitions").key(name)
    items = props.get("items")
    if isinstance(items, dict):
        yield items, path.child("items")
    for i, member in enumerate(items if isinstance(items, list) else ()):
        yield member, path.child("items").at(i)
    for name, member in (props.get("dependencies") or {}).items():
        if isinstance(member, dict):
            yield member, path.child("dependencies").key(name)


def _keywords(props: Props, path: FieldPath, rules: Rules) -> FieldErrors:
    errors: FieldErrors = []
    kind = props.get("type", "")
    if rules.known_types and kind and kind not in _TYPES:
        errors.append(not_supported(path.child("type"), kind, _TYPES))
    if rules.no_defaults and "default" in props:
        errors.append(forbidden(path.child("default"), f"must not be set {rules.no_defaults}"))
    for name in _NOT_SUPPORTED:
        if props.get(name) or (
            name in ("additionalItems", "dependencies", "$ref") and name in props
        ):
            errors.append(forbidden(path.child(name), f"{name} is not supported"))
    if kind == "null":
        errors.append(
            forbidden(
                path.child("type"), "type cannot be set to null, use nullable as an alternative"
            )
        )
    if isinstance(props.get("items"), list):
        errors.append(
            forbidden(path.child("items"), "items must be a schema object and not an array")
        )
    if rules.inside_meta and props.get("x-kubernetes-embedded-resource"):
        errors.append(
            forbidden(
                path.child("x-kubernetes-embedded-resource"),
                "must not be used inside of resource meta",
            )
        )
    return errors


def _of_type(props: Props, path: FieldPath, expected: str, keyword: str) -> FieldErrors:
    kind = props.get("type", "")
    if kind == expected:
        return []
    text = f"must be {expected} if {keyword} is specified"
    return [invalid(path.child("type"), kind, text) if kind else required(path.child("type"), text)]


def _map_type(props: Props, path: FieldPath) -> FieldErrors:
    map_type = props.get("x-kubernetes-map-type")
    if map_type is None:
        return []
    errors = _of_type(props, path, "object", "x-kubernetes-map-type")
    if map_type not in ("atomic", "granular"):
        errors.append(
            not_supported(path.child("x-kubernetes-map-type"), map_type, ["atomic", "granular"])
        )
    return errors


def _list_type(props: Props, path: FieldPath, rules: Rules) -> FieldErrors:
    list_type, keys = (
        props.get("x-kubernetes-list-type"),
        props.get("x-kubernetes-list-map-keys") or [],
    )
    errors: FieldErrors = []
    here = path.child("x-kubernetes-list-type")
    if list_type is not None:
        of_type = _of_type(props, path, "array", "x-kubernetes-list-type")
        errors += of_type or (non_atomic_items(props, path) if rules.atomic_sets else [])
        if list_type not in ("atomic", "set", "map"):
            errors.append(not_supported(here, list_type, ["atomic", "set", "map"]))
    if keys and list_type != "map":
        text = "must be map if x-kubernetes-list-map-keys is non-empty"
        errors.append(required(here, text) if list_type is None else invalid(here, list_type, text))
    if list_type == "map":
        errors += _map_list(props, keys, path)
    return errors + (key_errors(props, path) if rules.key_rules else [])


def non_atomic_items(props: Props, path: FieldPath) -> FieldErrors:
    """Items of a set must be scalar or atomic."""
    items = props.get("items")
    if props.get("x-kubernetes-list-type") != "set" or not isinstance(items, dict):
        return []
    text = "must be atomic as item of a list with x-kubernetes-list-type=set"
    inner = items.get("x-kubernetes-list-type")
    if items.get("type") == "array" and inner not in (None, "atomic"):
        return [invalid(path.child("items", "x-kubernetes-list-type"), inner, text)]
    if items.get("type") == "object" and items.get("x-kubernetes-map-type") != "atomic":
        return [invalid(path.child("items", "x-kubernetes-map-type"), inner, text)]
    return []


def _map_list(props: Props, keys: list[str], path: FieldPath) -> FieldErrors:
    errors: FieldErrors = []
    here = path.child("x-kubernetes-list-map-keys")
    items = props.get("items")
    if not keys:
        errors.append(required(here, "must not be empty if x-kubernetes-list-type is map"))
    if items is None:
        errors.append(
            required(path.child("items"), "must have a schema if x-kubernetes-list-type is map")
        )
    elif isinstance(items, list):
        errors.append(
            invalid(
                path.child("items"),
                quoted_items(items),
                "must only have a single schema if x-kubernetes-list-type is map",
            )
        )
    elif items.get("type", "") != "object":
        text = "must be object if parent array's x-kubernetes-list-type is map"
        errors.append(invalid(path.child("items", "type"), items.get("type", ""), text))
    else:
        properties = items.get("properties") or {}
        seen: set[str] = set()
        for key in keys:
            if key not in properties:
                errors.append(invalid(here, keys, "entries must all be names of item properties"))
            elif properties[key].get("type") in ("array", "object"):
                text = "must be a scalar type if parent array's x-kubernetes-list-type is map"
                errors.append(
                    invalid(
                        path.child("items", "properties").key(key).child("type"), "object", text
                    )
                )
            if key in seen:
                errors.append(invalid(here, keys, "must not contain duplicate entries"))
            seen.add(key)
    return errors


def key_errors(props: Props, path: FieldPath) -> FieldErrors:
    """Items of sets and associative lists cannot be null, and their keys must be there in every
    item."""
    items, list_type = props.get("items"), props.get("x-kubernetes-list-type")
    if not isinstance(items, dict) or list_type not in ("set", "map"):
        return []
    errors: FieldErrors = []
    if items.get("nullable"):
        errors.append(
            forbidden(
                path.child("items", "nullable"),
                f"cannot be nullable when x-kubernetes-list-type is {list_type}",
            )
        )
    properties, needed = items.get("properties") or {}, frozenset(items.get("required") or ())
    for key in (props.get("x-kubernetes-list-map-keys") or ()) if list_type == "map" else ():
        member = properties.get(key)
        if member is None:
            continue
        here = path.child("items", "properties").key(key)
        if key not in needed and "default" not in member:
            text = (
                "this property is in x-kubernetes-list-map-keys, so it must have a "
                "default or be a required property"
            )
            errors.append(required(here.child("default"), text))
        if member.get("nullable"):
            errors.append(
                forbidden(
                    here.child("nullable"),
                    "this property is in x-kubernetes-list-map-keys, so it cannot be nullable",
                )
            )
    return errors


def every_node(props: Props) -> Iterator[Props]:
    """The schema and all schemas below it, wherever they stand."""
    yield props
    for member in (props.get("properties") or {}).values():
        yield from every_node(member)
    if isinstance(props.get("additionalProperties"), dict):
        yield from every_node(props["additionalProperties"])
    for member, _ in _clauses(props, FieldPath("")):
        yield from every_node(member)


def unrecognized_formats(props: Props) -> list[str]:
    """Formats that nothing will check."""
    return [
        n["format"]
        for n in every_node(props)
        if n.get("format") and not recognized(n.get("type", ""), n["format"])
    ]
