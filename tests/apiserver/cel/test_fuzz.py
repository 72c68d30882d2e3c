"""No text and no value may make the parser, the checker, the estimator or the interpreter fail
otherwise than by their own errors."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from apiserver.cel.cost.estimate import Estimator
from apiserver.cel.cost.estimate_calls import estimate_call
from apiserver.cel.cost.runtime import words
from apiserver.cel.errors import BudgetExceeded, CelError
from apiserver.cel.kubernetes.environments import BASE
from apiserver.cel.plan.program import (
    _RECURSION,
    Program,
    compile_fresh,
    compile_unchecked,
    error_text,
)
from apiserver.cel.types import DYN, INT, STRING, list_type, map_type

ENV = BASE.extend(
    {"d": DYN, "i": INT, "s": STRING, "l": list_type(INT), "m": map_type(STRING, DYN)}
)
LEAVES = st.sampled_from(
    sorted(
        words(
            "d i s l m x 1 0 -1 2u 1.5 'a' '' b'x' null true false [] {} [1,2] {'a':1} {1:2} "
            "9223372036854775807 type(1)"
        )
    )
    + sorted(
        words(
            "duration('1s') timestamp('2020-01-01T00:00:00Z') quantity('1') ip('1.2.3.4') "
            "cidr('10.0.0.0/8') optional.none()"
        )
    )
)
BINARY = ["+", "-", "*", "/", "%", "<", "<=", ">", ">=", "==", "!=", "&&", "||", "in"]
MEMBERS = sorted(
    words(
        "size matches contains startsWith split join sum min max indexOf sort flatten distinct "
        "reverse format trim upperAscii replace "
        "substring isSorted find findAll orValue hasValue value getHours getFullYear family masked "
        "asInteger compareTo add charAt "
        "slice first last"
    )
)
MACROS = ["all", "exists", "exists_one", "map", "filter", "sortBy", "optMap"]
FUNCTIONS = sorted(
    words(
        "size int uint double string bytes bool duration timestamp type dyn quantity ip isIP "
        "semver url lists.range sets.contains has"
    )
)


def grow(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.one_of(
        st.builds("({} {} {})".format, inner, st.sampled_from(BINARY), inner),
        st.builds("({} ? {} : {})".format, inner, inner, inner),
        st.builds(
            "{}.{}({})".format, inner, st.sampled_from(MEMBERS), st.one_of(st.just(""), inner)
        ),
        st.builds("{}.{}(x, {})".format, inner, st.sampled_from(MACROS), inner),
        st.builds("{}.transformMap(k, x, {})".format, inner, inner),
        st.builds("{}({})".format, st.sampled_from(FUNCTIONS), inner),
        st.builds(
            "{}{}{}".format, inner, st.sampled_from([".", ".?"]), st.sampled_from(["a", "b"])
        ),
        st.builds("{}[{}{}]".format, inner, st.sampled_from(["", "?"]), inner),
        st.builds("[{}, ?{}]".format, inner, inner),
        st.builds("{{{}: {}}}".format, inner, inner),
        st.builds("{}{}".format, st.sampled_from(["-", "!"]), inner),
    )


EXPRESSIONS = st.recursive(LEAVES, grow, max_leaves=12)
VALUES: st.SearchStrategy[Any] = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(-(2**63), 2**63 - 1),
        st.floats(),
        st.text(max_size=5),
        st.binary(max_size=5),
    ),
    lambda v: st.one_of(
        st.lists(v, max_size=3), st.dictionaries(st.sampled_from(["a", "b", "c"]), v, max_size=3)
    ),
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
@given(
    st.one_of(
        st.text(max_size=40),
        st.lists(TOKENS, max_size=25).map("".join),
        st.lists(TOKENS, max_size=25).map(" ".join),
    )
)
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
    """Where the estimate is bounded, an evaluation that succeeds costs at most that. Upstream
    underestimates members of optional values."""
    program = compile_fresh(BASE, source)
    if not isinstance(program, Program) or any(
        part in source for part in ("optional.", ".?", "[?", "first", "last", "find", "opt")
    ):
        return
    estimate = Estimator(lambda _path: None, estimate_call).cost(program.tree)
    try:
        _, cost = program.evaluate_with_cost({}, 100_000)
    except CelError:
        return
    assert cost <= estimate.max


REAL = [
    "self.minReplicas <= self.replicas && self.replicas <= self.maxReplicas",
    "d.envars.filter(e, e.name == 'MY_ENV').all(e, e.value.matches('^[a-zA-Z]*$'))",
    "has(d.expired) && timestamp(d.created) + duration(d.ttl) < timestamp(d.expired)",
    "type(d) == string ? d == '100%' : d == 1000",
    "'abc 123'.find('[0-9]*') == quantity('1.5Gi').add(5).sub(quantity('1k')).asInteger()",
    "url('https://user@example.com:80/path?query=x#f').getQuery().all(k, v, size(v) > 0)",
    "cidr('10.0.0.0/8').containsIP(ip('10.1.2.3')) && "
    "semver('1.2.3-rc.1+b').isLessThan(semver('v1.3', true))",
    "'%s %d %.3f %x %e'.format([d, i, 1.5, b'ab', 2.5]).split(' ', 3).map(x, "
    "x.upperAscii()).join('-')",
    "m.?a.optMap(x, {'k': x}).orValue({}).transformMap(k, v, [k, v]).exists(k, v[0] == k)",
    "l.sortBy(x, -x).slice(0, 2).flatten() + lists.range(5).reverse() == [[1], [2]].flatten(1)",
]
NOISE = st.sampled_from(
    [
        *sorted("()[]{}.,?:&|!-+*/%<=>'\"`\\@$ \n0a_é\u2028"),
        "in ",
        "true",
        "''",
        "[?",
        ".?",
        "r'",
        "b'",
        "1e999",
        "0x",
        "9" * 30,
    ]
)


@st.composite
def mutated(draw: st.DrawFn) -> str:
    text = draw(st.sampled_from(REAL))
    for _ in range(draw(st.integers(1, 4))):
        at, width = draw(st.integers(0, len(text))), draw(st.integers(0, 6))
        text = text[:at] + draw(st.one_of(st.just(""), NOISE)) + text[at + width :]
    return text


@settings(max_examples=300, deadline=None)
@given(mutated(), VALUES)
def test_mutated_rules(source: str, value: Any) -> None:
    for program in (compile_fresh(ENV, source), compile_unchecked(ENV, source)):
        if isinstance(program, Program):
            evaluate(program, value, 100_000)
        else:
            assert error_text(source, program).startswith("ERROR: <input>:")


PARSED = st.text("0123456789.eE+-kMGTi:/%[]@?#=&_v *(){}|\\^$abcxyzTZhms\x00é", max_size=30)
CALLS = sorted(
    words(
        "quantity isQuantity semver isSemver ip isIP cidr isCIDR url isURL duration timestamp int "
        "uint double bool bytes ip.isCanonical"
        " format.named"
    )
)


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(CALLS), PARSED, PARSED)
def test_texts_for_parsers(function: str, text: str, other: str) -> None:
    """What libraries read gives a value or an error of CEL; patterns and templates of format
    likewise."""
    for source in (
        f"{function}(d)",
        f"d.matches('{other.encode().hex()}' == '' ? '' : m.a)",
        "m.a.format([d, 1, 2.5])",
        "m.a.find(d)",
    ):
        program = compile_fresh(ENV, source)
        if isinstance(program, Program):
            try:
                program.evaluate({"d": text, "m": {"a": other}}, 100_000)
            except CelError as e:
                assert isinstance(e.message, str)


NESTED = [
    "(",
    "[",
    "-(",
    "!",
    "d.",
    "[1].map(x, ",
    "d ? d : ",
    "{1: ",
    "s.trim().",
    "size(",
    "d + ",
    "d && ",
    "d[",
]
NESTED += ["l.all(x, l.exists(x, ", "'"]


@contextmanager
def frames() -> Iterator[None]:
    """As many frames as the program allows itself: Hypothesis lowers the limit while it runs a
    test."""
    lowered = sys.getrecursionlimit()
    sys.setrecursionlimit(_RECURSION)
    try:
        yield
    finally:
        sys.setrecursionlimit(lowered)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from(NESTED), st.integers(1, 600)), min_size=1, max_size=3),
    st.sampled_from(["1", "d", ")", "", "]"]),
)
def test_deep_nesting(parts: list[tuple[str, int]], end: str) -> None:
    source = "".join(text * count for text, count in parts) + end
    with frames():
        program = compile_fresh(ENV, source)
        if isinstance(program, Program):
            evaluate(program, 1, 100_000)
        else:
            assert error_text(source, program)
