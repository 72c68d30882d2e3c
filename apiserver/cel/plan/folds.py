"""Closures of comprehensions. Each standard macro has its own loop; anything else folds step by
step (cel-go ``evalFold``).

Costs per element are those of upstream's condition and step: reading the accumulator,
``@not_strictly_false``, ``+ [x]`` and so on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from apiserver.cel.cost.runtime import NEW_LIST
from apiserver.cel.errors import EvalError, no_such_overload
from apiserver.cel.maps import Map
from apiserver.cel.plan.overloads import go_type
from apiserver.cel.plan.planner import UNBOUND, Code, Frame, Planner, Run, over
from apiserver.cel.syntax.ast import Call, Comprehension, ListExpr
from apiserver.cel.values import Joined
from apiserver.effort import hold, spend

# cost of the condition before each element: @not_strictly_false(accu), and the same of !accu
_ALL_CONDITION: Final = 2
_EXISTS_CONDITION: Final = 3
_ENTRY_STEPS: Final = 12
_ENTRY: Final = 200
"""Bytes of an entry of a map, while the map is made and copied."""


class _Loop:
    """What a fold walks over. range: gives the list or map; first, second: slots of the frame for
    the variables of an element; second is 0 where the macro binds only one."""

    __slots__ = ("first", "range", "second")

    def __init__(self, range_: Run, first: int, second: int) -> None:
        self.range = range_
        self.first = first
        self.second = second

    def elements(self, f: Frame) -> Iterable[Any]:
        """Elements of a list or keys of a map; pairs when there are two variables."""
        value = self.range(f)
        if isinstance(value, list) or type(value) is Joined:
            return enumerate(value) if self.second else value
        if isinstance(value, Mapping):
            return value.items() if self.second else value
        if self.second:
            raise EvalError(f"unsupported comprehension range type: {go_type(value)}")
        raise EvalError(f"got '{go_type(value)}', expected iterable type")


def plan_fold(planner: Planner, e: Comprehension) -> Code:
    if e.macro == "bind":
        return _plan_bind(planner, e)
    range_ = planner.plan(e.range)
    first = planner.new_local()
    scope = {e.iter_var: first}
    second = 0
    if e.iter_var2:
        second = scope[e.iter_var2] = planner.new_local()
    planner.locals.append(scope)
    try:
        code = _PLANS[e.macro](planner, e, _Loop(range_.run, first, second))
    finally:
        planner.locals.pop()
    code.cost += range_.cost
    return code


def _setter(loop: _Loop) -> Callable[[Frame, Any], None]:
    first, second = loop.first, loop.second
    if second:

        def set_pair(f: Frame, element: Any) -> None:
            f[first], f[second] = element

        return set_pair

    def set_one(f: Frame, element: Any) -> None:
        f[first] = element

    return set_one


def _plan_quantifier(planner: Planner, e: Comprehension, loop: _Loop) -> Code:
    """all and exists: stop at the first element that settles the result; it absorbs errors of the
    others, of which the first counts."""
    settles = e.macro == "exists"
    assert isinstance(e.step, Call)
    predicate = planner.body(e.step.args[1])
    condition = _EXISTS_CONDITION if settles else _ALL_CONDITION
    fold = _quantifier(loop, predicate.run, condition + 1 + predicate.cost, settles, condition)
    return Code(fold, cost=1)


def _quantifier(loop: _Loop, run: Run, cost: int, settles: bool, condition: int) -> Run:
    first, second, goes_on = loop.first, loop.second, not settles

    def fold(f: Frame) -> Any:
        error: EvalError | None = None
        elements = iter(loop.elements(f))
        for element in elements:
            if second:  # as `_setter`, without a call for each element
                f[first], f[second] = element
            else:
                f[first] = element
            f[0] += cost
            if f[0] > f[1]:
                over(f)
            try:
                value = run(f)
            except EvalError as e:
                error = error or e
                continue
            if value is settles:
                return _settled(f, elements, settles, condition)
            if value is not goes_on:
                error = error or no_such_overload()
        if error is not None:
            raise error
        return goes_on

    return fold


def _settled(f: Frame, elements: Iterable[Any], result: bool, condition: int) -> bool:
    """A fold that stops early has paid for the condition of the element after, too, if there is
    one: that is where cel-go finds out that it can stop."""
    for _ in elements:
        f[0] += condition
        break
    return result


def _plan_exists_one(planner: Planner, e: Comprehension, loop: _Loop) -> Code:
    """A filter, of which one element is left; its costs are the same."""
    assert isinstance(e.step, Call)
    ones = _select(loop, planner.body(e.step.args[0]), lambda f: True, 2)
    return Code(lambda f: len(ones(f)) == 1, cost=2)


def _split_filter(planner: Planner, e: Comprehension) -> tuple[Code | None, Call]:
    """The filter of a map-like step, and the step that grows the result."""
    step = e.step
    assert isinstance(step, Call)
    if step.function == "_?_:_":
        grow = step.args[1]
        assert isinstance(grow, Call)
        return planner.body(step.args[0]), grow
    return None, step


def _plan_list(planner: Planner, e: Comprehension, loop: _Loop) -> Code:
    """map, filter and transformList."""
    keep, grow = _split_filter(planner, e)
    added = grow.args[1]
    assert isinstance(added, ListExpr)
    item = planner.body(added.elements[0])
    # accu + [item]: the accumulator, the list (nothing when it is constant), the addition
    grow_cost = 2 + (0 if item.constant is not None else NEW_LIST + item.cost)
    run, store = item.run, _setter(loop)

    def collect(f: Frame) -> Any:
        items: list[Any] = []
        for element in loop.elements(f):
            store(f, element)
            f[0] += grow_cost
            if f[0] > f[1]:
                over(f)
            items.append(run(f))
        return items

    return Code(collect if keep is None else _select(loop, keep, run, grow_cost), cost=1)


def _select(loop: _Loop, keep: Code, run: Run, grow_cost: int) -> Run:
    """The list of what ``run`` gives for the elements that ``keep`` lets through, each of which
    costs ``grow_cost``."""
    test, test_cost, store = keep.run, keep.cost, _setter(loop)

    def select(f: Frame) -> Any:
        items: list[Any] = []
        error: EvalError | None = None
        for element in loop.elements(f):
            store(f, element)
            f[0] += test_cost
            if f[0] > f[1]:
                over(f)
            try:
                value = test(f)
            except EvalError as e:
                error = e  # the last one counts, because the conditional drops the accumulator
                continue
            if value is True:
                f[0] += grow_cost
                if error is None:
                    try:
                        items.append(run(f))
                    except EvalError as e:
                        error = e
            elif value is not False:
                error = no_such_overload()
        if error is not None:
            raise error
        return items

    return select


def _plan_map(planner: Planner, e: Comprehension, loop: _Loop) -> Code:
    """transformMap and transformMapEntry."""
    keep, grow = _split_filter(planner, e)
    entries = e.macro == "transformMapEntry"
    value = planner.body(grow.args[-1])
    grow_cost = 2 + value.cost + (0 if entries else 1)
    run, store, key_slot = value.run, _setter(loop), loop.first
    test, test_cost = (keep.run, keep.cost) if keep is not None else (None, grow_cost)

    def fold(f: Frame) -> Any:
        folded = Map()
        for element in loop.elements(f):
            store(f, element)
            f[0] += test_cost
            if f[0] > f[1]:
                over(f)
            if test is not None:
                kept = test(f)
                if kept is False:
                    continue
                if kept is not True:
                    raise no_such_overload()
                f[0] += grow_cost
            result = run(f)
            if entries:
                if not isinstance(result, Mapping):
                    raise no_such_overload()
                spend(_ENTRY_STEPS * len(result))
                for key, item in result.items():
                    _insert(folded, key, item)
            else:
                _insert(folded, f[key_slot], result)
        return dict.copy(folded) if all(type(k) is str for k in folded) else folded

    return Code(fold, cost=1)


def _insert(entries: Map, key: Any, value: Any) -> None:
    if key in entries:
        shown = str(key).lower() if type(key) is bool else key
        raise EvalError(f"insert failed: key {shown} already exists")
    hold(_ENTRY)
    entries.put(key, value)


def _plan_bind(planner: Planner, e: Comprehension) -> Code:
    """A name for a value, computed when it is first read."""
    value = planner.plan(e.init)
    slot = planner.new_local()
    planner.locals.append({e.accu_var: slot})
    planner.lazy[slot] = value
    try:
        result = planner.plan(e.result)
    finally:
        planner.locals.pop()
    body = result.run

    def run(f: Frame) -> Any:
        f[slot] = UNBOUND
        return body(f)

    return Code(run, cost=result.cost)


_PLANS: Final[dict[str, Callable[[Planner, Comprehension, _Loop], Code]]] = {
    "all": _plan_quantifier,
    "exists": _plan_quantifier,
    "exists_one": _plan_exists_one,
    "map": _plan_list,
    "filter": _plan_list,
    "transformMap": _plan_map,
    "transformMapEntry": _plan_map,
}
