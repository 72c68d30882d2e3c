"""Decoding of built-in types: what reading JSON into a Go struct and writing it out again makes of
an object.

kube-apiserver reads a body into typed structs (sigs.k8s.io/json: case-sensitive, strict about
unknown fields) and writes it as JSON again, so clients see Go's habits: type errors name Go types,
null equals absent, zero values vanish under ``omitempty`` and appear without it (``status: {}``,
``lastTransitionTime: null``), quantities and times come back in one spelling. The object is stored
as protobuf in between, which does not tell an empty list from a missing one: a list without
``omitempty`` comes back as null. CustomResourceDefinitions and APIServices are stored as JSON and
keep it.

Each schema node is compiled once into a closure ``(value, run, path) -> value``. Paths are linked
tuples (parent, step, struct) that are made on the way down and turned into text only for an error.
Type errors are collected until the end, and the first one wins; an error of a type with its own
JSON decoding (Time, Quantity ...) ends the run at once. That is Go's order, and tells which of
several errors is shown.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from apiserver.golang.json import type_name
from apiserver.golang.math import whole_numbers
from apiserver.schema.decode_errors import DecodeError, Decoder, Empty, Path, Run, type_error
from apiserver.schema.decode_special import SPECIAL, ZERO_SPECIAL, anything
from apiserver.schema.types import Schema

__all__ = ["DecodeError", "Decoded", "decode", "decoder", "zero"]


@dataclass(slots=True)
class Decoded:
    """value: a new object that shares with the input only what nobody changes in place (RawObject,
    FieldsV1); strict: ``unknown field "spec.foo"`` in the order of the input, at most 100; empties:
    what was there and is left out, at most 1,000."""

    value: Any
    strict: list[str] = field(default_factory=list)
    empties: list[Empty] = field(default_factory=list)


def decode(schema: Schema, value: Any, *, path: str = "") -> Decoded:
    """Decode a JSON value as the type of a built-in schema. ``path``: where the value stands, for
    the strict errors ("metadata").

    Raises DecodeError for what does not fit. Unknown fields are dropped and reported, never raised:
    the caller's fieldValidation decides.
    """
    run = Run(path)
    try:
        out = decoder(schema)(value, run, None)
    except RecursionError:
        raise DecodeError("json: exceeded max depth") from None
    if run.error:
        raise DecodeError(run.error)
    return Decoded(out, list(run.strict), run.empties)


def decoder(schema: Schema) -> Decoder:
    """The closure of one node, compiled at its first use."""
    remembered: Decoder | None = schema.cache.get("decode")
    if remembered is None:
        remembered = schema.cache["decode"] = _compile(schema)
    return remembered


def zero(schema: Schema) -> Any:
    """What Go writes for the zero value of a type that is not a pointer."""
    if schema.special:
        return ZERO_SPECIAL.get(schema.special)
    if schema.properties is not None:
        return _struct(schema).zero()
    return {"string": "", "integer": 0, "number": 0, "boolean": False}.get(schema.type)


def _compile(schema: Schema) -> Decoder:
    if schema.special:
        return SPECIAL[schema.special]
    own = _OWN_JSON.get(schema.definition)
    if own is not None:
        return own
    if schema.properties is not None:
        return _struct(schema).decode
    if schema.additional is not None:
        return _map(schema, schema.additional)
    if schema.items is not None:
        return _list(schema, schema.items)
    scalar = _SCALARS.get(schema.type)
    return scalar(schema) if scalar else anything


class _Struct:
    """Members of one Go struct. The tables are built at the first use, so that recursive types
    end."""

    __slots__ = ("always", "fields", "ready", "schema")

    def __init__(self, schema: Schema) -> None:
        self.schema = schema
        self.ready = False
        self.fields: dict[str, tuple[type | None, Decoder, Callable[[Any], bool] | None, str]] = {}
        self.always: list[tuple[str, Callable[[], Any]]] = []

    def build(self) -> None:
        self.ready = True
        for name, member in (self.schema.properties or {}).items():
            plain = not member.special and member.type in ("string", "boolean")
            exact = {"string": str, "boolean": bool}[member.type] if plain else None
            drops, always = _shape(member)
            holder = f"{self.schema.go_struct} {member.go_embedded}".rstrip()
            self.fields[name] = (exact, decoder(member), drops, holder)
            if always is not None:
                self.always.append((name, always))

    def zero(self) -> dict[str, Any]:
        if not self.ready:
            self.build()
        return {name: make() for name, make in self.always}

    def decode(self, value: Any, run: Run, path: Path) -> Any:
        if not isinstance(value, dict):
            if value is not None:
                run.save(type_error(type_name(value), self.schema.go_type, path))
            return self.zero()
        if not self.ready:
            self.build()
        out: dict[str, Any] = {}
        fields = self.fields
        for name, member in value.items():
            declared = fields.get(name)
            if declared is None:
                run.unknown(path, name)
                continue
            if member is None:
                continue
            exact, decode_member, drops, holder = declared
            if type(member) is not exact:
                member = decode_member(member, run, (path, name, holder))
            if drops is not None and (not member if drops is _falsy else drops(member)):
                run.drop(path, name, member)
                continue
            out[name] = member
        for name, make in self.always:
            if name not in out:
                out[name] = make()
        return out


def _struct(schema: Schema) -> _Struct:
    struct: _Struct | None = schema.cache.get("decode-struct")
    if struct is None:
        struct = schema.cache["decode-struct"] = _Struct(schema)
    return struct


def _is_go_struct(schema: Schema) -> bool:
    """Go's omitempty never drops a struct; Quantity, Time and the like are structs, too."""
    return (
        schema.properties is not None
        or schema.special not in ("", "bytes")
        or schema.definition in _OWN_JSON
    )


def _shape(member: Schema) -> tuple[Callable[[Any], bool] | None, Callable[[], Any] | None]:
    """When a member's value is left out, and what stands for it where it is absent (None: nothing
    does)."""
    if member.go_pointer:
        return None, None if member.go_omit else _null
    if "z" in member.go_omit:
        if _is_go_struct(member):
            return lambda value: bool(value == zero(member)), None
        return _falsy, None
    if "e" in member.go_omit and not _is_go_struct(member):
        return _falsy, None
    return None, lambda: zero(member)


def _null() -> None:
    return None


def _falsy(value: Any) -> bool:
    return not value


def _map(schema: Schema, values: Schema) -> Decoder:
    decode_value = decoder(values)
    exact = str if values.type == "string" and not values.special else None
    empty = "" if values.special == "bytes" else zero(values) if values.properties is None else None
    go_type = schema.go_type

    def decode_map(value: Any, run: Run, path: Path) -> Any:
        if not isinstance(value, dict):
            if value is not None:
                run.save(type_error(type_name(value), go_type, path))
            return {}
        return {
            k: v
            if type(v) is exact
            else empty
            if v is None and empty is not None
            else decode_value(v, run, (path, k, None))
            for k, v in value.items()
        }

    return decode_map


def _list(schema: Schema, items: Schema) -> Decoder:
    decode_item = decoder(items)
    go_type = schema.go_type

    def decode_list(value: Any, run: Run, path: Path) -> Any:
        if type(value) is not list:
            if value is not None:
                run.save(type_error(type_name(value), go_type, path))
            return []
        return [decode_item(v, run, (path, i, None)) for i, v in enumerate(value)]

    return decode_list


def _string(schema: Schema) -> Decoder:
    go_type = schema.go_type

    def decode_string(value: Any, run: Run, path: Path) -> Any:
        if type(value) is str:
            return value
        if value is not None:
            run.save(type_error(type_name(value), go_type, path))
        return ""

    return decode_string


def _boolean(schema: Schema) -> Decoder:
    go_type = schema.go_type

    def decode_boolean(value: Any, run: Run, path: Path) -> Any:
        if type(value) is bool:
            return value
        if value is not None:
            run.save(type_error(type_name(value), go_type, path))
        return False

    return decode_boolean


def _integer(schema: Schema) -> Decoder:
    go_type = schema.go_type
    bits = 31 if schema.format == "int32" else 63
    low, high = -(2**bits), 2**bits - 1

    def decode_integer(value: Any, run: Run, path: Path) -> Any:
        if type(value) is int and low <= value <= high:
            return value
        if value is not None:
            run.save(type_error(type_name(value, number=True), go_type, path))
        return 0

    return decode_integer


def _number(schema: Schema) -> Decoder:
    go_type = schema.go_type

    def decode_number(value: Any, run: Run, path: Path) -> Any:
        if type(value) in (int, float):
            return whole_numbers(float(value))
        if value is not None:
            run.save(type_error(type_name(value), go_type, path))
        return 0

    return decode_number


_SCALARS: dict[str, Callable[[Schema], Decoder]] = {
    "string": _string,
    "boolean": _boolean,
    "integer": _integer,
    "number": _number,
}


def _schema_or(other: Callable[[Any, Path], Any]) -> Decoder:
    """JSONSchemaPropsOrX: a schema, or X. They decode themselves, without strictness, and their
    errors show the field in the schema behind the outer one."""

    def decode_one(value: Any, run: Run, path: Path) -> Any:
        return _schema_props(value, path) if isinstance(value, dict) else other(value, path)

    return decode_one


def _schema_props(value: Any, path: Path) -> Any:
    from apiserver.schema.builtin import definition

    inner = Run("")
    out = decoder(definition(_SCHEMA_PROPS))(value, inner, None)
    if inner.error:
        raise DecodeError(_with_context(inner.error, path))
    return out


def _with_context(text: str, path: Path) -> str:
    """A type error of an inner decoding, under the outer field's name and behind it."""
    head, _, go_type = text.rpartition(" of type ")
    go_value, _, where = head.partition("json: cannot unmarshal ")[2].partition(" into Go ")
    inner = where.removeprefix("struct field ").partition(".")[2]
    outer = type_error(go_value, go_type, path)
    return outer.replace(" of type ", f".{inner} of type ") if inner else outer


def _or_boolean(value: Any, path: Path) -> Any:
    if type(value) is bool:
        return value
    raise DecodeError("boolean or JSON schema expected")


def _or_schemas(value: Any, path: Path) -> Any:
    return [_schema_props(item, path) for item in value] or None if type(value) is list else None


def _or_strings(value: Any, path: Path) -> Any:
    if type(value) is not list:
        return None
    for item in value:
        if type(item) is not str and item is not None:
            raise DecodeError(type_error(type_name(item), "string", path))
    return ["" if item is None else item for item in value] or None


_SCHEMA_PROPS = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps"
_OWN_JSON: dict[str, Decoder] = {
    f"{_SCHEMA_PROPS}OrBool": _schema_or(_or_boolean),
    f"{_SCHEMA_PROPS}OrArray": _schema_or(_or_schemas),
    f"{_SCHEMA_PROPS}OrStringArray": _schema_or(_or_strings),
}
