from collections.abc import Callable
from typing import Any

import pytest

from apiserver.codec import patches
from apiserver.errors import ApiError

MERGE, STRATEGIC, JSON_PATCH = (
    patches.decode_merge_patch,
    patches.decode_strategic_patch,
    patches.decode_json_patch,
)
INTO_MAP = "into Go value of type map[string]interface {}"
CASES: list[tuple[Callable[..., Any], bytes, bool, str]] = [
    (
        MERGE,
        b"data: {a: b}",
        True,
        "error decoding patch: invalid character 'd' looking for beginning of value",
    ),
    (MERGE, b"data: {a: b}", False, "Invalid JSON Patch"),
    (MERGE, b"", True, "error decoding patch: unexpected end of JSON input"),
    (MERGE, b"[]", True, f"error decoding patch: json: cannot unmarshal array {INTO_MAP}"),
    (MERGE, b'"t"', True, f"error decoding patch: json: cannot unmarshal string {INTO_MAP}"),
    (MERGE, b"null", True, "Invalid JSON Patch"),
    (MERGE, b"5", False, "Invalid JSON Patch"),
    (STRATEGIC, b"data: {a: b}", True, "invalid character 'd' looking for beginning of value"),
    (STRATEGIC, b"[]", True, f"json: cannot unmarshal array {INTO_MAP}"),
    (
        JSON_PATCH,
        b"{}",
        True,
        "error decoding patch: json: cannot unmarshal object into Go value of type "
        "[]handlers.jsonPatchOp",
    ),
    (
        JSON_PATCH,
        b"{}",
        False,
        "json: cannot unmarshal object into Go value of type jsonpatch.Patch",
    ),
    (
        JSON_PATCH,
        b"[5]",
        False,
        "json: cannot unmarshal number into Go value of type jsonpatch.Operation",
    ),
    (
        JSON_PATCH,
        b'[{"op":5}]',
        True,
        "error decoding patch: json: cannot unmarshal number into Go struct field jsonPatchOp.op "
        "of type string",
    ),
]


@pytest.mark.parametrize(("decode", "body", "check", "message"), CASES)
def test_malformed_bodies(
    decode: Callable[..., Any], body: bytes, check: bool, message: str
) -> None:
    with pytest.raises(ApiError) as e:
        decode(body, check=check)
    assert (e.value.code, e.value.message) == (400, message)


def test_a_list_as_unchecked_merge_patch_replaces_the_object_which_then_does_not_decode() -> None:
    with pytest.raises(ApiError) as e:
        patches.decode_merge_patch(b"[1]", check=False)
    assert e.value.code == 422
    assert (
        "couldn't get version/kind; json parse error: json: cannot unmarshal array into Go value "
        "of type struct" in e.value.message
    )


def test_strict_errors() -> None:
    body = b'[{"op":"add","op":"add","path":"/a","value":{"b":1,"b":2},"comment":"x"}]'
    operations, errors = patches.decode_json_patch(body)
    assert operations == [{"op": "add", "path": "/a", "value": {"b": 2}, "comment": "x"}]
    assert errors == [
        'json patch duplicate field "[0].op"',
        'json patch duplicate field "[0].value.b"',
        'json patch unknown field "[0].comment"',
    ]
    assert patches.decode_json_patch(body, check=False)[1] == []
    assert patches.decode_merge_patch(b'{"a":1,"a":2}') == ({"a": 2}, ['duplicate field "a"'])
    assert patches.decode_strategic_patch(b"null") == ({}, [])


def test_apply_bodies() -> None:
    value, error = patches.decode_apply_patch(b"a: 1\na: 2\n")
    assert value == {"a": 2}
    assert patches.reject_apply(error).message == (
        "error strict decoding YAML: error converting YAML to JSON: yaml: unmarshal errors:\n  "
        'line 2: key "a" already set in map'
    )
    assert patches.decode_apply_patch(b'{"a": null}') == ({"a": None}, "")
    with pytest.raises(
        ApiError,
        match=(
            "error decoding YAML: error converting YAML to JSON: yaml: line 1: did not "
            "find expected"
        ),
    ):
        patches.decode_apply_patch(b"[a")
    with pytest.raises(
        ApiError,
        match="while decoding JSON: json: cannot unmarshal array into Go value of type map",
    ):
        patches.decode_apply_patch(b"[a]")


def test_strict_errors_of_a_json_patch_come_operation_by_operation() -> None:
    """What is unknown is told once, however often it comes (cases: kubernetes ``test/integration/
    apiserver/field_validation_test.go``)."""
    body = (
        b'[{"op": "add", "path": "/a", "value": 1, "foo": "bar"},'
        b' {"op": "add", "path": "/x", "path": "/b", "value": {"c": 1, "c": 2}},'
        b' {"op": "add", "path": "/c", "value": 3, "bar": {"d": 1, "d": 2}, "bar": 1, "opal": 1}]'
    )
    assert patches.decode_json_patch(body)[1] == [
        'json patch unknown field "[0].foo"',
        'json patch duplicate field "[1].path"',
        'json patch duplicate field "[1].value.c"',
        'json patch unknown field "[2].bar"',
        'json patch unknown field "[2].opal"',
    ]
