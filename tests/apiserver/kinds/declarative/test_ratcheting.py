"""Declared rules over updates: what has not changed is not checked again."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from apiserver.kinds.declarative import tags as t
from apiserver.kinds.declarative.values import identity
from apiserver.meta.equality import semantic_equal
from tests.apiserver.kinds.declarative.findings import findings, found

EVERYWHERE = {
    "s": [t.validate_false()],
    "items": [t.list_type("map"), t.list_map_key("name"), t.custom_unique()],
    "items[*]": [t.validate_false()],
    "items[*].value": [t.validate_false()],
    "l": [t.each_val(t.validate_false())],
    "m": [t.each_val(t.validate_false()), t.each_key(t.validate_false())],
    "u": [t.optional()],
    "u.c": [t.validate_false()],
}


def test_only_what_changed_is_checked_again() -> None:
    old = {
        "items": [{"name": "a", "value": "1"}, {"name": "b", "value": "2"}],
        "l": ["x", "y"],
        "m": {"k": "v"},
        "u": {"c": "d", "b": 1},
    }
    new = {
        "items": [{"name": "b", "value": "3"}, {"name": "a", "value": "1"}],
        "l": ["y", "z"],
        "m": {"k": "w"},
        "u": {"c": "d", "b": 2},
    }
    paths = [f.error.path for f in findings(EVERYWHERE, new, old)]
    assert paths == ["items[0]", "items[0].value", "l[0]", "l[1]", "m[k]"], (
        "an item of a list that is no set has no old one"
    )
    as_set = {"l": [t.list_type("set"), t.each_val(t.validate_false())]}
    assert [f.error.path for f in findings(as_set, new, old)] == ["l[1]"]


def test_a_new_item_is_checked_whole() -> None:
    old: dict[str, Any] = {"items": [{"name": "a", "value": "1"}]}
    new = {"items": [*old["items"], {"name": "b"}]}
    assert [f.error.path for f in findings(EVERYWHERE, new, old)] == ["items[1]", "items[1].value"]


_VALUES = st.fixed_dictionaries(
    {},
    optional={
        "s": st.text(max_size=2),
        "l": st.lists(st.sampled_from("abc"), max_size=3),
        "m": st.dictionaries(st.sampled_from("kl"), st.sampled_from("vw"), max_size=2),
        "items": st.lists(
            st.fixed_dictionaries({"name": st.sampled_from("ab"), "value": st.sampled_from("12")}),
            max_size=2,
        ),
        "u": st.fixed_dictionaries(
            {}, optional={"c": st.sampled_from("de"), "b": st.integers(0, 1)}
        ),
    },
)


@given(_VALUES)
def test_an_unchanged_object_is_never_refused(obj: dict[str, Any]) -> None:
    assert findings(EVERYWHERE, obj, obj) == []


@given(_VALUES, _VALUES)
def test_an_update_finds_nothing_that_a_create_would_not(
    new: dict[str, Any], old: dict[str, Any]
) -> None:
    on_create = {(f.error.path, f.origin) for f in findings(EVERYWHERE, new)}
    assert {(f.error.path, f.origin) for f in findings(EVERYWHERE, new, old)} <= on_create


_JSON = st.recursive(
    st.none() | st.booleans() | st.sampled_from("ab"),
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("kl"), inner, max_size=2)
    ),
    max_leaves=5,
)


@given(_JSON, _JSON)
def test_what_is_the_same_has_one_identity(one: Any, other: Any) -> None:
    assert semantic_equal(one, other) == (identity(one) == identity(other))


def test_nothing_and_emptiness_are_the_same() -> None:
    assert semantic_equal({"a": None, "b": []}, {})
    assert semantic_equal(None, {})
    assert not semantic_equal({"a": 0}, {})
    assert not semantic_equal(True, 1)


@given(st.integers(-5, 5), st.integers(-5, 5), st.integers(-5, 5))
def test_limits_are_those_of_comparison(value: int, low: int, high: int) -> None:
    assert (found({"n": [t.minimum(low), t.maximum(high)]}, {"n": value}) == []) == (
        low <= value <= high
    )


@given(st.lists(st.sampled_from("abcd"), max_size=6))
def test_a_set_has_as_many_errors_as_repetitions(items: list[str]) -> None:
    assert len(found({"l": [t.list_type("set")]}, {"l": items})) == len(items) - len(set(items))
