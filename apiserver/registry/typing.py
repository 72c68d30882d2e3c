"""From a client's JSON value to an object of a kind: decoded against the schema, defaulted, kind and apiVersion set."""

from __future__ import annotations

from typing import Any

from apiserver.kinds.base import Object, Resource, ServedVersion
from apiserver.schema.decode import decode
from apiserver.schema.defaults import apply_defaults
from apiserver.schema.gonumbers import whole_numbers
from apiserver.schema.prune import decode_custom
from apiserver.schema.stored import null_empty_lists


def type_object(resource: Resource, served: ServedVersion, value: Any) -> tuple[Object, list[str]]:
    if resource.custom:
        value = whole_numbers(value)
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


def as_stored(resource: Resource, served: ServedVersion, obj: Object) -> None:
    """What storing would change about a decoded object, in place; runs once ownership of its fields is settled."""
    if not resource.custom:
        null_empty_lists(served.schema, obj)
