"""Closures of ``==`` and ``!=``: what the types or a literal say beforehand makes them short."""

from __future__ import annotations

from typing import Any, Final

from apiserver.cel.cost.runtime import smaller
from apiserver.cel.errors import EvalError
from apiserver.cel.plan.planner import Code, Frame, Planner, Run, static_type
from apiserver.cel.syntax.ast import Call
from apiserver.cel.values import equal

_ONE_UNIT_SCALARS: Final = frozenset(
    {"bool", "int", "uint", "double", "timestamp", "duration", "null"}
)


def plan_equality(planner: Planner, e: Call) -> Code:
    a, b = planner.plan(e.args[0]), planner.plan(e.args[1])
    ta, tb = static_type(e.args[0]), static_type(e.args[1])
    negate = e.function == "_!=_"
    left, right, fixed = a.run, b.run, a.cost + b.cost
    scalars = _ONE_UNIT_SCALARS
    if ta.kind == tb.kind and ta.kind in scalars and not (a.constant or b.constant):
        return Code(
            (lambda f: left(f) != right(f)) if negate else (lambda f: left(f) == right(f)),
            cost=fixed + 1,
        )
    if ta.kind == tb.kind == "string" or (ta.kind == tb.kind and ta.kind in scalars):
        for literal, other in ((b, a), (a, b)):
            if literal.constant is None:
                continue
            if ta.kind in scalars:
                return Code(
                    _equals_constant(other.run, literal.constant[0], negate), cost=fixed + 1
                )
            if 0 < len(literal.constant[0]) <= 10:
                # at most ten characters are compared: one unit
                return Code(_equals_short(other.run, literal.constant[0], negate), cost=fixed + 1)
        return Code(_equal_strings(left, right, negate), cost=fixed)
    return Code(_equal_values(left, right, negate), cost=fixed)


def _equals_constant(run: Run, value: Any, negate: bool) -> Run:
    return (lambda f: run(f) != value) if negate else (lambda f: run(f) == value)


def _equals_short(run: Run, text: str, negate: bool) -> Run:
    def compare(f: Frame) -> Any:
        value = run(f)
        if value == "":
            f[0] -= 1  # with nothing to compare
        return (value == text) is not negate

    return compare


def _equal_strings(left: Run, right: Run, negate: bool) -> Run:
    def compare(f: Frame) -> Any:
        a, b = left(f), right(f)
        f[0] += smaller((a, b), None)
        return (a == b) is not negate

    return compare


def _equal_values(left: Run, right: Run, negate: bool) -> Run:
    def compare(f: Frame) -> Any:
        a, b = left(f), right(f)
        f[0] += smaller((a, b), None)
        if type(a) is str is type(b):
            return (a == b) is not negate
        try:
            return equal(a, b) is not negate
        except EvalError:
            if negate:  # what cannot be compared is not equal
                return True
            raise

    return compare
