"""How long rules take to compile and to evaluate is counted where kube-apiserver counts it: once
for all rules of a place in a schema, once for each value that is looked at."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from apiserver.cel.kubernetes.rulecheck import check_rules
from apiserver.cel.kubernetes.rulenodes import compile_rules
from apiserver.cel.kubernetes.rules import validate
from apiserver.cel.kubernetes.timings import COMPILED, EVALUATED, SECONDS, Times, observe
from apiserver.schema.types import Schema
from tests.apiserver.cel.schemas import schema_from

POSITIVE = {"type": "integer", "x-kubernetes-validations": [{"rule": "self > 0"}]}


def schema(*rules: str) -> Schema:
    """Of a resource with rules, and with others in the items of a list."""
    item = {"type": "object", "properties": {"n": POSITIVE}}
    return schema_from(
        {
            "type": "object",
            "properties": {
                "items": {"type": "array", "maxItems": 10, "items": item},
                "other": {"type": "string"},
            },
            "x-kubernetes-validations": [{"rule": rule} for rule in rules],
        }
    )


def counted(times: Times) -> float:
    return sum(times.total()[:-1])


def test_rules_of_one_place_are_compiled_in_one_go() -> None:
    tree, before = schema("has(self.items)", "true"), counted(COMPILED)
    assert not check_rules(tree, "schema")
    assert counted(COMPILED) == before + 2
    for _ in range(3):
        validate(compile_rules(tree), {"items": [{"n": 1}]})
    assert counted(COMPILED) == before + 4, "when an object reaches them, and then no more"


def test_what_does_not_compile_takes_its_time_too() -> None:
    before = counted(COMPILED)
    assert check_rules(schema("self.nothing"), "schema")
    assert counted(COMPILED) == before + 2


@pytest.mark.parametrize(
    ("obj", "looked_at"),
    [
        ({"items": [{"n": 1}, {"n": 2}], "other": "x"}, 6),
        ({"items": [{"n": -1}, {"n": None}, {}]}, 7),
        ({"other": "x"}, 1),
        (None, 0),
    ],
)
def test_each_value_with_rules_at_it_or_below_it_is_evaluated_once(
    obj: Any, looked_at: int
) -> None:
    tree = schema("true")
    before = EVALUATED.total()
    validate(compile_rules(tree), obj)
    assert counted(EVALUATED) == sum(before[:-1]) + looked_at
    assert (EVALUATED.total()[-1] > before[-1]) == bool(looked_at)


def test_an_evaluation_that_is_broken_off_counts() -> None:
    tree, before = schema("true"), counted(EVALUATED)
    outcome = validate(compile_rules(tree), {"items": [{"n": 1}, {"n": 2}]}, budget=0)
    assert outcome.errors[0].path == "items[0].n"
    assert counted(EVALUATED) == before + 4, "and what would have come after it does not"


def test_threads_count_apart_and_are_told_together() -> None:
    times = Times()
    together = threading.Barrier(3)

    def work(seconds: float) -> None:
        for _ in range(1000):
            observe(times.of_thread(), seconds)
        together.wait()

    threads = [threading.Thread(target=work, args=(s,)) for s in (0.004, 0.3)]
    for thread in threads:
        thread.start()
    together.wait()
    for thread in threads:
        thread.join()
    observe(times.of_thread(), 99.0)
    *counts, total = times.total()
    assert dict(zip((*SECONDS, "more"), counts, strict=True)) == {
        **dict.fromkeys((*SECONDS, "more"), 0),
        0.005: 1000,
        0.5: 1000,
        "more": 1,
    }
    assert round(total, 6) == 4 + 300 + 99


def test_as_many_threads_are_remembered_as_there_are_at_a_time() -> None:
    times = Times()
    for _ in range(50):
        thread = threading.Thread(target=lambda: observe(times.of_thread(), 1.0))
        thread.start()
        thread.join()
    assert sum(times.total()[:-1]) == 50 and len(times._threads) < 50
