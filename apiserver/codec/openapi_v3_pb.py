"""OpenAPI v3 documents in the protobuf form that client-go may ask for: gnostic's
``openapi.v3.Document``.

Only the messages that our documents use are known; everything else of a document is left out.
"""

from __future__ import annotations

from typing import Any

from apiserver.codec.openapi_wire import (
    Messages,
    Write,
    double,
    field,
    named_map,
    varint,
    with_extensions,
)
from apiserver.meta.objects import ReadOnlyObject

MEDIA_TYPE = "application/com.github.proto-openapi.spec.v3.v1.0+protobuf"
OLD_MEDIA_TYPE = "application/com.github.proto-openapi.spec.v3@v1.0+protobuf"

_MESSAGES = Messages("openapi-v3-fields.json")


def encode_document(document: ReadOnlyObject) -> bytes:
    """``document``: an OpenAPI v3 document as a JSON value."""
    return _MESSAGES.write("Document", document)


def _reference_or(message: str) -> Write:
    """A union of the message at 1 and a reference at 2."""

    def write(value: ReadOnlyObject) -> bytes:
        return (
            field(2, _MESSAGES.write("Reference", value))
            if "$ref" in value
            else field(1, _MESSAGES.write(message, value))
        )

    return write


_schema = _reference_or("Schema")
_response = _reference_or("Response")


def _responses(responses: ReadOnlyObject) -> bytes:
    default = field(1, _response(responses["default"])) if "default" in responses else b""
    return default + with_extensions(
        {k: v for k, v in responses.items() if k != "default"}, 2, _response, 3
    )


def _default(value: Any) -> bytes:
    """Numbers, booleans and strings; other defaults have no place in this form, and are empty."""
    match value:
        case bool():
            return varint(2 << 3) + varint(int(value))
        case int() | float():
            return double(1, value)
        case str():
            return field(3, value.encode())
        case _:
            return b""


def _additional_properties(value: Any) -> bytes:
    return (
        varint(2 << 3) + varint(int(value)) if isinstance(value, bool) else field(1, _schema(value))
    )


def _strings(values: list[str]) -> bytes:
    return b"".join(field(1, value.encode()) for value in values)


_MESSAGES.special |= {
    "Paths": lambda paths: with_extensions(paths, 1, _MESSAGES.writer("PathItem"), 2),
    "Responses": _responses,
    "ParameterOrReference": _reference_or("Parameter"),
    "RequestBodyOrReference": _reference_or("RequestBody"),
    "SchemaOrReference": _schema,
    "SchemasOrReferences": named_map(_schema),
    "Properties": named_map(_schema),
    "SecuritySchemesOrReferences": named_map(_reference_or("SecurityScheme")),
    "MediaTypes": named_map(_MESSAGES.writer("MediaType")),
    "ItemsItem": lambda value: field(1, _schema(value)),
    "AdditionalPropertiesItem": _additional_properties,
    "DefaultType": _default,
    "SecurityRequirement": named_map(_strings),
}
