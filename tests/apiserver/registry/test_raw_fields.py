"""RawExtensions of built-in kinds: the text that was sent is what is kept and compared."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import orjson
import pytest

from apiserver.kinds.catalog import resources
from apiserver.meta.gvk import GroupResource
from apiserver.schema.types import Schema
from apiserver.storage.interface import Store
from tests.support.api import Api, serving

REVISIONS = "/apis/apps/v1/namespaces/default/controllerrevisions"
CLASSES = "/apis/resource.k8s.io/v1/deviceclasses"
PROTOBUF = "application/vnd.kubernetes.protobuf"
STRATEGIC = "application/strategic-merge-patch+json"
SENT = b'{"b": 1,\n "a": [ ]}'


@pytest.fixture
async def api(store: Store, tenant: int) -> AsyncIterator[Api]:
    async with serving(store, tenant) as made:
        yield made


async def make(api: Api, data: bytes, name: str = "r") -> Any:
    body = (
        b'{"apiVersion":"apps/v1","kind":"ControllerRevision","metadata":{"name":"%b"},'
        b'"revision":1,"data":%b}' % (name.encode(), data)
    )
    return await api.ok("POST", REVISIONS, orjson.Fragment(body))


async def protobuf(api: Api, path: str) -> bytes:
    status, data = await api.raw("GET", path, b"", "application/json", accept=PROTOBUF)
    assert status == 200
    return data


def paths(schema: Schema, above: frozenset[str] = frozenset()) -> set[str]:
    """Of all RawExtensions below a schema."""
    if schema.special == "raw-extension":
        return {""}
    if schema.special or schema.definition in above:
        return set()
    above |= {schema.definition} - {""}
    if schema.items is not None:
        return {f"[]{path}" for path in paths(schema.items, above)}
    if schema.additional is not None:
        return {f"{{}}{path}" for path in paths(schema.additional, above)}
    members = (schema.properties or {}).items()
    return {f".{name}{path}" for name, member in members for path in paths(member, above)}


def test_each_kind_names_its_raw_fields() -> None:
    for resource in resources().values():
        for served in resource.versions.values():
            if not {"create", "update"} & set(served.verbs):
                continue  # nobody sends such objects: there is no text to keep
            found = {path.removeprefix(".") for path in paths(served.schema)}
            assert found == set(resource.hooks.raw_fields), resource.kind
    assert resources()[GroupResource("apps", "controllerrevisions")].hooks.raw_fields


async def test_protobuf_shows_the_text_and_json_the_value(api: Api) -> None:
    created = await make(api, SENT)
    assert created["data"] == {"b": 1, "a": []}
    assert SENT in await protobuf(api, f"{REVISIONS}/r")
    assert SENT in await protobuf(api, REVISIONS)
    for path in (f"{REVISIONS}/r", REVISIONS):
        status, text = await api.raw("GET", path, b"", "application/json")
        assert (status, b'"data":{"b":1,"a":[]}' in text, b"\n" in text[:-1]) == (200, True, False)


async def test_protobuf_is_kept_as_it_comes(api: Api) -> None:
    await make(api, SENT)
    sent = (await protobuf(api, f"{REVISIONS}/r")).replace(SENT, SENT.replace(b" ", b"\t"))
    assert (await api.raw("PUT", f"{REVISIONS}/r", sent, PROTOBUF))[0] == 422
    await api.ok("DELETE", f"{REVISIONS}/r")
    await make(api, SENT.replace(b" ", b"\t"))
    assert b'{"b":\t1,\n\t"a":\t[\t]}' in await protobuf(api, f"{REVISIONS}/r")


async def test_events_hold_no_newline(api: Api) -> None:
    listed = await api.ok("GET", REVISIONS)
    watch = api.watch(
        f"{REVISIONS}?watch=1&resourceVersion={listed['metadata']['resourceVersion']}"
    )
    await make(api, SENT)
    [event] = await watch.take(1)
    await watch.stop()
    assert event["object"]["data"] == {"b": 1, "a": []}


@pytest.mark.parametrize(
    ("data", "code"), [(SENT, 200), (b'{"b": 1, "a": []}', 422), (b'{"a": [ ],"b": 1}', 422)]
)
async def test_another_spelling_is_another_value(api: Api, data: bytes, code: int) -> None:
    created = await make(api, SENT)
    version = created["metadata"]["resourceVersion"]
    body = orjson.dumps({**created, "data": orjson.Fragment(data)})
    status, answer = await api("PUT", f"{REVISIONS}/r", orjson.Fragment(body))
    assert status == code
    if code == 200:
        assert answer["metadata"]["resourceVersion"] == version
    else:
        assert answer["details"]["causes"][0]["field"] == "data"


@pytest.mark.parametrize("media_type", ["application/merge-patch+json", STRATEGIC])
@pytest.mark.parametrize(
    ("data", "merge", "strategic"),
    [
        (b'{"b":1,"a":2}', 200, 422),  # a strategic patch sorts what it does not touch
        (b'{"a":2,"b":1}', 200, 200),
        (b'{"a":2, "b":1}', 422, 422),
    ],
)
async def test_patches_rewrite_the_text(
    api: Api, media_type: str, data: bytes, merge: int, strategic: int
) -> None:
    await make(api, data)
    status, _ = await api("PATCH", f"{REVISIONS}/r", {"revision": 2}, media_type)
    assert status == (strategic if media_type == STRATEGIC else merge)


async def test_a_json_patch_leaves_the_text_as_it_is_but_for_spaces(api: Api) -> None:
    await make(api, b'{"b":"\\u0041","a":1.0}')
    patch = [{"op": "replace", "path": "/revision", "value": 2}]
    await api.ok("PATCH", f"{REVISIONS}/r", patch, "application/json-patch+json")
    assert b'{"b":"\\u0041","a":1.0}' in await protobuf(api, f"{REVISIONS}/r")


async def test_an_apply_that_changes_nothing_keeps_the_text(api: Api) -> None:
    await make(api, SENT)
    applied = {"apiVersion": "apps/v1", "kind": "ControllerRevision", "revision": 1}
    status, _ = await api.patch(f"{REVISIONS}/r", applied, "apply", fieldManager="m")
    assert status == 200
    assert SENT in await protobuf(api, f"{REVISIONS}/r")
    changed = {**applied, "revision": 2}
    path, asked = f"{REVISIONS}/r", {"fieldManager": "m", "force": "true"}
    assert (await api.patch(path, changed, "apply", **asked))[0] == 422  # it sorts what it merges


async def test_what_yaml_brings_is_sorted(api: Api) -> None:
    text = (
        b"apiVersion: apps/v1\nkind: ControllerRevision\nmetadata:\n  name: q\nrevision: 1\n"
        b"data:\n  b: 1\n  a: 1.0\n"
    )
    status, answer = await api.raw("POST", REVISIONS, text, "application/yaml")
    assert status == 201, answer
    assert b'{"a":1,"b":1}' in await protobuf(api, f"{REVISIONS}/q")


async def test_parameters_of_devices_are_kept_too(api: Api) -> None:
    def body(parameters: bytes) -> bytes:
        return orjson.dumps(
            {
                "apiVersion": "resource.k8s.io/v1",
                "kind": "DeviceClass",
                "metadata": {"name": "c"},
                "spec": {
                    "config": [
                        {"opaque": {"driver": "d.x", "parameters": orjson.Fragment(parameters)}}
                    ]
                },
            }
        )

    made = await api.ok("POST", CLASSES, orjson.Fragment(body(b'{"a": 1}')))
    assert made["metadata"]["generation"] == 1
    assert b'{"a": 1}' in await protobuf(api, f"{CLASSES}/c")
    same = await api.ok("PUT", f"{CLASSES}/c", orjson.Fragment(body(b'{"a": 1}')))
    assert same["metadata"] == made["metadata"]
    query = "?fieldManager=other"
    other = await api.ok("PUT", f"{CLASSES}/c{query}", orjson.Fragment(body(b'{"a":1}')))
    assert other["metadata"]["generation"] == 2
    # the list is owned as a whole, and its items are compared as they are spelled
    [owner] = other["metadata"]["managedFields"]
    assert (owner["manager"], owner["fieldsV1"]) == ("other", {"f:spec": {"f:config": {}}})
    assert b'{"a":1}' in await protobuf(api, f"{CLASSES}/c")
