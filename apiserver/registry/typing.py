"""From a client's JSON value to an object of a kind: decoded against the schema, defaulted, kind and apiVersion set."""

from __future__ import annotations

from typing import Any

from apiserver.kinds.base import Object, Resource, ServedVersion
from apiserver.schema.decode import decode
from apiserver.schema.defaults import apply_defaults
from apiserver.schema.prune import decode_custom


def type_object(resource: Resource, served: ServedVersion, value: Any) -> tuple[Object, list[str]]:
    if resource.custom:
        unknown = decode_custom(served.schema, value)
        apply_defaults(served.schema, value)
        return value, unknown
    decoded = decode(served.schema, value)
    obj = decoded.value
    obj.setdefault("metadata", {})
    apply_defaults(served.schema, obj)
    resource.hooks.default(obj, served.version)
    obj["kind"], obj["apiVersion"] = resource.kind, resource.gvk(served.version).api_version
    return obj, decoded.strict
