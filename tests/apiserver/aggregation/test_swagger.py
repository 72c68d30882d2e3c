"""What of another server's OpenAPI document of version 2 may go into a tenant's own."""

from __future__ import annotations

import copy
from typing import Any

import orjson
import pytest

from apiserver.aggregation import swagger as swagger_module
from apiserver.aggregation.swagger import read
from apiserver.endpoints.openapi import merged as merging
from apiserver.endpoints.openapi.merged import merge
from apiserver.meta.gvk import GroupVersion

V1, V2 = GroupVersion("things.example.com", "v1"), GroupVersion("things.example.com", "v2")
THING = "com.example.things.v1.Thing"
META = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"
KINDS = "x-kubernetes-group-version-kind"
DELETE = "io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions"


def ref(name: str, section: str = "definitions") -> Any:
    return {"$ref": f"#/{section}/{name}"}


def path(schema: Any, *parameters: Any) -> Any:
    response = {"200": {"description": "OK", "schema": schema}}
    return {"get": {"responses": response, "parameters": list(parameters)}}


def document(**definitions: Any) -> Any:
    limit = {"in": "query", "name": "limit", "type": "integer", "uniqueItems": True}
    return {
        "swagger": "2.0",
        "info": {"title": "theirs", "version": "1"},
        "paths": {
            "/apis/": path(ref("unused")),
            "/apis/things.example.com/v1/": path({"type": "string"}),
            "/apis/things.example.com/v1/things": path(ref(THING), ref("limit-1", "parameters")),
            "/apis/apps/v1/deployments": path({"type": "string"}),
        },
        "definitions": {
            THING: {"type": "object", "properties": {"metadata": ref(META), "$ref": {}}},
            META: {"type": "object", "properties": {"name": {"type": "string"}}},
            "unused": {"type": "object"},
            **definitions,
        },
        "parameters": {"limit-1": limit, "unused": limit},
    }


def part(theirs: Any) -> Any:
    return orjson.loads(read(theirs, [V1])[V1].body)


def test_of_a_document_there_stays_what_the_version_needs() -> None:
    kept = part(document())
    assert sorted(kept["paths"]) == [
        "/apis/things.example.com/v1/",
        "/apis/things.example.com/v1/things",
    ]
    assert sorted(kept["definitions"]) == [THING, META]
    assert sorted(kept["parameters"]) == ["limit-1"]
    assert list(read(document(), [V1, V2])) == [V1]


def deep() -> Any:
    schema: Any = {"type": "object"}
    for _ in range(400):
        schema = {"type": "object", "properties": {"a": schema}}
    return schema


@pytest.mark.parametrize(
    "thing",
    [
        {"properties": {"a": ref("nowhere")}},
        {"properties": {"a": {"$ref": "http://169.254.169.254/#/definitions/a"}}},
        {"properties": {"a": {"$ref": "#/paths/a"}}},
        {"properties": {"a": {"$ref": "#/definitions/a/b"}}},
        {"properties": {"a": 5}},
        {"properties": [1]},
        {"type": "banana"},
        {"type": "array"},
        {"type": "array", "items": [{"type": "string"}]},
        {"additionalProperties": {"type": "banana"}},
        deep(),
        5,
    ],
)
def test_what_clients_cannot_read_is_left_out_alone(thing: Any) -> None:
    theirs = document(**{THING: thing})
    theirs["paths"]["/apis/things.example.com/v2/things"] = path(ref(META))
    assert list(read(theirs, [V1, V2])) == [V2]


@pytest.mark.parametrize(
    "odd",
    [
        None,
        [],
        {},
        {"swagger": "1.2"},
        {"swagger": "2.0", "paths": []},
        {**document(), "paths": {"/apis/things.example.com/v1/things": 5}},
        {**document(), "paths": {"/apis/things.example.com/v1/things": {"get": 5}}},
        {**document(), "definitions": [1]},
        {**document(), "parameters": None},
    ],
)
def test_what_is_no_document_says_nothing(odd: Any) -> None:
    assert read(odd, [V1]) == {}


def test_no_more_is_read_than_may_be_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each version may refer to the same large definitions."""
    versions = [GroupVersion("things.example.com", f"v{i}") for i in range(1, 9)]
    theirs = document()
    theirs["paths"] = {f"/apis/{gv.group}/{gv.version}/things": path(ref(THING)) for gv in versions}
    sizes = [len(swagger.body) for swagger in read(theirs, versions).values()]
    assert len(sizes) == 8
    made = []
    encode = swagger_module.openapi_pb.encode_document
    monkeypatch.setattr(
        swagger_module.openapi_pb,
        "encode_document",
        lambda part: [made.append(part), encode(part)][1],
    )
    monkeypatch.setattr(swagger_module, "MOST_KEPT", sum(sizes[:3]))
    assert sorted(read(theirs, versions)) == versions[:3]
    assert len(made) == 4


def ours() -> Any:
    return {
        "paths": {"/api/": {}},
        "definitions": {META: orjson.Fragment(orjson.dumps(document()["definitions"][META]))},
        "parameters": {"limit-1": copy.deepcopy(document()["parameters"]["limit-1"])},
    }


def merged(theirs: Any, mine: Any = None) -> Any:
    mine = mine or ours()
    merge(mine, [read(theirs, [V1])[V1]])
    return orjson.loads(orjson.dumps(mine))


def test_what_both_say_alike_is_one() -> None:
    made = merged(document())
    assert sorted(made["definitions"]) == [THING, META]
    assert list(made["parameters"]) == ["limit-1"]
    assert len(made["paths"]) == 3


def test_what_they_say_otherwise_gets_another_name() -> None:
    theirs = document(**{META: {"type": "object", "properties": {"uid": {"type": "string"}}}})
    theirs["parameters"]["limit-1"]["description"] = "theirs"
    made = merged(theirs)
    assert sorted(made["definitions"]) == [THING, META, f"{META}_v2"]
    assert made["definitions"][META] == document()["definitions"][META]
    assert made["definitions"][f"{META}_v2"]["properties"] == {"uid": {"type": "string"}}
    assert made["definitions"][THING]["properties"]["metadata"] == ref(f"{META}_v2")
    (get,) = made["paths"]["/apis/things.example.com/v1/things"].values()
    assert get["parameters"] == [ref("limit-1_v2", "parameters")]
    again = {**ours(), "definitions": {**made["definitions"], THING: {"type": "object"}}}
    twice = merged(theirs, again)["definitions"]
    assert sorted(twice) == [THING, f"{THING}_v2", META, f"{META}_v2"], "the same one is reused"
    third = document(**{META: {"type": "object"}})
    assert f"{META}_v3" in merged(third, again)["definitions"]


def test_a_definition_may_be_about_the_kinds_of_both() -> None:
    def options(group: str) -> Any:
        return {"type": "object", KINDS: [{"group": group, "kind": "DeleteOptions"}]}

    theirs = document(**{DELETE: options("theirs")})
    theirs["definitions"][THING]["properties"]["options"] = ref(DELETE)
    mine = ours()
    mine["definitions"][DELETE] = orjson.Fragment(orjson.dumps(options("ours")))
    made = merged(theirs, mine)
    assert [kind["group"] for kind in made["definitions"][DELETE][KINDS]] == ["ours", "theirs"]
    assert f"{DELETE}_v2" not in made["definitions"]


class Compared(dict[str, Any]):
    """Counts how often it is compared."""

    times = 0

    def __eq__(self, other: object) -> bool:
        type(self).times += 1
        return super().__eq__(other)


def test_kinds_are_not_compared_one_with_another() -> None:
    """A server may list a hundred thousand of them."""
    theirs = document(**{DELETE: {KINDS: [{"group": f"theirs{i}"} for i in range(20)]}})
    theirs["definitions"][THING]["properties"]["options"] = ref(DELETE)
    mine = ours()
    mine["definitions"][DELETE] = {KINDS: [Compared(group=f"ours{i}") for i in range(20)]}
    Compared.times = 0
    made = merged(theirs, mine)
    assert (len(made["definitions"][DELETE][KINDS]), Compared.times) == (40, 0)


def test_what_looks_for_a_name_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """It may be a megabyte, and the names that are taken thousands."""
    read_, bare = [], merging._bare
    monkeypatch.setattr(merging, "_bare", lambda node: [read_.append(node), bare(node)][1])
    mine = ours()
    taken = {f"{META}_v{i}": {"type": "string", "x-number": i} for i in range(2, 20)}
    mine["definitions"] |= taken
    theirs = document()
    theirs["definitions"][META] = {"type": "string", "x-theirs": True}
    made = merged(theirs, mine)["definitions"]
    assert made[f"{META}_v20"] == theirs["definitions"][META]
    assert read_.count(theirs["definitions"][META]) == 1


def test_a_path_that_is_here_stays() -> None:
    mine = ours()
    mine["paths"]["/apis/things.example.com/v1/things"] = {"mine": True}
    assert merged(document(), mine)["paths"]["/apis/things.example.com/v1/things"] == {"mine": True}


def test_a_name_with_a_slash_is_found() -> None:
    theirs = document(**{"com/example": {"type": "object", "properties": {"a": ref(META)}}})
    theirs["definitions"][THING]["properties"]["other"] = ref("com~1example")
    mine = ours()
    mine["definitions"]["com/example"] = {"type": "string"}
    made = merged(theirs, mine)["definitions"]
    assert made[THING]["properties"]["other"] == ref("com~1example_v2")
    assert made["com/example_v2"]["properties"] == {"a": ref(META)}
