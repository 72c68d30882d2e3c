from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apiserver.authz.attributes import Attributes
from apiserver.authz.rules import break_down, compact, compact_string, rule_allows
from tests.support.rules import Rule, questions, rules


@given(rules, questions)
def test_breaking_down_changes_no_answer(rule: Rule, question: Attributes) -> None:
    assert rule_allows(rule, question) == any(
        rule_allows(part, question) for part in break_down(rule)
    )


@given(st.lists(rules, max_size=4), questions)
def test_compacting_changes_no_answer(held: list[Rule], question: Attributes) -> None:
    parts = [part for rule in held for part in break_down(rule)]
    assert any(rule_allows(r, question) for r in compact(parts)) == any(
        rule_allows(r, question) for r in parts
    )


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
