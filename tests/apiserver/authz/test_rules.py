from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apiserver.authz.attributes import Attributes
from apiserver.authz.rules import break_down, compact, compact_string, rule_allows, uncovered
from apiserver.user import User

Rule = dict[str, Any]
words = st.sampled_from(["a", "b", "c", "*"])


def lists(of: st.SearchStrategy[str], least: int = 1) -> st.SearchStrategy[list[str]]:
    return st.lists(of, min_size=least, max_size=3, unique=True)


resource_rules = st.fixed_dictionaries(
    {"verbs": lists(words), "apiGroups": lists(words), "resources": lists(st.sampled_from(["a", "b", "a/s", "b/s", "*/s", "*"]))},
    optional={"resourceNames": lists(st.sampled_from(["x", "y"]))},
)
url_rules = st.fixed_dictionaries({"verbs": lists(words), "nonResourceURLs": lists(st.sampled_from(["/a", "/a/*", "/b/c", "*"]))})
rules = st.one_of(resource_rules, url_rules)
questions = st.one_of(
    st.builds(
        Attributes,
        st.just(User("u")),
        st.sampled_from("abc"),
        group=st.sampled_from("abc"),
        resource=st.sampled_from("ab"),
        subresource=st.sampled_from(["", "s"]),
        name=st.sampled_from(["", "x", "y"]),
    ),
    st.builds(
        Attributes,
        st.just(User("u")),
        st.sampled_from("abc"),
        path=st.sampled_from(["/a", "/a/b", "/b/c", "/d"]),
        is_resource=st.just(False),
    ),
)


@given(st.lists(rules, max_size=4))
def test_rules_cover_themselves(held: list[Rule]) -> None:
    assert uncovered(held, held) == []


@given(st.lists(rules, max_size=4), st.lists(rules, max_size=4), questions)
def test_what_is_covered_allows_nothing_new(held: list[Rule], wanted: list[Rule], question: Attributes) -> None:
    if uncovered(held, wanted) == [] and any(rule_allows(rule, question) for rule in wanted):
        assert any(rule_allows(rule, question) for rule in held)


@given(rules, questions)
def test_breaking_down_changes_no_answer(rule: Rule, question: Attributes) -> None:
    assert rule_allows(rule, question) == any(rule_allows(part, question) for part in break_down(rule))


@given(st.lists(rules, max_size=4), questions)
def test_compacting_changes_no_answer(held: list[Rule], question: Attributes) -> None:
    parts = [part for rule in held for part in break_down(rule)]
    assert any(rule_allows(r, question) for r in compact(parts)) == any(rule_allows(r, question) for r in parts)


@pytest.mark.parametrize(
    ("rule", "text"),
    [
        (
            {"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list"]},
            '{APIGroups:[""], Resources:["pods"], Verbs:["get" "list"]}',
        ),
        ({"nonResourceURLs": ["*"], "verbs": ["*"]}, '{NonResourceURLs:["*"], Verbs:["*"]}'),
        (
            {"apiGroups": ["a"], "resources": ["r"], "resourceNames": ["n"], "verbs": ["v"]},
            '{APIGroups:["a"], Resources:["r"], ResourceNames:["n"], Verbs:["v"]}',
        ),
    ],
)
def test_a_rule_reads_as_upstream_prints_it(rule: Rule, text: str) -> None:
    assert compact_string(rule) == text
