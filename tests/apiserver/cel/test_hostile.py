"""No expression keeps the event loop, or takes memory without bound, whatever is written into it
and whatever it reads.

Measured is processor time of this thread, in the best of several runs, so that neighbours on the
machine count little.
"""

from __future__ import annotations

import re
import tracemalloc
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apiserver.cel import values
from apiserver.cel.cost.estimate import Estimator
from apiserver.cel.cost.estimate_calls import estimate_call
from apiserver.cel.errors import BudgetExceeded, CelError
from apiserver.cel.kubernetes import rulenodes
from apiserver.cel.kubernetes.environments import BASE
from apiserver.cel.kubernetes.policies import DYN
from apiserver.cel.kubernetes.rulenodes import compile_rules
from apiserver.cel.kubernetes.rules import validate
from apiserver.cel.plan import program as programs
from apiserver.cel.plan.program import Program, compile_fresh, error_text
from apiserver.cel.types import INT, STRING, list_type, map_type
from apiserver.effort import TakesLong, limited
from apiserver.registry.offload import ON_LOOP
from apiserver.schema.types import Rule, Schema
from tests.apiserver.cel import hostile
from tests.apiserver.cel.test_fuzz import ENV as FUZZ_ENV
from tests.apiserver.cel.test_fuzz import EXPRESSIONS, VALUES
from tests.support.growth import assert_within

LAG = 0.1
"""Seconds of processor time that the loop may be kept."""
MEMORY = 64 * 1024 * 1024
TEXTS = ("s", "e", "t", "digits", "dots", "spans", "link", "escapes")
ENV = BASE.extend(
    {
        **dict.fromkeys(TEXTS, STRING),
        **dict.fromkeys(("l", "same"), list_type(STRING)),
        "n": list_type(INT),
        "m": map_type(STRING, INT),
        "d": DYN,
        "i": INT,
    }
)


def run(source: str) -> str:
    """Everything that is done with an expression from its text to its value; what became of it."""
    made = compile_fresh(ENV, source)
    if not isinstance(made, Program):
        return error_text(source, made)
    Estimator(lambda _path: None, estimate_call).cost(made.tree)
    try:
        return repr(made.evaluate(hostile.BINDINGS))
    except CelError as e:
        assert e.message
        return e.message


def on_loop(source: str) -> None:
    """Until it is done or broken off."""
    with suppress(TakesLong), limited(ON_LOOP):
        run(source)


@pytest.mark.parametrize("source", hostile.ALL, ids=range(len(hostile.ALL)))
def test_the_loop_is_soon_free(source: str) -> None:
    assert_within(lambda: on_loop(source), LAG)


MEMORABLE = [*hostile.SHARED, *hostile.GROWING, *hostile.SLOW]


@pytest.mark.parametrize("source", MEMORABLE, ids=range(len(MEMORABLE)))
def test_memory_is_bounded(source: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        programs, "PATIENCE", 0.3
    )  # the rest of the time brings nothing new, and tracing makes it long
    made = compile_fresh(ENV, source)
    assert isinstance(made, Program)
    made.instantiate()
    tracemalloc.start(1)
    try:
        with suppress(CelError):
            made.evaluate(hostile.BINDINGS)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < MEMORY


ENDLESS = [
    hostile.SHARED[0],
    hostile.SHARED[4],
    hostile.GROWING[0],
    hostile.SLOW[40],
    hostile.PATTERNS[7],
    hostile.DEEP[1],
]


@pytest.mark.parametrize("source", ENDLESS, ids=range(len(ENDLESS)))
def test_in_a_thread_it_ends_as_well(source: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(programs, "PATIENCE", 0.5)
    assert_within(lambda: run(source), 1.5)


def test_lists_are_doubled_without_a_copy() -> None:
    made = compile_fresh(ENV, hostile.DOUBLED)
    assert isinstance(made, Program)
    assert made.evaluate_with_cost({}) == (True, 420)
    assert_within(lambda: made.evaluate_with_cost({}), LAG)


def test_what_has_no_end_says_that_it_costs_too_much() -> None:
    made = compile_fresh(ENV, hostile.SHARED[0])
    assert isinstance(made, Program)
    with (
        programs.patience(0.1),
        pytest.raises(BudgetExceeded, match="operation cancelled: actual cost limit exceeded"),
    ):
        made.run(hostile.BINDINGS, programs.PER_CALL_LIMIT)


# --- concatenations that are not copied give what copied ones give --------------------------------
def outcome(source: str, bindings: dict[str, Any], env: Any = FUZZ_ENV) -> Any:
    made = compile_fresh(env, source)
    if not isinstance(made, Program):
        return error_text(source, made)
    try:
        value, cost = made.evaluate_with_cost(bindings, 100_000)
    except CelError as e:
        return type(e), e.message, e.spent
    return re.sub(r" at 0x[0-9a-f]+", "", repr(value)), cost


JOINED = [
    "(l + l)[0]",
    "(l + l)[5]",
    "(l + l)[6]",
    "(l + l)[-1]",
    "(l + l + l)[4] + 1",
    "dyn(l + l)[1]",
    "dyn(l + l)[1.0]",
    "dyn(l + l)[9]",
    "dyn(l + l).a",
    "(l + l)[?3].value()",
    "(l + l)[?9]",
    "optional.of(l + l)[?1]",
    "optional.of(l + l)[?8]",
    "has(dyn(l + l).a)",
    "dyn(l + l).?a",
    "l + l",
    "[l + l]",
    "{'a': l + l}",
    "l + l == l + l",
    "l + l == [3, 1, 2, 3, 1, 2]",
    "[3, 1, 2, 3, 1, 2] == l + l",
    "l + l != l",
    "(l + l) == dyn({})",
    "dyn({}) == l + l",
    "l + [1.0] == [3, 1, 2] + [1]",
    "3 in l + l",
    "9 in l + l",
    "'a' in ['b'] + ['a']",
    "[1, 2] + l in [[1, 2] + l]",
    "size(l + l)",
    "(l + l).size()",
    "(l + l).all(x, x > 0)",
    "(l + l).map(x, x * 2)",
    "(l + l).all(i, x, x > i)",
    "(l + l).transformMap(k, v, v)",
    "(l + l).filter(x, x > 1)",
    "(l + l).exists_one(x, x == 3)",
    "(l + l).sort()",
    "(l + l).distinct()",
    "(l + l).reverse()",
    "(l + l).slice(1, 5)",
    "(l + l).slice(1, 7)",
    "(l + l).sum()",
    "(l + l).max()",
    "(l + l).min()",
    "(l + l).isSorted()",
    "(l + l).indexOf(1)",
    "(l + l).indexOf(9)",
    "(l + l).lastIndexOf(1)",
    "(l + l).first()",
    "(l + l).last()",
    "(l + l).sortBy(x, -x)",
    "[l + l, l].flatten()",
    "([l] + [l]).flatten()",
    "([l] + [l + l]).flatten(2)",
    "sets.contains(l + l, l)",
    "sets.contains(l, l + l)",
    "sets.equivalent(l, l + l)",
    "sets.intersects(l + l, [9])",
    "(['a'] + ['b']).join('-')",
    "'%s %s'.format(['a'] + ['b'])",
    "'%s'.format([l + l])",
    "'%d%d'.format(l + l)",
    "optional.ofNonZeroValue(l + l)",
    "optional.unwrap([optional.of(1)] + [optional.none()])",
    "([optional.of(1)] + [optional.of(2)]).unwrapOpt()",
    "type(l + l)",
    "type(l + l) == list",
    "dyn(l + l) + 1",
    "dyn(l + l) + l",
    "-dyn(l + l)",
    "l + l + l + l == (l + l) + (l + l)",
    "([] + l)[0]",
    "(l + [])[0]",
    "[] + [] == []",
    "{dyn(l + l): 1}",
    "dyn([1] + ['a']).sum()",
    "dyn(['a'] + [b'b']).sort()",
    "[d] + [d]",
    "([d] + [d])[1]",
    "([m] + [m])[0].b",
    "([m] + [m]).exists(x, x.b == 1)",
    "string(l + l)",
]


@pytest.mark.parametrize("source", JOINED, ids=str)
def test_joined_lists_are_lists(source: str, monkeypatch: pytest.MonkeyPatch) -> None:
    bindings = {"d": None, "i": 3, "s": "text", "l": [3, 1, 2], "m": {"a": 1, "b": 1}}
    copied = outcome(source, bindings)
    monkeypatch.setattr(values, "_SHORT", -1)
    assert outcome(source, bindings) == copied


@settings(max_examples=300, deadline=None)
@given(EXPRESSIONS, VALUES)
def test_joined_lists_are_lists_everywhere(source: str, value: Any) -> None:
    bindings = {"d": value, "i": 3, "s": "text", "l": [3, 1, 2], "m": {"a": value, "b": 1}}
    assert outcome(
        source, {**bindings, "l": values.Joined([3], values.Joined([1], [2]))}
    ) == outcome(source, bindings)


# --- Hypothesis writes them -----------------------------------------------------------------------
STARTS = st.sampled_from(
    [
        "[[1, 2, 3]]",
        "['ab']",
        "[b'a']",
        "[{'a': 1}]",
        "[1]",
        "[[['a']]]",
        "[s]",
        "[l]",
        "[m]",
        "[optional.of(l)]",
        "[dyn(d)]",
        "[n]",
    ]
)
STEPS = st.sampled_from(
    [
        "y + y",
        "[y, y]",
        "{'a': y, 'b': y}",
        "[y] + [y]",
        "{dyn(1): y}",
        "optional.of([y, y])",
        "[y, y, y].flatten()",
        "y == y ? [y] : [y]",
        "'%s%s'.format([y, y])",
        "[dyn(y), dyn(y)].distinct()",
        "dyn(y) + dyn(y)",
        "[y].sort()",
        "y.replace('a', y)",
        "[y, y].join(',')",
    ]
)
ENDS = st.sampled_from(
    [
        "{0} == {0}",
        "{0}.size() > 0",
        "'%s'.format([{0}]) == ''",
        "{0} in [{0}]",
        "{0}.flatten(50).size() > 0",
        "{0}.distinct().size() > 0",
        "sets.contains({0}, {0})",
        "{0}.all(x, x == x)",
        "{0}[0] == {0}[0]",
        "dyn({0}).indexOf(dyn({0})[0]) == 0",
        "{{'a': {0}}} == {{'a': {0}}}",
        "{0}.map(x, x)[0].size() > 0",
        "dyn({0}[0]).split('').size() > 0",
        "dyn({0}[0]).upperAscii() == ''",
        "string(dyn({0}[0])) == ''",
    ]
)


@st.composite
def grown(draw: st.DrawFn) -> str:
    """A value that a few steps make larger again and again, and something that goes through all of
    it."""
    source = draw(STARTS)
    for _ in range(draw(st.integers(1, 3))):
        source += f".map(y, {draw(STEPS)})" * draw(st.integers(1, 30))
    return draw(ENDS).format(source)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(grown())
def test_what_grows_leaves_the_loop_alone(source: str) -> None:
    assert_within(lambda: on_loop(source), LAG)


# --- rules of an object ---------------------------------------------------------------------------
def schema_of(*rules: str) -> Schema:
    return Schema(
        type="array",
        items=Schema(type="integer", rules=tuple(Rule(r, "", "", "", "", None) for r in rules)),
    )


@pytest.mark.parametrize(
    ("rules", "items"),
    [
        (("true",) * 10_000, 2000),
        (("self == 0 || " + "true && " * 9000 + "true",), 2000),
        (("self.foo", *("self > 0",) * 100), 2000),
    ],
    ids=["many", "long", "broken"],
)
def test_rules_that_cost_nothing_end_in_time(rules: tuple[str, ...], items: int) -> None:
    node = compile_rules(schema_of(*rules), root=False)

    def work() -> None:
        with pytest.raises(TakesLong), limited(ON_LOOP):
            validate(node, [1] * items)

    assert_within(work, LAG)


def test_errors_of_rules_are_bounded() -> None:
    """Upstream reports each of them."""
    node = compile_rules(schema_of("self < 0 && '" + "x" * 10_000 + "' != ''"), root=False)
    told = validate(node, [1] * 5000).errors
    assert sum(len(e.path) + len(e.detail) for e in told) < 600_000
    assert told[-1].detail.endswith(
        "running out of cost budget, no further validation rules will be run"
    )


# --- what stays compiled --------------------------------------------------------------------------
def test_compiled_expressions_that_are_kept_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(programs, "CACHE_CODE_POINTS", 1000)
    for i in range(100):
        programs.compile(ENV, f"i + {i} > 0 && s.size() > {i}")
        assert sum(len(source) for _, source in programs._cache) <= 1000


def test_compiled_rules_that_are_kept_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rulenodes, "KEPT_CODE_POINTS", 100)
    nodes = [compile_rules(schema_of(f"self + {i} == {i + 1}"), root=False) for i in range(20)]
    for _ in range(2):
        for node in nodes:
            assert validate(node, [1]).errors == []
    assert (
        sum(
            node.items.compiled is not None
            for node in nodes
            if node is not None and node.items is not None
        )
        <= 10
    )
