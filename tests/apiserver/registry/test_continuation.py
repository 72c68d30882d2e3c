"""Continue tokens that nobody issued: always a BadRequest with the words of Go's decoder."""

from __future__ import annotations

import base64
import hashlib
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from apiserver.errors import BadRequest
from apiserver.registry import continuation
from apiserver.registry.continuation import Position

GOOD: dict[str, Any] = {"v": "meta.k8s.io/v1", "rv": 5, "start": "a\0"}
FIELD = "into Go struct field continueToken."


def sign(message: bytes) -> bytes:
    return hashlib.sha256(message).digest()


def decode(value: Any) -> Position:
    token = base64.urlsafe_b64encode(orjson.dumps(value)).decode().rstrip("=")
    return continuation.decode(token, 1, "ns", namespaced=True, sign=sign)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({**GOOD, "rv": True}, f"json: cannot unmarshal bool {FIELD}rv of type int64"),
        ({**GOOD, "rv": False}, f"json: cannot unmarshal bool {FIELD}rv of type int64"),
        ({**GOOD, "rv": "5"}, f"json: cannot unmarshal string {FIELD}rv of type int64"),
        ({**GOOD, "rv": 1.5}, f"json: cannot unmarshal number 1.5 {FIELD}rv of type int64"),
        (
            {**GOOD, "rv": 2**63},
            f"json: cannot unmarshal number 9223372036854775808 {FIELD}rv of type int64",
        ),
        ({**GOOD, "rv": []}, f"json: cannot unmarshal array {FIELD}rv of type int64"),
        ({**GOOD, "rv": {}}, f"json: cannot unmarshal object {FIELD}rv of type int64"),
        ({**GOOD, "rv": None}, "incorrect encoded start resourceVersion (version meta.k8s.io/v1)"),
        ({**GOOD, "v": 1}, f"json: cannot unmarshal number {FIELD}v of type string"),
        ({**GOOD, "v": None}, "server does not recognize this encoded version "),
        ({**GOOD, "start": True}, f"json: cannot unmarshal bool {FIELD}start of type string"),
        ({**GOOD, "start": ["a"]}, f"json: cannot unmarshal array {FIELD}start of type string"),
        ({**GOOD, "start": None}, "encoded start key empty (version meta.k8s.io/v1)"),
        ({**GOOD, "sig": 7}, f"json: cannot unmarshal number {FIELD}sig of type string"),
        ({**GOOD, "sig": "é"}, "the token was not issued for this tenant"),
        (None, "server does not recognize this encoded version "),
        ([], "json: cannot unmarshal array into Go value of type storage.continueToken"),
        (True, "json: cannot unmarshal bool into Go value of type storage.continueToken"),
        ("x", "json: cannot unmarshal string into Go value of type storage.continueToken"),
        (7, "json: cannot unmarshal number into Go value of type storage.continueToken"),
    ],
)
def test_members_of_other_types(value: Any, text: str) -> None:
    with pytest.raises(BadRequest) as error:
        decode(value)
    assert error.value.message == f"invalid continue token: continue key is not valid: {text}"


@pytest.mark.parametrize(
    ("token", "text"),
    [
        ("YW==", "illegal base64 data at input byte 2"),
        ("YQ=", "illegal base64 data at input byte 2"),
        ("YWJjZ", "illegal base64 data at input byte 4"),
        ("YWJ\njZ\n", "illegal base64 data at input byte 6"),
        ("a+b/", "illegal base64 data at input byte 1"),
        ("YéJ*", "illegal base64 data at input byte 1"),
        ("YW\r\nJj", "invalid character 'a' looking for beginning of value"),
        ("\n", "unexpected end of JSON input"),
        ("bnVs", "invalid character ' ' in literal null (expecting 'l')"),
    ],
)
def test_what_is_no_token(token: str, text: str) -> None:
    with pytest.raises(BadRequest) as error:
        continuation.decode(token, 1, "ns", namespaced=True, sign=sign)
    assert error.value.message == f"invalid continue token: continue key is not valid: {text}"


@pytest.mark.parametrize("start", ["a/", "//a", "a//b", "../a", "a/../b", ".", "/..", "a/."])
def test_a_start_is_a_clean_path(start: str) -> None:
    with pytest.raises(BadRequest) as error:
        decode({**GOOD, "start": start})
    assert error.value.message == f"invalid continue token: continue key is not valid: {start}"


def test_a_start_may_begin_at_the_root_and_names_may_be_capitals() -> None:
    assert decode({**GOOD, "start": "/a\0"}) == decode({"V": GOOD["v"], "RV": 5, "Start": "a\0"})
    assert decode({**GOOD, "start": "/"}).after == ("ns", "")


def test_a_token_that_was_issued() -> None:
    position = Position(7, ("ns", "a"))
    token = continuation.encode(position, 1, "ns", sign)
    assert continuation.decode(token, 1, "ns", namespaced=True, sign=sign) == position


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats() | st.text(),
    st.lists,
    max_leaves=3,
)


@given(
    st.fixed_dictionaries(
        {},
        optional={
            "v": st.just(GOOD["v"]) | _VALUES,
            "rv": _VALUES,
            "start": _VALUES,
            "sig": _VALUES,
        },
    )
)
def test_whatever_is_sent_is_read_or_refused(value: dict[str, Any]) -> None:
    try:
        position = decode(value)
    except BadRequest:
        return
    assert type(position.resource_version) is int and all(
        type(part) is str for part in position.after
    )
