"""The CEL benchmark measures what it says: its rules hold for its object, and its loop is stopped
by the budget."""

from __future__ import annotations

from apiserver.cel.kubernetes.rulenodes import compile_rules
from apiserver.cel.kubernetes.rules import validate
from apiserver.cel.plan.program import PER_CALL_LIMIT
from tests.benchmarks.cel import CASES, OBJECT, exhaustion, schema_of


def test_rules_hold_and_agree_with_python() -> None:
    changed = {**OBJECT, "replicas": 9, "names": ["b"], "name": "Web", "labels": {"app": ""}}
    for case in CASES:
        node = compile_rules(schema_of(1, case.rule), root=False)
        assert case.python(OBJECT, OBJECT)
        assert validate(node, OBJECT, OBJECT, ratchet=False).errors == []
        assert bool(validate(node, changed, OBJECT, ratchet=False).errors) is not case.python(
            changed, OBJECT
        ), case.name


def test_the_loop_spends_the_whole_budget() -> None:
    _, spent = exhaustion()
    assert PER_CALL_LIMIT < spent < PER_CALL_LIMIT + 100
