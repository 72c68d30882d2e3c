"""The tsqueries that a text becomes."""

from __future__ import annotations

import pytest

from apiserver.meta.gvk import GroupResource
from apiserver.search.terms import query
from apiserver.search.words import Needle
from apiserver.storage.search import Where, Words

WHERE = Where([GroupResource("", "configmaps")], [])
WITHIN = " & ('5#configmaps.')"


@pytest.mark.parametrize(
    ("text", "exact", "easy", "broad"),
    [
        ("app=web-1", "'5lapp' & '5lweb' & '5l1':*", "'5lapp' & '5lweb'", False),
        ("app=web", "'5lapp' & '5lweb':*", None, False),
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


def test_what_has_no_word_is_looked_for_everywhere() -> None:
    assert query(5, Needle.of("=-"), ["labels"], WHERE) is None
