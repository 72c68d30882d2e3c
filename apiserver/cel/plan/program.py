"""compile and evaluate: the way in (see the package's docstring)."""

from __future__ import annotations

import sys
from collections import OrderedDict
from collections.abc import Mapping
from contextlib import nullcontext
from threading import Lock
from typing import Any, Final

from apiserver.cel.check.checker import check
from apiserver.cel.check.validators import validate_literals
from apiserver.cel.env import Env
from apiserver.cel.errors import (
    BudgetExceeded,
    CelError,
    CompileError,
    EvalError,
    InstantiationError,
    Source,
    display,
)
from apiserver.cel.plan.access import plan_select
from apiserver.cel.plan.calls import plan_call
from apiserver.cel.plan.folds import plan_fold
from apiserver.cel.plan.planner import SLICE, UNBOUND, Forms, Frame, Planner
from apiserver.cel.syntax.ast import Call, Comprehension, Expr, Select
from apiserver.cel.syntax.parser import parse
from apiserver.cel.types import Type
from apiserver.cel.values import Joined, flat
from apiserver.effort import Effort, is_limited, limited

FORMS: Final[Forms] = {Select: plan_select, Call: plan_call, Comprehension: plan_fold}
PER_CALL_LIMIT: Final = 1_000_000
PATIENCE: Final = 3.0
"""Seconds of processor time for all rules over one object, whatever they cost: kube-apiserver ends
them with their request."""
ROOM: Final = 48 * 1024 * 1024
"""Bytes that one evaluation may make, where upstream's costs do not bound them."""
CACHE_CODE_POINTS: Final = 200_000
"""Of all sources whose programs are kept: a program takes up to some 270 bytes for each."""

# Python-to-Python calls need no C stack; the deepest tree that the parser lets through needs a few
# thousand of them.
_RECURSION = 10_000
if sys.getrecursionlimit() < _RECURSION:
    sys.setrecursionlimit(_RECURSION)


class Program:
    """A compiled expression. type: of its result; tree: checked. `evaluate_with_cost` also says
    what an evaluation has spent."""

    __slots__ = ("_careful", "_plan", "env", "source", "tree", "type")

    def __init__(self, env: Env, source: str, tree: Expr, type_: Type) -> None:
        self.env = env
        self.source = source
        self.tree = tree
        self.type = type_
        self._plan: _Plan | None = None
        self._careful: _Plan | None = None

    def instantiate(self) -> _Plan:
        """Makes the closures now instead of at the first evaluation. Raises EvalError when a
        constant part has no value."""
        if self._plan is None:
            try:
                self._plan = _Plan(self.env, self.tree, careful=False)
            except InstantiationError as e:
                raise EvalError(e.message) from None
        return self._plan

    def evaluate(self, bindings: Mapping[str, Any], budget: int = PER_CALL_LIMIT) -> Any:
        """The value, or raises EvalError or BudgetExceeded. ``bindings``: values of the declared
        variables; budget in cost units."""
        return self.evaluate_with_cost(bindings, budget)[0]

    def evaluate_with_cost(
        self, bindings: Mapping[str, Any], budget: int = PER_CALL_LIMIT
    ) -> tuple[Any, int]:
        """(value, units spent). Raises as evaluate does; the error knows what was spent."""
        with nullcontext() if is_limited() else patience():
            value, spent = self.run(bindings, budget, min(budget, SLICE))
            return (flat(value), spent) if type(value) is Joined else (value, spent)

    def run(
        self, bindings: Mapping[str, Any], budget: int, checkpoint: int = SLICE
    ) -> tuple[Any, int]:
        """As evaluate_with_cost, for callers that have opened an account with `patience`
        themselves. The value may be a `Joined`. checkpoint: units at which the clock is first
        looked at, no more than the budget."""
        plan = self._plan or self.instantiate()
        try:
            frame: Frame = [
                plan.cost,
                checkpoint,
                budget,
                *[bindings[name] for name in plan.names],
                *plan.spare,
            ]
        except KeyError:
            if self._careful is None:
                self._careful = _Plan(self.env, self.tree, careful=True)
            plan = self._careful
            frame = [
                plan.cost,
                checkpoint,
                budget,
                *[bindings.get(name, UNBOUND) for name in plan.names],
                *plan.spare,
            ]
        try:
            value = plan.run(frame)
        except CelError as e:
            raise _spent(BudgetExceeded() if frame[0] > budget else e, frame) from None
        except MemoryError:
            raise _spent(BudgetExceeded(), frame) from None
        except (TypeError, ValueError, AttributeError, LookupError, OverflowError, RecursionError):
            # a value that is not of its declared type
            raise _spent(
                BudgetExceeded() if frame[0] > budget else EvalError("no such overload"), frame
            ) from None
        if frame[0] > budget:
            raise _spent(BudgetExceeded(), frame)
        return value, frame[0]


def patience(seconds: float | None = None) -> Effort:
    """The account of evaluations, PATIENCE long: whoever makes several of them sets ``room`` to
    ROOM before each."""
    return limited(PATIENCE if seconds is None else seconds, BudgetExceeded, ROOM)


def _spent(error: CelError, frame: Frame) -> CelError:
    error.spent = frame[0]
    return error


class _Plan:
    __slots__ = ("cost", "names", "run", "spare", "weight")

    def __init__(self, env: Env, tree: Expr, careful: bool) -> None:
        planner = Planner(env, FORMS, careful)
        code = planner.plan(tree)
        self.run = code.run
        self.cost = code.cost
        self.weight = planner.nodes
        self.names = list(planner.slots)
        self.spare: list[Any] = [None] * planner.local_count


def compile_unchecked(env: Env, source: str) -> Program | list[CompileError]:
    """Parses and ignores what the checker finds; what does not fit fails while evaluating."""
    tree, errors = parse(source, env.macros, env.quoted_fields)
    if tree is None:
        return errors
    check(tree, env)
    return Program(env, source, tree, tree.type)  # type: ignore[arg-type]  # check() has set it


def compile_fresh(env: Env, source: str) -> Program | list[CompileError]:
    """As compile(), without the cache."""
    tree, errors = parse(source, env.macros, env.quoted_fields)
    if tree is None:
        return errors
    errors = check(tree, env)
    if not errors and env.validators:
        errors = validate_literals(tree, env)
    if errors:
        return errors
    assert tree.type is not None
    return Program(env, source, tree, tree.type)


_lock = Lock()
_cache: OrderedDict[tuple[int, str], tuple[Env, Program | list[CompileError]]] = OrderedDict()


def compile(env: Env, source: str) -> Program | list[CompileError]:
    """The program, or what is wrong with the source. Keeps the last results, by identity of the
    environment and source."""
    key = (id(env), source)
    with _lock:
        cached = _cache.get(key)
        if cached is not None and cached[0] is env:
            _cache.move_to_end(key)
            return cached[1]
    program = compile_fresh(env, source)
    with _lock:
        _cache[key] = (env, program)
        size = sum(
            len(text) for _, text in _cache
        )  # counted anew, because a thread may be ended at any place
        while size > CACHE_CODE_POINTS and len(_cache) > 1:
            size -= len(_cache.popitem(last=False)[0][1])
    return program


def unmade(program: Program) -> str:
    """Why it cannot be instantiated, in kube-apiserver's words, or ""."""
    try:
        program.instantiate()
    except EvalError as e:
        return "program instantiation failed: " + e.message
    return ""


def error_text(source: str, errors: list[CompileError]) -> str:
    """What cel-go's Issues print: all errors with their lines."""
    return display(Source(source), errors)
