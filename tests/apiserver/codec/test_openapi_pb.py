"""The protobuf form of OpenAPI v2, read back by field number from gnostic's message definitions."""

import json

from apiserver.codec.openapi_pb import encode_document
from apiserver.codec.openapi_v3_pb import encode_document as encode_v3
from apiserver.schema.builtin import raw_definitions
from tests.support.growth import assert_within
from tests.support.wire import wire


def down(data: bytes, *numbers: int) -> bytes:
    for number in numbers:
        (data,) = wire(data)[number]
    return data


def named(data: bytes, number: int) -> dict[str, bytes]:
    return {w[1][0].decode(): w[2][0] for w in map(wire, wire(data)[number])}


SCHEMA = {
    "type": "object",
    "description": "d",
    "required": ["a"],
    "properties": {
        "a": {"$ref": "#/definitions/x"},
        "b": {"type": "array", "items": {"type": "string"}, "maxItems": 5, "uniqueItems": True},
        "c": {"type": ["integer", "null"], "default": {"x": 1}, "enum": [1], "maximum": 1.5},
    },
    "additionalProperties": False,
    "x-kubernetes-group-version-kind": [{"group": "", "kind": "Pod", "version": "v1"}],
}
DOCUMENT = {
    "swagger": "2.0",
    "info": {"title": "Kubernetes", "version": "v1.36"},
    "paths": {
        "/api": {
            "get": {
                "operationId": "get",
                "consumes": ["*/*", ""],
                "parameters": [
                    {"in": "query", "name": "limit", "type": "integer", "uniqueItems": True},
                    {
                        "in": "body",
                        "name": "body",
                        "required": True,
                        "schema": {"$ref": "#/definitions/x"},
                    },
                    {"$ref": "#/parameters/p"},
                ],
                "responses": {
                    "200": {"description": "OK", "schema": {"$ref": "#/definitions/x"}},
                    "401": {"description": "Unauthorized"},
                },
                "x-kubernetes-action": "get",
            },
            "parameters": [{"in": "path", "name": "n", "type": "string", "required": True}],
        }
    },
    "definitions": {"x": SCHEMA},
    "parameters": {"p": {"in": "query", "name": "p", "type": "string"}},
    "security": [{"BearerToken": []}],
    "securityDefinitions": {
        "BearerToken": {"type": "apiKey", "name": "authorization", "in": "header"}
    },
}


def test_documents() -> None:
    document = wire(encode_document(DOCUMENT))
    assert document[1] == [b"2.0"] and wire(document[2][0]) == {1: [b"Kubernetes"], 2: [b"v1.36"]}
    assert wire(document[12][0])[1] and wire(down(document[12][0], 1)) == {
        1: [b"BearerToken"],
        2: [b""],
    }
    assert wire(down(document[13][0], 1, 2, 2)) == {
        1: [b"apiKey"],
        2: [b"authorization"],
        3: [b"header"],
    }
    assert wire(down(named(document[10][0], 1)["p"], 2, 3)) == {
        2: [b"query"],
        4: [b"p"],
        6: [b"string"],
    }


def test_operations() -> None:
    item = wire(named(wire(encode_document(DOCUMENT))[8][0], 2)["/api"])
    operation = wire(item[2][0])
    assert operation[5] == [b"get"] and operation[7] == [b"*/*", b""]
    query, body, reference = operation[8]
    assert wire(down(query, 1, 2, 3)) == {2: [b"query"], 4: [b"limit"], 6: [b"integer"], 20: [1]}
    assert wire(down(body, 1, 1))[4] == [1] and down(body, 1, 1, 5, 1) == b"#/definitions/x"
    assert down(reference, 2, 1) == b"#/parameters/p"
    responses = named(operation[9][0], 1)
    assert (
        down(responses["200"], 1, 2, 1, 1) == b"#/definitions/x"
        and down(responses["401"], 1, 1) == b"Unauthorized"
    )
    assert (
        json.loads(
            down(
                named(b"".join(b"\x6a" + bytes([len(v)]) + v for v in operation[13]), 13)[
                    "x-kubernetes-action"
                ],
                2,
            )
        )
        == "get"
    )
    assert wire(down(item[9][0], 1, 2, 4))[1] == [1]


def test_schemas() -> None:
    definition = named(wire(encode_document(DOCUMENT))[9][0], 1)["x"]
    schema = wire(definition)
    assert down(schema[22][0], 1) == b"object" and schema[4] == [b"d"] and schema[19] == [b"a"]
    assert wire(schema[21][0]) == {2: [0]}
    members = named(schema[25][0], 1)
    assert wire(members["a"]) == {1: [b"#/definitions/x"]}
    listed = wire(members["b"])
    assert (listed[14], listed[16], down(listed[23][0], 1, 22, 1)) == ([5], [1], b"string")
    number = wire(members["c"])
    assert wire(number[22][0])[1] == [b"integer", b"null"] and json.loads(
        wire(number[5][0])[2][0]
    ) == {"x": 1}
    assert number[7] == [b"\x00\x00\x00\x00\x00\x00\xf8\x3f"]
    extension = wire(schema[31][0])
    assert extension[1] == [b"x-kubernetes-group-version-kind"]
    assert json.loads(down(extension[2][0], 2)) == SCHEMA["x-kubernetes-group-version-kind"]


def test_all_built_in_definitions_encode_quickly() -> None:
    definitions = {name: raw_definitions()[name] for name in raw_definitions()}
    document = {"swagger": "2.0", "definitions": definitions}
    assert_within(lambda: encode_document(document), 5)
    data = encode_document(document)
    assert named(wire(data)[9][0], 1).keys() == definitions.keys()


DOCUMENT_V3 = {
    "openapi": "3.0.0",
    "info": {"title": "Kubernetes", "version": "v1.36"},
    "paths": {
        "/x/{n}": {
            "get": {
                "operationId": "read",
                "tags": ["a"],
                "requestBody": {
                    "content": {"*/*": {"schema": {"$ref": "#/components/schemas/x"}}},
                    "required": True,
                },
                "responses": {
                    "200": {
                        "description": "OK",
                        "content": {"application/json": {"schema": {"type": "string"}}},
                    }
                },
                "x-kubernetes-action": "get",
            },
            "parameters": [
                {
                    "in": "path",
                    "name": "n",
                    "required": True,
                    "schema": {"type": "string", "uniqueItems": True},
                }
            ],
        }
    },
    "components": {
        "schemas": {
            "x": {
                "type": "object",
                "properties": {
                    "number": {"type": "integer", "default": 0},
                    "flag": {"type": "boolean", "default": True},
                    "text": {"type": "string", "default": ""},
                    "object": {"allOf": [{"$ref": "#/components/schemas/x"}], "default": {}},
                    "list": {"type": "array", "items": {"$ref": "#/components/schemas/x"}},
                },
                "additionalProperties": {"type": "string"},
            }
        },
        "securitySchemes": {
            "BearerToken": {"type": "apiKey", "in": "header", "name": "authorization"}
        },
    },
}


def test_v3_document() -> None:
    data = encode_v3(DOCUMENT_V3)
    assert wire(data)[1] == [b"3.0.0"]
    item = named(down(data, 4), 1)["/x/{n}"]
    operation = down(item, 4)
    assert wire(operation)[5] == [b"read"] and named(operation, 13)["x-kubernetes-action"]
    assert down(named(down(operation, 7, 1, 2), 1)["*/*"], 1, 2, 1) == b"#/components/schemas/x"
    assert down(named(operation_responses(operation), 2)["200"], 1, 1) == b"OK"
    assert down(item, 13, 1, 1) == b"n"
    assert down(named(down(data, 5, 7), 1)["BearerToken"], 1, 3) == b"authorization"


def operation_responses(operation: bytes) -> bytes:
    return down(operation, 8)


def test_v3_schema_with_defaults_of_every_type() -> None:
    schema = down(named(down(encode_v3(DOCUMENT_V3), 5, 1), 1)["x"], 1)
    members = {name: wire(down(value, 1)) for name, value in named(down(schema, 31), 1).items()}
    assert wire(members["number"][33][0]) == {1: [b"\0" * 8]}
    assert wire(members["flag"][33][0]) == {2: [1]}
    assert wire(members["text"][33][0]) == {3: [b""]}
    assert (
        members["object"][33] == [b""]
        and down(members["object"][26][0], 2, 1) == b"#/components/schemas/x"
    )
    assert down(members["list"][30][0], 1, 2, 1) == b"#/components/schemas/x"
    assert down(schema, 32, 1, 1, 25) == b"string"
