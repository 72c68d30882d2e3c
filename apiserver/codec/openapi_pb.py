"""OpenAPI v2 documents in the protobuf form that kubectl and client-go ask for: gnostic's
``openapi.v2.Document``."""

from __future__ import annotations

from typing import Any

from apiserver.codec.openapi_wire import (
    Messages,
    Write,
    any_value,
    field,
    named_map,
    varint,
    with_extensions,
)
from apiserver.meta.objects import ReadOnlyObject

MEDIA_TYPE = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
OLD_MEDIA_TYPE = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"

_MESSAGES = Messages("openapi-v2-fields.json")
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


def encode_document(document: ReadOnlyObject) -> bytes:
    """``document``: an OpenAPI v2 document as a JSON value."""
    return _MESSAGES.write("Document", document)


# --- messages that are no plain structs -----------------------------------------------------------


def _schema(value: ReadOnlyObject) -> bytes:
    return _MESSAGES.write("Schema", value)


def _reference_or(number: int, write: Write, value: ReadOnlyObject) -> bytes:
    """A union of something at ``number`` and a JSON reference at 2."""
    return (
        field(2, _MESSAGES.write("JsonReference", value))
        if "$ref" in value
        else field(number, write(value))
    )


def _parameter(value: ReadOnlyObject) -> bytes:
    if value["in"] == "body":
        return field(1, _MESSAGES.write("BodyParameter", value))
    number, message = _PARAMETERS[value["in"]]
    return field(2, field(number, _MESSAGES.write(message, value)))


def _response(value: ReadOnlyObject) -> bytes:
    return _reference_or(1, _MESSAGES.writer("Response"), value)


def _paths(paths: ReadOnlyObject) -> bytes:
    return with_extensions(paths, 2, _MESSAGES.writer("PathItem"), 1)


def _responses(responses: ReadOnlyObject) -> bytes:
    return with_extensions(responses, 1, _response, 2)


def _strings(values: list[str]) -> bytes:
    return b"".join(field(1, value.encode()) for value in values)


def _additional_properties(value: Any) -> bytes:
    if isinstance(value, bool):
        return b"\x10" + varint(int(value))
    return field(1, _schema(value))


def _security_definition(value: ReadOnlyObject) -> bytes:
    number, message = _SECURITY[value["type"], value.get("flow", "")]
    return field(number, _MESSAGES.write(message, value))


_MESSAGES.special |= {
    "Paths": _paths,
    "Responses": _responses,
    "Definitions": named_map(_schema),
    "Properties": named_map(_schema),
    "ParameterDefinitions": named_map(_parameter),
    "ResponseDefinitions": named_map(_MESSAGES.writer("Response")),
    "ParametersItem": lambda value: _reference_or(1, _parameter, value),
    "SchemaItem": lambda value: field(1, _schema(value)),
    "Headers": named_map(_MESSAGES.writer("Header")),
    "Examples": named_map(any_value),
    "AdditionalPropertiesItem": _additional_properties,
    "TypeItem": lambda value: _strings([value] if isinstance(value, str) else value),
    "ItemsItem": lambda value: b"".join(
        field(1, _schema(v)) for v in (value if isinstance(value, list) else [value])
    ),
    "SecurityRequirement": named_map(_strings),
    "SecurityDefinitions": named_map(_security_definition),
    "Oauth2Scopes": named_map(str.encode),
}
