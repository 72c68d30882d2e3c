"""JSON values as Go sees and prints them."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apiserver.fieldmanager.values import rank, to_json
from apiserver.golang.fmt import go_value
from apiserver.golang.json import number
from apiserver.meta.equality import equal
from apiserver.meta.objects import copy_json

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=3),
    lambda v: st.lists(v, max_size=3) | st.dictionaries(st.text(max_size=2), v, max_size=3),
    max_leaves=6,
)


@pytest.mark.parametrize(
    ("value", "as_json", "as_v"),
    [
        (1, "1", "1"),
        (1.0, "1", "1"),
        (-2.5, "-2.5", "-2.5"),
        (1e16, "10000000000000000", "1e+16"),
        (200000.0, "200000", "200000"),
        (1e6, "1000000", "1e+06"),
        (123456789.0, "123456789", "1.23456789e+08"),
        (1e20, "100000000000000000000", "1e+20"),
        (1e21, "1e+21", "1e+21"),
        (1.5e300, "1.5e+300", "1.5e+300"),
        (0.00001, "0.00001", "1e-05"),
        (1.25e-5, "0.0000125", "1.25e-05"),
        (1e-7, "1e-7", "1e-07"),
        (0.0001, "0.0001", "0.0001"),
    ],
)
def test_numbers(value: float, as_json: str, as_v: str) -> None:
    assert number(value) == as_json
    assert go_value(value) == as_v


def test_equality_is_gos() -> None:
    assert equal({"a": [1, {"b": 1.0}]}, {"a": [1.0, {"b": 1}]})
    assert not equal({"a": [1]}, {"a": [True]})
    assert equal({"a": 1, "b": True}, {"b": True, "a": 1})
    assert not equal({"a": 2**70, "b": True}, {"b": 1, "a": 2**70})


@given(JSON)
def test_a_value_is_the_same_as_its_copy_and_shares_nothing(value: Any) -> None:
    made = copy_json(value)
    assert equal(made, value)
    assert not isinstance(value, dict | list) or made is not value


@given(JSON, JSON)
def test_order_is_total_and_agrees_with_equality(a: Any, b: Any) -> None:
    assert (rank(a) < rank(b)) + (rank(a) > rank(b)) + (rank(a) == rank(b)) == 1
    assert equal(a, b) == (rank(a) == rank(b))


def test_json_is_sorted_and_escaped_as_go_does() -> None:
    assert (
        to_json({"b": [True, None, 1.0], "a": '<\u2028\x00\\"ü>'})
        == '{"a":"\\u003c\\u2028\\u0000\\\\\\"ü\\u003e","b":[true,null,1]}'
    )
