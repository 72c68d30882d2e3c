"""What a comparison with cel-go 0.26 and Kubernetes 1.36 found, expression by expression: values,
errors, costs, in their words."""

from __future__ import annotations

from typing import Any

import pytest

from apiserver.cel.errors import CelError
from apiserver.cel.kubernetes.environments import BASE
from apiserver.cel.kubernetes.rulecheck import check_rules
from apiserver.cel.plan.program import Program, compile_fresh, error_text
from apiserver.cel.types import BOOL, DYN, STRING, list_type, map_type
from tests.apiserver.cel.schemas import schema_from

ENV = BASE.extend(
    {"d": DYN, "s": STRING, "b": BOOL, "l": list_type(STRING), "m": map_type(STRING, DYN)}
)
D = {"a": 1, "b": [1, "x", 2.5], "o": {"p": "q"}, "n": None, "e": ""}
BINDINGS: dict[str, Any] = {"d": D, "s": "text", "b": True, "l": ["b", "a"], "m": {"a": D, "b": 1}}

ERRORS = [
    ("d.b.x", "unsupported index type 'string' in list"),
    ("d.b[d.b[2]]", "unsupported index value 2.5 in list"),
    ("[7][dyn(1.0)]", "index out of bounds: 1"),
    ("has(d.b.x)", "unsupported index type 'string' in list"),
    ("{true: 1}[dyn(false)]", "no such key: false"),
    ("d.o < 5", "no such overload: _<_"),
    ("d.e < 5", "no such overload"),
    ("d.n + 1", "no such overload: _+_"),
    ("!d.a", "no such overload"),
    ("d.a.startsWith('x')", "no such overload"),
    ("d.a.lowerAscii()", "no such overload: lowerAscii(int)"),
    ("d.b.join(',')", "no such overload: join(list, string)"),
    ("d.a.size()", "no such overload: size"),
    ("int(d.o)", "no such overload: int(map)"),
    ("d.a.all(x, x)", "got 'types.Int', expected iterable type"),
    ("d.a.transformList(k, v, v)", "unsupported comprehension range type: types.Int"),
    ("dyn(quantity('1')).all(x, x)", "got 'cel.Quantity', expected iterable type"),
    ("ip('1.2.3.4') == dyn(1)", "no such overload"),
    ("timestamp('9999-12-31T23:59:59Z') - timestamp('0001-01-01T00:00:00Z')", "integer overflow"),
    ("duration(size(l))", "type conversion error from 'int' to 'google.protobuf.Duration'"),
    ("isQuantity(m['none']) || semver('x').major() == 1", "no such key: none"),
    ("lists.range(900000000)", "operation cancelled: actual cost limit exceeded"),
    ("d[[]]", "invalid qualifier type: *types.baseList"),
    ("timestamp(0).getMilliseconds('Bad/Zone')", "unknown time zone Bad/Zone"),
    ("[dyn(1), dyn(2.5)].sum()", "no such overload"),
    ("[9223372036854775807, size(s), -5].sum()", "integer overflow"),
    ("(s + '%').format([])", "unexpected end of string"),
    (
        "'%s'.format([{'a': b'\\xff'}])",
        'error during formatting: could not convert argument "invalid UTF-8 in bytes, cannot '
        'convert to string" to string',
    ),
    ("l.transformMapEntry(i, v, {b: i}).size()", "insert failed: key true already exists"),
    ("google.protobuf.BoolValue", "reference to undefined type: google.protobuf.BoolValue"),
]
VALUES = [
    ("has(d.n.x)", False),
    ("{'a': 1, 'a': 2}['a']", 2),
    ("{1.5: 'x'}[dyn(1.5)]", "x"),
    (
        "string(timestamp('2011-08-18T19:03:37.01+01:00') + duration('1h'))",
        "2011-08-18T20:03:37.01+01:00",
    ),
    ("timestamp('2011-08-18T19:03:37.01+01:00').getHours()", 18),
    ("[0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1].sum()", 0.9999999999999999),
    ("[dyn(1.5), dyn(2.5)].sum()", 4.0),
    ("string(duration('9150557400.000100001s'))", "9150557400.0001s"),
    ("string(duration('-1ns'))", "-0.000000001s"),
    ("'%.15e|%.2e'.format([1.5, 12345.678])", "  1.500000×10⁰⁰|1.234568×10⁰⁴"),
    ("['compre'].exists(y, .y == 'compre')", True),
    ("ip('1.2.3.4') != dyn(1)", True),
    ("{'k': optional.of(10)}.?k == optional.of(optional.of(10))", True),
    ("{'k': dyn(null)}.?k.x.hasValue()", False),
    ("google.protobuf.Int32Value{value: 5} + google.protobuf.Int64Value{}", 5),
    ("google.protobuf.Value{} == null", True),
    ("dyn([[1], [2]]).flatten() == [1, 2]", True),
    ("type(optional.none()) == optional_type", True),
]
COSTS = [
    ("'abc' != ''", 0),
    ("d.e == 'abc'", 2),
    ("optional.none().a", 2),
    ("has(m.?x.y)", 0),
    ("optional.of(m).optMap(z, 0)", 4),
    ("b'hello' in [b'world', b'universe', b'hello']", 3),
    ("format.uuid().validate('123e4567-e89b-12d3-a456-426614174000')", 73),
]
FORMAT = '1:24: could not parse formatting clause: unrecognized formatting clause "z"'
COMPILE_ERRORS = [
    (
        "5.sortBy(w, w)",
        [
            "1:1: sortBy can only be applied to a list, identifier, comprehension, call or select "
            "expression"
        ],
    ),
    (
        "l.existsOne(v, true)",
        ["1:12: undeclared reference to 'existsOne'", "1:13: undeclared reference to 'v'"],
    ),
    ("x.?a.optMap(v, v)", ["1:1: undeclared reference to 'x'", "1:1: undeclared reference to 'x'"]),
    ("duration(5)", ["1:10: invalid duration argument"]),
    (
        "optional.of(duration('')).optMap(v, timestamp('')).optMap(v, v)",
        ["1:22: invalid duration argument"] * 4 + ["1:47: invalid timestamp argument"] * 2,
    ),
    ("[1, s][?0].optMap(v, v)", ["1:5: expected type 'int' but found 'string'"] * 2),
    ("optional.of('%z'.format([1])).optMap(v, v)", [FORMAT] * 2),
    ("timestamp(253402300800)", ["1:11: invalid timestamp argument"]),
]


def compiled(source: str) -> Program:
    program = compile_fresh(ENV, source)
    assert isinstance(program, Program), error_text(source, program)
    return program


@pytest.mark.parametrize(("source", "message"), ERRORS, ids=[e[0] for e in ERRORS])
def test_errors(source: str, message: str) -> None:
    with pytest.raises(CelError) as caught:
        compiled(source).evaluate(BINDINGS)
    assert caught.value.message == message


@pytest.mark.parametrize(("source", "value"), VALUES, ids=[e[0] for e in VALUES])
def test_values(source: str, value: Any) -> None:
    assert compiled(source).evaluate(BINDINGS) == value


@pytest.mark.parametrize(("source", "cost"), COSTS, ids=[e[0] for e in COSTS])
def test_costs(source: str, cost: int) -> None:
    assert compiled(source).evaluate_with_cost(BINDINGS)[1] == cost


@pytest.mark.parametrize(("source", "errors"), COMPILE_ERRORS, ids=[e[0] for e in COMPILE_ERRORS])
def test_compile_errors(source: str, errors: list[str]) -> None:
    found = compile_fresh(ENV, source)
    assert not isinstance(found, Program)
    lines = [
        line.removeprefix("ERROR: <input>:")
        for line in error_text(source, found).splitlines()
        if line.startswith("ERROR")
    ]
    assert len(lines) == len(errors)
    assert all(line.startswith(error) for line, error in zip(lines, errors, strict=True))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (" == ".join(["b"] * 251), ""),
        (" == ".join(["b"] * 252), "max recursion depth exceeded"),
        ("(1+" * 124 + "1" + ")" * 124, ""),
        ("d" + ".a" * 250, ""),
        ("d" + ".a" * 251, "max recursion depth exceeded"),
        ("(" * 251 + "1" + ")" * 251, "expression recursion limit exceeded: 250"),
    ],
)
def test_depth(text: str, message: str) -> None:
    found = compile_fresh(ENV, text)
    assert (
        (found == [] or isinstance(found, Program))
        if not message
        else [e.message for e in found] == [message]
    )  # type: ignore[union-attr]


def test_keys_of_two_variables_may_be_estimated_as_values() -> None:
    """cel-go's paths share memory (see `pathslice`): keys, which have no size, are taken for values
    where the path has room."""
    strings = {"type": "object", "additionalProperties": {"type": "string"}}
    for rule, refused in (
        ("self.spec.m.exists(k, v, isIP(k))", True),
        ("self.spec.m.exists(k, isIP(k))", False),
    ):
        spec = {"type": "object", "properties": {"m": strings}}
        schema = schema_from(
            {
                "type": "object",
                "properties": {"spec": spec},
                "x-kubernetes-validations": [{"rule": rule}],
            }
        )
        assert bool(check_rules(schema, "schema")) is refused
