from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apiserver.meta.fields import (
    FieldRequirement,
    FieldSelector,
    FieldSelectorError,
    parse_field_selector,
)


def test_matching_treats_a_missing_field_as_empty() -> None:
    selector = parse_field_selector("status.phase!=Running,metadata.name==a")
    assert selector.matches({"metadata.name": "a"})
    assert not selector.matches({"metadata.name": "a", "status.phase": "Running"})
    assert selector.exact("metadata.name") == "a"
    assert selector.exact("status.phase") is None


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("metadata.name", "invalid selector: 'metadata.name'; can't understand 'metadata.name'"),
        ("b=1,a", "invalid selector: 'b=1,a'; can't understand 'a'"),
        ("a=b=c", "invalid field selector: unescaped character in value: 61"),
        (r"a=\x", r"invalid field selector: invalid escape sequence: \x"),
        ("a=b\\", "invalid field selector: invalid escape sequence: \\"),
    ],
)
def test_errors(text: str, error: str) -> None:
    with pytest.raises(FieldSelectorError) as raised:
        parse_field_selector(text)
    assert str(raised.value) == error


@pytest.mark.parametrize("text", ["=", "==", "!=", ",=,"])
def test_a_term_of_nothing_selects_everything(text: str) -> None:
    assert parse_field_selector(text).empty
    assert str(parse_field_selector(f"{text},a=1")) == "a=1"


def test_transform_renames_and_drops() -> None:
    selector = parse_field_selector("a=1,b!=2").transform(
        lambda f, v: ("", "") if f == "a" else ("c", v)
    )
    assert selector == FieldSelector((FieldRequirement("c", "!=", "2"),))


@given(
    st.dictionaries(
        st.from_regex(r"[a-z.]{1,5}", fullmatch=True),
        st.text(alphabet="ab,=\\!", max_size=5),
        max_size=3,
    )
)
def test_values_survive_escaping(pairs: dict[str, str]) -> None:
    selector = FieldSelector(tuple(FieldRequirement(f, "=", v) for f, v in pairs.items()))
    assert {r.field: r.value for r in parse_field_selector(str(selector)).requirements} == pairs


@settings(max_examples=300)
@given(
    st.lists(
        st.tuples(
            st.sampled_from("ab"), st.sampled_from(["=", "!="]), st.sampled_from(["", "1", "2"])
        )
    ),
    st.dictionaries(st.sampled_from("abc"), st.sampled_from(["", "1", "2"])),
)
def test_a_matcher_says_what_the_selector_says(
    terms: list[tuple[str, str, str]], fields: dict[str, str]
) -> None:
    selector = FieldSelector(tuple(FieldRequirement(*term) for term in terms) * 5)
    assert selector.matcher()(fields) == selector.matches(fields)
