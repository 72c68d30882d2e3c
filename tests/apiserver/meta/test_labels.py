from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apiserver.meta.labels import (
    EVERYTHING,
    NOTHING,
    LabelSelector,
    LabelSelectorError,
    Requirement,
    parse_label_selector,
    selector_from_object,
)
from tests.support.growth import assert_linear

LABELS = {"app": "web", "tier": "", "n": "5"}


@pytest.mark.parametrize(
    ("text", "matches"),
    [
        ("", True),
        ("app=web", True),
        ("app==web", True),
        ("app!=web", False),
        ("gone!=web", True),
        ("app in (db, web)", True),
        ("app notin (db,web)", False),
        ("gone notin (db)", True),
        ("tier", True),
        ("!tier", False),
        ("tier=", True),
        ("tier in ()", True),
        ("n>4,n<6", True),
        ("n>5", False),
        ("app>1", False),
        ("in=in", False),
    ],
)
def test_matching(text: str, matches: bool) -> None:
    assert parse_label_selector(text).matches(LABELS) is matches


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("=x", "found '=', expected: !, identifier, or 'end of string'"),
        ("a b", "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt"),
        ("a=b,", "found '', expected: identifier after ','"),
        ("a in b", "unable to parse requirement: found 'b' expected: '('"),
        ("a in (b", "unable to parse requirement: found '', expected: ',' or ')'"),
        ("a in (=)", "unable to parse requirement: found '=', expected: ',', ')' or identifier"),
        ("a=b c", "found 'c', expected: ',' or 'end of string'"),
        ("!", "unable to parse requirement: found '', expected: identifier"),
        ("a==!b", "unable to parse requirement: found '!', expected: identifier"),
        (
            "n>x",
            "unable to parse requirement: values[0]: Invalid value: \"x\": for 'Gt', 'Lt' "
            "operators, the value must be an integer",
        ),
    ],
)
def test_errors(text: str, error: str) -> None:
    with pytest.raises(LabelSelectorError) as raised:
        parse_label_selector(text)
    assert str(raised.value) == error


def test_bad_keys_and_values_are_quoted() -> None:
    with pytest.raises(
        LabelSelectorError,
        match=r'^unable to parse requirement: <nil>: Invalid value: "-a": name part must consist',
    ):
        parse_label_selector("-a=b")
    with pytest.raises(
        LabelSelectorError,
        match=r'^unable to parse requirement: values\[0\]\[a\]: Invalid value: "\?": a valid label',
    ):
        parse_label_selector("a=?")


def test_requirements_come_sorted_by_key() -> None:
    assert str(parse_label_selector("z in (b,a),a!=1,!m")) == "a!=1,!m,z in (a,b)"


def test_selector_objects() -> None:
    assert selector_from_object(None) == NOTHING
    assert not NOTHING.matches({})
    assert selector_from_object({}) == EVERYTHING
    selector = selector_from_object(
        {"matchLabels": {"a": "b"}, "matchExpressions": [{"key": "c", "operator": "Exists"}]}
    )
    assert selector.matches({"a": "b", "c": ""}) and not selector.matches({"a": "b"})
    assert selector.exact("a") == "b" and selector.exact("c") is None


@pytest.mark.parametrize(
    ("expression", "error"),
    [
        ({"key": "a", "operator": "Like"}, '"Like" is not a valid label selector operator'),
        (
            {"key": "a", "operator": "In"},
            "values: Invalid value: null: for 'in', 'notin' operators, values set can't be empty",
        ),
        (
            {"key": "a", "operator": "Exists", "values": ["b"]},
            'values: Invalid value: ["b"]: values set must be empty for exists and does not exist',
        ),
    ],
)
def test_bad_selector_objects(expression: dict[str, Any], error: str) -> None:
    with pytest.raises(LabelSelectorError) as raised:
        selector_from_object({"matchExpressions": [expression]})
    assert str(raised.value) == error


key = st.from_regex(r"[a-z]{1,3}", fullmatch=True).filter(lambda k: k not in ("in",))
value = st.from_regex(r"[a-z0-9]{1,3}", fullmatch=True)
term = st.one_of(
    st.builds("{}={}".format, key, value),
    st.builds("{}!={}".format, key, value),
    st.builds("!{}".format, key),
    key,
    st.builds("{} in ({},{})".format, key, value, value),
    st.builds("{} notin ({})".format, key, value),
)


@given(st.lists(term, max_size=4), st.dictionaries(key, value, max_size=4))
def test_printing_and_parsing_again_selects_the_same(
    terms: list[str], labels: dict[str, str]
) -> None:
    selector = parse_label_selector(",".join(terms))
    assert parse_label_selector(str(selector)) == selector
    assert selector.matches(labels) == all(parse_label_selector(t).matches(labels) for t in terms)


@settings(max_examples=300)
@given(
    st.lists(
        st.tuples(
            st.sampled_from("ab"),
            st.sampled_from(["=", "==", "!=", "in", "notin", "exists", "!", "gt", "lt"]),
            st.lists(st.sampled_from(["", "0", "1", "2", "x"]), max_size=3),
        )
    ),
    st.dictionaries(st.sampled_from("abc"), st.sampled_from(["", "0", "1", "2", "x"])),
)
def test_a_matcher_says_what_the_selector_says(
    terms: list[tuple[str, str, list[str]]], labels: dict[str, str]
) -> None:
    selector = LabelSelector(
        tuple(Requirement(k, op, tuple(values)) for k, op, values in terms) * 8
    )
    assert selector.matcher()(labels) == selector.matches(labels)


def test_thousands_of_requirements_are_not_looked_at_one_by_one() -> None:
    def matching(n: int) -> Callable[[], Any]:
        selector = parse_label_selector(",".join(f"a{i}!=b,c!=d{i}" for i in range(n)))
        matches = selector.matcher()
        return lambda: [matches({"a": "b", "c": "d"}) for _ in range(n)]

    assert_linear(matching, 1500)
