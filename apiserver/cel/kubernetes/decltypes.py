"""Schemas as CEL types, with the sizes that static cost estimates need (k8s.io/apiserver
``pkg/cel/common/schemas.go``, ``types.go``)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from apiserver.cel.env import Field
from apiserver.cel.syntax.escaping import escape
from apiserver.cel.syntax.parser import RESERVED
from apiserver.cel.types import (
    BOOL,
    BYTES,
    DOUBLE,
    DURATION,
    DYN,
    INT,
    STRING,
    TIMESTAMP,
    Type,
    list_type,
    map_type,
    struct_type,
)
from apiserver.schema.structural import ANYTHING
from apiserver.schema.types import MISSING, Schema

MAX_REQUEST_BYTES: Final = 3 * 1024 * 1024
_MAX_DURATION, _MAX_DATETIME, _DATE = 32, 32, 12


@dataclass(slots=True, eq=False)
class DeclType:
    """One node. kind: "object", "map", "list" or "simple"; max_elements: greatest length or number
    of elements; min_size: bytes of its smallest JSON; fields: of an object, by escaped name;
    sources: their names in JSON; type: set by `declare` for objects."""

    kind: str
    type: Type
    max_elements: int = 0
    min_size: int = 2
    element: DeclType | None = None
    fields: dict[str, DeclType] = field(default_factory=dict)
    sources: dict[str, str] = field(default_factory=dict)


@dataclass(slots=True, eq=False)
class SchemaStruct:
    """An object type for the checker. Reserved words are fields by their plain names too, as
    `self.namespace`."""

    name: str
    declared: DeclType
    types: dict[str, Type]

    def field(self, name: str) -> Field | None:
        field_type = self.types.get(name)
        if field_type is None and name in RESERVED:
            name = f"__{name}__"
            field_type = self.types.get(name)
        return Field(field_type, self.declared.sources[name]) if field_type is not None else None

    def make(self, fields: dict[str, Any]) -> Any:
        return {self.declared.sources.get(name, name): value for name, value in fields.items()}


def _simple(type_: Type, max_elements: int, min_size: int) -> DeclType:
    return DeclType("simple", type_, max_elements, min_size)


_BOOLEAN = _simple(BOOL, 0, 4)
_INTEGER = _simple(INT, 0, 1)
_NUMBER = _simple(DOUBLE, 0, 1)


_Within = frozenset[str]
"""Names of the built-in definitions that a schema lies in."""


def schema_decl_type(schema: Schema, root: bool, within: _Within = frozenset()) -> DeclType | None:
    """The type of a schema; None where CEL has none (unknown content). root: the schema of a whole
    resource, embedded ones included. A built-in definition that contains itself is empty there
    (``openapi/resolver/refs.go``)."""
    if schema.definition:
        if schema.definition in within:
            return DeclType("object", struct_type("object"))
        within |= {schema.definition}
    if schema.int_or_string:
        return _simple(DYN, _string_elements(schema), 1)
    if root:
        schema = with_object_meta(schema)
    if schema.type == "array":
        return _array(schema, within)
    if schema.type == "object":
        if schema.additional is None or schema.additional is ANYTHING:
            return _object(schema, within)
        return _map(schema, within)
    if schema.type == "string":
        return _string(schema)
    return {"boolean": _BOOLEAN, "number": _NUMBER, "integer": _INTEGER}.get(schema.type)


def is_exposed(schema: Schema) -> bool:
    """Whether `schema_decl_type` has a type for a schema; no type is made."""
    if schema.int_or_string:
        return True
    if schema.type == "array":
        return schema.items is not None and is_exposed(schema.items)
    if schema.type == "object":
        return (element := element_schema(schema)) is None or is_exposed(element)
    return schema.type in ("string", "boolean", "number", "integer")


def element_schema(schema: Schema) -> Schema | None:
    """Whose type the elements of a list or a map have; None for all other types, whatever items or
    additionalProperties stand beside them."""
    if schema.int_or_string:
        return None
    if schema.type == "array":
        return schema.items
    is_map = schema.type == "object" and schema.additional is not ANYTHING
    return schema.additional if is_map else None


def _array(schema: Schema, within: _Within) -> DeclType | None:
    if schema.items is None:
        return None
    item = schema_decl_type(schema.items, schema.items.embedded_resource, within)
    if item is None:
        return None
    limit = (
        schema.max_items
        if schema.max_items is not None
        else (MAX_REQUEST_BYTES - 2) // (item.min_size + 1)
    )
    return DeclType("list", list_type(item.type), max(limit, 0), 2, item)


def _map(schema: Schema, within: _Within) -> DeclType | None:
    assert schema.additional is not None
    value = schema_decl_type(schema.additional, schema.additional.embedded_resource, within)
    if value is None:
        return None
    limit = (
        schema.max_properties
        if schema.max_properties is not None
        else (MAX_REQUEST_BYTES - 2) // (value.min_size + 6)
    )
    return DeclType("map", map_type(STRING, value.type), max(limit, 0), 2, value)


def _object(schema: Schema, within: _Within) -> DeclType:
    decl = DeclType("object", struct_type("object"))
    for name, prop in (schema.properties or {}).items():
        declared = schema_decl_type(prop, prop.embedded_resource, within)
        if declared is None:
            continue
        escaped = escape(name)
        if escaped is not None:
            decl.fields[escaped] = declared
            decl.sources[escaped] = name
        if name in schema.required and (prop.default is MISSING or prop.default is None):
            decl.min_size += len(name.encode()) + declared.min_size + 4
    return decl


def _string(schema: Schema) -> DeclType:
    if schema.format == "byte":
        return _simple(
            BYTES,
            max(schema.max_length, 0) if schema.max_length is not None else MAX_REQUEST_BYTES - 2,
            2,
        )
    if schema.format == "duration":
        return _simple(DURATION, _MAX_DURATION, 3)
    if schema.format == "date":
        return _simple(TIMESTAMP, _DATE, _DATE)
    if schema.format == "date-time":
        return _simple(TIMESTAMP, _MAX_DATETIME, 21)
    if schema.max_length is None and schema.enum:
        return _simple(
            STRING, max((len(v.encode()) for v in schema.enum if isinstance(v, str)), default=0), 2
        )
    return _simple(STRING, _string_elements(schema), 2)


def _string_elements(schema: Schema) -> int:
    """A character may take four bytes."""
    return max(schema.max_length, 0) * 4 if schema.max_length is not None else MAX_REQUEST_BYTES - 2


_STRING_SCHEMA: Final = Schema(type="string")
_NOTHING: Final = Schema()
_META_SCHEMA: Final = Schema(
    type="object", properties={"name": _STRING_SCHEMA, "generateName": _STRING_SCHEMA}
)


def with_object_meta(schema: Schema) -> Schema:
    """What expressions may see of a whole resource: its properties, apiVersion, kind, and of
    metadata the two names only, unless the schema itself says more about these."""
    given = schema.properties or {}
    kind, version, metadata = (
        given.get(name, _NOTHING) for name in ("kind", "apiVersion", "metadata")
    )
    if kind.type == version.type == "string" and metadata.type == "object" and metadata.properties:
        return schema
    properties = {
        **given,
        "kind": _STRING_SCHEMA,
        "apiVersion": _STRING_SCHEMA,
        "metadata": _META_SCHEMA,
    }
    return Schema(
        type=schema.type,
        properties=properties,
        additional=schema.additional,
        required=schema.required,
        nullable=schema.nullable,
        preserve_unknown=schema.preserve_unknown,
        embedded_resource=schema.embedded_resource,
        max_properties=schema.max_properties,
        map_type=schema.map_type,
    )


def declare(root: DeclType, name: str) -> tuple[Type, Mapping[str, SchemaStruct]]:
    """Names the objects below ``root`` (``name.field``, ``name.@idx`` for items, ``name.@elem`` for
    values); the type of root, and all its struct types by name."""
    structs: dict[str, SchemaStruct] = {}
    return _declare(root, name, structs), structs


def _declare(t: DeclType, name: str, structs: dict[str, SchemaStruct]) -> Type:
    if t.kind == "object":
        structs[name] = SchemaStruct(
            name, t, {f: _declare(d, f"{name}.{f}", structs) for f, d in t.fields.items()}
        )
        return struct_type(name)
    if t.kind == "list":
        assert t.element is not None
        return list_type(_declare(t.element, f"{name}.@idx", structs))
    if t.kind == "map":
        assert t.element is not None
        return map_type(STRING, _declare(t.element, f"{name}.@elem", structs))
    return t.type
