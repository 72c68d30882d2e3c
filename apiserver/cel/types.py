"""Types of CEL as the checker sees them (google/cel-go ``common/types/types.go``,
``checker/types.go``).

A Type is a small immutable value: kind, name, parameters. Kinds: bool bytes double int uint string
null timestamp duration any dyn error list map type opaque struct param. A *nullable* type is a
wrapper of a scalar that also takes null. Types compare by structure.
"""

from __future__ import annotations

from typing import Final


class Type:
    """kind as above; name as ``type()`` and messages print it; params: element types, or the type
    that a ``type`` value denotes."""

    __slots__ = ("_hash", "has_params", "kind", "name", "nullable", "params", "parts")

    def __init__(
        self, kind: str, name: str, params: tuple[Type, ...] = (), nullable: bool = False
    ) -> None:
        self.kind = kind
        self.name = name
        self.params = params
        self.nullable = nullable
        self.has_params: bool = kind == "param" or any(p.has_params for p in params)
        self.parts: int = 1 + sum(p.parts for p in params)
        self._hash = hash((kind, name, params, nullable))

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return (
            isinstance(other, Type)
            and self._hash == other._hash
            and self.kind == other.kind
            and self.name == other.name
            and self.nullable == other.nullable
            and self.params == other.params
        )

    def __hash__(self) -> int:
        return self._hash

    def __repr__(self) -> str:
        return f"Type({self})"

    def __str__(self) -> str:
        """As error messages of the checker print the type."""
        if self.kind == "error":
            return "!error!"
        if self.nullable:
            return f"wrapper({self.name})"
        if self.kind in ("null", "timestamp", "duration", "any"):
            return self.kind
        if self.kind == "param" or not self.params:
            return self.name
        return f"{self.name}({', '.join(map(str, self.params))})"


def scalar(kind: str, name: str = "") -> Type:
    return Type(kind, name or kind)


BOOL: Final = scalar("bool")
BYTES: Final = scalar("bytes")
DOUBLE: Final = scalar("double")
INT: Final = scalar("int")
UINT: Final = scalar("uint")
STRING: Final = scalar("string")
NULL: Final = scalar("null", "null_type")
TIMESTAMP: Final = scalar("timestamp", "google.protobuf.Timestamp")
DURATION: Final = scalar("duration", "google.protobuf.Duration")
ANY: Final = scalar("any", "google.protobuf.Any")
DYN: Final = scalar("dyn")
ERROR: Final = scalar("error")
TYPE: Final = scalar("type")


def list_type(item: Type) -> Type:
    return Type("list", "list", (item,))


def map_type(key: Type, value: Type) -> Type:
    return Type("map", "map", (key, value))


def optional_type(item: Type) -> Type:
    return Type("opaque", "optional_type", (item,))


def opaque_type(name: str, *params: Type) -> Type:
    return Type("opaque", name, params)


def struct_type(name: str) -> Type:
    return Type("struct", name)


def param_type(name: str) -> Type:
    return Type("param", name)


def type_of_type(t: Type) -> Type:
    return Type("type", "type", (t,))


def nullable(t: Type) -> Type:
    return Type(t.kind, t.name, t.params, nullable=True)


LIST: Final = list_type(DYN)
MAP: Final = map_type(DYN, DYN)

SIMPLE_NAMES: Final = {
    "bool": BOOL,
    "bytes": BYTES,
    "double": DOUBLE,
    "int": INT,
    "uint": UINT,
    "string": STRING,
    "null": NULL,
    "null_type": NULL,
    "timestamp": TIMESTAMP,
    "duration": DURATION,
    "any": ANY,
    "dyn": DYN,
    "type": TYPE,
    "google.protobuf.Timestamp": TIMESTAMP,
    "google.protobuf.Duration": DURATION,
}


def is_dyn_or_error(t: Type) -> bool:
    return t.kind in ("dyn", "any", "error")


def is_optional(t: Type) -> bool:
    return t.kind == "opaque" and t.name == "optional_type"


def unwrap_optional(t: Type) -> tuple[Type, bool]:
    return (t.params[0], True) if is_optional(t) else (t, False)
