"""Schema trees for tests, from the JSON of CRD schemas."""

from __future__ import annotations

import copy
from typing import Any

from apiserver.schema.types import MISSING, Rule, Schema


def schema_from(raw: dict[str, Any]) -> Schema:
    additional = raw.get("additionalProperties")
    return Schema(
        type=raw.get("type", ""),
        format=raw.get("format", ""),
        properties={k: schema_from(v) for k, v in raw["properties"].items()}
        if raw.get("properties")
        else None,
        additional=schema_from(additional) if isinstance(additional, dict) else None,
        items=schema_from(raw["items"]) if isinstance(raw.get("items"), dict) else None,
        list_type=raw.get("x-kubernetes-list-type", ""),
        map_keys=tuple(raw.get("x-kubernetes-list-map-keys", ())),
        map_type=raw.get("x-kubernetes-map-type", ""),
        default=raw.get("default", MISSING),
        nullable=raw.get("nullable", False),
        preserve_unknown=raw.get("x-kubernetes-preserve-unknown-fields", False),
        embedded_resource=raw.get("x-kubernetes-embedded-resource", False),
        int_or_string=raw.get("x-kubernetes-int-or-string", False),
        required=tuple(raw.get("required", ())),
        enum=tuple(raw["enum"]) if "enum" in raw else None,
        max_length=raw.get("maxLength"),
        max_items=raw.get("maxItems"),
        max_properties=raw.get("maxProperties"),
        rules=tuple(_rule(r) for r in raw.get("x-kubernetes-validations", ())),
    )


def _rule(raw: dict[str, Any]) -> Rule:
    return Rule(
        raw.get("rule", ""),
        raw.get("message", ""),
        raw.get("messageExpression", ""),
        raw.get("reason"),
        raw.get("fieldPath", ""),
        raw.get("optionalOldSelf"),
    )


def with_defaults(obj: Any, schema: Schema) -> Any:
    """The object with what the schema adds to it."""
    if isinstance(obj, dict):
        for name, prop in (schema.properties or {}).items():
            if name not in obj and prop.default is not MISSING:
                obj[name] = copy.deepcopy(prop.default)
        return {
            k: with_defaults(v, (schema.properties or {}).get(k) or schema.additional or Schema())
            for k, v in obj.items()
        }
    if isinstance(obj, list) and schema.items is not None:
        return [with_defaults(v, schema.items) for v in obj]
    return obj
