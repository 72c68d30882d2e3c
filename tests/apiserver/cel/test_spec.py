"""Every test of the official conformance data, but for those that `spec_exceptions` gives a reason
for."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import pytest

from apiserver.cel.decls import Overload, functions, merge
from apiserver.cel.env import Env
from apiserver.cel.errors import CelError
from apiserver.cel.kubernetes.environments import TYPE_NAMES
from apiserver.cel.library.collections import LISTS, MAP_INSERT, SETS
from apiserver.cel.library.network import NETWORK
from apiserver.cel.library.optionals import OPTIONALS
from apiserver.cel.library.standard import STANDARD
from apiserver.cel.library.strings import STRINGS
from apiserver.cel.library.wellknown import MESSAGES
from apiserver.cel.plan.program import Program, compile_fresh, compile_unchecked
from apiserver.cel.syntax import macros
from apiserver.cel.types import Type
from apiserver.cel.values import equal, type_of
from tests.apiserver.cel.spec import (
    SPEC,
    NeedsProtobuf,
    SpecTest,
    get,
    get_all,
    load,
    type_from,
    value_from,
)
from tests.apiserver.cel.spec_exceptions import EXCEPTIONS

pytestmark = pytest.mark.skipif(not SPEC.is_dir(), reason="../shared/cel-spec is absent")

FUNCTIONS = merge(STANDARD, OPTIONALS, STRINGS, SETS, LISTS, MAP_INSERT, NETWORK)


def all_tests() -> Iterator[SpecTest]:
    for path in sorted(SPEC.glob("*.textproto")):
        yield from load(path)


ALL = list(all_tests()) if SPEC.is_dir() else []


def declared_function(declaration: Any) -> list[Overload]:
    found = []
    for o in get_all(get(declaration, "function"), "overloads"):
        args = tuple(type_from(p) for p in get_all(o, "params"))
        name, result = get(declaration, "name").decode(), type_from(get(o, "result_type"))
        params = tuple(p.decode() for p in get_all(o, "type_params"))
        found.append(
            Overload(
                get(o, "overload_id").decode(),
                name,
                get(o, "is_instance_function") == "true",
                args,
                result,
                params,
                None,
            )
        )
    return found


def env_of(test: SpecTest) -> Env:
    declared = functions(*(o for d in test.functions() for o in declared_function(d)))
    return Env(
        variables=test.variables(),
        functions=merge(FUNCTIONS, declared) if declared else FUNCTIONS,
        macros={}
        if test.disable_macros
        else {**macros.STANDARD, **macros.OPTIONAL, **macros.TWO_VARIABLES},
        type_names=TYPE_NAMES,
        structs=MESSAGES,
        container=test.container,
        quoted_fields=True,
        strict=True,
    )


def same(a: Any, b: Any) -> bool:
    """Equality of value and type, NaN equal to itself."""
    if isinstance(a, float) and isinstance(b, float) and math.isnan(a):
        return math.isnan(b)
    if isinstance(a, Type) and isinstance(b, Type):
        return a.kind == b.kind and a.name == b.name
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, dict) and isinstance(b, dict):
        return len(a) == len(b) and all(k in b and same(v, b[k]) for k, v in a.items())
    return type_of(a) == type_of(b) and equal(a, b)


def run(test: SpecTest) -> None:
    env = env_of(test)
    error = get(test.expected, "eval_error")
    program = (compile_unchecked if test.disable_check else compile_fresh)(env, test.expr)
    if not isinstance(program, Program):
        assert error is not None, program
        return
    typed = get(test.expected, "typed_result")
    if typed is not None and get(typed, "deduced_type") is not None:
        assert program.type == type_from(get(typed, "deduced_type")), program.type
    if test.check_only:
        return
    bound = test.bound()
    try:
        value = program.evaluate(bound)
    except CelError as e:
        assert error is not None, e.message
        return
    assert error is None, value
    expected = get(test.expected, "value") or (get(typed, "result") if typed is not None else None)
    assert same(value, value_from(expected) if expected is not None else True), value


@pytest.mark.parametrize("test", ALL, ids=lambda t: t.name)
def test_spec(test: SpecTest) -> None:
    if test.name not in EXCEPTIONS:
        run(test)
        return
    with pytest.raises((NeedsProtobuf, AssertionError)):  # else the exception is needed no longer
        run(test)
    pytest.skip(EXCEPTIONS[test.name])


def test_exceptions_name_tests() -> None:
    assert set(EXCEPTIONS) <= {t.name for t in ALL}
