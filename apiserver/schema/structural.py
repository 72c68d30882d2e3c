"""From a CustomResourceDefinition's openAPIV3Schema to a Schema tree.

Members are made at their first use: of a definition with tens of thousands of nodes, most are never
met by any object. What needs to know of a whole subtree (is there a default below, an embedded
resource, a list with keys, a rule?) is found in one walk over the plain dictionaries and kept on
each node, so that no consumer has to visit a subtree that has nothing for it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from apiserver.schema.types import MISSING, Below, LazyProperties, Rule, Schema

Props = Mapping[str, Any]
"""A JSONSchemaProps as JSON, decoded: what Go leaves out is left out."""

_BELOW = tuple(Below(*(bool(bits >> i & 1) for i in range(4))) for bits in range(16))


def structural(props: Props | None) -> Schema:
    """The schema tree of a definition that has been validated. None: nothing is known, and
    everything is kept."""
    if props is None:
        return Schema(type="object", preserve_unknown=True)
    sizes: dict[int, int] = {}
    _survey(props, sizes)
    return _node(props, sizes)


def _survey(props: Props, sizes: dict[int, int]) -> int:
    """Bits of what is at or below a node; only nodes with any are recorded, by identity."""
    bits = 0
    if "default" in props:
        bits |= 1
    if props.get("x-kubernetes-embedded-resource"):
        bits |= 2
    if props.get("x-kubernetes-list-type") in ("set", "map"):
        bits |= 4
    if props.get("x-kubernetes-validations"):
        bits |= 8
    for member in (props.get("properties") or {}).values():
        bits |= _survey(member, sizes)
    for name in ("items", "additionalProperties"):
        below = props.get(name)
        if isinstance(below, dict):
            bits |= _survey(below, sizes)
    if bits:
        sizes[id(props)] = bits
    return bits


def _node(props: Props, sizes: dict[int, int]) -> Schema:
    properties = props.get("properties")
    additional, items = props.get("additionalProperties"), props.get("items")
    node = Schema(
        type="" if props.get("x-kubernetes-int-or-string") else props.get("type", ""),
        format=props.get("format", ""),
        properties=LazyProperties(_makers(properties, sizes)) if properties else None,
        additional=_node(additional, sizes)
        if isinstance(additional, dict)
        else ANYTHING
        if isinstance(additional, bool)
        else None,
        items=_node(items, sizes) if isinstance(items, dict) else None,
        list_type=props.get("x-kubernetes-list-type", ""),
        map_keys=tuple(props.get("x-kubernetes-list-map-keys") or ()),
        map_type=props.get("x-kubernetes-map-type", ""),
        description=props.get("description", ""),
        default=props.get("default", MISSING),
        nullable=bool(props.get("nullable")),
        preserve_unknown=bool(props.get("x-kubernetes-preserve-unknown-fields")),
        embedded_resource=bool(props.get("x-kubernetes-embedded-resource")),
        int_or_string=bool(props.get("x-kubernetes-int-or-string")),
        rules=tuple(map(_rule, props.get("x-kubernetes-validations") or ())),
        extensions={k: props[k] for k in ("title", "example", "externalDocs") if k in props},
    )
    _values(node, props)
    if isinstance(additional, bool):
        node.extensions = {**node.extensions, "additionalProperties": additional}
    node.below = _BELOW[sizes.get(id(props), 0)]
    if not node.below.defaults:
        node.cache["defaults"] = None
    if not node.below.embedded:
        node.cache["embedded"] = False
    return node


def _makers(properties: Props, sizes: dict[int, int]) -> dict[str, Callable[[], Schema]]:
    return {name: partial(_node, member, sizes) for name, member in properties.items()}


ANYTHING = Schema()
"""``additionalProperties: true`` (and false, which validation refuses later): members of which no
structure is known, so that what objects in them hold is pruned, and null is kept."""


def _values(node: Schema, props: Props) -> None:
    """Value validations: what may also stand below allOf, anyOf, oneOf and not."""
    get = props.get
    node.required = tuple(get("required") or ())
    node.enum = tuple(props["enum"]) if get("enum") else None
    node.pattern = get("pattern", "")
    node.minimum, node.maximum = get("minimum"), get("maximum")
    node.exclusive_minimum, node.exclusive_maximum = (
        bool(get("exclusiveMinimum")),
        bool(get("exclusiveMaximum")),
    )
    node.multiple_of = get("multipleOf")
    node.min_length, node.max_length = get("minLength"), get("maxLength")
    node.min_items, node.max_items = get("minItems"), get("maxItems")
    node.unique_items = bool(get("uniqueItems"))
    node.min_properties, node.max_properties = get("minProperties"), get("maxProperties")
    node.all_of = tuple(_node(p, {}) for p in get("allOf") or ())
    node.any_of = tuple(_node(p, {}) for p in get("anyOf") or ())
    node.one_of = tuple(_node(p, {}) for p in get("oneOf") or ())
    node.not_ = _node(props["not"], {}) if get("not") is not None else None


def _rule(rule: Props) -> Rule:
    return Rule(
        rule=rule.get("rule", ""),
        message=rule.get("message", ""),
        message_expression=rule.get("messageExpression", ""),
        reason=rule.get("reason"),
        field_path=rule.get("fieldPath", ""),
        optional_old_self=rule.get("optionalOldSelf"),
    )
