"""The tsqueries that a text becomes."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apiserver.effort import limited
from apiserver.meta.gvk import GroupResource
from apiserver.search.terms import query, terms
from apiserver.search.words import Needle
from apiserver.storage.interface import ObjectKey
from apiserver.storage.search import Where, Words

WHERE = Where([GroupResource("", "configmaps")], [])
WITHIN = " & ('5#configmaps.')"


@pytest.mark.parametrize(
    ("text", "exact", "easy", "broad"),
    [
        ("app-web-1", "'5lapp' & '5lweb' & '5l1':*", "'5lapp' & '5lweb'", False),
        ("app web", "'5lapp' & '5lweb':*", None, False),
        ("app=web-1", "'5lapp=web-1':*", None, False),
        ("an app=w", "'5lan' & '5lapp=w':*", None, False),
        (
            "a.io/app=w it's",
            "'5la' & '5lio' & '5lit' & '5lapp=w':* & '5ls':*",
            "'5la' & '5lio' & '5lit' & '5lapp=w':*",
            False,
        ),
        ("a=b=c", "'5la=b=c':* & '5lb=c':*", None, False),
        ("a=" + "b" * 50, f"'5la' & '5la={'b' * 38}':* & '5l{'b' * 40}':*", None, False),
        ("app=", "'5lapp'", None, False),
        ("web", "'5lweb':*", None, False),
        ("we", "'5lwe':*", None, True),
    ],
)
def test_a_short_last_word_is_asked_for_and_left_out_of_the_easier_question(
    text: str, exact: str, easy: str | None, broad: bool
) -> None:
    whole = f"('5!' | {exact}){WITHIN}"
    part = None if easy is None else f"('5!' | {easy}){WITHIN}"
    assert query(5, Needle.of(text), ["labels"], WHERE) == Words(whole, part, broad)


def test_where_everything_is_meant_it_need_not_be_said() -> None:
    everything = Where(WHERE.whole, [], everything=True)
    asked = query(5, Needle.of("web"), ["labels"], everything)
    assert asked == Words("('5!' | '5lweb':*)")


def test_what_has_no_word_is_looked_for_everywhere() -> None:
    assert query(5, Needle.of("=-"), ["labels"], WHERE) is None


PARTS = ["a", "b1", "Ä", "_", "=", "==", "-", ".", "/", " ", "\t", "'", "\\", "x" * 50, "7"]
TEXT = st.lists(st.sampled_from(PARTS), min_size=1, max_size=9).map("".join)


def holds(asked: str, found: set[str]) -> bool:
    """What PostgreSQL says of a tsquery and the terms of an object."""

    def one(match: re.Match[str]) -> str:
        term = match[1].replace("''", "'").replace("\\\\", "\\")
        return str(any(t.startswith(term) for t in found) if match[2] else term in found)

    return bool(eval(re.sub(r"'((?:[^'\\]|''|\\.)*)'(:\*)?", one, asked)))


@settings(max_examples=300)
@given(TEXT, TEXT, st.integers(0, 40), st.integers(1, 60))
def test_what_is_found_by_eye_is_found_by_its_terms(
    key: str, value: str, begin: int, length: int
) -> None:
    obj = {"metadata": {"name": "n", "labels": {key: value}}, "data": {"k": f"{value} {key}"}}
    text = f"{key}={value}"[begin : begin + length]
    if not (needle := Needle.of(text)).folded:
        return
    resource = GroupResource("", "configmaps")
    found = set(terms(5, ObjectKey("", "configmaps", "ns", "n"), obj).split(" "))
    areas = ["labels", "values"]
    asked = query(5, needle, areas, WHERE)
    if asked is not None and needle.matches(resource, obj, areas):
        assert holds(asked.exact, found), (text, asked.exact, found)
        assert asked.easy is None or holds(asked.easy, found)


def test_long_words_are_read_once() -> None:
    """A regular expression that begins anew in each letter of a word took hours for a megabyte."""
    texts = {"hex": "deadbeef" * 40_000 + "\n=", "pairs": "a=" * 40_000}
    obj = {"metadata": {"name": "n"}, "data": texts}
    with limited(60):
        found = terms(5, ObjectKey("", "configmaps", "ns", "n"), obj).split(" ")
    assert "5va=" + "a=" * 19 in found
    assert query(5, Needle.of("a=\x00b"), ["labels"], WHERE) == Words(
        f"('5!' | '5la' & '5lb':*){WITHIN}", f"('5!' | '5la'){WITHIN}"
    )
