"""Patterns are bounded: in length, in the size of their programs, in their work on a text, and all
that are kept in bytes."""

from __future__ import annotations

import re

import pytest

from apiserver.effort import TakesLong, limited
from apiserver.golang import regexp
from apiserver.golang.regexp import RegexError, TooExpensive, matches, parse_regex
from apiserver.schema.types import Schema
from apiserver.schema.validate import validate
from tests.support.growth import assert_within

WORST = "(a|b)*a(a|b){900}c"
TEXT = "ab" * 50_000


def test_what_is_kept_is_bounded_in_bytes() -> None:
    for i in range(1000):
        parse_regex(f"^bounded-{i}-[a-z]+$")
        assert regexp.cached_bytes() <= regexp.CACHE_BYTES
    assert len(regexp._cache) <= regexp.CACHE_BYTES // regexp._SMALL


def test_patterns_in_use_stay() -> None:
    mine = parse_regex("^in-use$")
    for i in range(2000):
        parse_regex(f"^passing-{i}$")
        assert parse_regex("^in-use$") is mine


@pytest.mark.parametrize(
    "pattern", ["a" * 9000, "x{1000}" * 1100, r"\pL{1000}", "(" * 5000 + ")" * 5000]
)
def test_patterns_that_are_too_large_are_refused_in_gos_words(pattern: str) -> None:
    def work() -> None:
        with pytest.raises(RegexError, match="error parsing regexp: expression too large"):
            parse_regex(pattern)

    assert_within(work, 1)


def test_a_pattern_that_takes_long_with_a_text_is_not_tried() -> None:
    with pytest.raises(TooExpensive):
        matches(WORST, TEXT * 10)


def test_one_that_may_take_long_is_not_tried_on_the_loop() -> None:
    def work() -> None:
        with pytest.raises(TakesLong), limited(0.02):
            matches(WORST, TEXT[:20_000])

    assert_within(work, 0.1)


def test_a_schema_says_that_it_did_not_find_out() -> None:
    errors = validate(Schema(type="string", pattern=WORST), TEXT * 10)
    assert [e.detail for e in errors] == [
        f" in body should match '{WORST}, but that takes too long to find out'"
    ]


def go_find_all(pattern: str, text: str) -> list[str]:
    """By Python's engine, without the empty matches that Go leaves out: those right after a
    match."""
    found: list[str] = []
    end = -1
    for m in re.finditer(pattern, text):
        if m.end() == m.start() == end:
            continue
        found.append(m.group())
        end = m.end()
    return found


@pytest.mark.parametrize(
    "text", ["", "a", "aaba", "baab", "é", "aéa", "ééaa", "\U0001f600a", "a b  c", "x1y22"]
)
@pytest.mark.parametrize(
    "pattern", ["a", "a*", "", "é*", "[a-z]+", r"\b", "^a", "a$", "b?", "[0-9]*", "a|"]
)
def test_all_matches_are_those_of_go(pattern: str, text: str) -> None:
    if pattern == r"\b" and not text.isascii():
        return  # Go's words are ASCII, Python's are not
    assert list(parse_regex(pattern).matches(text)) == go_find_all(pattern, text)
