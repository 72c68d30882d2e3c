"""OpenAPI v2 documents in the protobuf form that kubectl and client-go ask for: gnostic's ``openapi.v2.Document``.

Written straight to the wire from the JSON document: proto3 leaves zero values out, and nothing is ever read. What a schema leaves open
(extensions, defaults, examples) travels as YAML text; JSON is YAML. Field numbers: ``data/openapi-v2-fields.json``, JSON names with their
numbers and types per message, where ``x-`` stands for all extensions.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import orjson

MEDIA_TYPE = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
OLD_MEDIA_TYPE = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"

_DATA = Path(__file__).parent / "data" / "openapi-v2-fields.json"
_PARAMETERS = {
    "header": (1, "HeaderParameterSubSchema"),
    "formData": (2, "FormDataParameterSubSchema"),
    "query": (3, "QueryParameterSubSchema"),
    "path": (4, "PathParameterSubSchema"),
}
_SECURITY = {
    ("basic", ""): (1, "BasicAuthenticationSecurity"),
    ("apiKey", ""): (2, "ApiKeySecurity"),
    ("oauth2", "implicit"): (3, "Oauth2ImplicitSecurity"),
    ("oauth2", "password"): (4, "Oauth2PasswordSecurity"),
    ("oauth2", "application"): (5, "Oauth2ApplicationSecurity"),
    ("oauth2", "accessCode"): (6, "Oauth2AccessCodeSecurity"),
}

Object = Mapping[str, Any]
Write = Callable[[Any], bytes]


def encode_document(document: Object) -> bytes:
    """``document``: an OpenAPI v2 document as a JSON value."""
    return _message("Document", document)


# --- the wire ------------------------------------------------------------------------------------------------------------------------


def _varint(value: int) -> bytes:
    value &= (1 << 64) - 1
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _field(number: int, value: bytes) -> bytes:
    return _varint(number << 3 | 2) + _varint(len(value)) + value


def _named(name: str, value: bytes) -> bytes:
    """NamedAny and its siblings: name 1, value 2."""
    return (_field(1, name.encode()) if name else b"") + _field(2, value)


# --- messages by table ---------------------------------------------------------------------------------------------------------------


@cache
def _tables() -> dict[str, dict[str, tuple[int, str, bool]]]:
    """message → JSON name → (number, type, repeated)."""
    raw: dict[str, str] = json.loads(_DATA.read_bytes())
    tables: dict[str, dict[str, tuple[int, str, bool]]] = {}
    for message, line in raw.items():
        table = tables[message] = {}
        for text in line.split(","):
            name, number, kind = text.split(" ")
            table[name] = (int(number), kind.lstrip("*"), kind.startswith("*"))
    return tables


def _message(name: str, value: Object) -> bytes:
    table = _tables()[name]
    found: list[tuple[int, bytes]] = []
    for member, content in value.items():
        known = table.get(member)
        if known is not None:
            number, kind, repeated = known
            parts = content if repeated else [content]
            found.append((number, b"".join(_value(number, kind, part, repeated) for part in parts)))
        elif member.startswith("x-"):
            found.append((table["x-"][0], _field(table["x-"][0], _named(member, _any(content)))))
    found.sort(key=lambda pair: pair[0])
    return b"".join(part for _, part in found)


def _value(number: int, kind: str, value: Any, repeated: bool) -> bytes:
    if kind == "string":
        return _field(number, value.encode()) if value or repeated else b""
    if kind in ("bool", "int64"):
        return _varint(number << 3) + _varint(int(value)) if value else b""
    if kind == "double":
        return _varint(number << 3 | 1) + struct.pack("<d", value) if value else b""
    write = _SPECIAL.get(kind)
    return _field(number, write(value) if write is not None else _message(kind, value))


# --- messages that are no plain structs ----------------------------------------------------------------------------------------------


def _any(value: Any) -> bytes:
    return _field(2, orjson.dumps(value) + b"\n")


def _named_map(value_of: Write) -> Write:
    return lambda members: b"".join(_field(1, _named(name, value_of(value))) for name, value in members.items())


def _schema(value: Object) -> bytes:
    return _message("Schema", value)


def _reference_or(number: int, write: Write, value: Object) -> bytes:
    """A union of something at ``number`` and a JSON reference at 2."""
    return _field(2, _message("JsonReference", value)) if "$ref" in value else _field(number, write(value))


def _parameter(value: Object) -> bytes:
    if value["in"] == "body":
        return _field(1, _message("BodyParameter", value))
    number, message = _PARAMETERS[value["in"]]
    return _field(2, _field(number, _message(message, value)))


def _response(value: Object) -> bytes:
    return _reference_or(1, lambda v: _message("Response", v), value)


def _paths(paths: Object) -> bytes:
    extensions = b"".join(_field(1, _named(name, _any(value))) for name, value in paths.items() if name.startswith("x-"))
    items = (_field(2, _named(path, _message("PathItem", item))) for path, item in paths.items() if not path.startswith("x-"))
    return extensions + b"".join(items)


def _responses(responses: Object) -> bytes:
    codes = b"".join(_field(1, _named(code, _response(value))) for code, value in responses.items() if not code.startswith("x-"))
    extensions = (_field(2, _named(name, _any(value))) for name, value in responses.items() if name.startswith("x-"))
    return codes + b"".join(extensions)


def _strings(values: list[str]) -> bytes:
    return b"".join(_field(1, value.encode()) for value in values)


def _additional_properties(value: Any) -> bytes:
    if isinstance(value, bool):
        return b"\x10" + _varint(int(value))
    return _field(1, _schema(value))


def _security_definition(value: Object) -> bytes:
    number, message = _SECURITY[value["type"], value.get("flow", "")]
    return _field(number, _message(message, value))


def _plain(message: str) -> Write:
    return lambda value: _message(message, value)


_SPECIAL: dict[str, Write] = {
    "Any": _any,
    "Paths": _paths,
    "Responses": _responses,
    "Definitions": _named_map(_schema),
    "Properties": _named_map(_schema),
    "ParameterDefinitions": _named_map(_parameter),
    "ResponseDefinitions": _named_map(_plain("Response")),
    "ParametersItem": lambda value: _reference_or(1, _parameter, value),
    "SchemaItem": lambda value: _field(1, _schema(value)),
    "Headers": _named_map(_plain("Header")),
    "Examples": _named_map(_any),
    "AdditionalPropertiesItem": _additional_properties,
    "TypeItem": lambda value: _strings([value] if isinstance(value, str) else value),
    "ItemsItem": lambda value: b"".join(_field(1, _schema(v)) for v in (value if isinstance(value, list) else [value])),
    "SecurityRequirement": _named_map(_strings),
    "SecurityDefinitions": _named_map(_security_definition),
    "Oauth2Scopes": _named_map(str.encode),
}
