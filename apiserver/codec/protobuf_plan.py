"""How an object's members map to a message's fields: one plan per pair of message and schema node,
compiled at first use.

What Kubernetes' generated code writes depends on the Go type: a field that is a pointer only when
it is set, any other field always, zero or not; lists and maps when they have elements. Structs that
Go embeds are messages of their own, while their members stand among the outer struct's in JSON.
Names agree but for letters' case and the ``$`` and ``x-kubernetes-`` members of JSONSchemaProps.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable
from typing import Any

from apiserver.codec.protobuf_messages import Field, fields
from apiserver.codec.protobuf_special import SPECIAL, Special
from apiserver.meta.objects import Object
from apiserver.schema.builtin import definition
from apiserver.schema.types import Schema

Writer = Callable[[Any, Object], None]
Reader = Callable[[Any, Object], None]

_CACHE = "codec.protobuf"
_ZERO: dict[str, Any] = {
    "string": "",
    "bytes": b"",
    "bool": False,
    "int32": 0,
    "int64": 0,
    "double": 0.0,
}
_EXTENSIONS = "apiextensions_apiserver.pkg.apis.apiextensions.v1."
_PROPS = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps"
_RENAMED = {"schema": "$schema", "ref": "$ref"}


class Plan:
    """Fills messages from objects and reads them back."""

    __slots__ = ("_readers", "_writers")

    def __init__(self) -> None:
        self._writers: list[Writer] = []
        self._readers: list[Reader] = []

    def write(self, message: Any, obj: Object) -> None:
        for writer in self._writers:
            writer(message, obj)

    def read(self, message: Any) -> Object:
        obj: Object = {}
        self.read_into(message, obj)
        return obj

    def read_into(self, message: Any, obj: Object) -> None:
        for reader in self._readers:
            reader(message, obj)

    def add(self, pair: tuple[Writer, Reader]) -> None:
        self._writers.append(pair[0])
        self._readers.append(pair[1])


def plan_for(message: str, schema: Schema) -> Plan:
    """``schema``: of the struct that the message stands for, or of the one that embeds it."""
    plans: dict[str, Plan] = schema.cache.setdefault(_CACHE, {})
    plan = plans.get(message)
    if plan is None:
        plan = Plan()
        for field in fields()[message]:
            plan.add(_field(message, field, schema))
        plans[message] = plan  # once it is complete: other threads may look for it at the same time
    return plan


def _field(owner: str, field: Field, schema: Schema) -> tuple[Writer, Reader]:
    member = _member_name(owner, field.name, schema)
    if member is None:
        return _embedded(field, schema)
    node = (schema.properties or {})[member]
    if field.shape == "*":
        return _repeated(field, member, node)
    if field.shape == "%":
        return _map(field, member, node)
    return _message(field, member, node) if field.is_message else _scalar(field, member, node)


def _member_name(owner: str, name: str, schema: Schema) -> str | None:
    members = schema.properties or {}
    if owner == _EXTENSIONS + "JSONSchemaProps":
        name = _RENAMED.get(
            name,
            re.sub(r"(?<!^)([A-Z])", lambda m: f"-{m[1].lower()}", name)
            if name.startswith("xKube")
            else name,
        )
    if name in members:
        return name
    return next((m for m in members if m.casefold() == name.casefold()), None)


def _embedded(field: Field, schema: Schema) -> tuple[Writer, Reader]:
    name, message = field.name, field.type

    def write(target: Any, obj: Object) -> None:
        inner = getattr(target, name)
        inner.SetInParent()
        plan_for(message, schema).write(inner, obj)

    def read(source: Any, obj: Object) -> None:
        plan_for(message, schema).read_into(getattr(source, name), obj)

    return write, read


def _put(obj: Object, member: str, value: Any, empty: bool, omit: str) -> None:
    if not empty or "e" not in omit:
        obj[member] = value


def _scalar(field: Field, member: str, node: Schema) -> tuple[Writer, Reader]:
    name, zero, pointer, omit = field.name, _ZERO[field.type], node.go_pointer, node.go_omit
    if field.type == "bytes":
        return _bytes(name, member, omit)

    def write(target: Any, obj: Object) -> None:
        value = obj.get(member)
        if value is not None:
            setattr(target, name, value)
        elif not pointer:
            setattr(target, name, zero)

    def read(source: Any, obj: Object) -> None:
        if pointer:
            if source.HasField(name):
                obj[member] = getattr(source, name)
            elif "e" not in omit:
                obj[member] = None
        else:
            value = getattr(source, name)
            _put(obj, member, value, not value, omit)

    return write, read


def _bytes(name: str, member: str, omit: str) -> tuple[Writer, Reader]:
    def write(target: Any, obj: Object) -> None:
        value = obj.get(member)
        if value is not None:
            setattr(target, name, base64.b64decode(value))

    def read(source: Any, obj: Object) -> None:
        value = getattr(source, name)
        _put(
            obj,
            member,
            base64.b64encode(value).decode() if source.HasField(name) else None,
            not value,
            omit,
        )

    return write, read


def _codec(message: str, node: Schema) -> Special:
    """How one value of a message type is written and read."""
    special = SPECIAL.get(message) or _UNIONS.get(message)
    if special is not None:
        return special

    def write(target: Any, value: Any) -> None:
        plan_for(message, node).write(target, value)

    return Special(write, lambda source: plan_for(message, node).read(source), {})


def _message(field: Field, member: str, node: Schema) -> tuple[Writer, Reader]:
    name, codec, pointer, omit = field.name, _codec(field.type, node), node.go_pointer, node.go_omit
    wraps_list = node.type == "array"

    def write(target: Any, obj: Object) -> None:
        value = obj.get(member)
        if value is None:
            if pointer or wraps_list:
                return
            value = codec.zero
        inner = getattr(target, name)
        inner.SetInParent()
        if value is not None:
            codec.write(inner, value)

    def read(source: Any, obj: Object) -> None:
        present = source.HasField(name)
        if pointer or wraps_list:
            value = codec.read(getattr(source, name)) if present else None
            _put(obj, member, value, not present, omit)
        else:
            value = codec.read(getattr(source, name))
            if value is not None or "z" not in omit:
                obj[member] = value

    return write, read


def _repeated(field: Field, member: str, node: Schema) -> tuple[Writer, Reader]:
    name, omit = field.name, node.go_omit
    if not field.is_message:

        def write_scalars(target: Any, obj: Object) -> None:
            getattr(target, name).extend(obj.get(member) or ())

        def read_scalars(source: Any, obj: Object) -> None:
            value = list(getattr(source, name))
            _put(obj, member, value or None, not value, omit)

        return write_scalars, read_scalars
    codec = _codec(field.type, node.items or node)

    def write(target: Any, obj: Object) -> None:
        items = getattr(target, name)
        for value in obj.get(member) or ():
            codec.write(items.add(), codec.zero if value is None else value)

    def read(source: Any, obj: Object) -> None:
        value = [codec.read(item) for item in getattr(source, name)]
        _put(obj, member, value or None, not value, omit)

    return write, read


def _map(field: Field, member: str, node: Schema) -> tuple[Writer, Reader]:
    name, omit = field.name, node.go_omit
    if field.is_message:
        codec = _codec(field.type, node.additional or node)

        def put(entry: Any, value: Any) -> None:
            entry.value.SetInParent()
            if value is not None:
                codec.write(entry.value, value)

        take: Callable[[Any], Any] = codec.read
    else:
        is_bytes, zero = field.type == "bytes", _ZERO[field.type]

        def put(entry: Any, value: Any) -> None:
            entry.value = zero if value is None else base64.b64decode(value) if is_bytes else value

        def take(value: Any) -> Any:
            return base64.b64encode(value).decode() if is_bytes else value

    def write(target: Any, obj: Object) -> None:
        entries = getattr(target, name)
        for key, value in sorted((obj.get(member) or {}).items()):
            entry = entries.add(key=key)
            put(entry, value)

    def read(source: Any, obj: Object) -> None:
        entries = {entry.key: entry.value for entry in getattr(source, name)}
        value = {key: take(entries[key]) for key in sorted(entries)}
        _put(obj, member, value or None, not value, omit)

    return write, read


# --- the three unions of apiextensions, each a schema or something simpler ------------------------


def _props() -> Special:
    return _codec(_EXTENSIONS + "JSONSchemaProps", definition(_PROPS))


def _write_schema(target: Any, value: Any) -> None:
    target.schema.SetInParent()
    _props().write(target.schema, value)


def _read_schema(source: Any) -> Any:
    return _props().read(source.schema) if source.HasField("schema") else None


def _write_array(target: Any, value: Any) -> None:
    if isinstance(value, list):
        for item in value:
            _props().write(target.jSONSchemas.add(), item)
    else:
        _write_schema(target, value)


def _read_array(source: Any) -> Any:
    return [_props().read(item) for item in source.jSONSchemas] or _read_schema(source)


def _write_bool(target: Any, value: Any) -> None:
    target.allows = value is not False
    if isinstance(value, dict):
        _write_schema(target, value)


def _read_bool(source: Any) -> Any:
    return _read_schema(source) if source.HasField("schema") else source.allows


def _write_strings(target: Any, value: Any) -> None:
    if isinstance(value, list):
        target.property.extend(value)
    else:
        _write_schema(target, value)


def _read_strings(source: Any) -> Any:
    return list(source.property) or _read_schema(source)


_UNIONS = {
    f"{_EXTENSIONS}JSONSchemaPropsOrArray": Special(_write_array, _read_array),
    f"{_EXTENSIONS}JSONSchemaPropsOrBool": Special(_write_bool, _read_bool),
    f"{_EXTENSIONS}JSONSchemaPropsOrStringArray": Special(_write_strings, _read_strings),
}
