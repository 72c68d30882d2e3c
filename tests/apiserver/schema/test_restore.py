"""Conversion of maps into types: the words and the numbers of runtime/converter.go."""

from typing import Any

import pytest

from apiserver.meta.gvk import GroupVersionKind
from apiserver.schema.builtin import schema_for
from apiserver.schema.decode_errors import DecodeError
from apiserver.schema.restore import restore

POD = schema_for(GroupVersionKind("", "v1", "Pod"))
SECRET = schema_for(GroupVersionKind("", "v1", "Secret"))


def spec(**members: Any) -> dict[str, Any]:
    return {"spec": members}


@pytest.mark.parametrize(
    ("value", "error"),
    [
        ({"metadata": []}, "cannot restore struct from: slice"),
        ({"spec": 7}, "cannot restore struct from: int64"),
        ({"spec": True}, "cannot restore struct from: bool"),
        ({"metadata": {"labels": "x"}}, "cannot restore map from string"),
        ({"metadata": {"finalizers": False}}, "cannot restore slice from bool"),
        (spec(nodeName=7), "cannot convert int64 to string"),
        (spec(nodeName=1.5), "unrecognized type: string"),
        (spec(dnsPolicy=7), "cannot convert int64 to v1.DNSPolicy"),
        (spec(priority=1.5), "cannot convert float64 to int32"),
        (spec(priority="1"), "unrecognized type: int32"),
        (spec(hostNetwork="x"), "unrecognized type: bool"),
        (spec(hostNetwork=1), "unrecognized type: bool"),
        (spec(priority=True), "unrecognized type: int32"),
        (spec(priority={}), "unrecognized type: int32"),
        (spec(nodeName={}), "unrecognized type: string"),
        (spec(nodeName=[]), "unrecognized type: string"),
        (spec(nodeName=True), "unrecognized type: string"),
        (spec(nodeSelector={"a": 7}), "cannot convert int64 to string"),
        (spec(nodeSelector=1.5), "cannot restore map from float64"),
        (spec(containers={}), "cannot restore slice from map"),
        (spec(containers=["x"]), "cannot restore struct from: string"),
        (spec(containers=[{"args": [7]}]), "cannot convert int64 to string"),
        (spec(securityContext=[]), "cannot restore struct from: slice"),
        (
            {"spec": 7, "metadata": {"creationTimestamp": 7}},
            "json: cannot unmarshal number into Go value of type string",
        ),
    ],
)
def test_what_does_not_fit(value: Any, error: str) -> None:
    with pytest.raises(DecodeError) as caught:
        restore(POD, value)
    assert str(caught.value) == error


def test_bytes_are_text() -> None:
    with pytest.raises(DecodeError, match="error decoding from json: illegal base64 data at"):
        restore(SECRET, {"data": {"a": "!"}})
    with pytest.raises(DecodeError, match="cannot restore slice from int64"):
        restore(SECRET, {"data": {"a": 1}})


@pytest.mark.parametrize(
    ("item", "error"),
    [
        ("x", "unrecognized type: uint8"),
        (True, "unrecognized type: uint8"),
        (1.5, "cannot convert float64 to uint8"),
        ([], "unrecognized type: uint8"),
    ],
)
def test_bytes_may_be_numbers(item: Any, error: str) -> None:
    assert restore(SECRET, {"data": {"a": [1, 2.0, 257, -1]}}) == {"data": {"a": [1, 2, 1, 255]}}
    with pytest.raises(DecodeError) as caught:
        restore(SECRET, {"data": {"a": [item]}})
    assert str(caught.value) == error


@pytest.mark.parametrize(
    ("sent", "kept"),
    [(2**31, -(2**31)), (2**32 + 5, 5), (3.0, 3), (7, 7), (None, None), (1e300, 0)],
)
def test_numbers_are_cut_to_size(sent: Any, kept: Any) -> None:
    assert restore(POD, spec(priority=sent)) == spec(priority=kept)
