"""Values of built-in kinds, generated from their schemas in the form in which Go prints them."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import pytest

from apiserver.codec.protobuf_messages import fields, message_name
from apiserver.meta.gvk import GroupVersionKind
from apiserver.schema.builtin import schema_for
from apiserver.schema.types import Schema

SAMPLES: dict[str, list[Any]] = {
    "quantity": ["0", "100m", "1Gi", "2"],
    "time": ["2024-01-02T03:04:05Z", "1969-12-31T23:59:59Z"],
    "microtime": ["2024-01-02T03:04:05.678901Z"],
    "int-or-string": [0, 8080, "web", "25%"],
    "duration": ["1h30m0s", "1.5ms"],
    "fields-v1": [{"f:data": {".": {}}}],
    "raw-extension": [{"kind": "Any", "n": [1, 1.5, None, "x"]}],
    "json": [{"a": [1]}, "text", 5, True],
    "bytes": ["AP8=", "aGVsbG8="],
}
NULLABLE = ("time", "microtime", "raw-extension")
"""Go structs that omitempty does not leave out and that print as null."""
SCALARS: dict[str, list[Any]] = {
    "string": ["x", "ä€\n", "y" * 200],
    "integer": [1, -1, 2**31 - 1],
    "number": [1.5, -3.0],
    "boolean": [True],
}


class Generator:
    def __init__(self, random: Random) -> None:
        self.random = random

    def kind(self, gvk: GroupVersionKind) -> dict[str, Any]:
        return {"kind": gvk.kind, "apiVersion": gvk.api_version, **self.struct(schema_for(gvk), 0)}

    def struct(self, schema: Schema, depth: int) -> dict[str, Any]:
        made = {}
        for name, node in (schema.properties or {}).items():
            if name in ("kind", "apiVersion") and not any(
                f.name == name for f in fields()[message_name(schema.definition)]
            ):
                continue  # the type's own name, which protobuf keeps in the envelope
            always = not node.go_pointer and (
                node.is_struct() or node.special in ("quantity", "int-or-string")
            )
            if always or (depth < 7 and self.random.random() < 0.4):
                made[name] = self.value(node, depth + 1)
            elif "e" not in node.go_omit or (
                not node.go_pointer and node.special in NULLABLE and "z" not in node.go_omit
            ):
                made[name] = self.zero(node)
        return made

    def zero(self, node: Schema) -> Any:
        if node.go_pointer or node.special or node.type in ("array", "object"):
            return None
        return {"string": "", "integer": 0, "number": 0.0, "boolean": False}.get(node.type)

    def value(self, node: Schema, depth: int) -> Any:
        if node.definition.endswith(
            ("JSONSchemaPropsOrArray", "JSONSchemaPropsOrBool", "JSONSchemaPropsOrStringArray")
        ):
            return self.union(node.definition, depth)
        if node.special:
            return self.random.choice(SAMPLES[node.special])
        if node.is_struct():
            return self.struct(node, depth)
        if node.type == "array":
            assert node.items is not None
            return [self.value(node.items, depth + 1) for _ in range(self.random.randint(1, 2))]
        if node.type == "object":
            assert node.additional is not None
            return {
                self.random.choice("abc") + str(i): self.value(node.additional, depth + 1)
                for i in range(self.random.randint(1, 2))
            }
        return self.random.choice(SCALARS[node.type])

    def union(self, definition: str, depth: int) -> Any:
        props = schema_for(
            GroupVersionKind("apiextensions.k8s.io", "v1", "CustomResourceDefinition")
        )
        for member in ("spec", "versions", "schema", "openAPIV3Schema"):
            assert props.properties is not None
            props = props.properties[member]
            props = props.items or props
        schema = self.struct(props, depth + 1)
        other = {"OrArray": [schema, {}], "OrBool": False, "OrStringArray": ["a", "b"]}
        return self.random.choice(
            [schema, next(v for k, v in other.items() if definition.endswith(k))]
        )


@pytest.fixture(scope="session")
def generate() -> Callable[[GroupVersionKind, int], dict[str, Any]]:
    """(kind, seed) → an object of that kind."""
    return lambda gvk, seed: Generator(Random(f"{gvk}{seed}")).kind(gvk)
