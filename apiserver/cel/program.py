"""compile and evaluate: the way in (see the package's docstring)."""

from __future__ import annotations

import sys
from collections import OrderedDict
from collections.abc import Mapping
from math import inf
from threading import Lock
from typing import Any, Final

from apiserver.cel.ast import Expr
from apiserver.cel.checker import check
from apiserver.cel.env import Env
from apiserver.cel.errors import BudgetExceeded, CelError, CompileError, EvalError, InstantiationError, Source, display
from apiserver.cel.parser import parse
from apiserver.cel.plan import UNBOUND, Frame, Planner
from apiserver.cel.types import Type

PER_CALL_LIMIT: Final = 1_000_000
PATIENCE: Final = 3.0
"""Seconds of processor time for all rules over one object, whatever they cost: kube-apiserver ends them with their request."""
CACHE_SIZE: Final = 4096

# Python-to-Python calls need no C stack; the deepest tree that the parser lets through needs a few thousand of them.
_RECURSION = 10_000
if sys.getrecursionlimit() < _RECURSION:
    sys.setrecursionlimit(_RECURSION)


class Program:
    """A compiled expression. type: of its result; tree: checked; cost: what the last evaluation spent is returned by evaluate_with_cost."""

    __slots__ = ("_careful", "_plan", "env", "source", "tree", "type")

    def __init__(self, env: Env, source: str, tree: Expr, type_: Type) -> None:
        self.env = env
        self.source = source
        self.tree = tree
        self.type = type_
        self._plan: _Plan | None = None
        self._careful: _Plan | None = None

    def instantiate(self) -> _Plan:
        """Makes the closures now instead of at the first evaluation. Raises EvalError when a constant part has no value."""
        if self._plan is None:
            try:
                self._plan = _Plan(self.env, self.tree, careful=False)
            except InstantiationError as e:
                raise EvalError(e.message) from None
        return self._plan

    def evaluate(self, bindings: Mapping[str, Any], budget: int = PER_CALL_LIMIT) -> Any:
        """The value, or raises EvalError or BudgetExceeded. ``bindings``: values of the declared variables; budget in cost units."""
        return self.evaluate_with_cost(bindings, budget)[0]

    def evaluate_with_cost(self, bindings: Mapping[str, Any], budget: int = PER_CALL_LIMIT, until: float = inf) -> tuple[Any, int]:
        """(value, units spent). until: when to give up, whatever the cost, on time.thread_time's clock. Raises as evaluate does; the error
        knows what was spent."""
        plan = self._plan or self.instantiate()
        try:
            frame: Frame = [plan.cost, budget, until, *[bindings[name] for name in plan.names], *plan.spare]
        except KeyError:
            if self._careful is None:
                self._careful = _Plan(self.env, self.tree, careful=True)
            plan = self._careful
            frame = [plan.cost, budget, until, *[bindings.get(name, UNBOUND) for name in plan.names], *plan.spare]
        try:
            value = plan.run(frame)
        except CelError as e:
            raise _spent(BudgetExceeded() if frame[0] > budget else e, frame) from None
        except (TypeError, ValueError, AttributeError, LookupError, OverflowError, RecursionError):
            # a value that is not of its declared type
            raise _spent(BudgetExceeded() if frame[0] > budget else EvalError("no such overload"), frame) from None
        if frame[0] > budget:
            raise _spent(BudgetExceeded(), frame)
        return value, frame[0]


def _spent(error: CelError, frame: Frame) -> CelError:
    error.spent = frame[0]
    return error


class _Plan:
    __slots__ = ("cost", "names", "run", "spare")

    def __init__(self, env: Env, tree: Expr, careful: bool) -> None:
        planner = Planner(env, careful)
        code = planner.plan(tree)
        self.run = code.run
        self.cost = code.cost
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
        from apiserver.cel.validators import validate_literals

        errors = validate_literals(tree, env)
    if errors:
        return errors
    assert tree.type is not None
    return Program(env, source, tree, tree.type)


_lock = Lock()
_cache: OrderedDict[tuple[int, str], tuple[Env, Program | list[CompileError]]] = OrderedDict()


def compile(env: Env, source: str) -> Program | list[CompileError]:
    """The program, or what is wrong with the source. Keeps the last CACHE_SIZE results, by identity of the environment and source."""
    key = (id(env), source)
    with _lock:
        found = _cache.get(key)
        if found is not None and found[0] is env:
            _cache.move_to_end(key)
            return found[1]
    made = compile_fresh(env, source)
    with _lock:
        _cache[key] = (env, made)
        if len(_cache) > CACHE_SIZE:
            _cache.popitem(last=False)
    return made


def error_text(source: str, errors: list[CompileError]) -> str:
    """What cel-go's Issues print: all errors with their lines."""
    return display(Source(source), errors)
