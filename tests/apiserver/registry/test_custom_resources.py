"""Custom resources through the whole API: definitions that projects ship, their examples, and what
versions, defaults and rules come to."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from apiserver.kinds.apiextensions import conditions
from apiserver.meta.objects import Object, copy_json
from apiserver.storage.interface import Store
from tests.apiserver.kinds.apiextensions.test_definitions_in_use import (
    definitions,
    examples,
    gateway_resources,
)
from tests.support.api import Api, serving
from tests.support.definitions import definition

CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
FOOS = "/apis/example.com/v1/namespaces/ns/foos"


@pytest.fixture
async def api(store: Store, tenant: int) -> AsyncIterator[Api]:
    async with serving(store, tenant) as made:
        yield made


async def define(api: Api, crd: Object) -> Any:
    """Creates or replaces a definition, and waits until that is what is served."""
    name = crd["metadata"]["name"]
    status, old = await api("GET", f"{CRDS}/{name}")
    if status == 404:
        made = await api.ok("POST", CRDS, crd)
        await asyncio.to_thread(conditions.settle, made, [], datetime.now(UTC))  # as controllers do
        made = await api.ok("PUT", f"{CRDS}/{name}/status", made)
    else:
        made = await api.ok("PUT", f"{CRDS}/{name}", {**old, "spec": crd["spec"]})
    await api.until(lambda: _seen(api, name, int(made["metadata"]["resourceVersion"])))
    return made


def _seen(api: Api, name: str, resource_version: int) -> bool:
    found = api.catalog.definitions(api.tenant).get(name)
    return found is not None and found.entry.resource_version >= resource_version


def foo(name: str = "f", version: str = "v1", **members: Any) -> Object:
    return {
        "apiVersion": f"example.com/{version}",
        "kind": "Foo",
        "metadata": {"name": name},
        **members,
    }


def causes(status: Any) -> list[tuple[str, str, str]]:
    return [(c["reason"], c["field"], c["message"]) for c in status["details"]["causes"]]


@pytest.mark.parametrize(
    ("api_version", "kind", "text"),
    [
        (
            "example.com/v1",
            None,
            "the object provided is unrecognized (must be of type Foo): Object 'Kind' is missing "
            "in '{",
        ),
        (
            None,
            "Foo",
            "the API version in the data () does not match the expected API version "
            "(example.com/v1)",
        ),
        (
            "v1",
            "Secret",
            "the API version in the data (v1) does not match the expected API version "
            "(example.com/v1)",
        ),
        (
            "example.com/v9",
            "Foo",
            "the API version in the data (example.com/v9) does not match the expected API version "
            "(example.com/v1)",
        ),
    ],
)
async def test_a_custom_resource_says_itself_what_it_is(
    api: Api, api_version: str | None, kind: str | None, text: str
) -> None:
    await define(api, definition())
    sent = {
        k: v
        for k, v in {"apiVersion": api_version, "kind": kind, "metadata": {"name": "f"}}.items()
        if v is not None
    }
    status, found = await api("POST", FOOS, sent)
    assert (status, found["reason"]) == (400, "BadRequest")
    assert text in found["message"]


@pytest.mark.shared
async def test_definitions_that_projects_ship_are_accepted_and_served(
    api: Api, shared: Path
) -> None:
    shipped = definitions(shared)
    assert shipped
    for crd in shipped.values():
        made = await define(api, crd)
        assert conditions.is_true(made, "Established")
        version = next(v["name"] for v in crd["spec"]["versions"] if v["served"])
        group, plural = crd["spec"]["group"], crd["spec"]["names"]["plural"]
        listed = await api.ok("GET", f"/apis/{group}/{version}/{plural}")
        assert (listed["kind"], listed["items"]) == (made["spec"]["names"]["listKind"], [])


@pytest.mark.shared
async def test_examples_of_gateway_api_are_created_and_spoilt_ones_are_refused(
    api: Api, shared: Path
) -> None:
    for key in gateway_resources(shared):
        await define(api, definitions(shared)[key])
    refused = 0
    for i, (resource, version, sent) in enumerate(examples(shared)):
        obj = copy_json(sent)
        obj["metadata"]["name"] += f"-{i}"
        path = f"/apis/{resource.group}/{version}/"
        if resource.namespaced:
            obj["metadata"]["namespace"] = "ns"
            path += "namespaces/ns/"
        path += resource.resource
        await api.ok("POST", path, obj)
        for name in (resource.versions[version].schema.properties or {})["spec"].required:
            spoilt = copy_json(obj)
            spoilt["metadata"]["name"] += "-spoilt"
            del spoilt["spec"][name]
            status, answer = await api("POST", path, spoilt)
            assert status == 422
            assert ("FieldValueRequired", f"spec.{name}", "Required value") in causes(answer)
            refused += 1
    assert refused > 20


@pytest.mark.shared
async def test_a_rule_of_gateway_api_refuses_create_and_update(api: Api, shared: Path) -> None:
    crd = next(c for c in definitions(shared).values() if c["spec"]["names"]["kind"] == "HTTPRoute")
    await define(api, crd)
    path = "/apis/gateway.networking.k8s.io/v1/namespaces/ns/httproutes"
    route: Object = {
        "apiVersion": "gateway.networking.k8s.io/v1",
        "kind": "HTTPRoute",
        "metadata": {"name": "r"},
    }
    route["spec"] = {"rules": [{"matches": [{"path": {"type": "PathPrefix", "value": "/a//b"}}]}]}
    status, answer = await api("POST", path, route)
    message = "Invalid value: must not contain '//' when type one of ['Exact', 'PathPrefix']"
    where = "spec.rules[0].matches[0].path"
    assert (status, causes(answer)) == (422, [("FieldValueInvalid", where, message)])
    assert (
        answer["message"]
        == f'HTTPRoute.gateway.networking.k8s.io "r" is invalid: {where}: {message}'
    )
    route["spec"]["rules"][0]["matches"][0]["path"]["value"] = "/a/b"
    await api.ok("POST", path, route)
    status, answer = await api.patch(
        f"{path}/r",
        [{"op": "replace", "path": "/spec/rules/0/matches/0/path/value", "value": "/a//b"}],
        "json",
    )
    assert (status, [field for _, field, _ in causes(answer)]) == (422, [where])


async def test_what_is_stored_gets_the_defaults_of_the_version_it_is_stored_in(api: Api) -> None:
    crd = definition(
        {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}}}
    )
    await define(api, crd)
    await api.ok("POST", FOOS, foo(a=None))
    v1, v2 = crd["spec"]["versions"][0], copy_json(crd["spec"]["versions"][0])
    v1["schema"]["openAPIV3Schema"]["properties"]["a"]["default"] = "of v1"
    v2 |= {"name": "v2", "storage": False}
    v2["schema"]["openAPIV3Schema"]["properties"]["a"]["default"] = "of v2"
    v2["schema"]["openAPIV3Schema"]["properties"]["b"]["default"] = "of v2"
    crd["spec"]["versions"].append(v2)
    await define(api, crd)
    assert (await api.ok("GET", f"{FOOS}/f"))["a"] == "of v1"
    read = await api.ok("GET", FOOS.replace("v1", "v2") + "/f")
    assert (read["apiVersion"], read["a"], "b" in read) == ("example.com/v2", "of v1", False)
    made = await api.ok("POST", FOOS.replace("v1", "v2"), foo("g", "v2"))
    assert (made["a"], made["b"]) == ("of v2", "of v2")


async def test_an_update_that_changes_nothing_stores_new_defaults(api: Api) -> None:
    crd = definition({"type": "object", "properties": {"a": {"type": "string"}}})
    await define(api, crd)
    made = await api.ok("POST", FOOS, foo())
    same = await api.ok("PUT", f"{FOOS}/f", made)
    assert same["metadata"]["resourceVersion"] == made["metadata"]["resourceVersion"]
    crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["a"]["default"] = "A"
    await define(api, crd)
    read = await api.ok("GET", f"{FOOS}/f")
    assert (read["a"], read["metadata"]["resourceVersion"]) == (
        "A",
        made["metadata"]["resourceVersion"],
    )
    stored = await api.ok("PUT", f"{FOOS}/f", read)
    assert stored["metadata"]["resourceVersion"] != made["metadata"]["resourceVersion"]
    again = await api.ok("PUT", f"{FOOS}/f", stored)
    assert again["metadata"]["resourceVersion"] == stored["metadata"]["resourceVersion"]


async def test_a_write_through_one_version_gets_defaults_of_both(api: Api) -> None:
    def schema(name: str) -> Object:
        inner: Object = {
            "a": {"type": "string", "default": "A"},
            "v1": {"type": "string"},
            "v2": {"type": "string"},
        }
        inner[name]["default"] = name
        part: Object = {"type": "object", "properties": inner}
        return {"type": "object", "properties": {"spec": {**part, "default": {}}, "status": part}}

    crd = definition(schema("v1"), subresources={"status": {}})
    stored = {
        **copy_json(crd["spec"]["versions"][0]),
        "name": "v2",
        "served": False,
        "schema": {"openAPIV3Schema": schema("v2")},
    }
    crd["spec"]["versions"][0]["storage"] = False
    crd["spec"]["versions"].append(stored)
    await define(api, crd)
    made = await api.ok("POST", FOOS, foo(status={"a": "x"}))
    assert (made["apiVersion"], made["spec"]) == (
        "example.com/v1",
        {"a": "A", "v1": "v1", "v2": "v2"},
    )
    assert "status" not in made
    made = await api.ok("PUT", f"{FOOS}/f/status", {**made, "status": {}})
    assert made["status"] == {"a": "A", "v1": "v1", "v2": "v2"}
    crd["spec"]["versions"][1]["schema"]["openAPIV3Schema"]["properties"]["status"]["properties"][
        "b"
    ] = {"type": "string", "default": "B"}
    crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["status"]["properties"][
        "b"
    ] = {"type": "string"}
    await define(api, crd)
    read = await api.ok("GET", f"{FOOS}/f")
    listed = await api.ok("GET", FOOS)
    assert (read["status"]["b"], listed["items"][0]["status"]["b"]) == ("B", "B")


async def test_an_apply_that_changes_nothing_brings_no_defaults(api: Api) -> None:
    schema: Object = {"type": "object", "properties": {"a": {"type": "string"}}}
    crd = definition(schema)
    other = {**copy_json(crd["spec"]["versions"][0]), "name": "v2", "storage": False}
    other["schema"]["openAPIV3Schema"]["properties"]["b"] = {"type": "string", "default": "B"}
    crd["spec"]["versions"].append(other)
    await define(api, crd)
    made = await api.ok("POST", FOOS, foo(a="x"))
    path = f"{FOOS.replace('v1', 'v2')}/f"
    _, same = await api.patch(path, foo(version="v2"), "apply", fieldManager="m")
    assert "b" not in same
    assert same["metadata"]["generation"] == made["metadata"]["generation"] == 1
    assert same["metadata"]["resourceVersion"] == made["metadata"]["resourceVersion"]


async def test_defaults_in_embedded_metadata_lose_what_no_metadata_has(api: Api) -> None:
    metadata = {"name": "x", "unknown": "y"}
    embedded: Object = {
        "type": "object",
        "x-kubernetes-embedded-resource": True,
        "properties": {"foo": {"type": "string"}},
    }
    kind: Object = {
        "apiVersion": {"type": "string", "default": "foos/v1"},
        "kind": {"type": "string", "default": "Foo"},
    }
    inner: Object = {
        "type": "object",
        "properties": {k: {"type": "string", "default": v} for k, v in metadata.items()},
    }
    typed = {"apiVersion": "foos/v1", "kind": "Foo", "metadata": metadata}
    properties: Object = {
        "fields": {**embedded, "properties": {**kind, "metadata": inner}},
        "whole": {
            **embedded,
            "properties": {**kind, "metadata": {"type": "object", "default": metadata}},
        },
        "object": {**embedded, "default": typed},
        "around": {
            "type": "object",
            "properties": {"embedded": embedded},
            "default": {"embedded": typed},
        },
    }
    await define(api, definition({"type": "object", "properties": properties}))
    made = await api.ok("POST", FOOS, foo(fields={"metadata": {}}, whole={}))
    good = {"apiVersion": "foos/v1", "kind": "Foo", "metadata": {"name": "x"}}
    assert {name: made[name] for name in properties} == {
        "fields": good,
        "whole": good,
        "object": good,
        "around": {"embedded": good},
    }


async def test_status_that_creating_drops_is_read_with_its_default(api: Api) -> None:
    status = {
        "type": "object",
        "default": {},
        "properties": {"phase": {"type": "string", "default": "New"}},
    }
    await define(
        api,
        definition(
            {"type": "object", "properties": {"status": status}}, subresources={"status": {}}
        ),
    )
    made = await api.ok("POST", FOOS, foo(status={"phase": "Old"}))
    assert made["status"] == {"phase": "New"}
    assert (await api.ok("GET", f"{FOOS}/f"))["status"] == {"phase": "New"}


async def test_fields_that_the_stored_version_does_not_know_are_lost(api: Api) -> None:
    crd = definition({"type": "object", "properties": {"a": {"type": "string"}}})
    v2 = {**copy_json(crd["spec"]["versions"][0]), "name": "v2", "storage": False}
    v2["schema"]["openAPIV3Schema"]["properties"] |= {
        "b": {"type": "string"},
        "spec": {"type": "object", "properties": {"replicas": {"type": "integer"}}},
    }
    paths = {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"}
    v2["subresources"] = {"scale": paths}
    crd["spec"]["versions"].append(v2)
    await define(api, crd)
    foos = FOOS.replace("v1", "v2")
    made = await api.ok("POST", foos, foo("f", "v2", a="x", b="y"))
    assert (made["a"], "b" in made) == ("x", False)
    status, scale = await api.patch(f"{foos}/f/scale", {"spec": {"replicas": 3}})
    assert (status, scale["spec"]) == (200, {})
    assert (await api("GET", f"{foos}/f/scale"))[0] == 500


async def test_unknown_fields_go_with_a_warning_or_are_refused(api: Api) -> None:
    await define(
        api,
        definition(
            {
                "type": "object",
                "properties": {"spec": {"type": "object", "properties": {"x": {"type": "string"}}}},
            }
        ),
    )
    made = await api.ok("POST", f"{FOOS}?fieldValidation=Warn", foo(spec={"x": "a", "y": 1}))
    assert made["spec"] == {"x": "a"}
    assert api.warnings == ['299 - "unknown field \\"spec.y\\""']
    status, answer = await api("POST", f"{FOOS}?fieldValidation=Strict", foo("g", spec={"y": 1}))
    assert (status, answer["reason"]) == (400, "BadRequest")
    assert answer["message"].endswith('strict decoding error: unknown field "spec.y"')


async def test_deprecated_versions_warn(api: Api) -> None:
    crd = definition(deprecated=True, deprecationWarning="go away")
    await define(api, crd)
    await api.ok("GET", FOOS)
    assert api.warnings == ['299 - "go away"']


async def test_a_stored_value_that_a_new_rule_refuses_may_stay_with_a_warning(api: Api) -> None:
    crd = definition(
        {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}}
    )
    await define(api, crd)
    await api.ok("POST", FOOS, foo(a=1, b=1))
    number = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["a"]
    number |= {
        "minimum": 5,
        "x-kubernetes-validations": [{"rule": "self > 5", "message": "too few"}],
    }
    await define(api, crd)
    status, answer = await api.patch(f"{FOOS}/f", {"b": 2})
    assert (status, answer["b"]) == (200, 2)
    assert api.warnings == ['299 - "a: Invalid value: 1: too few"']
    status, answer = await api.patch(f"{FOOS}/f", {"a": 2})
    assert (status, [field for _, field, _ in causes(answer)]) == (422, ["a", "a"])


async def test_a_status_update_changes_status_alone(api: Api) -> None:
    schema: Object = {
        "type": "object",
        "properties": {"spec": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
    }
    schema["properties"]["status"] = {"type": "object", "properties": {"n": {"type": "integer"}}}
    await define(api, definition(schema, subresources={"status": {}}))
    made = await api.ok("POST", FOOS, foo(spec={"x": 1}, status={"n": 1}))
    assert "status" not in made
    made["spec"], made["status"], made["metadata"]["labels"] = {"x": 2}, {"n": 2}, {"a": "b"}
    changed = await api.ok("PUT", f"{FOOS}/f/status", made)
    assert (changed["spec"], changed["status"], changed["metadata"].get("labels")) == (
        {"x": 1},
        {"n": 2},
        None,
    )
    assert changed["metadata"]["generation"] == 1
    status, answer = await api.patch(f"{FOOS}/f/status", {"status": {"n": "x"}})
    assert (status, [field for _, field, _ in causes(answer)]) == (422, ["status.n"])


@pytest.mark.parametrize(("depth", "wanted"), [(200, 201), (400, 400), (5000, 400)])
async def test_objects_that_are_nested_too_deeply_are_refused(
    api: Api, depth: int, wanted: int
) -> None:
    await define(api, definition())
    body = (
        b'{"apiVersion":"example.com/v1","kind":"Foo","metadata":{"name":"f"},"a":'
        + b'{"b":' * depth
        + b"1"
        + b"}" * (depth + 1)
    )
    status, answer = await api("POST", FOOS, body)
    assert status == wanted, answer


async def test_an_apply_of_null_is_validated_and_other_writes_drop_it(api: Api) -> None:
    members = {
        "size": {"type": "integer"},
        "name": {"type": "string", "default": "x"},
        "none": {"type": "string", "nullable": True},
    }
    spec = {"type": "object", "properties": members}
    await define(api, definition({"type": "object", "properties": {"spec": spec}}))
    sent = foo(spec=dict.fromkeys(members))
    made = await api.ok("POST", FOOS, sent)
    assert made["spec"] == {"name": "x", "none": None}
    status, answer = await api.patch(f"{FOOS}/f", sent, "apply", fieldManager="m", force="true")
    text = 'spec.size: Invalid value: "null": spec.size in body must be of type integer: "null"'
    assert (status, text in answer["message"]) == (422, True)
    del sent["spec"]["size"]
    status, applied = await api.patch(f"{FOOS}/f", sent, "apply", fieldManager="m", force="true")
    assert (status, applied["spec"]) == (200, made["spec"])
