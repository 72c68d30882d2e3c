"""Types that mutating policies construct: ``Object{spec: Object.spec{...}}`` and ``JSONPatch{op:
...}`` (``pkg/cel/mutation``)."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping
from typing import Any, Final

from apiserver.cel.env import Field, StructType
from apiserver.cel.errors import EvalError
from apiserver.cel.scalars import Duration, Timestamp
from apiserver.cel.timestamps import format_seconds, format_timestamp
from apiserver.cel.types import DYN, STRING, Type, struct_type
from apiserver.cel.values import Fields, equal, type_of
from apiserver.golang.strconv import go_quote

OBJECT_TYPE: Final = struct_type("Object")
JSON_PATCH_TYPE: Final = struct_type("JSONPatch")
_UNSPECIFIED: Final = Type("unspecified", "")
_TEXTS: Final = ("op", "path", "from")


class ObjectValue(Fields):
    """A value of type Object or Object.path; fields hold CEL values. Who selects an object from it
    gets a map."""

    __slots__ = ("cel_type", "fields")

    def __init__(self, name: str, fields: dict[str, Any]) -> None:
        self.cel_type = struct_type(name)
        self.fields = fields

    def __getitem__(self, name: str) -> Any:
        return _as_map(self.fields[name])

    def __contains__(self, name: object) -> bool:
        return name in self.fields

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, ObjectValue)
            and other.cel_type == self.cel_type
            and equal(self.fields, other.fields)
        )

    def __hash__(self) -> int:
        return hash(self.cel_type)


class JsonPatchValue(Fields):
    """One operation. value is present only when it was given; the others are texts, which are
    present unless they are empty."""

    __slots__ = ("fields",)
    cel_type: Final = JSON_PATCH_TYPE

    def __init__(self, fields: dict[str, Any]) -> None:
        self.fields = {name: value for name, value in fields.items() if name == "value" or value}

    def __getitem__(self, name: str) -> Any:
        return self.fields.get(name, "") if name in _TEXTS else self.fields[name]

    def __contains__(self, name: object) -> bool:
        return name in self.fields

    def __eq__(self, other: object) -> bool:
        return isinstance(other, JsonPatchValue) and equal(self.fields, other.fields)

    def __hash__(self) -> int:
        return hash(str(self.fields.get("path")))


class _ObjectStruct:
    def __init__(self, name: str) -> None:
        self.name = name

    def field(self, name: str) -> Field | None:
        return Field(DYN, name)

    def make(self, fields: dict[str, Any]) -> ObjectValue:
        return ObjectValue(self.name, fields)


class _JsonPatchStruct:
    name = "JSONPatch"

    def field(self, name: str) -> Field | None:
        """Every name is a field; an unknown one has no type, so that nothing can be assigned to
        it."""
        type_ = STRING if name in _TEXTS else DYN if name == "value" else _UNSPECIFIED
        return Field(type_, name)

    def make(self, fields: dict[str, Any]) -> JsonPatchValue:
        for name, value in fields.items():
            if name != "value" and type(value) is not str:
                raise EvalError(
                    f"unexpected type {type_of(value).name} for JSONPatchType '{name}' field"
                )
        return JsonPatchValue(fields)


def _as_map(value: Any) -> Any:
    if isinstance(value, ObjectValue):
        return {name: _as_map(field) for name, field in value.fields.items()}
    if isinstance(value, list):
        return [_as_map(item) for item in value]
    if isinstance(value, Mapping):
        return {key: _as_map(item) for key, item in value.items()}
    return value


def patch_struct(name: str) -> StructType | None:
    """The struct type of a name, for `Env.dynamic_structs`."""
    if name == "JSONPatch":
        return _JsonPatchStruct()
    if name == "Object" or name.startswith("Object."):
        return _ObjectStruct(name)
    return None


def type_name_errors(value: Any, path: str | None = None) -> list[str]:
    """Where a type's name does not follow the path of the fields that lead to it. path: None for
    the root."""
    if isinstance(value, ObjectValue):
        name = value.cel_type.name
        expected = name if path is None else path
        errors = []
        if expected != name:
            why = f"unexpected type name {go_quote(name)}, expected {go_quote(expected)}"
            errors.append(f"{why}, which matches field name path from root Object type")
        return errors + [
            e for k, v in value.fields.items() for e in type_name_errors(v, f"{expected}.{k}")
        ]
    return [e for part in _parts(value) for e in type_name_errors(part, path or "")]


def _parts(value: Any) -> Iterator[Any]:
    if isinstance(value, list):
        yield from value
    elif isinstance(value, Mapping):
        yield from value.values()


def to_json(value: Any) -> Any:
    """A CEL value as JSON. Raises EvalError for what JSON cannot hold."""
    if isinstance(value, ObjectValue):
        return {k: to_json(v) for k, v in value.fields.items()}
    if isinstance(value, list):
        return [to_json(v) for v in value]
    if isinstance(value, Mapping):
        for key in value:
            if type(key) is not str:
                raise EvalError(f"map key {key} is of type {type_of(key).name}, not string")
        return {k: to_json(v) for k, v in value.items()}
    if value is None or isinstance(value, bool | str | float):
        return value
    if isinstance(value, int):
        return int(value)
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, Timestamp):
        return format_timestamp(value)
    if isinstance(value, Duration):
        return format_seconds(value)
    raise EvalError(f"unsupported type {type_of(value).name}")


def patch_operation(value: JsonPatchValue) -> dict[str, Any]:
    """One operation of RFC 6902. Raises EvalError."""
    fields = value.fields
    operation: dict[str, Any] = {"op": fields.get("op", ""), "path": fields.get("path", "")}
    if fields.get("from"):
        operation["from"] = fields["from"]
    if "value" in fields:
        if isinstance(fields["value"], ObjectValue):
            errors = type_name_errors(fields["value"])
            if errors:
                raise EvalError("type mismatch: " + "\n".join(errors))
        operation["value"] = to_json(fields["value"])
    return operation
