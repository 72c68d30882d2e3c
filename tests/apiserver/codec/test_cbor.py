from typing import Any

import cbor2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from apiserver.codec import cbor, json, lists
from apiserver.meta.gvk import GroupVersionKind
from apiserver.schema.builtin import schema_for

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4)
    ),
    max_leaves=15,
)


@given(VALUES)
def test_what_is_written_reads_back(value: Any) -> None:
    assert cbor.loads(cbor.dumps(value)) == value


@given(VALUES)
def test_text_strings_are_read_like_byte_strings(value: Any) -> None:
    assert cbor.loads(cbor2.dumps(value)) == value


def test_strings_are_byte_strings_and_members_are_in_deterministic_order() -> None:
    assert cbor.dumps({"bb": "x", "a": 1}) == bytes.fromhex("d9d9f7a2416101426262") + b"\x41x"


def test_byte_members_travel_as_bytes() -> None:
    schema = schema_for(GroupVersionKind("", "v1", "Secret"))
    secret = {"kind": "Secret", "data": {"a": "aGk="}, "stringData": {"b": "aGk="}}
    data = cbor.dumps(secret, schema)
    assert b"\xd6\x42hi" in data and b"aGk=" in data
    assert cbor.loads(data) == secret
    named = {"apiVersion": "v1", **secret}
    assert cbor.dumps(named) == cbor.dumps(named, schema)


@pytest.mark.parametrize(
    ("encoded", "value"),
    [
        ("9f01ff", [1]),
        ("bf6161f5ff", {"a": True}),
        ("5f41614162ff", "ab"),
        ("c074323031332d30332d32315432303a30343a30305a", "2013-03-21T20:04:00Z"),
        ("c1fb41d452d9ec200000", "2013-03-21T20:04:00.5Z"),
        ("d64401020304", "AQIDBA=="),
        ("d5420afb", "Cvs"),
        ("d7420afb", "0AFB"),
        ("d6a141614101", {"a": "AQ=="}),
        ("d9012c6161", "a"),
        ("d9d9f7d9d9f7a0", {}),
    ],
)
def test_other_spellings_are_accepted(encoded: str, value: Any) -> None:
    assert cbor.loads(bytes.fromhex(encoded)) == value


@pytest.mark.parametrize(
    ("encoded", "error"),
    [
        ("", "EOF"),
        ("a1", "unexpected EOF"),
        ("a0a0", "cbor: 1 bytes of extraneous data starting at index 1"),
        (
            "f7",
            "cbor: data item of cbor type primitives is not accepted by protocol: simple value 23 "
            "is not recognized",
        ),
        (
            "e0",
            "cbor: data item of cbor type primitives is not accepted by protocol: simple value 0 "
            "is not recognized",
        ),
        (
            "f97e00",
            "cbor: data item of cbor type primitives is not accepted by protocol: floating-point "
            "NaN",
        ),
        (
            "f97c00",
            "cbor: data item of cbor type primitives is not accepted by protocol: floating-point "
            "infinity",
        ),
        (
            "c249010000000000000000",
            "cbor: data item of cbor type tag is not accepted by protocol: bignum",
        ),
        (
            "1bffffffffffffffff",
            "cbor: cannot unmarshal positive integer into Go value of type int64 "
            "(18446744073709551615 overflows Go's int64)",
        ),
        ("61ff", "cbor: invalid UTF-8 string"),
        ("a10101", "cbor: invalid map key type: interface {}"),
        ("a2416101416102", 'cbor: found duplicate map key "a"'),
        ("a2416101616102", 'cbor: found duplicate map key "a" at map element index 1'),
        ("ff", 'cbor: unexpected "break" code'),
        ("81" * 2000 + "01", "cbor: exceeded max nested level 10000"),
    ],
)
def test_what_json_cannot_hold_is_refused(encoded: str, error: str) -> None:
    with pytest.raises(cbor.CBORError) as e:
        cbor.loads(bytes.fromhex(encoded))
    assert str(e.value) == error


@given(st.binary(max_size=30))
def test_no_input_breaks_the_reader(data: bytes) -> None:
    try:
        value = cbor.loads(data)
    except cbor.CBORError:
        return
    json.dumps(value)


@pytest.mark.parametrize("count", [0, 1, 23, 24, 300])
def test_joined_lists_equal_lists_encoded_whole(count: int) -> None:
    objects = [{"metadata": {"name": f"n{i}"}} for i in range(count)]
    whole = {
        "kind": "PodList",
        "apiVersion": "v1",
        "metadata": {"resourceVersion": "5"},
        "items": objects,
    }
    head = ("PodList", "v1", {"resourceVersion": "5"})
    assert b"".join(lists.cbor_list(*head, [cbor.encode(o) for o in objects])) == cbor.dumps(whole)


def test_events() -> None:
    obj = {"kind": "Pod", "metadata": {"name": "a"}}
    assert json.loads(lists.json_event("ADDED", json.dumps(obj)))[0] == {
        "type": "ADDED",
        "object": obj,
    }
    first, second = (
        lists.cbor_event("ADDED", cbor.dumps(obj)),
        lists.cbor_event("DELETED", cbor.encode(obj)),
    )
    assert cbor.loads(first) == {"type": "ADDED", "object": obj}
    assert cbor.loads(second) == {"type": "DELETED", "object": obj}
