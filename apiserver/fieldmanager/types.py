"""What a schema node means for merging: the scalar, list and map that a value of it may be, and how
each is owned.

Types are made from Schema nodes at first use and remembered in ``node.cache``; members are resolved
lazily, since built-in definitions are recursive. Source: kube-openapi ``schemaconv/openapi.go``
(which reads the OpenAPI v3 form) and structured-merge-diff ``schema/elements.go``. The rules that
are not obvious:

- no type given: any scalar, an atomic list, or a map by its properties; IntOrString and JSON are
  such types;
- a string with a format other than "byte" takes any scalar;
- an unlisted list is atomic, unless its strategic merge strategy says merge;
- a free-form object (no properties, no additionalProperties, or unknown fields preserved) is
  deduced: maps granular, lists atomic;
- x-kubernetes-preserve-unknown-fields holds for everything below it, except below a referenced
  definition;
- an embedded resource has apiVersion, kind and metadata besides what it declares.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from apiserver.schema.builtin import definition
from apiserver.schema.definitions import META
from apiserver.schema.types import MISSING, Schema


class Type:
    """scalar: "", "numeric", "string", "boolean" or "untyped" (any scalar). At least one of scalar,
    list, map is set."""

    __slots__ = ("list", "map", "scalar")

    def __init__(
        self, scalar: str = "", list: ListType | None = None, map: MapType | None = None
    ) -> None:
        self.scalar = scalar
        self.list = list
        self.map = map


class ListType:
    """keys: of an associative list of objects; empty for a set and for an atomic list."""

    __slots__ = ("_element", "_inherited", "_schema", "atomic", "keys", "sorted_keys")

    def __init__(
        self, atomic: bool, keys: tuple[str, ...], schema: Schema | None, inherited: bool
    ) -> None:
        self.atomic = atomic
        self.keys = keys
        self.sorted_keys = tuple(sorted(keys))
        self._schema = schema
        self._inherited = inherited
        self._element: Type | None = None

    @property
    def element(self) -> Type:
        if self._element is None:
            self._element = (
                UNTYPED if self._schema is None else type_of(self._schema, self._inherited)
            )
        return self._element

    def key_default(self, name: str) -> Any:
        """The default of a key field in an item, None where there is none."""
        below = self.element.map
        return below.default(name) if below is not None else None


class MapType:
    """A struct or a map. declares: whether it has members of its own; fields: those used so far, by
    name; element: type of undeclared members, None when there must be none."""

    __slots__ = ("_element", "_free", "_inherited", "_schemas", "atomic", "declares", "fields")

    def __init__(
        self,
        atomic: bool,
        schemas: Mapping[str, Schema],
        element: Schema | Type | None,
        inherited: bool,
    ) -> None:
        self.atomic = atomic
        self.fields: dict[str, Type] = {}
        self.declares = bool(schemas)
        self._schemas = schemas
        self._element = element
        self._inherited = inherited
        self._free = not schemas and (
            element is DEDUCED_REF or (isinstance(element, Schema) and not element.definition)
        )

    @property
    def element(self) -> Type | None:
        if isinstance(self._element, Schema):
            self._element = type_of(self._element, self._inherited)
        elif self._element is DEDUCED_REF:
            self._element = DEDUCED
        return self._element

    @property
    def deduced(self) -> bool:
        """Whether it declares nothing and its values are of no known type; ownership of such a map
        is never reconciled."""
        element = self.element if self._free else None
        return element is not None and element.scalar == "untyped"

    def field(self, name: str) -> Type | None:
        """The type of a declared member."""
        field_type = self.fields.get(name)
        if field_type is None:
            schema = self._schemas.get(name)
            if schema is None:
                return None
            field_type = self.fields[name] = type_of(schema, self._inherited)
        return field_type

    def member(self, name: str) -> Type | None:
        """The type of any member: declared, or the one of undeclared members."""
        return self.fields.get(name) or (self._schemas and self.field(name)) or self.element

    def default(self, name: str) -> Any:
        """The default of a declared member, None where there is none. A Go scalar that is always
        written has its zero value."""
        schema = self._schemas.get(name)
        if schema is None:
            return None
        if schema.default is not MISSING:
            return schema.default
        if schema.builtin and not schema.go_omit and not schema.go_pointer:
            return _ZEROS.get(schema.type) if not schema.special else None
        return None


DEDUCED_REF = Type()
"""Stands for DEDUCED where that is being made."""

UNTYPED = Type("untyped", ListType(True, (), None, False))
UNTYPED.map = MapType(True, {}, UNTYPED, False)

DEDUCED = Type("untyped", ListType(True, (), None, False), MapType(False, {}, DEDUCED_REF, False))

_NUMERIC, _STRING, _BOOLEAN, _ANY_SCALAR = (
    Type("numeric"),
    Type("string"),
    Type("boolean"),
    Type("untyped"),
)
_SPECIAL = {
    "quantity": _ANY_SCALAR,
    "time": _ANY_SCALAR,
    "microtime": _ANY_SCALAR,
    "raw-extension": UNTYPED,
    "fields-v1": Type(map=DEDUCED.map),
}
_ZEROS = {"integer": 0, "number": 0, "string": "", "boolean": False}
_PRIMITIVE = {"integer": _NUMERIC, "number": _NUMERIC, "boolean": _BOOLEAN}


def type_of(schema: Schema, inherited: bool = False) -> Type:
    """``inherited``: whether a node above preserves unknown fields. A referenced definition starts
    afresh."""
    inherited = inherited and not schema.definition
    slot = "fieldmanager.preserving" if inherited else "fieldmanager"
    cached = schema.cache.get(slot)
    if cached is None:
        cached = schema.cache[slot] = _make(schema, inherited)
    result: Type = cached
    return result


def _make(schema: Schema, inherited: bool) -> Type:
    special = _SPECIAL.get(schema.special)
    if special is not None:
        return special
    preserve = inherited or schema.preserve_unknown
    kind = schema.type
    if schema.special in ("int-or-string", "json") or schema.int_or_string:
        kind = ""
    if kind == "object":
        return Type(map=_map(schema, preserve))
    if kind == "array":
        return Type(list=_list(schema, preserve))
    if kind == "string":
        return _STRING if schema.format in ("", "byte") else _ANY_SCALAR
    if kind == "":
        return Type("untyped", _list(schema, preserve), _map(schema, preserve))
    return _PRIMITIVE[kind]


def _map(schema: Schema, preserve: bool) -> MapType:
    properties: Mapping[str, Schema] = schema.properties or {}
    if schema.embedded_resource:
        properties = with_object_fields(properties)
    element: Schema | Type | None
    if schema.additional is not None:
        element = schema.additional
    elif preserve or not properties:
        element = DEDUCED_REF
    else:
        element = None
    return MapType(schema.map_type == "atomic", properties, element, preserve)


def _list(schema: Schema, preserve: bool) -> ListType:
    if schema.list_type:
        atomic = schema.list_type == "atomic"
        keys = schema.map_keys if schema.list_type == "map" else ()
    else:
        atomic = "merge" not in schema.patch_strategy
        keys = (schema.patch_merge_key,) if schema.patch_merge_key and not atomic else ()
    return ListType(atomic, keys, schema.items, preserve)


_TYPE_META = Schema(type="string")


def with_object_fields(properties: Mapping[str, Schema]) -> Mapping[str, Schema]:
    """The members of a whole custom object, which need not declare apiVersion and kind, and whose
    metadata is always ObjectMeta."""
    return {
        "apiVersion": _TYPE_META,
        "kind": _TYPE_META,
        **properties,
        "metadata": definition(META + "ObjectMeta"),
    }


def object_type(schema: Schema) -> Type:
    """The type of a whole object: a built-in kind's schema, or the root of a custom one."""
    if schema.builtin:
        return type_of(schema)
    cached: Type | None = schema.cache.get("fieldmanager.object")
    if cached is None:
        cached = schema.cache["fieldmanager.object"] = type_of(
            replace(schema, type="object", embedded_resource=True, cache={})
        )
    return cached
