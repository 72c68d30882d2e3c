"""Queries, read as Python's own parser reads them."""

from __future__ import annotations

from urllib.parse import parse_qs

from hypothesis import example, given
from hypothesis import strategies as st

from apiserver.endpoints.request import parse_query


@given(st.text("ab=&%2+;é\x00/", max_size=12))
@example("")
@example("fieldManager=a&fieldManager=b&dryRun")
@example("a==b&=c&&d")
@example("labelSelector=a%3Db&x=1+1")
def test_a_query_means_what_it_means_elsewhere(text: str) -> None:
    assert parse_query(text) == parse_qs(text, keep_blank_values=True, encoding="utf-8")
