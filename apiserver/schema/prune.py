"""What decoding does to a custom resource: the schema of its CustomResourceDefinition in the place of a Go struct.

In kube-apiserver's order (``unstructuredSchemaCoercer`` of k8s.io/apiextensions-apiserver): metadata is read as an ObjectMeta; fields that
the structural schema does not know are removed and reported, unless ``x-kubernetes-preserve-unknown-fields`` keeps them; nulls go where
the schema allows none and has no default to put in their place; the metadata of embedded resources is read as an ObjectMeta, too.
Unknown fields come sorted within each of these steps, unlike those of built-in types, which come in the order of the input.
"""

from __future__ import annotations

from typing import Any

from apiserver.fielderrors import FieldPath, invalid
from apiserver.schema.builtin import definition
from apiserver.schema.decode import DecodeError, decode
from apiserver.schema.decode_errors import Path, strict_path
from apiserver.schema.definitions import META
from apiserver.schema.types import MISSING, Schema

_META_FIELDS = frozenset({"apiVersion", "kind", "metadata"})


def decode_custom(schema: Schema | None, obj: dict[str, Any], *, preserve_unknown: bool = False) -> list[str]:
    """Bring a custom object into shape, in place. ``schema``: of its version (None: nothing is known); ``preserve_unknown``: the
    definition's ``spec.preserveUnknownFields``. Returns the strict errors: ``unknown field "spec.foo"``. Raises DecodeError."""
    unknown: list[str] = []
    for name in ("kind", "apiVersion"):
        if not isinstance(obj.get(name, ""), str):
            raise DecodeError(f".{name} accessor error: {obj[name]} is of the type {_go_type(obj[name])}, expected string")
    metadata = _object_meta(obj, "", unknown) if "metadata" in obj else None
    if not preserve_unknown:
        unknown += sorted(prune(schema, obj))
        if schema is not None:
            prune_nulls(schema, obj)
    if schema is not None:
        embedded: list[str] = []
        _coerce(schema, obj, FieldPath(""), embedded)
        unknown += sorted(embedded)
    if metadata is not None:
        obj["metadata"] = metadata
    return [f'unknown field "{path}"' for path in unknown]


def prune(schema: Schema | None, obj: Any, *, root: bool = True) -> list[str]:
    """Remove what the schema does not know, in place; returns the paths in the order of the object.
    ``root``: apiVersion, kind and metadata are known whatever the schema says."""
    found: list[str] = []
    _prune(schema or _NOTHING, obj, found, None, resource=root)
    return found


_NOTHING = Schema()


def _prune(schema: Schema, value: Any, found: list[str], path: Path, resource: bool = False, keep: bool = False) -> None:
    """``keep``: the value stands in a list that preserves unknown fields, so its items' own unknown members stay, too."""
    keep = keep or schema.preserve_unknown
    if type(value) is dict:
        _prune_members(schema, value, found, path, resource or schema.embedded_resource, keep)
    elif type(value) is list and not (keep and schema.items is None):
        for i, item in enumerate(value):
            if type(item) in (dict, list):
                _prune(schema.items or _NOTHING, item, found, (path, i, None), keep=keep)


def _prune_members(schema: Schema, value: dict[str, Any], found: list[str], path: Path, resource: bool, keep: bool) -> None:
    properties = schema.properties or {}
    additional = schema.additional
    gone = []
    for name, member in value.items():
        if resource and name in _META_FIELDS:
            continue
        known = properties.get(name) or additional
        if known is not None:
            if type(member) in (dict, list):
                _prune(known, member, found, (path, name, None))
        elif not keep:
            gone.append(name)
            if path is not None or name not in _META_FIELDS:
                found.append(strict_path((path, name, None), ""))
    for name in gone:
        del value[name]


def prune_nulls(schema: Schema, value: Any) -> None:
    """Remove members that are null where the schema neither allows null nor has a default, in place."""
    if type(value) is dict:
        gone = []
        for name, member in value.items():
            known = (schema.properties or {}).get(name) or schema.additional
            if known is None:
                continue
            if member is None:
                if not known.nullable and known.default in (MISSING, None):
                    gone.append(name)
            else:
                prune_nulls(known, member)
        for name in gone:
            del value[name]
    elif type(value) is list and schema.items is not None:
        for item in value:
            prune_nulls(schema.items, item)


def _object_meta(obj: dict[str, Any], prefix: str, unknown: list[str]) -> dict[str, Any]:
    """The object's metadata as an ObjectMeta; paths of unknown fields go to ``unknown``. Raises DecodeError."""
    result = decode(definition(META + "ObjectMeta"), obj["metadata"], path=f"{prefix}.metadata" if prefix else "metadata")
    unknown += [fault.removeprefix('unknown field "').removesuffix('"') for fault in result.strict]
    metadata: dict[str, Any] = result.value
    return metadata


def _coerce(schema: Schema, value: Any, path: FieldPath, unknown: list[str]) -> None:
    """The metadata, apiVersion and kind of embedded resources."""
    if not _has_embedded(schema):
        return
    if type(value) is dict:
        if schema.embedded_resource:
            _coerce_embedded(value, path, unknown)
        for name, member in value.items():
            known = (schema.properties or {}).get(name)
            if known is not None:
                _coerce(known, member, path.child(name), unknown)
            elif schema.additional is not None:
                _coerce(schema.additional, member, path.key(name), unknown)
    elif type(value) is list and schema.items is not None:
        for i, item in enumerate(value):
            _coerce(schema.items, item, path.at(i), unknown)


def _coerce_embedded(value: dict[str, Any], path: FieldPath, unknown: list[str]) -> None:
    for name in ("apiVersion", "kind"):
        if name in value and not isinstance(value[name], str):
            raise DecodeError(str(invalid(path.child(name), value[name], "must be a string")))
    if "metadata" in value:
        try:
            value["metadata"] = _object_meta(value, path, unknown)
        except DecodeError as e:
            raise DecodeError(str(invalid(path.child("metadata"), value["metadata"], str(e)))) from None


def _has_embedded(schema: Schema) -> bool:
    """Whether an embedded resource can stand at this node or below it; found once per node."""
    found: bool | None = schema.cache.get("embedded")
    if found is None:
        below = [*(schema.properties or {}).values(), *(s for s in (schema.items, schema.additional) if s is not None)]
        found = schema.cache["embedded"] = schema.embedded_resource or any(_has_embedded(s) for s in below)
    return found


def _go_type(value: Any) -> str:
    return {bool: "bool", int: "int64", float: "float64", list: "[]interface {}", dict: "map[string]interface {}"}.get(type(value), "<nil>")
