"""Members that JSON gives more than once: Go's decoder reads each of them into its field, so each
has to fit, and the first that does not is told of (sigs.k8s.io/json ``saveError``)."""

from __future__ import annotations

import pytest

from tests.support.api import TYPES, Api

CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
CANNOT = 'ConfigMap in version "v1" cannot be handled as a ConfigMap: '
NO_KIND = "couldn't get version/kind; json parse error: json: cannot unmarshal number into Go "


def config_map(members: str) -> bytes:
    return (
        b'{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x"},' + members.encode() + b"}"
    )


@pytest.mark.parametrize("validation", ["Ignore", "Warn", "Strict"])
@pytest.mark.parametrize(
    ("members", "why"),
    [
        ('"data":5,"data":{"a":"b"}', "number into Go struct field ConfigMap.data of type map"),
        ('"data":{"a":5},"data":{"a":"b"}', "number into Go struct field ConfigMap.data of type s"),
        ('"data":{"a":"b"},"immutable":5,"data":5', "number into Go struct field ConfigMap.immut"),
        ('"metadata":[],"metadata":{"name":"x"}', "array into Go struct field ConfigMap.metadata"),
        ('"data":{"a":{"b":1,"b":2}}', "object into Go struct field ConfigMap.data of type string"),
    ],
)
async def test_what_is_given_twice_has_to_fit_each_time(
    api: Api, members: str, why: str, validation: str
) -> None:
    path = f"{CONFIG_MAPS}?fieldValidation={validation}"
    status, answer = await api("POST", path, config_map(members))
    assert (status, answer["message"].startswith(CANNOT)) == (400, True), answer
    assert answer["message"].startswith(f"{CANNOT}json: cannot unmarshal {why}")


async def test_what_fits_each_time_is_merged(api: Api) -> None:
    made = await api.ok("POST", CONFIG_MAPS, config_map('"data":{"a":"b"},"data":{"c":"d"}'))
    assert made["data"] == {"a": "b", "c": "d"}
    assert api.warnings == ['299 - "duplicate field \\"data\\""']


@pytest.mark.parametrize("member", ["kind", "apiVersion"])
async def test_the_kind_has_to_be_a_text_each_time(api: Api, member: str) -> None:
    right = '"kind":"ConfigMap"' if member == "kind" else '"apiVersion":"v1"'
    status, answer = await api("POST", CONFIG_MAPS, config_map(f'"{member}":5,{right}'))
    told = f"{NO_KIND}struct field .{member} of type string"
    assert (status, told in answer["message"]) == (400, True), answer


async def test_operations_of_a_json_patch_are_held_to_the_same(api: Api) -> None:
    await api.ok("POST", CONFIG_MAPS, config_map('"data":{}'))
    patch = b'[{"op":"add","from":5,"path":5,"path":"/data","from":"","value":{}}]'
    status, answer = await api("PATCH", f"{CONFIG_MAPS}/x", patch, TYPES["json"])
    told = "error decoding patch: json: cannot unmarshal number into Go struct field jsonPatchOp.{}"
    assert (status, answer["message"]) == (400, told.format("from of type string"))
