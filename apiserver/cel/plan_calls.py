"""Closures of calls and operators. What the checker has settled is called directly; with dyn arguments the overload is picked per call."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from contextlib import suppress
from time import thread_time
from typing import Any, Final

from apiserver.cel.ast import Call
from apiserver.cel.costs import RESULT_COSTS, DynamicCost, call_cost, smaller
from apiserver.cel.decls import Overload
from apiserver.cel.errors import BudgetExceeded, EvalError, InstantiationError, no_such_overload
from apiserver.cel.overloads import unfit
from apiserver.cel.plan import Code, Frame, Planner, Run, charged, constant, failing, static_type
from apiserver.cel.plan_access import plan_index, plan_optional_select
from apiserver.cel.types import Type
from apiserver.cel.values import PLAIN, Optional, Uint, equal, type_of
from apiserver.schema.goregex import RegexError, parse_regex

_FOLDED: Final = frozenset({"bool", "bytes", "double", "duration", "dyn", "int", "string", "timestamp", "type", "uint"})
_COMPARISONS: Final = {"_<_": operator.lt, "_<=_": operator.le, "_>_": operator.gt, "_>=_": operator.ge}
_ONE_UNIT_SCALARS: Final = frozenset({"bool", "int", "uint", "double", "timestamp", "duration", "null"})

_SET_MEMBERS: Final = frozenset({bool, int, Uint, float, str})
_PATTERNS: Final = frozenset({"matches", "find", "findAll"})


def plan_call(planner: Planner, e: Call) -> Code:
    special = _SPECIAL.get(e.function)
    if special is not None and e.target is None:
        return special(planner, e)
    args = [e.target, *e.args] if e.target is not None else e.args
    if e.function in ("or", "orValue") and e.target is not None and len(args) == 2:
        return _optional_or(planner, e, unwrap=e.function == "orValue")
    codes = [planner.plan(a) for a in args]
    candidates = _candidates(planner, e, len(args))
    if not candidates:
        return failing("unbound function" if e.function not in planner.env.functions else "no such overload")
    if e.function == "@in" and codes[1].constant is not None and e.overloads == ("in_list",) and _hashable(codes[1].constant[0]):
        return _in_constant(codes[0], codes[1].constant[0], static_type(args[0]))
    pattern = e.function in _PATTERNS and len(codes) > 1 and codes[1].constant is not None and isinstance(codes[1].constant[0], str)
    # upstream calls the matching of a known pattern without looking at the types
    impl, exact = _implementation("" if pattern else e.function, candidates, [static_type(a) for a in args])
    if e.function in _FOLDED and len(codes) == 1 and codes[0].constant is not None:
        try:
            return constant(impl(codes[0].constant[0]))
        except EvalError as error:
            raise InstantiationError(error.message) from None
    if pattern and codes[1].constant is not None:
        try:
            parse_regex(codes[1].constant[0])
        except RegexError as error:
            raise InstantiationError(str(error)) from None
    cost = call_cost(e.function, e.overloads[0] if len(e.overloads) == 1 else "")
    fixed = sum(c.cost for c in codes)
    if isinstance(cost, int):
        return Code(_apply(impl, codes, exact and impl is _COMPARISONS.get(e.function)), cost=fixed + cost)
    return Code(_costed(impl, codes, cost), cost=fixed)


_LONG = 1000
_SIZED = (list, str, bytes)


def _candidates(planner: Planner, e: Call, arity: int) -> list[Overload]:
    known = planner.env.functions.get(e.function, ())
    if e.overloads:
        chosen = set(e.overloads)
        return [o for o in known if o.id in chosen]
    return [o for o in known if len(o.args) == arity and o.member == (e.target is not None)]


def _implementation(function: str, candidates: list[Overload], types: list[Type]) -> tuple[Callable[..., Any], bool]:
    """What to call, and whether the checker has settled that the arguments fit."""
    first = candidates[0]
    if len(candidates) == 1 and first.impl is not None and all(_settled(w, g) for w, g in zip(first.args, types, strict=True)):
        return first.impl, True
    return _dispatch(function, candidates), False


def _settled(wanted: Type, given: Type) -> bool:
    return wanted.kind in ("param", "dyn") or (wanted.kind == given.kind and wanted.name == given.name)


def _dispatch(function: str, candidates: list[Overload]) -> Callable[..., Any]:
    table = [(o.impl, [_acceptor(a) for a in o.args]) for o in candidates]
    known: dict[tuple[type, ...], Callable[..., Any]] = {}

    def pick(args: tuple[Any, ...]) -> Callable[..., Any]:
        for impl, acceptors in table:
            if impl is not None and all(accepts(v) for accepts, v in zip(acceptors, args, strict=True)):
                return impl
        raise unfit(function, args)

    def call(*args: Any) -> Any:
        kinds = tuple(map(type, args))
        impl = known.get(kinds)
        if impl is None:
            impl = pick(args)
            if PLAIN.issuperset(kinds):  # of others the Python type does not tell all
                known[kinds] = impl
        return impl(*args)

    return call


def _acceptor(t: Type) -> Callable[[Any], bool]:
    kind, name = t.kind, t.name
    if kind in ("param", "dyn", "any"):
        return lambda _v: True
    if kind == "list":
        if t.params[0].params:
            return lambda v: isinstance(v, list)
        item = _acceptor(t.params[0])
        return lambda v: isinstance(v, list) and (not v or item(v[0]))
    if kind == "map":
        return lambda v: isinstance(v, Mapping)

    def accepts(v: Any) -> bool:
        own = type_of(v)
        return own.kind == kind and own.name == name

    return accepts


def _apply(impl: Callable[..., Any], codes: list[Code], comparison: bool) -> Run:
    runs = [c.run for c in codes]
    if len(runs) == 1:
        only = runs[0]
        return lambda f: impl(only(f))
    if len(runs) == 2:
        left, right = runs
        if comparison:
            return _compare(impl, left, right, codes[1])
        return lambda f: impl(left(f), right(f))
    return lambda f: impl(*[run(f) for run in runs])


def _compare(impl: Callable[..., Any], left: Run, right: Run, right_code: Code) -> Run:
    """The commonest operators without a call: against a constant, and against anything."""
    if right_code.constant is not None:
        limit = right_code.constant[0]
        if impl is operator.lt:
            return lambda f: left(f) < limit
        if impl is operator.le:
            return lambda f: left(f) <= limit
        if impl is operator.gt:
            return lambda f: left(f) > limit
        return lambda f: left(f) >= limit
    if impl is operator.lt:
        return lambda f: left(f) < right(f)
    if impl is operator.le:
        return lambda f: left(f) <= right(f)
    if impl is operator.gt:
        return lambda f: left(f) > right(f)
    return lambda f: left(f) >= right(f)


def _check_long(f: Frame, first: Any) -> None:
    """The budget, and the time: upstream's costs do not bound the work on long values (a walk along short strings is free)."""
    if f[0] > f[1] or (isinstance(first, _SIZED) and len(first) > _LONG and thread_time() > f[2]):
        raise BudgetExceeded


def _costed(impl: Callable[..., Any], codes: list[Code], cost: DynamicCost) -> Run:
    runs = [c.run for c in codes]

    if cost in RESULT_COSTS:

        def call(f: Frame) -> Any:
            args = tuple([run(f) for run in runs])
            result = impl(*args)
            f[0] += cost(args, result)
            _check_long(f, args[0])
            return result

        return call

    def pay_first(f: Frame) -> Any:
        args = tuple([run(f) for run in runs])
        try:
            f[0] += cost(args, None)
        except (TypeError, AttributeError):  # arguments that the function does not take: it says so
            f[0] += 1
        _check_long(f, args[0])
        return impl(*args)

    return pay_first


def _hashable(items: list[Any]) -> bool:
    """Whether upstream makes a set of a constant list."""
    return all(type(i) in _SET_MEMBERS for i in items)


def _in_constant(value: Code, items: list[Any], type_: Type) -> Code:
    """Membership in a list that is known beforehand costs nothing but its left side."""
    run = value.run
    if not items:
        return constant(False)
    if type_.kind == "string" and all(type(i) is str for i in items):
        members = frozenset(items)
        return Code(lambda f: run(f) in members, cost=value.cost)

    def contains(f: Frame) -> Any:
        v = run(f)
        return any(equal(v, item) for item in items)

    return Code(contains, cost=value.cost)


# --- equality ---------------------------------------------------------------------------------------------------------------------
def _plan_equality(planner: Planner, e: Call) -> Code:
    a, b = planner.plan(e.args[0]), planner.plan(e.args[1])
    ta, tb = static_type(e.args[0]), static_type(e.args[1])
    negate = e.function == "_!=_"
    left, right, fixed = a.run, b.run, a.cost + b.cost
    scalars = _ONE_UNIT_SCALARS
    if ta.kind == tb.kind and ta.kind in scalars and not (a.constant or b.constant):
        return Code((lambda f: left(f) != right(f)) if negate else (lambda f: left(f) == right(f)), cost=fixed + 1)
    if ta.kind == tb.kind == "string" or (ta.kind == tb.kind and ta.kind in scalars):
        for known, other in ((b, a), (a, b)):
            if known.constant is None:
                continue
            if ta.kind in scalars:
                return Code(_equals_constant(other.run, known.constant[0], negate), cost=fixed + 1)
            if 0 < len(known.constant[0]) <= 10:
                # at most ten characters are compared: one unit
                return Code(_equals_short(other.run, known.constant[0], negate), cost=fixed + 1)
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
        try:
            return equal(a, b) is not negate
        except EvalError:
            if negate:  # what cannot be compared is not equal
                return True
            raise

    return compare


# --- logic ------------------------------------------------------------------------------------------------------------------------
def _plan_logic(planner: Planner, e: Call) -> Code:
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


def _plan_conditional(planner: Planner, e: Call) -> Code:
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


def _optional_or(planner: Planner, e: Call, unwrap: bool) -> Code:
    assert e.target is not None
    target, default = planner.plan(e.target), planner.plan(e.args[0])
    source, other = target.run, charged(default.run, default.cost)

    def run(f: Frame) -> Any:
        value = source(f)
        if type(value) is not Optional:
            raise no_such_overload()
        if value.present:
            return value.value if unwrap else value
        return other(f)

    return Code(run, cost=target.cost)


def _plan_index(planner: Planner, e: Call) -> Code:
    return plan_index(planner, e, optional=False)


def _plan_optional_index(planner: Planner, e: Call) -> Code:
    return plan_index(planner, e, optional=True)


_SPECIAL: Final[dict[str, Callable[[Planner, Call], Code]]] = {
    "_==_": _plan_equality,
    "_!=_": _plan_equality,
    "_&&_": _plan_logic,
    "_||_": _plan_logic,
    "_?_:_": _plan_conditional,
    "_[_]": _plan_index,
    "_[?_]": _plan_optional_index,
    "_?._": plan_optional_select,
}
