"""Operations and definitions written down in version 2 and in version 3 of OpenAPI."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from apiserver.endpoints.openapi import parameters
from apiserver.endpoints.openapi.definitions import V2, V3, Node
from apiserver.endpoints.openapi.operations import Operation, Paths
from apiserver.endpoints.openapi.parameters import Parameter

_BEARER = {
    "description": "Bearer Token authentication",
    "in": "header",
    "name": "authorization",
    "type": "apiKey",
}
_UNAUTHORIZED = {"401": {"description": "Unauthorized"}}


def v2_document(paths: Node, definitions: Node, version: str) -> Node:
    return {
        "swagger": "2.0",
        "info": {"title": "Kubernetes", "version": version},
        "paths": paths,
        "definitions": definitions,
        "parameters": parameters.shared(),
        "securityDefinitions": {"BearerToken": _BEARER},
        "security": [{"BearerToken": []}],
    }


def v3_document(paths: Node, schemas: Node, version: str, *, custom: bool) -> Node:
    components: Node = {"schemas": schemas}
    if not custom:
        components["securitySchemes"] = {"BearerToken": _BEARER}
    title, version = ("Kubernetes CRD Swagger", "v0.1.0") if custom else ("Kubernetes", version)
    return {
        "openapi": "3.0.0",
        "info": {"title": title, "version": version},
        "paths": paths,
        "components": components,
    }


def v2_paths(paths: Paths) -> dict[str, Node]:
    return {path: _v2_item(operations) for path, operations in sorted(paths.items())}


def v3_paths(paths: Paths) -> dict[str, Node]:
    return {path: _v3_item(operations) for path, operations in sorted(paths.items())}


def used(paths: Paths) -> set[str]:
    """Names of the definitions that operations mention."""
    operations = [o for listed in paths.values() for o in listed]
    names = {o.body for o in operations} | {d for o in operations for d in o.responses.values()}
    return names - {""}


def _split(
    operations: list[Operation],
) -> tuple[tuple[Parameter, ...], list[tuple[Parameter, ...]]]:
    """(parameters of the path, parameters of each operation), sorted by name."""
    common = parameters.common(o.parameters for o in operations)
    keys = {(p.name, p.place) for p in common}
    own = [
        tuple(sorted((p for p in o.parameters if (p.name, p.place) not in keys), key=_by_name))
        for o in operations
    ]
    return tuple(sorted(common, key=_by_name)), own


def _by_name(parameter: Parameter) -> tuple[str, str]:
    return parameter.name, parameter.place


def _extensions(operation: Operation) -> Node:
    node: Node = {}
    if operation.action:
        node["x-kubernetes-action"] = operation.action
    if operation.gvk is not None:
        node["x-kubernetes-group-version-kind"] = operation.gvk._asdict()
    return node


def _v2_item(operations: list[Operation]) -> Node:
    common, own = _split(operations)
    item: Node = {o.method: _v2_operation(o, mine) for o, mine in zip(operations, own, strict=True)}
    if common:
        item["parameters"] = [p.v2() for p in common]
    return item


def _v2_operation(operation: Operation, own: Iterable[Parameter]) -> Node:
    listed = [(p.name, p.v2()) for p in own]
    if operation.body:
        shared = parameters.SHARED_BODIES.get(operation.body)
        body = (
            {"$ref": f"#/parameters/{shared}"}
            if shared
            else parameters.body(operation.body, required=operation.body_required)
        )
        listed.append(("body", body))
    document: Node = {
        "description": operation.text,
        "consumes": list(operation.consumes),
        "produces": list(operation.produces),
        "schemes": ["https"],
        "tags": [operation.tag],
        "operationId": operation.id,
        "responses": {str(code): _v2_response(operation, code) for code in operation.responses}
        | _UNAUTHORIZED,
        **_extensions(operation),
    }
    if listed:
        document["parameters"] = [node for _, node in sorted(listed, key=lambda pair: pair[0])]
    return document


def _v2_response(operation: Operation, code: int) -> Node:
    name = operation.responses[code]
    return {
        "description": operation.response_text(code),
        "schema": {"$ref": V2 + name} if name else {"type": "string"},
    }


def _v3_item(operations: list[Operation]) -> Node:
    common, own = _split(operations)
    item: Node = {o.method: _v3_operation(o, mine) for o, mine in zip(operations, own, strict=True)}
    if common:
        item["parameters"] = [p.v3() for p in common]
    return item


def _v3_operation(operation: Operation, own: Iterable[Parameter]) -> Node:
    listed = [p.v3() for p in own]
    node: Node = {
        "description": operation.text,
        "tags": [operation.tag],
        "operationId": operation.id,
        "responses": {str(code): _v3_response(operation, code) for code in operation.responses}
        | _UNAUTHORIZED,
        **_extensions(operation),
    }
    if listed:
        node["parameters"] = listed
    if operation.body:
        body: dict[str, Any] = {
            "content": {
                media: {"schema": {"$ref": V3 + operation.body}} for media in operation.consumes
            }
        }
        node["requestBody"] = {**body, "required": True} if operation.body_required else body
    return node


def _v3_response(operation: Operation, code: int) -> Node:
    name = operation.responses[code]
    schema = {"$ref": V3 + name} if name else {"type": "string"}
    return {
        "description": operation.response_text(code),
        "content": {media: {"schema": schema} for media in operation.produces},
    }
