"""What decoding does to a custom resource: the schema of its CustomResourceDefinition in the place
of a Go struct.

In kube-apiserver's order (``unstructuredSchemaCoercer`` of k8s.io/apiextensions-apiserver):
metadata is read as an ObjectMeta; fields that the structural schema does not know are removed and
reported, unless ``x-kubernetes-preserve-unknown-fields`` keeps them; nulls go where the schema
allows none and has no default to put in their place; the metadata of embedded resources is read as
an ObjectMeta, too. Unknown fields come sorted within each of these steps, unlike those of built-in
types, which come in the order of the input.
"""

from __future__ import annotations

from typing import Any

from apiserver.golang.fmt import go_type
from apiserver.schema.decode import DecodeError
from apiserver.schema.decode_errors import Path, strict_path
from apiserver.schema.embedded import coerce_embedded, read_metadata
from apiserver.schema.structural import ANYTHING
from apiserver.schema.types import MISSING, Schema
from apiserver.schema.validate_errors import ROOT

_META_FIELDS = frozenset({"apiVersion", "kind", "metadata"})


def decode_custom(
    schema: Schema | None,
    obj: dict[str, Any],
    *,
    lenient: bool = False,
    merged: bool = False,
) -> list[str]:
    """Bring a custom object into shape, in place. ``schema``: of its version (None: nothing is
    known); ``lenient``: what cannot be read of the metadata of embedded resources goes, as for
    objects in storage, which may be older than the schema; ``merged``: it comes from an apply, not
    from a decoder, so its nulls stay for defaults and validation. Returns the strict errors:
    ``unknown field "spec.foo"``. Raises DecodeError."""
    unknown: list[str] = []
    for name in ("kind", "apiVersion"):
        if not isinstance(obj.get(name, ""), str):
            raise DecodeError(
                f".{name} accessor error: {obj[name]} is of the type {go_type(obj[name])}, "
                f"expected string"
            )
    metadata = read_metadata(obj["metadata"], "metadata", unknown) if "metadata" in obj else None
    unknown += sorted(prune(schema, obj))
    if schema is not None:
        if not merged:
            prune_nulls(schema, obj)
        embedded: list[str] = []
        coerce_embedded(schema, obj, ROOT, embedded, lenient=lenient)
        unknown += sorted(embedded)
    if metadata is not None:
        obj["metadata"] = metadata
    return [f'unknown field "{path}"' for path in unknown]


def prune(schema: Schema | None, obj: Any, *, root: bool = True) -> list[str]:
    """Remove what the schema does not know, in place; returns the paths in the order of the object.
    ``root``: apiVersion, kind and metadata are known whatever the schema says."""
    unknown: list[str] = []
    _prune(schema or _NOTHING, obj, unknown, None, resource=root)
    return unknown


_NOTHING = Schema()


def _prune(
    schema: Schema,
    value: Any,
    unknown: list[str],
    path: Path,
    resource: bool = False,
    keep: bool = False,
) -> None:
    """``keep``: the value stands in a list that preserves unknown fields, so its items' own unknown
    members stay, too."""
    keep = keep or schema.preserve_unknown
    if type(value) is dict:
        _prune_members(schema, value, unknown, path, resource or schema.embedded_resource, keep)
    elif type(value) is list and not (keep and schema.items is None):
        for i, item in enumerate(value):
            if type(item) in (dict, list):
                _prune(schema.items or _NOTHING, item, unknown, (path, i, None), keep=keep)


def _prune_members(
    schema: Schema,
    value: dict[str, Any],
    unknown: list[str],
    path: Path,
    resource: bool,
    keep: bool,
) -> None:
    properties = schema.properties or {}
    additional = schema.additional
    gone = []
    for name, member in value.items():
        if resource and name in _META_FIELDS:
            continue
        member_schema = properties.get(name) or additional
        if member_schema is not None:
            if type(member) in (dict, list):
                _prune(member_schema, member, unknown, (path, name, None))
        elif not keep:
            gone.append(name)
            if path is not None or name not in _META_FIELDS:
                unknown.append(strict_path((path, name, None), ""))
    for name in gone:
        del value[name]


def prune_nulls(schema: Schema, value: Any) -> None:
    """Remove members that are null where the schema neither allows null nor has a default, in
    place."""
    if type(value) is dict:
        gone = []
        for name, member in value.items():
            member_schema = (schema.properties or {}).get(name) or schema.additional
            if member_schema is None:
                continue
            if member is None:
                if (
                    member_schema is not ANYTHING
                    and not member_schema.nullable
                    and member_schema.default in (MISSING, None)
                ):
                    gone.append(name)
            else:
                prune_nulls(member_schema, member)
        for name in gone:
            del value[name]
    elif type(value) is list and schema.items is not None:
        for item in value:
            prune_nulls(schema.items, item)
