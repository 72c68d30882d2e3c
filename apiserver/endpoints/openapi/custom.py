"""Definitions of custom kinds, from their schema trees.

Version 3 tells everything that the structural schema holds. Version 2 leaves out what its readers
(kubectl) cannot bear: junctors, nullable and untyped values with members. Source:
k8s.io/apiextensions-apiserver ``controller/openapi/builder`` and ``openapi/v2``.
"""

from __future__ import annotations

from typing import Any

from apiserver.endpoints.openapi.definitions import V2, V3, Node, refer
from apiserver.endpoints.openapi.operations import definition_name
from apiserver.kinds.served import Resource, ServedVersion
from apiserver.meta.gvk import GroupVersionKind
from apiserver.schema.definitions import META, raw_definitions
from apiserver.schema.types import MISSING, Schema

_CONVENTIONS = "https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md"
_EMBEDDED = {
    "apiVersion": (
        f"apiVersion defines the versioned schema of this representation of an object. "
        f"More info: {_CONVENTIONS}#resources"
    ),
    "kind": (
        f"kind is a string value representing the type of this object. In CamelCase. More "
        f"info: {_CONVENTIONS}#types-kinds"
    ),
}
_BOUNDS = (
    ("pattern", "pattern"),
    ("minimum", "minimum"),
    ("maximum", "maximum"),
    ("multiple_of", "multipleOf"),
    ("min_length", "minLength"),
    ("max_length", "maxLength"),
    ("min_items", "minItems"),
    ("max_items", "maxItems"),
    ("min_properties", "minProperties"),
    ("max_properties", "maxProperties"),
)
_FLAGS = (
    ("exclusive_minimum", "exclusiveMinimum"),
    ("exclusive_maximum", "exclusiveMaximum"),
    ("unique_items", "uniqueItems"),
    ("preserve_unknown", "x-kubernetes-preserve-unknown-fields"),
    ("embedded_resource", "x-kubernetes-embedded-resource"),
    ("int_or_string", "x-kubernetes-int-or-string"),
)

_INT_OR_STRING = [{"type": "integer"}, {"type": "string"}]


def definitions(resource: Resource, served: ServedVersion, *, v2: bool) -> dict[str, Node]:
    """The kind and its list."""
    gvk = resource.gvk(served.version)
    list_gvk = GroupVersionKind(resource.group, served.version, resource.list_kind)
    selectable = [{"fieldPath": path} for path in resource.selectable(served.version)]
    more = {"x-kubernetes-selectable-fields": selectable} if selectable else {}
    kind = _kind(served.schema, v2=v2)
    kind["x-kubernetes-group-version-kind"] = [gvk._asdict()]
    name, prefix = definition_name(gvk), V2 if v2 else V3
    listed = {
        "description": f"{resource.list_kind} is a list of {resource.kind}",
        "type": "object",
        "required": ["items"],
        "properties": {
            **_type_meta(),
            "items": {
                "type": "array",
                "items": {"$ref": prefix + name},
                "description": f"List of {resource.resource}. More info: {_CONVENTIONS}",
            },
            "metadata": _reference(
                "ListMeta", f"Standard list metadata. More info: {_CONVENTIONS}#types-kinds", v2
            ),
        },
        "x-kubernetes-group-version-kind": [list_gvk._asdict()],
    }
    return {name: {**kind, **more}, definition_name(list_gvk): {**listed, **more}}


def _kind(schema: Schema, *, v2: bool) -> Node:
    if v2 and schema.preserve_unknown:
        return {"type": "object"}
    node = _node(schema, v2=v2)
    _add_type_meta(node, v2)
    node["properties"] |= _type_meta()
    return node


def _type_meta() -> dict[str, Node]:
    config_map = raw_definitions()["io.k8s.api.core.v1.ConfigMap"]["properties"]
    return {"apiVersion": config_map["apiVersion"], "kind": config_map["kind"]}


def _add_type_meta(node: Node, v2: bool) -> None:
    text = f"Standard object's metadata. More info: {_CONVENTIONS}#metadata"
    node["properties"] = {
        **node.get("properties", {}),
        "metadata": _reference("ObjectMeta", text, v2),
    }


def _reference(name: str, text: str, v2: bool) -> Node:
    if v2:
        return {"$ref": V2 + META + name, "description": text}
    return refer({"description": text}, V3 + META + name)


def _node(schema: Schema, *, v2: bool) -> Node:
    node: Node = {k: v for k, v in schema.extensions.items() if v is not None}
    for attribute in ("description", "type", "format"):
        if getattr(schema, attribute):
            node[attribute] = getattr(schema, attribute)
    if schema.default is not MISSING and not v2:
        node["default"] = schema.default
    for attribute, key in _BOUNDS:
        if getattr(schema, attribute) not in (None, ""):
            node[key] = getattr(schema, attribute)
    for attribute, key in _FLAGS:
        if getattr(schema, attribute):
            node[key] = True
    if schema.enum is not None:
        node["enum"] = list(schema.enum)
    if schema.required:
        node["required"] = list(schema.required)
    _mark(node, schema)
    _children(node, schema, v2)
    if not v2:
        _junctors(node, schema)
        if schema.nullable:
            node["nullable"] = True
    if schema.embedded_resource and not (v2 and schema.preserve_unknown):
        _embed(node, v2)
    return _v2_only(node, schema) if v2 else node


def _mark(node: Node, schema: Schema) -> None:
    if schema.list_type:
        node["x-kubernetes-list-type"] = schema.list_type
    if schema.map_keys:
        node["x-kubernetes-list-map-keys"] = list(schema.map_keys)
    if schema.map_type:
        node["x-kubernetes-map-type"] = schema.map_type
    if schema.rules:
        node["x-kubernetes-validations"] = [_rule(r) for r in schema.rules]


def _rule(rule: Any) -> Node:
    rule_node = {
        "rule": rule.rule,
        "message": rule.message,
        "messageExpression": rule.message_expression,
        "reason": rule.reason,
        "fieldPath": rule.field_path,
        "optionalOldSelf": rule.optional_old_self,
    }
    return {k: v for k, v in rule_node.items() if v not in ("", None)}


def _children(node: Node, schema: Schema, v2: bool) -> None:
    if schema.properties:
        node["properties"] = {
            name: _node(member, v2=v2) for name, member in schema.properties.items()
        }
    if schema.items is not None:
        node["items"] = _node(schema.items, v2=v2)
    if schema.additional is not None and "additionalProperties" not in node:
        node["additionalProperties"] = _node(schema.additional, v2=v2)


def _junctors(node: Node, schema: Schema) -> None:
    for attribute, key in (("all_of", "allOf"), ("any_of", "anyOf"), ("one_of", "oneOf")):
        if getattr(schema, attribute):
            node[key] = [_node(s, v2=False) for s in getattr(schema, attribute)]
    if schema.not_ is not None:
        node["not"] = _node(schema.not_, v2=False)
    if schema.int_or_string:
        _unfold(node)


def _unfold(node: Node) -> None:
    """Says of an int-or-string what it is in the words of OpenAPI, unless the definition has
    (``schema/unfold.go``)."""
    if node.get("anyOf") == _INT_OR_STRING or (node.get("allOf") or [None])[0] == {
        "anyOf": _INT_OR_STRING
    }:
        return
    if "anyOf" in node:
        node["allOf"] = [{"anyOf": _INT_OR_STRING}, *node.get("allOf", [])]
    else:
        node["anyOf"] = _INT_OR_STRING


def _embed(node: Node, v2: bool) -> None:
    members = {name: {"type": "string", "description": text} for name, text in _EMBEDDED.items()}
    node["properties"] = {**node.get("properties", {}), **members}
    _add_type_meta(node, v2)
    node["required"] = [
        *node.get("required", []),
        *(n for n in ("kind", "apiVersion") if n not in node.get("required", [])),
    ]


def _v2_only(node: Node, schema: Schema) -> Node:
    dropped = set()
    if schema.nullable:
        dropped |= {"type", "items", "properties"}
    if schema.preserve_unknown:
        dropped |= {"items", "properties"}
        if schema.type == "object":
            dropped.add("type")
    if schema.type == "array" and ("items" in dropped or schema.items is None):
        dropped.add("type")
    nullable = {name for name, member in (schema.properties or {}).items() if member.nullable}
    required = [name for name in node.get("required", []) if name not in nullable]
    if schema.additional is not None and schema.additional.nullable:
        required = []
    node = {k: v for k, v in node.items() if k not in dropped and k != "required"}
    return {**node, "required": required} if required else node
