from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apiserver.authz.attributes import Attributes
from apiserver.authz.coverage import MOST_PARTS, MOST_TEXT, uncovered
from apiserver.authz.rules import break_down, rule_allows
from tests.support.growth import assert_linear
from tests.support.rules import Rule, questions, rules

some_rules = st.lists(rules, max_size=4)


@given(some_rules)
def test_rules_cover_themselves(held: list[Rule]) -> None:
    assert uncovered(held, held) == ([], True)


@given(some_rules, some_rules, questions)
def test_what_is_covered_allows_nothing_new(
    held: list[Rule], wanted: list[Rule], question: Attributes
) -> None:
    if uncovered(held, wanted) == ([], True) and any(
        rule_allows(rule, question) for rule in wanted
    ):
        assert any(rule_allows(rule, question) for rule in held)


@given(some_rules, some_rules)
def test_the_same_parts_are_missing_as_upstream_finds(held: list[Rule], wanted: list[Rule]) -> None:
    parts = [part for rule in wanted for part in break_down(rule)]
    assert uncovered(held, wanted) == (
        [part for part in parts if not any(_covers(owner, part) for owner in held)],
        True,
    )


def _covers(owner: Rule, part: Rule) -> bool:
    """One part by one rule, as upstream compares them."""
    named = owner.get("resourceNames", [])
    return (
        _has(owner.get("verbs", []), part["verbs"])
        and _has(owner.get("apiGroups", []), part.get("apiGroups", []))
        and all(
            _has(owner.get("resources", []), [r])
            or ("/" in r and f"*/{r.partition('/')[2]}" in owner.get("resources", []))
            for r in part.get("resources", [])
        )
        and all(
            any(
                url == u or (u.endswith("*") and url.startswith(u.rstrip("*")))
                for u in owner.get("nonResourceURLs", [])
            )
            for url in part.get("nonResourceURLs", [])
        )
        and (
            not named
            or (bool(part.get("resourceNames")) and all(n in named for n in part["resourceNames"]))
        )
    )


def _has(owned: list[str], wanted: list[str]) -> bool:
    return "*" in owned or all(w in owned for w in wanted)


def words(letter: str, count: int) -> list[str]:
    return [f"{letter}{i}" for i in range(count)]


def box(n: int, **more: list[str]) -> Rule:
    return {"apiGroups": words("g", n), "resources": words("r", n), "verbs": words("v", n), **more}


EVERYTHING: Rule = {"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}


def test_a_rule_of_any_size_is_covered_whole() -> None:
    assert uncovered([EVERYTHING], [box(50_000, resourceNames=words("n", 50_000))]) == ([], True)


def test_what_cannot_be_looked_at_is_not_covered() -> None:
    """Two rules that cover it together, by halves: nobody finds that out in time, so it is not
    granted."""
    wanted = box(100)
    halves = [{**wanted, "verbs": wanted["verbs"][:50]}, {**wanted, "verbs": wanted["verbs"][50:]}]
    assert uncovered(halves, [wanted]) == ([], False)
    assert len(uncovered([], [wanted]).parts) == MOST_PARTS


def test_few_long_words_are_not_multiplied() -> None:
    missing = uncovered(
        [], [{"apiGroups": words("g", 50), "resources": words("r", 50), "verbs": ["v" * 100_000]}]
    )
    assert not missing.complete
    assert (
        sum(len(text) for part in missing.parts for texts in part.values() for text in texts)
        < 2 * MOST_TEXT
    )


def test_combinations_of_nothing_end() -> None:
    assert uncovered([], [{**box(100_000), "verbs": []}]) == ([], True)


def owners_and_rules(n: int) -> None:
    uncovered(
        [{**box(1), "verbs": [f"v{i}"]} for i in range(n)],
        [{**box(1), "verbs": [f"v{i}"]} for i in range(n)],
    )


def large_owner(n: int) -> None:
    uncovered([box(n)] * 100, [box(n)])


def patterns(n: int) -> None:
    owner = {"nonResourceURLs": [f"/{i}/*" for i in range(n)], "verbs": ["get"]}
    uncovered([owner], [{"nonResourceURLs": [f"/{i}/x" for i in range(n)], "verbs": ["get"]}])


@pytest.mark.parametrize(
    ("work", "n"), [(owners_and_rules, 4_000), (large_owner, 40_000), (patterns, 40_000)]
)
def test_time_goes_with_size(work: Callable[[int], None], n: int) -> None:
    """A tenant's rules are as many and as large as it likes, and are compared for a request of a
    few bytes."""

    assert_linear(lambda size: lambda: work(size), n)
