"""Embedded resources (x-kubernetes-embedded-resource) as decoding sees them: their metadata is read
as an ObjectMeta (k8s.io/apiextensions-apiserver ``schema/objectmeta``). What they must hold is in
``apiserver.kinds.apiextensions.embedded``."""

from __future__ import annotations

from typing import Any

from apiserver.fielderrors import FieldError, FieldPath, invalid
from apiserver.golang.json import in_key_order
from apiserver.schema.builtin import definition
from apiserver.schema.decode import DecodeError, decode
from apiserver.schema.definitions import META
from apiserver.schema.types import Schema


class CoerceError(DecodeError):
    """An embedded resource that cannot be read."""

    def __init__(self, error: FieldError) -> None:
        super().__init__(str(error))
        self.error = error


def read_metadata(value: Any, path: str, unknown: list[str]) -> dict[str, Any]:
    """The value as an ObjectMeta; paths of unknown fields go to ``unknown``. Raises DecodeError.

    What comes first of several errors: kube-apiserver reads a text with sorted members, which it
    makes of what it has decoded before."""
    schema = definition(META + "ObjectMeta")
    try:
        result = decode(schema, value, path=path)
    except DecodeError:
        decode(schema, in_key_order(value), path=path)
        raise
    if len(result.strict) > 1:
        result = decode(schema, in_key_order(value), path=path)
    unknown += [fault.removeprefix('unknown field "').removesuffix('"') for fault in result.strict]
    metadata: dict[str, Any] = result.value
    return metadata


def coerce_embedded(
    schema: Schema,
    value: Any,
    path: FieldPath,
    unknown: list[str],
    *,
    root: bool = False,
    lenient: bool = False,
) -> None:
    """The metadata, apiVersion and kind of embedded resources, in place. ``root``: the value itself
    is one, whatever the schema says; ``lenient``: what cannot be read is removed. Raises
    CoerceError."""
    if not (root or _has_embedded(schema)):
        return
    if type(value) is dict:
        if root or schema.embedded_resource:
            _coerce(value, path, unknown, lenient)
        for name, member in value.items():
            member_schema = (schema.properties or {}).get(name)
            if member_schema is not None:
                coerce_embedded(member_schema, member, path.child(name), unknown, lenient=lenient)
            elif schema.additional is not None:
                coerce_embedded(schema.additional, member, path.key(name), unknown, lenient=lenient)
    elif type(value) is list and schema.items is not None:
        for i, item in enumerate(value):
            coerce_embedded(schema.items, item, path.at(i), unknown, lenient=lenient)


def _coerce(value: dict[str, Any], path: FieldPath, unknown: list[str], lenient: bool) -> None:
    for name in ("apiVersion", "kind"):
        if name in value and not isinstance(value[name], str):
            if not lenient:
                raise CoerceError(invalid(path.child(name), value[name], "must be a string"))
            del value[name]
    if "metadata" not in value:
        return
    where, metadata = path.child("metadata"), value["metadata"]
    try:
        value["metadata"] = read_metadata(metadata, where, unknown)
    except DecodeError as e:
        if not lenient:
            raise CoerceError(invalid(where, metadata, str(e))) from None
        if type(metadata) is dict:
            value["metadata"] = _readable(metadata, where)


def _readable(metadata: dict[str, Any], path: str) -> dict[str, Any]:
    """The members that can be read, each by itself."""
    readable: dict[str, Any] = {}
    for name, member in metadata.items():
        try:
            readable |= read_metadata({name: member}, path, [])
        except DecodeError:
            continue
    return readable


def _has_embedded(schema: Schema) -> bool:
    """Whether an embedded resource can stand at this node or below it; found once per node."""
    remembered: bool | None = schema.cache.get("embedded")
    if remembered is None:
        below = [
            *(schema.properties or {}).values(),
            *(s for s in (schema.items, schema.additional) if s is not None),
        ]
        remembered = schema.cache["embedded"] = schema.embedded_resource or any(
            _has_embedded(s) for s in below
        )
    return remembered
