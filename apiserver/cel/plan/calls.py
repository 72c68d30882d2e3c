"""Closures of calls and operators. What the checker has settled is called directly; with dyn
arguments the overload is picked per call."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any, Final

from apiserver.cel.cost.runtime import RESULT_COSTS, DynamicCost, call_cost
from apiserver.cel.decls import Overload
from apiserver.cel.errors import EvalError, InstantiationError, no_such_overload
from apiserver.cel.plan.access import plan_index, plan_optional_select
from apiserver.cel.plan.equality import plan_equality
from apiserver.cel.plan.logic import plan_conditional, plan_logic
from apiserver.cel.plan.overloads import unfit
from apiserver.cel.plan.planner import (
    Code,
    Frame,
    Planner,
    Run,
    charged,
    constant,
    failing,
    over,
    static_type,
)
from apiserver.cel.scalars import Uint
from apiserver.cel.syntax.ast import Call
from apiserver.cel.types import Type
from apiserver.cel.values import PLAIN, Joined, Optional, contains, type_of
from apiserver.golang.regexp import RegexError, parse_regex

_FOLDED: Final = frozenset(
    {"bool", "bytes", "double", "duration", "dyn", "int", "string", "timestamp", "type", "uint"}
)
_COMPARISONS: Final = {
    "_<_": operator.lt,
    "_<=_": operator.le,
    "_>_": operator.gt,
    "_>=_": operator.ge,
}
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
        return failing(
            "unbound function" if e.function not in planner.env.functions else "no such overload"
        )
    if e.function == "@in" and codes[1].constant is not None and e.overloads == ("in_list",):
        items = codes[1].constant[0]
        if _hashable(items):
            return _in_constant(codes[0], items, static_type(args[0]))
    pattern = _known_pattern(e, codes)
    # upstream calls the matching of a known pattern without looking at the types
    impl, exact = _implementation(
        "" if pattern is not None else e.function, candidates, [static_type(a) for a in args]
    )
    if e.function in _FOLDED and len(codes) == 1 and codes[0].constant is not None:
        try:
            return constant(impl(codes[0].constant[0]))
        except EvalError as error:
            raise InstantiationError(error.message) from None
    if pattern is not None:
        try:
            parse_regex(pattern)
        except RegexError as error:
            raise InstantiationError(str(error)) from None
    return _called(e, impl, codes, exact)


def _known_pattern(e: Call, codes: list[Code]) -> str | None:
    """The regular expression of a call that is known before anything is evaluated."""
    if e.function not in _PATTERNS or len(codes) < 2 or codes[1].constant is None:
        return None
    pattern = codes[1].constant[0]
    return pattern if isinstance(pattern, str) else None


def _called(e: Call, impl: Callable[..., Any], codes: list[Code], exact: bool) -> Code:
    """``exact``: the arguments are known to fit."""
    cost = call_cost(e.function, e.overloads[0] if len(e.overloads) == 1 else "")
    fixed = sum(c.cost for c in codes)
    if isinstance(cost, int):
        return Code(
            _apply(impl, codes, exact and impl is _COMPARISONS.get(e.function)), cost=fixed + cost
        )
    return Code(_costed(impl, codes, cost), cost=fixed)


def _candidates(planner: Planner, e: Call, arity: int) -> list[Overload]:
    overloads = planner.env.functions.get(e.function, ())
    if e.overloads:
        chosen = set(e.overloads)
        return [o for o in overloads if o.id in chosen]
    return [o for o in overloads if len(o.args) == arity and o.member == (e.target is not None)]


def _implementation(
    function: str, candidates: list[Overload], types: list[Type]
) -> tuple[Callable[..., Any], bool]:
    """What to call, and whether the checker has settled that the arguments fit."""
    first = candidates[0]
    if (
        len(candidates) == 1
        and first.impl is not None
        and all(_settled(w, g) for w, g in zip(first.args, types, strict=True))
    ):
        return first.impl, True
    return _dispatch(function, candidates), False


def _settled(param: Type, given: Type) -> bool:
    return param.kind in ("param", "dyn") or (param.kind == given.kind and param.name == given.name)


def _dispatch(function: str, candidates: list[Overload]) -> Callable[..., Any]:
    table = [(o.impl, [_acceptor(a) for a in o.args]) for o in candidates]
    implementations: dict[tuple[type, ...], Callable[..., Any]] = {}

    def pick(args: tuple[Any, ...]) -> Callable[..., Any]:
        for impl, acceptors in table:
            if impl is not None and all(
                accepts(v) for accepts, v in zip(acceptors, args, strict=True)
            ):
                return impl
        raise unfit(function, args)

    def call(*args: Any) -> Any:
        kinds = tuple(map(type, args))
        impl = implementations.get(kinds)
        if impl is None:
            impl = pick(args)
            if PLAIN.issuperset(kinds):  # of others the Python type does not tell all
                implementations[kinds] = impl
        return impl(*args)

    return call


def _is_list(value: Any) -> bool:
    return isinstance(value, list | Joined)


def _acceptor(t: Type) -> Callable[[Any], bool]:
    kind, name = t.kind, t.name
    if kind in ("param", "dyn", "any"):
        return lambda _v: True
    if kind == "list":
        if t.params[0].params:
            return _is_list
        item = _acceptor(t.params[0])
        return lambda v: _is_list(v) and (not v or item(v.at(0) if type(v) is Joined else v[0]))
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


def _costed(impl: Callable[..., Any], codes: list[Code], cost: DynamicCost) -> Run:
    runs = [c.run for c in codes]

    if cost in RESULT_COSTS:

        def call(f: Frame) -> Any:
            args = tuple([run(f) for run in runs])
            result = impl(*args)
            f[0] += cost(args, result)
            if f[0] > f[1]:
                over(f)
            return result

        return call

    def pay_first(f: Frame) -> Any:
        args = tuple([run(f) for run in runs])
        try:
            f[0] += cost(args, None)
        except (TypeError, AttributeError):  # arguments that the function does not take: it says so
            f[0] += 1
        if f[0] > f[1]:
            over(f)
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

    return Code(lambda f: contains(items, run(f)), cost=value.cost)


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
    "_==_": plan_equality,
    "_!=_": plan_equality,
    "_&&_": plan_logic,
    "_||_": plan_logic,
    "_?_:_": plan_conditional,
    "_[_]": _plan_index,
    "_[?_]": _plan_optional_index,
    "_?._": plan_optional_select,
}
