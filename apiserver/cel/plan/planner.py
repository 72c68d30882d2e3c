"""From a checked tree to closures (the counterpart of cel-go's ``interpreter/planner.go``).

A closure takes the frame, ``[cost so far, checkpoint, cost limit, variables..., iteration
variables...]``, and gives a Python value or raises EvalError. Costs known beforehand are not
counted one by one: every node knows its fixed cost (`Code.cost`), and only where the way forks
(logic, conditionals, loops) is the cost of a branch added to ``frame[0]``. What depends on values
is added by the call itself.

`Code.own` is the part of the fixed cost that upstream does not charge where a chain of selections
stands as a branch of a conditional or as an index, because only the outermost attribute is observed
there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from apiserver.cel.cost.runtime import NEW_LIST, NEW_MAP, NEW_STRUCT
from apiserver.cel.env import Env
from apiserver.cel.errors import BudgetExceeded, EvalError, InstantiationError
from apiserver.cel.library.wellknown import MESSAGES
from apiserver.cel.maps import Map
from apiserver.cel.syntax.ast import (
    Expr,
    Ident,
    ListExpr,
    Literal,
    MapExpr,
    StructExpr,
)
from apiserver.cel.types import DYN, Type
from apiserver.cel.values import Joined, Optional, quoted
from apiserver.effort import hold, spend

Frame = list[Any]
"""Units spent, units at which to look at the clock, units to spend, variables, and from its end
locals."""
Run = Callable[[Frame], Any]

FIRST_VARIABLE = 3
SLICE: Final = 10_000
"""Units between two looks at the clock: one or two milliseconds."""
_MANY: Final = 64
"""Nodes below which a body, and elements below which a literal, is paid for by its cost."""
_NODE_STEPS: Final = 30
"""To plan a node; a node at work takes one or two."""
UNBOUND: Any = object()


class Code:
    """run: the closure; cost: its fixed cost; own: see the module; attribute: whether it is a chain
    of selections; constant: (value,) of what is known beforehand; variable: the slot of a plain
    variable, else 0."""

    __slots__ = ("attribute", "constant", "cost", "own", "run", "variable")

    def __init__(
        self,
        run: Run,
        cost: int = 0,
        own: int = 0,
        attribute: bool = False,
        constant: tuple[Any] | None = None,
        variable: int = 0,
    ) -> None:
        self.run = run
        self.cost = cost
        self.own = own
        self.attribute = attribute
        self.constant = constant
        self.variable = variable


def constant(value: Any) -> Code:
    return Code(lambda _f: value, constant=(value,))


def failing(message: str) -> Code:
    """Code of what the checker would have refused, for trees evaluated unchecked."""

    def run(_f: Frame) -> Any:
        raise EvalError(message)

    return Code(run)


def charged(run: Run, cost: int) -> Run:
    """``run``, paying ``cost`` first."""
    if not cost:
        return run

    def pay(f: Frame) -> Any:
        f[0] += cost
        return run(f)

    return pay


def over(f: Frame) -> None:
    """To be called when more is spent than the checkpoint: it is either the limit, or time to look
    at the clock."""
    if f[0] > f[2]:
        raise BudgetExceeded
    spend(SLICE)
    f[1] = min(f[0] + SLICE, f[2])


def after_steps(run: Run, steps: int) -> Run:
    def slow(f: Frame) -> Any:
        spend(steps)
        return run(f)

    return slow


def of_many(run: Run, size: int) -> Run:
    """``run`` of a literal of so many elements, whose constant ones cost nothing."""
    if size < _MANY:
        return run

    def make(f: Frame) -> Any:
        spend(2 * size)
        hold(100 * size)
        return run(f)

    return make


Forms = Mapping[type[Expr], Callable[["Planner", Any], Code]]


class Planner:
    """Plans one tree. slots: where the frame keeps each variable that the tree uses; careful: some
    variable may be unbound; forms: who plans the kinds of nodes that have modules of their own
    (`program.FORMS`)."""

    def __init__(self, env: Env, forms: Forms, careful: bool = False) -> None:
        self.env = env
        self.forms = forms
        self.careful = careful
        self.slots: dict[str, int] = {}
        self.locals: list[dict[str, int]] = []
        self.local_count = 0
        self.planned: dict[int, Code] = {}
        self.nodes = 0
        self.lazy: dict[int, Code] = {}

    def plan(self, e: Expr) -> Code:
        planned = self.planned.get(id(e))
        if planned is None:
            self.nodes += 1
            spend(_NODE_STEPS)
            planned = self.planned[id(e)] = self._plan(e)
        return planned

    def body(self, e: Expr) -> Code:
        """As plan(), of what is run for each element of a loop. Upstream charges nothing for
        literals and for logic, so that a long body may cost nothing: it pays with steps."""
        before = self.nodes
        code = self.plan(e)
        nodes = self.nodes - before
        if nodes >= _MANY and code.constant is None:
            code = Code(after_steps(code.run, 2 * nodes), code.cost, code.own, code.attribute)
        return code

    def _plan(self, e: Expr) -> Code:
        if isinstance(e, Literal):
            return constant(e.value)
        if isinstance(e, Ident):
            return self.ident(e)
        if isinstance(e, ListExpr):
            return self.list_expr(e)
        if isinstance(e, MapExpr):
            return self.map_expr(e)
        if isinstance(e, StructExpr):
            return self.struct(e)
        return self.forms[type(e)](self, e)

    # --- variables --------------------------------------------------------------------------------
    def new_local(self) -> int:
        """A frame slot for an iteration variable, counted from the end of the frame."""
        self.local_count += 1
        return -self.local_count

    def ident(self, e: Ident) -> Code:
        name = e.name
        if not name.startswith("."):
            for scope in reversed(self.locals):
                if name in scope:
                    return self.read_local(scope[name])
            return failing(f"no such attribute(s): {name}")
        if e.constant is not None:
            return constant(e.constant[1])
        if e.denoted is not None:
            if e.denoted.name in MESSAGES and e.denoted.kind == "struct":
                raise InstantiationError(f"reference to undefined type: {e.denoted.name}")
            return constant(e.denoted)
        name = name[1:]
        if name not in self.env.variables:
            return failing(f"no such attribute(s): {name}")
        slot = self.slots.setdefault(name, FIRST_VARIABLE + len(self.slots))
        return self.read_careful(slot, name) if self.careful else self.read(slot)

    def read(self, slot: int) -> Code:
        return Code(lambda f: f[slot], cost=1, own=1, attribute=True, variable=slot)

    def read_local(self, slot: int) -> Code:
        bound = self.lazy.get(slot)
        if bound is None:
            return self.read(slot)
        source, cost = bound.run, bound.cost

        def run(f: Frame) -> Any:
            value = f[slot]
            if value is UNBOUND:
                f[0] += cost
                value = f[slot] = source(f)
            return value

        return Code(run, cost=1, own=1, attribute=True)

    def read_careful(self, slot: int, name: str) -> Code:
        def run(f: Frame) -> Any:
            value = f[slot]
            if value is UNBOUND:
                raise EvalError(f"no such attribute(s): {name}")
            return value

        return Code(run, cost=1, own=1, attribute=True)

    # --- aggregates -------------------------------------------------------------------------------
    def list_expr(self, e: ListExpr) -> Code:
        items = [self.plan(x) for x in e.elements]
        if e.optionals:
            return self.list_with_optionals(items, e.optionals)
        if all(c.constant is not None for c in items):
            return constant([c.constant[0] for c in items if c.constant is not None])
        cost = NEW_LIST + sum(c.cost for c in items)
        runs = [c.run for c in items]
        if len(runs) == 1:
            only = runs[0]
            return Code(lambda f: [only(f)], cost=cost)
        return Code(of_many(lambda f: [run(f) for run in runs], len(runs)), cost=cost)

    def list_with_optionals(self, items: list[Code], optionals: frozenset[int]) -> Code:
        runs = [(c.run, i in optionals) for i, c in enumerate(items)]

        def run(f: Frame) -> Any:
            items = []
            for item, optional in runs:
                value = item(f)
                if not optional:
                    items.append(value)
                elif optional_of(value).present:
                    items.append(value.value)
            return items

        return Code(of_many(run, len(items)), cost=NEW_LIST + sum(c.cost for c in items))

    def map_expr(self, e: MapExpr) -> Code:
        keys = [self.plan(x.key) for x in e.entries]
        values = [self.plan(x.value) for x in e.entries]
        strict = self.env.strict
        entries = [
            (k.run, v.run, x.optional) for k, v, x in zip(keys, values, e.entries, strict=True)
        ]

        def run(f: Frame) -> Any:
            return build_map([(k(f), v(f), optional) for k, v, optional in entries], strict)

        parts = [*keys, *values]
        if all(c.constant is not None for c in parts) and not any(x.optional for x in e.entries):
            try:
                return constant(run([]))
            except EvalError as error:
                return failing(error.message)
        return Code(of_many(run, len(parts)), cost=NEW_MAP + sum(c.cost for c in parts))

    def struct(self, e: StructExpr) -> Code:
        struct_type = self.env.struct(e.name)
        if struct_type is None:
            return failing(f"unknown type '{e.name}'")
        fields = [(x.key, self.plan(x.value), x.optional) for x in e.fields]
        runs = [(key, c.run, optional) for key, c, optional in fields]
        make = struct_type.make

        def run(f: Frame) -> Any:
            members: dict[str, Any] = {}
            for key, value, optional in runs:
                v = value(f)
                if not optional:
                    members[key] = v
                elif optional_of(v).present:
                    members[key] = v.value
            return make(members)

        return Code(of_many(run, len(fields)), cost=NEW_STRUCT + sum(c.cost for _, c, _ in fields))


def optional_of(value: Any) -> Optional:
    if isinstance(value, Optional):
        return value
    raise EvalError(
        f"cannot initialize optional list element from non-optional value {quoted(value)}"
    )


def build_map(entries: list[tuple[Any, Any, bool]], strict: bool) -> Any:
    """A map of (key, value, whether the value is optional); a plain dict when all keys are
    strings."""
    result = Map()
    plain = True
    for key, value, optional in entries:
        kind = type(key)
        if kind is not str:
            plain = False
            if (
                kind is list
                or kind is Joined
                or isinstance(key, Mapping)
                or (strict and not isinstance(key, int))
            ):
                raise EvalError(f"unsupported key type: {quoted(key)}")
        if optional:
            if not optional_of(value).present:
                continue
            value = value.value
        if strict and key in result:
            raise EvalError(f"Failed with repeated key: {key}")
        result.put(key, value)
    return dict(result) if plain else result


def static_type(e: Expr) -> Type:
    """What the checker knows of a node; dyn where it found an error."""
    t = e.type
    return DYN if t is None or t.kind == "error" else t
