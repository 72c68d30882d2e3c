"""No text and no value may make the parser, the checker, the estimator or the interpreter fail otherwise than by their own errors."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from apiserver.cel.costs import words
from apiserver.cel.environments import BASE
from apiserver.cel.errors import BudgetExceeded, CelError
from apiserver.cel.estimate import Estimator
from apiserver.cel.estimate_calls import estimate_call
from apiserver.cel.program import Program, compile_fresh, compile_unchecked, error_text
from apiserver.cel.types import DYN, INT, STRING, list_type, map_type

ENV = BASE.extend({"d": DYN, "i": INT, "s": STRING, "l": list_type(INT), "m": map_type(STRING, DYN)})
LEAVES = st.sampled_from(
    sorted(words("d i s l m x 1 0 -1 2u 1.5 'a' '' b'x' null true false [] {} [1,2] {'a':1} {1:2} 9223372036854775807 type(1)"))
    + sorted(words("duration('1s') timestamp('2020-01-01T00:00:00Z') quantity('1') ip('1.2.3.4') cidr('10.0.0.0/8') optional.none()"))
)
BINARY = ["+", "-", "*", "/", "%", "<", "<=", ">", ">=", "==", "!=", "&&", "||", "in"]
MEMBERS = sorted(
    words(
        "size matches contains startsWith split join sum min max indexOf sort flatten distinct reverse format trim upperAscii replace "
        "substring isSorted find findAll orValue hasValue value getHours getFullYear family masked asInteger compareTo add charAt "
        "slice first last"
    )
)
MACROS = ["all", "exists", "exists_one", "map", "filter", "sortBy", "optMap"]
FUNCTIONS = sorted(
    words("size int uint double string bytes bool duration timestamp type dyn quantity ip isIP semver url lists.range sets.contains has")
)


def grow(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(
        st.builds("({} {} {})".format, inner, st.sampled_from(BINARY), inner),
        st.builds("({} ? {} : {})".format, inner, inner, inner),
        st.builds("{}.{}({})".format, inner, st.sampled_from(MEMBERS), st.one_of(st.just(""), inner)),
        st.builds("{}.{}(x, {})".format, inner, st.sampled_from(MACROS), inner),
        st.builds("{}.transformMap(k, x, {})".format, inner, inner),
        st.builds("{}({})".format, st.sampled_from(FUNCTIONS), inner),
        st.builds("{}{}{}".format, inner, st.sampled_from([".", ".?"]), st.sampled_from(["a", "b"])),
        st.builds("{}[{}{}]".format, inner, st.sampled_from(["", "?"]), inner),
        st.builds("[{}, ?{}]".format, inner, inner),
        st.builds("{{{}: {}}}".format, inner, inner),
        st.builds("{}{}".format, st.sampled_from(["-", "!"]), inner),
    )


EXPRESSIONS = st.recursive(LEAVES, grow, max_leaves=12)
VALUES: st.SearchStrategy[Any] = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-(2**63), 2**63 - 1), st.floats(), st.text(max_size=5), st.binary(max_size=5)),
    lambda v: st.one_of(st.lists(v, max_size=3), st.dictionaries(st.sampled_from(["a", "b", "c"]), v, max_size=3)),
    max_leaves=6,
)


def evaluate(program: Program, value: Any, budget: int) -> None:
    bindings = {"d": value, "i": 3, "s": "text", "l": [3, 1, 2], "m": {"a": value, "b": 1}}
    try:
        _, cost = program.evaluate_with_cost(bindings, budget)
    except CelError as e:
        assert isinstance(e.message, str)
        assert isinstance(e, BudgetExceeded) or e.spent <= budget
    else:
        assert 0 <= cost <= budget


@settings(max_examples=300, deadline=None)
@given(EXPRESSIONS, VALUES, st.sampled_from([10, 100_000]))
def test_expressions(source: str, value: Any, budget: int) -> None:
    program = compile_fresh(ENV, source)
    if isinstance(program, Program):
        estimate = Estimator(lambda _path: None, estimate_call).cost(program.tree)
        assert estimate.min >= 0
        evaluate(program, value, budget)
    else:
        assert error_text(source, program).startswith("ERROR: <input>:")
    unchecked = compile_unchecked(ENV, source)
    if isinstance(unchecked, Program):
        evaluate(unchecked, value, budget)


TOKENS = st.sampled_from(
    [
        "(",
        ")",
        "[",
        "]",
        "{",
        "}",
        ".",
        ",",
        "?",
        ":",
        "&&",
        "||",
        "!",
        "-",
        "+",
        "*",
        "/",
        "%",
        "<",
        "==",
        "in",
        "true",
        "null",
        "a",
        "b",
        "1",
        "1.5",
        "2u",
        "'x'",
        "b'y'",
        "has",
        "all",
        "$",
        "@",
        '"',
        "'",
        "`",
        "\\",
        "\n",
        "//",
        "é",
    ]
)


@settings(max_examples=300, deadline=None)
@given(st.one_of(st.text(max_size=40), st.lists(TOKENS, max_size=25).map("".join), st.lists(TOKENS, max_size=25).map(" ".join)))
def test_any_text(source: str) -> None:
    program = compile_fresh(ENV, source)
    if isinstance(program, Program):
        evaluate(program, None, 10_000)
    else:
        assert program
        assert error_text(source, program)


@settings(max_examples=200, deadline=None)
@given(EXPRESSIONS, VALUES)
def test_cost_does_not_exceed_a_known_estimate(source: str, value: Any) -> None:
    """Where the estimate is bounded, an evaluation that succeeds costs at most that. Upstream underestimates members of optional values."""
    program = compile_fresh(BASE, source)
    if not isinstance(program, Program) or any(part in source for part in ("optional.", ".?", "[?", "first", "last", "find", "opt")):
        return
    estimate = Estimator(lambda _path: None, estimate_call).cost(program.tree)
    try:
        _, cost = program.evaluate_with_cost({}, 100_000)
    except CelError:
        return
    assert cost <= estimate.max
