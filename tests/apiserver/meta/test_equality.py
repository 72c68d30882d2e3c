"""Where the ways of comparing JSON values differ, and where they must not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apiserver.meta.equality import (
    deep_equal,
    equal,
    scalars_equal,
    semantic_equal,
    without_empty,
)

WAYS = {
    "equal": equal,
    "deep": deep_equal,
    "scalars": scalars_equal,
    "semantic": semantic_equal,
}
CASES: list[tuple[Any, Any, set[str]]] = [
    (1, 1, {"equal", "deep", "scalars", "semantic"}),
    ("a", "a", {"equal", "deep", "scalars", "semantic"}),
    (None, None, {"equal", "deep", "scalars", "semantic"}),
    (1, 1.0, {"equal", "semantic"}),
    (1, True, set()),
    (0.0, False, set()),
    (1 << 70, 1 << 70, {"equal", "deep", "scalars", "semantic"}),
    ([1, {"a": 1 << 70}], [1.0, {"a": 1 << 70}], {"equal", "semantic"}),
    ([], [], {"equal", "deep", "semantic"}),
    ({"a": [1]}, {"a": [1]}, {"equal", "deep", "semantic"}),
    ({"a": 1, "b": 2}, {"b": 2, "a": 1}, {"equal", "deep", "semantic"}),
    ({"a": [True]}, {"a": [True, 1]}, set()),
    ([1, 2], [2, 1], set()),
    (None, [], {"semantic"}),
    ({}, None, {"semantic"}),
    ({"a": None, "b": {"c": []}}, {}, {"semantic"}),
    ({"a": 0}, {}, set()),
    ("", None, set()),
]


@pytest.mark.parametrize(("one", "other", "ways"), CASES)
def test_what_is_equal_in_which_way(one: Any, other: Any, ways: set[str]) -> None:
    assert {name for name, way in WAYS.items() if way(one, other)} == ways
    assert {name for name, way in WAYS.items() if way(other, one)} == ways


@pytest.mark.parametrize("way", [equal, deep_equal])
def test_a_boolean_inside_is_no_number(way: Callable[[Any, Any], bool]) -> None:
    assert not way({"a": [{"b": True}]}, {"a": [{"b": 1}]})


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 2) | st.sampled_from([0.0, 1.0, "", "a"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("ab"), inner),
    max_leaves=6,
)


@given(_JSON, _JSON)
def test_the_stricter_way_implies_the_looser_one(one: Any, other: Any) -> None:
    assert not deep_equal(one, other) or equal(one, other)
    assert not equal(one, other) or semantic_equal(one, other)
    assert not scalars_equal(one, other) or deep_equal(one, other)


@given(_JSON)
def test_what_is_not_there_makes_no_difference(value: Any) -> None:
    assert semantic_equal(value, without_empty(value))
