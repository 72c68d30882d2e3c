"""Units that evaluations cost, and bounds that estimates give."""

from __future__ import annotations

import pytest

from apiserver.cel.cost.estimate import Estimator
from apiserver.cel.cost.estimate_calls import estimate_call
from apiserver.cel.cost.ranges import Range
from apiserver.cel.errors import BudgetExceeded, EvalError
from apiserver.cel.kubernetes.environments import BASE
from apiserver.cel.plan.program import PER_CALL_LIMIT, Program, compile, compile_fresh, patience
from apiserver.cel.types import INT, STRING, list_type, map_type

ENV = BASE.extend(
    {
        "i": INT,
        "s": STRING,
        "l": list_type(INT),
        "m": map_type(STRING, INT),
        "names": list_type(STRING),
    }
)
BINDINGS = {"i": 1, "s": "x" * 25, "l": [1, 2, 3], "m": {"a": 1}}


def program(source: str) -> Program:
    made = compile_fresh(ENV, source)
    assert isinstance(made, Program)
    return made


@pytest.mark.parametrize(
    ("source", "cost"),
    [
        ("1", 0),
        ("i", 1),
        ("m.a", 2),
        ("m[s]", 2),
        ("has(m.a)", 1),
        ("i + 1", 2),
        ("i == 1 && i == 2", 4),
        ("i == 2 && i == 2", 2),
        ("i == 1 ? m.a : 5", 3),
        ("s == s", 5),
        ("s.startsWith('a')", 4),
        ("s.matches('x+')", 4),
        ("i in [1, 2]", 1),
        ("i in l", 5),
        ("[i]", 11),
        ("{'a': i}", 31),
        ("l.all(x, x > 0)", 17),
        ("l.exists(x, x == 1)", 11),
        ("l.map(x, x)", 41),
        ("l.filter(x, x > 1)", 34),
        ("duration('1h') == duration('60m')", 1),
        ("sets.contains(l, [1])", 5),
        ("quantity('1') == quantity('1')", 3),
        ("l.sum()", 4),
    ],
)
def test_costs(source: str, cost: int) -> None:
    try:
        assert program(source).evaluate_with_cost(BINDINGS)[1] == cost
    except EvalError as e:
        assert e.spent == cost


def test_budget_stops_loops_early() -> None:
    with pytest.raises(BudgetExceeded) as caught:
        program("l.all(x, x >= 0)").evaluate({"l": [0] * 1_000_000}, budget=1000)
    assert caught.value.spent < 1010


def test_nothing_absorbs_an_exhausted_budget() -> None:
    with pytest.raises(BudgetExceeded):
        program("l.all(x, x >= 0) || true").evaluate({"l": [0] * 1000}, budget=100)


@pytest.mark.parametrize(
    ("source", "bounds"),
    [
        ("i + 1", Range(2, 2)),
        ("l.all(x, x > 0)", Range(2, 52)),
        ("s.startsWith('abc')", Range(2, 2)),
        ("s.contains(s)", Range(2, 102)),
        ("i == 1 ? s : ''", Range(2, 3)),
        ("'a,b'.split(',').size()", Range(2, 2)),
        ("authorizer.check", None),
    ],
)
def test_estimates(source: str, bounds: Range | None) -> None:
    if bounds is None:
        assert not isinstance(compile_fresh(ENV, source), Program)
        return
    sizes = {("l",): Range(0, 10), ("s",): Range(0, 100)}
    assert Estimator(sizes.get, estimate_call).cost(program(source).tree) == bounds


def test_compile_is_cached_by_environment() -> None:
    assert compile(ENV, "i + 1") is compile(ENV, "i + 1")
    assert compile(BASE, "i + 1") is not compile(ENV, "i + 1")


def test_unbound_variables_fail_only_when_read() -> None:
    assert program("true || i == 1").evaluate({}) is True
    with pytest.raises(EvalError, match=r"no such attribute\(s\): i"):
        program("i == 1").evaluate({})


@pytest.mark.parametrize(
    "source", ["names.all(x, names.indexOf(x) >= 0)", "names.all(x, names.lastIndexOf(x) >= 0)"]
)
def test_long_walks_end_in_time_whatever_they_cost(source: str) -> None:
    made = program(source)
    with patience(-1.0):
        made.run({"names": ["a"] * 10}, PER_CALL_LIMIT)
    with patience(-1.0), pytest.raises(BudgetExceeded):
        made.run({"names": ["a"] * 1001}, PER_CALL_LIMIT)
