"""Schema trees for tests, from OpenAPI in the form that definitions of custom resources use."""

from __future__ import annotations

from typing import Any

from apiserver.schema.types import MISSING, Schema


def schema_from(raw: dict[str, Any]) -> Schema:
    additional = raw.get("additionalProperties")
    if additional is True:
        additional = {"x-kubernetes-preserve-unknown-fields": True}
    int_or_string = bool(raw.get("x-kubernetes-int-or-string"))
    return Schema(
        type=raw.get("type", ""),
        format=raw.get("format", ""),
        properties={k: schema_from(v) for k, v in raw["properties"].items()} if "properties" in raw else None,
        additional=schema_from(additional) if isinstance(additional, dict) else None,
        items=schema_from(raw["items"]) if "items" in raw else None,
        list_type=raw.get("x-kubernetes-list-type", ""),
        map_keys=tuple(raw.get("x-kubernetes-list-map-keys", ())),
        map_type=raw.get("x-kubernetes-map-type", ""),
        preserve_unknown=bool(raw.get("x-kubernetes-preserve-unknown-fields")),
        embedded_resource=bool(raw.get("x-kubernetes-embedded-resource")),
        int_or_string=int_or_string,
        special="int-or-string" if int_or_string else "",
        nullable=bool(raw.get("nullable")),
        default=raw.get("default", MISSING),
    )
