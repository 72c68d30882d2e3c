"""What OpenAPI says of custom kinds, and what documents cost (cases: apiextensions-apiserver
``openapi/builder/builder_test.go``)."""

from __future__ import annotations

import asyncio
from typing import Any

import orjson
import pytest

from apiserver.endpoints.openapi import custom, documents, parts
from apiserver.endpoints.openapi.documents import Document, Kept
from apiserver.kinds.apiextensions.custom import CustomResource
from apiserver.meta.objects import Object
from apiserver.registry.offload import Asker
from apiserver.registry.scope import Tenant
from tests.support.definitions import definition, resource_of

EITHER = [{"type": "integer"}, {"type": "string"}]
MINIMUM = {"minimum": 42}
MARK = {"x-kubernetes-int-or-string": True}


def member(schema: Object, *, v2: bool) -> Any:
    resource = resource_of(definition({"type": "object", "properties": {"m": schema}}))
    return custom.definitions(resource, resource.versions["v1"], v2=v2)["com.example.v1.Foo"][
        "properties"
    ]["m"]


@pytest.mark.parametrize(
    ("stated", "published"),
    [
        ({}, {"anyOf": EITHER}),
        ({"anyOf": EITHER}, {"anyOf": EITHER}),
        (
            {"allOf": [{"anyOf": EITHER}, {"anyOf": [MINIMUM]}]},
            {"allOf": [{"anyOf": EITHER}, {"anyOf": [MINIMUM]}]},
        ),
        (
            {"anyOf": EITHER, "allOf": [{"anyOf": [MINIMUM]}]},
            {"anyOf": EITHER, "allOf": [{"anyOf": [MINIMUM]}]},
        ),
        ({"anyOf": [MINIMUM]}, {"anyOf": [MINIMUM], "allOf": [{"anyOf": EITHER}]}),
        (
            {"anyOf": [MINIMUM], "allOf": [MINIMUM]},
            {"anyOf": [MINIMUM], "allOf": [{"anyOf": EITHER}, MINIMUM]},
        ),
        ({"allOf": [MINIMUM]}, {"anyOf": EITHER, "allOf": [MINIMUM]}),
    ],
)
def test_what_is_either_a_number_or_a_string_is_told_in_version_3_alone(
    stated: Object, published: Object
) -> None:
    assert member({**MARK, **stated}, v2=False) == {**MARK, **published}
    assert member({**MARK, **stated}, v2=True) == MARK


@pytest.mark.parametrize(
    ("schema", "in_v2"),
    [
        ({"type": "string", "nullable": True}, {}),
        (
            {"x-kubernetes-preserve-unknown-fields": True},
            {"x-kubernetes-preserve-unknown-fields": True},
        ),
        (
            {
                "type": "object",
                "x-kubernetes-embedded-resource": True,
                "x-kubernetes-preserve-unknown-fields": True,
            },
            {"x-kubernetes-embedded-resource": True, "x-kubernetes-preserve-unknown-fields": True},
        ),
        ({"type": "string", "not": {"enum": ["a"]}}, {"type": "string"}),
        (
            {"type": "array", "items": {"type": "string", "default": "b"}, "default": ["a"]},
            {"type": "array", "items": {"type": "string"}},
        ),
    ],
)
def test_version_2_leaves_out_what_kubectl_cannot_bear(schema: Object, in_v2: Object) -> None:
    assert member(schema, v2=True) == in_v2
    assert member(schema, v2=False) != in_v2 or "nullable" not in schema


def test_a_kind_that_keeps_unknown_fields_tells_nothing_in_version_2() -> None:
    resource = resource_of(
        definition({"type": "object", "x-kubernetes-preserve-unknown-fields": True})
    )
    made = custom.definitions(resource, resource.versions["v1"], v2=True)["com.example.v1.Foo"]
    assert {k: v for k, v in made.items() if k != "x-kubernetes-group-version-kind"} == {
        "type": "object"
    }


# --- documents ------------------------------------------------------------------------------------


def resource(digest: bytes, **properties: Object) -> CustomResource:
    made = resource_of(definition({"type": "object", "properties": properties}))
    made.digest = digest
    return made


def test_equal_definitions_share_their_documents() -> None:
    async def scenario() -> None:
        made, asker = documents.Documents("v"), Asker(Tenant(1, "t"))
        entry = "apis/example.com/v1"
        first = await made.v3(asker, [resource(b"one", a={"type": "string"})], entry)
        assert await made.v3(asker, [resource(b"one", a={"type": "string"})], entry) is first
        other = await made.v3(asker, [resource(b"two", a={"type": "integer"})], entry)
        assert orjson.loads(other.body)["components"]["schemas"]["com.example.v1.Foo"][
            "properties"
        ]["a"] == {"type": "integer"}

    asyncio.run(scenario())


def test_a_definition_is_written_down_once_for_all_documents_that_it_is_part_of(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made = []
    definitions = custom.definitions
    monkeypatch.setattr(
        parts.custom, "definitions", lambda *a, **k: made.append(a[0].kind) or definitions(*a, **k)
    )
    kinds = [resource_of(definition(kind=f"Kind{i}")) for i in range(10)]
    for kind in kinds:
        kind.digest = b"counted " + kind.kind.encode()
    for i in range(1, len(kinds) + 1):  # as kubectl applies them and asks after each
        documents.build_v3(kinds[:i], "apis/example.com/v1", "v")
    assert sorted(made) == sorted(k.kind for k in kinds)


def test_documents_are_kept_by_their_bytes() -> None:
    async def scenario() -> None:
        kept, made = Kept(25), []

        async def ask(name: str, size: int = 10) -> None:
            await kept.get(
                Asker(Tenant(1, "t")),
                name,
                lambda: made.append(name) or Document(b"x" * size, name),
            )
            await asyncio.sleep(0)  # callbacks of what has been made get their turn

        for name in ("a", "b", "a", "c", "a"):
            await ask(name)
        assert made == ["a", "b", "c"], "b was not asked for for longest, and went"
        await ask("b")
        await ask("large", 100)
        await ask("large", 100)
        assert made == ["a", "b", "c", "b", "large"]

    asyncio.run(scenario())


@pytest.mark.parametrize("v2", [True, False])
def test_a_custom_kind_leaves_a_built_in_definition_its_name(v2: bool) -> None:
    """A group can be chosen so that its reversed name is that of a Go package (kubernetes
    ``test/integration/controlplane``, overlap protection)."""
    group = "apiextensions.apis.pkg.apiextensions-apiserver.k8s.io"
    name = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinition"
    crd = definition(group=group, kind="CustomResourceDefinition")
    crd["metadata"]["annotations"] = {"api-approved.kubernetes.io": "unapproved, a test"}
    resource = resource_of(crd)
    made = custom.definitions(resource, resource.versions["v1"], v2=v2)
    assert set(made) == {f"{name}_v2", f"{name}List_v2"}
    items = made[f"{name}List_v2"]["properties"]["items"]["items"]
    assert items["$ref"].endswith(f"/{name}_v2")


@pytest.mark.parametrize("v2", [True, False])
def test_selectable_fields_are_told_in_the_order_of_the_definition(v2: bool) -> None:
    names = ["spec.color", "spec.quantity", "spec.branded"]
    spec = {"type": "object", "properties": {n.split(".")[1]: {"type": "string"} for n in names}}
    schema = {"type": "object", "properties": {"spec": spec}}
    fields = [{"jsonPath": f".{name}"} for name in names]
    resource = resource_of(definition(schema, selectableFields=fields))
    kinds = custom.definitions(resource, resource.versions["v1"], v2=v2)
    told = [kind["x-kubernetes-selectable-fields"] for kind in kinds.values()]
    assert told == [[{"fieldPath": name} for name in names]] * 2
