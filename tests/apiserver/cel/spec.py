"""The official conformance data of CEL (../shared/cel-spec): each test as an expression, what is
declared, bound and expected."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from apiserver.cel import types as t
from apiserver.cel.maps import Map
from apiserver.cel.scalars import Duration, Timestamp, Uint
from apiserver.cel.types import Type
from apiserver.cel.values import Optional
from tests.apiserver.cel.textproto import Message, Text, get, get_all, parse

SPEC = Path(__file__).resolve().parents[4] / "shared" / "cel-spec"


class NeedsProtobuf(Exception):
    """The test is about protobuf messages, which Kubernetes' CEL does not have."""


@dataclass(slots=True)
class SpecTest:
    name: str
    expr: str
    container: str
    disable_check: bool
    disable_macros: bool
    check_only: bool
    declared: list[Message]
    bindings: Message
    expected: Message

    def variables(self) -> dict[str, Type]:
        found = {}
        for d in self.declared:
            ident = get(d, "ident")
            if ident is not None:
                found[get(d, "name").decode()] = type_from(get(ident, "type"))
        return found

    def functions(self) -> list[Message]:
        return [d for d in self.declared if get(d, "function") is not None]

    def bound(self) -> dict[str, Any]:
        found = {}
        for key, entry in self.bindings:
            assert key == "bindings"
            found[get(entry, "key").decode()] = value_from(get(get(entry, "value"), "value"))
        return found


def load(path: Path) -> list[SpecTest]:
    found = []
    message = parse(path.read_text())
    for section in get_all(message, "section"):
        for test in get_all(section, "test"):
            found.append(
                SpecTest(
                    (
                        f"{path.stem}/{get(section, 'name', b'').decode()}/"
                        f"{get(test, 'name', b'').decode()}"
                    ),
                    get(test, "expr").decode("utf-8", "surrogatepass"),
                    get(test, "container", b"").decode(),
                    get(test, "disable_check") == "true",
                    get(test, "disable_macros") == "true",
                    get(test, "check_only") == "true",
                    get_all(test, "type_env"),
                    [("bindings", b) for b in get_all(test, "bindings")],
                    test,
                )
            )
    return found


_PRIMITIVES = {
    "BOOL": t.BOOL,
    "INT64": t.INT,
    "UINT64": t.UINT,
    "DOUBLE": t.DOUBLE,
    "STRING": t.STRING,
    "BYTES": t.BYTES,
}
_WELL_KNOWN = {"ANY": t.ANY, "TIMESTAMP": t.TIMESTAMP, "DURATION": t.DURATION}


def type_from(m: Message) -> Type:
    kind, value = m[0]
    if kind == "primitive":
        return _PRIMITIVES[value]
    if kind == "well_known":
        return _WELL_KNOWN[value]
    if kind == "wrapper":
        return t.nullable(_PRIMITIVES[value])
    if kind in ("dyn", "null", "error"):
        return {"dyn": t.DYN, "null": t.NULL, "error": t.ERROR}[kind]
    if kind == "list_type":
        return t.list_type(type_from(get(value, "elem_type", [("dyn", [])])))
    if kind == "map_type":
        return t.map_type(
            type_from(get(value, "key_type", [("dyn", [])])),
            type_from(get(value, "value_type", [("dyn", [])])),
        )
    if kind == "type":
        return t.type_of_type(type_from(value)) if value else t.TYPE
    if kind == "type_param":
        return t.param_type(value.decode())
    if kind == "abstract_type":
        return t.opaque_type(
            get(value, "name").decode(), *map(type_from, get_all(value, "parameter_types"))
        )
    if kind == "message_type":
        name = value.decode()
        if name in t.SIMPLE_NAMES:
            return t.SIMPLE_NAMES[name]
        raise NeedsProtobuf(name)
    raise AssertionError(kind)


_TYPE_VALUES = {
    "bool": t.BOOL,
    "int": t.INT,
    "uint": t.UINT,
    "double": t.DOUBLE,
    "string": t.STRING,
    "bytes": t.BYTES,
    "null_type": t.NULL,
    "list": t.LIST,
    "map": t.MAP,
    "type": t.TYPE,
    "google.protobuf.Timestamp": t.TIMESTAMP,
    "google.protobuf.Duration": t.DURATION,
    "optional_type": t.optional_type(t.DYN),
}


def value_from(m: Message) -> Any:
    kind, value = m[0]
    if kind == "null_value":
        return None
    if kind == "bool_value":
        return value == "true"
    if kind == "int64_value":
        return int(value, 0)
    if kind == "uint64_value":
        return Uint(int(value, 0))
    if kind == "double_value":
        return float(value)
    if kind == "string_value":
        return value.decode("utf-8", "surrogatepass")
    if kind == "bytes_value":
        return bytes(value)
    if kind == "type_value":
        name = value.decode()
        return _TYPE_VALUES.get(name) or t.opaque_type(name)
    if kind == "list_value":
        return [value_from(v) for v in get_all(value, "values")]
    if kind == "map_value":
        made = Map()
        for entry in get_all(value, "entries"):
            made.put(value_from(get(entry, "key")), value_from(get(entry, "value")))
        return dict(made) if all(type(k) is str for k in made) else made
    if kind == "object_value":
        return _object(value)
    raise NeedsProtobuf(kind)


def _object(value: Message) -> Any:
    name, body = value[0]
    short = name.strip("[]").rpartition("/")[2]
    if short in ("google.protobuf.Duration", "google.protobuf.Timestamp"):
        ns = int(get(body, "seconds", "0")) * 10**9 + int(get(body, "nanos", "0"))
        return (Duration if short.endswith("Duration") else Timestamp)(ns)
    raise NeedsProtobuf(short)


__all__ = [
    "SPEC",
    "NeedsProtobuf",
    "Optional",
    "SpecTest",
    "Text",
    "load",
    "type_from",
    "value_from",
]
