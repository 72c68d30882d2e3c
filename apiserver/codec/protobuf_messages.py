"""Protobuf messages of the built-in types, made at run time from field numbers.

``data/protobuf-fields.json`` holds, per package and message, "name number type" of each field;
``*`` marks a repeated field, ``%`` a map from strings, a leading dot the same package. One file
descriptor (proto2, because Kubernetes writes zero values and needs presence) with one flat message
per type goes into a pool of its own at the first use.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

_DATA = Path(__file__).parent / "data" / "protobuf-fields.json"
_PACKAGE = "k8s"
_FIELD = descriptor_pb2.FieldDescriptorProto
_SCALARS = {
    "string": _FIELD.TYPE_STRING,
    "bytes": _FIELD.TYPE_BYTES,
    "bool": _FIELD.TYPE_BOOL,
    "int32": _FIELD.TYPE_INT32,
    "int64": _FIELD.TYPE_INT64,
    "double": _FIELD.TYPE_DOUBLE,
}


class Field(NamedTuple):
    """name: in the message; type: a scalar's name or a full message name; shape: "", "*" (repeated)
    or "%" (map from strings)."""

    name: str
    number: int
    type: str
    shape: str

    @property
    def is_message(self) -> bool:
        return self.type not in _SCALARS


@cache
def fields() -> Mapping[str, tuple[Field, ...]]:
    """Full message name ("api.core.v1.Pod") → its fields by number."""
    packages: dict[str, dict[str, str]] = json.loads(_DATA.read_bytes())
    return {
        f"{package}.{name}": tuple(_field(package, text) for text in line.split(",") if text)
        for package, messages in packages.items()
        for name, line in messages.items()
    }


def _field(package: str, text: str) -> Field:
    name, number, kind = text.split(" ")
    shape = kind[0] if kind[0] in "*%" else ""
    kind = kind[len(shape) :]
    return Field(name, int(number), package + kind if kind.startswith(".") else kind, shape)


def message_name(definition: str) -> str:
    """Message of an OpenAPI definition: ``io.k8s.api.core.v1.Pod`` → ``api.core.v1.Pod``."""
    return definition.removeprefix("io.k8s.").replace("-", "_")


@cache
def message_class(name: str) -> Any:
    """The class of a message. Raises KeyError for an unknown name."""
    return message_factory.GetMessageClass(
        _pool().FindMessageTypeByName(f"{_PACKAGE}.{_flat(name)}")
    )


def _flat(name: str) -> str:
    return name.replace(".", "_")


@cache
def _pool() -> descriptor_pool.DescriptorPool:
    file = descriptor_pb2.FileDescriptorProto(name="k8s.proto", package=_PACKAGE, syntax="proto2")
    for name, members in fields().items():
        message = file.message_type.add(name=_flat(name))
        for member in members:
            _add_field(message, _flat(name), member)
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return pool


def _add_field(message: descriptor_pb2.DescriptorProto, owner: str, member: Field) -> None:
    field = message.field.add(name=member.name, number=member.number, json_name=member.name)
    field.label = _FIELD.LABEL_REPEATED if member.shape else _FIELD.LABEL_OPTIONAL
    if member.shape == "%":
        entry_name = f"{member.name[0].upper()}{member.name[1:]}Entry"
        entry = message.nested_type.add(name=entry_name)
        # No map_entry: of two keys the library would put the one that begins with the other first.
        key = entry.field.add(
            name="key", number=1, type=_FIELD.TYPE_STRING, label=_FIELD.LABEL_OPTIONAL
        )
        assert key.number == 1
        _set_type(entry.field.add(name="value", number=2, label=_FIELD.LABEL_OPTIONAL), member.type)
        field.type = _FIELD.TYPE_MESSAGE
        field.type_name = f".{_PACKAGE}.{owner}.{entry_name}"
    else:
        _set_type(field, member.type)


def _set_type(field: descriptor_pb2.FieldDescriptorProto, kind: str) -> None:
    scalar = _SCALARS.get(kind)
    if scalar is None:
        field.type = _FIELD.TYPE_MESSAGE
        field.type_name = f".{_PACKAGE}.{_flat(kind)}"
    else:
        field.type = scalar
