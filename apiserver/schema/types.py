"""The typed schema tree: one shape for built-in types (from OpenAPI definitions) and custom ones
(from CRD schemas).

Decoding, pruning, defaulting, validation, strategic merge, structured merge, protobuf, CEL and
OpenAPI publishing all walk this tree. A node is made once and never changed, except that references
between built-in definitions are filled in lazily (`Schema.ref`), because some of them are recursive
(JSONSchemaProps) and most of them are never used by one process.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any


class Missing(Enum):
    """Tells "no default" from "the default is null"."""

    MISSING = 0


MISSING = Missing.MISSING


@dataclass(slots=True)
class Rule:
    """One entry of x-kubernetes-validations, as written."""

    rule: str
    message: str = ""
    message_expression: str = ""
    reason: str | None = None
    field_path: str = ""
    optional_old_self: bool | None = None


@dataclass(frozen=True, slots=True)
class Below:
    """What stands at a node or anywhere below it: a default, an embedded resource, a list of type
    set or map, a rule."""

    defaults: bool = False
    embedded: bool = False
    lists: bool = False
    rules: bool = False


UNSURVEYED = Below()
"""Of built-in types, and of parts of which nobody has to know."""


@dataclass(slots=True, eq=False)
class Schema:
    """One node.

    type: "object", "array", "string", "integer", "number", "boolean", or "" (any value, or
    int_or_string). properties: members of a struct (None for a map, a scalar, or an object of
    unknown shape). additional: schema of a map's values (None: no map, or a map of unknown values
    when preserve_unknown). items: schema of a list's items. list_type: "atomic", "set", "map" or ""
    (unlisted: atomic for custom and built-in types alike); map_keys: keys of a "map" list.
    map_type: "atomic", "granular" or "" (granular). Holds for structs too (x-kubernetes-map-type:
    atomic). patch_strategy: strategic merge: subset of {"merge", "replace", "retainKeys"};
    patch_merge_key: its key. go_type: what Go's decoder calls the type in errors: "string",
    "int32", "bool", "v1.ServiceSpec", "[]v1.Container", "map[string]string". go_struct: short Go
    name of a struct ("ServiceSpec"), "" for custom types. go_pointer: the Go field is a pointer, so
    that a zero value is told from an absent one and written as it is. go_omit: when Go leaves the
    field out: "" never, "e" omitempty, "z" omitzero, "ez" both. For members of built-in structs.
    go_embedded: embedded structs that such a member lies in, outermost first
    ("RuleWithOperations.Rule"), "" for one of the struct's own.
    definition: name of the OpenAPI definition the node was made from
    ("io.k8s.api.core.v1.ServiceSpec"), "" for inline nodes. special: "", "quantity",
    "int-or-string", "time", "microtime", "duration", "fields-v1", "raw-extension", "json", "bytes".
    builtin: whether Go decodes this type (case-insensitive member names, null equals absent, typed
    errors). extensions: OpenAPI keywords that no member above holds, for publishing
    (x-kubernetes-*, title, example, externalDocs ...).
    """

    type: str = ""
    format: str = ""
    properties: Mapping[str, Schema] | None = None
    additional: Schema | None = None
    items: Schema | None = None
    list_type: str = ""
    map_keys: tuple[str, ...] = ()
    map_type: str = ""
    patch_strategy: frozenset[str] = frozenset()
    patch_merge_key: str = ""
    special: str = ""
    builtin: bool = False
    go_type: str = ""
    go_struct: str = ""
    go_pointer: bool = False
    go_omit: str = ""
    go_embedded: str = ""
    definition: str = ""
    description: str = ""
    default: Any = MISSING
    nullable: bool = False
    preserve_unknown: bool = False
    embedded_resource: bool = False
    int_or_string: bool = False
    required: tuple[str, ...] = ()
    enum: tuple[Any, ...] | None = None
    pattern: str = ""
    minimum: float | None = None
    maximum: float | None = None
    exclusive_minimum: bool = False
    exclusive_maximum: bool = False
    multiple_of: float | None = None
    min_length: int | None = None
    max_length: int | None = None
    min_items: int | None = None
    max_items: int | None = None
    unique_items: bool = False
    min_properties: int | None = None
    max_properties: int | None = None
    all_of: tuple[Schema, ...] = ()
    any_of: tuple[Schema, ...] = ()
    one_of: tuple[Schema, ...] = ()
    not_: Schema | None = None
    rules: tuple[Rule, ...] = ()
    extensions: Mapping[str, Any] = field(default_factory=dict)
    below: Below = field(default=UNSURVEYED, repr=False)
    """Known beforehand for schemas of definitions, so that no node is made to find out."""
    defaults_size: int | None = field(default=None, repr=False)
    """Bytes of all defaults at or below the node; None until somebody has summed them up."""
    cache: dict[str, Any] = field(default_factory=dict, repr=False)
    """Room for what one consumer compiles from this node once, under its own package name
    ("fieldmanager", "cel", "protobuf")."""

    def is_struct(self) -> bool:
        return self.properties is not None


class LazyProperties(Mapping[str, Schema]):
    """Members of a built-in struct; a value is resolved at its first use, so that recursive
    definitions end."""

    __slots__ = ("_done", "_make")

    def __init__(self, make: Mapping[str, Callable[[], Schema]]) -> None:
        self._make = dict(make)
        self._done: dict[str, Schema] = {}

    def __getitem__(self, name: str) -> Schema:
        schema = self._done.get(name)
        if schema is None:
            schema = self._done[name] = self._make[name]()
        return schema

    def __contains__(self, name: object) -> bool:
        return name in self._make

    def __iter__(self) -> Any:
        return iter(self._make)

    def __len__(self) -> int:
        return len(self._make)
