"""From a client's JSON value to an object of a kind: decoded against the schema, defaulted, kind and apiVersion set."""

from __future__ import annotations

from typing import Any

from apiserver.kinds.base import Object, Resource, ServedVersion
from apiserver.schema.decode import decode
from apiserver.schema.defaults import apply_defaults
from apiserver.schema.gonumbers import whole_numbers
from apiserver.schema.prune import decode_custom
from apiserver.schema.stored import null_empty_lists
from apiserver.schema.types import Schema


def type_object(resource: Resource, served: ServedVersion, value: Any) -> tuple[Object, list[str]]:
    if resource.custom:
        value = whole_numbers(value)
        schema = _schema_of(resource, served, value)
        unknown = decode_custom(schema, value)
        if schema is not None:
            apply_defaults(schema, value)
        return value, unknown
    decoded = decode(served.schema, value)
    obj = decoded.value
    obj.setdefault("metadata", {})
    if _resets_managers(value):
        obj["metadata"]["managedFields"] = []
    apply_defaults(served.schema, obj)
    resource.hooks.default(obj, served.version)
    obj["kind"], obj["apiVersion"] = resource.kind, resource.gvk(served.version).api_version
    return obj, decoded.strict


def _schema_of(resource: Resource, served: ServedVersion, value: Any) -> Schema | None:
    """The schema of the version that a custom object says it has, which may be another than that of the request (a patch can change it,
    for validation to refuse); None for a version that does not exist, of which nothing is known."""
    claimed = value.get("apiVersion")
    if not isinstance(claimed, str) or not claimed or claimed == resource.gvk(served.version).api_version:
        return served.schema
    group, _, version = claimed.rpartition("/")
    found = resource.versions.get(version) if group == resource.group else None
    return found.schema if found is not None else None


def _resets_managers(value: Any) -> bool:
    """managedFields: [] is the one empty list with omitempty that means something: to a field manager it is not an absent one."""
    metadata = value.get("metadata") if isinstance(value, dict) else None
    return isinstance(metadata, dict) and metadata.get("managedFields") == []


def as_stored(resource: Resource, served: ServedVersion, obj: Object) -> None:
    """What storing would change about a decoded object, in place; runs once ownership of its fields is settled."""
    if not resource.custom:
        null_empty_lists(served.schema, obj)
