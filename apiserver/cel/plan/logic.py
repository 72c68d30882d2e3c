"""Closures of ``&&``, ``||`` and ``?:``, which do not evaluate all that they are given."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from apiserver.cel.errors import EvalError, no_such_overload
from apiserver.cel.plan.planner import Code, Frame, Planner, Run, charged, static_type
from apiserver.cel.syntax.ast import Call


def plan_logic(planner: Planner, e: Call) -> Code:
    """&& and ||: a term that settles the result absorbs the errors of the others."""
    settles = e.function == "_||_"
    codes = [planner.plan(a) for a in e.args]
    first, rest = codes[0].run, [charged(c.run, c.cost) for c in codes[1:]]
    if all(static_type(a).kind == "bool" for a in e.args):
        if len(rest) == 1:
            run = _either(first, rest[0]) if settles else _both(first, rest[0])
        else:
            run = _terms([first, *rest], settles)
    else:
        run = _dynamic_terms([first, *rest], settles)
    return Code(run, cost=codes[0].cost)


def _both(left: Run, right: Run) -> Run:
    def run(f: Frame) -> Any:
        try:
            if not left(f):
                return False
        except EvalError:
            with suppress(EvalError):  # of two errors the first counts
                if right(f) is False:
                    return False
            raise
        return right(f)

    return run


def _either(left: Run, right: Run) -> Run:
    def run(f: Frame) -> Any:
        try:
            if left(f):
                return True
        except EvalError:
            with suppress(EvalError):
                if right(f) is True:
                    return True
            raise
        return right(f)

    return run


def _terms(runs: list[Run], settles: bool) -> Run:
    def run(f: Frame) -> Any:
        error: EvalError | None = None
        for term in runs:
            try:
                if term(f) is settles:
                    return settles
            except EvalError as e:
                error = error or e
        if error is not None:
            raise error
        return not settles

    return run


def _dynamic_terms(runs: list[Run], settles: bool) -> Run:
    def run(f: Frame) -> Any:
        error: EvalError | None = None
        for term in runs:
            try:
                value = term(f)
            except EvalError as e:
                error = error or e
                continue
            if value is settles:
                return settles
            if value is not (not settles):
                error = error or no_such_overload()
        if error is not None:
            raise error
        return not settles

    return run


def plan_conditional(planner: Planner, e: Call) -> Code:
    condition, yes, no = (planner.plan(a) for a in e.args)
    test = condition.run
    # a chain of selections is not charged for its root here, see plan.py
    then, otherwise = charged(yes.run, yes.cost - yes.own), charged(no.run, no.cost - no.own)

    def run(f: Frame) -> Any:
        value = test(f)
        if value is True:
            return then(f)
        if value is False:
            return otherwise(f)
        raise no_such_overload()

    return Code(run, cost=condition.cost, attribute=True)
