"""Static cost estimates: the least and the most that an expression may cost (cel-go
``checker/cost.go``). The standard rules are here; what Kubernetes adds for calls is handed in
(`CallEstimator`: `apiserver.cel.cost.estimate_calls`).

Sizes come from literals, from the results of calls and, for declared variables, from a `SizeOf`
that the caller derives from schemas.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final, NamedTuple

from apiserver.cel.cost.pathslice import EMPTY, PathSlice
from apiserver.cel.cost.ranges import MAX, ONE, UNKNOWN, ZERO, Range, fixed
from apiserver.cel.syntax.ast import (
    Call,
    Comprehension,
    Expr,
    Ident,
    ListExpr,
    Literal,
    MapExpr,
    Select,
    StructExpr,
)
from apiserver.cel.types import DYN, Type, is_optional
from apiserver.effort import spend

_NODE_STEPS: Final = 60


Path = tuple[str, ...]
SizeOf = Callable[[Path], Range | None]
"""The size of what a path leads to: variable, fields, ``@items``, ``@keys``, ``@values``."""


class Node(NamedTuple):
    """An argument of a call as estimators of calls see it."""

    expr: Expr | None
    type: Type
    path: Path
    size: Range | None


class Entries(NamedTuple):
    """Sizes of the keys and values that a literal or a comprehension holds. kind: "list" or
    "map"."""

    kind: str
    key: Range
    value: Range


class Estimate(NamedTuple):
    cost: Range
    size: Range | None = None


CallEstimator = Callable[["Estimator", str, str, "Node | None", list[Node]], "Estimate | None"]


class _Local(NamedTuple):
    path: PathSlice
    size: Range | None
    entries: Entries | None


_SCALARS = frozenset({"bool", "double", "duration", "int", "timestamp", "uint"})


def _is_scalar(t: Type) -> bool:
    return t.kind in _SCALARS or (is_optional(t) and _is_scalar(t.params[0]))


class Estimator:
    """Estimates one tree. call: Kubernetes' costs of calls, asked before the standard ones."""

    def __init__(self, size_of: SizeOf, call: CallEstimator) -> None:
        self.size_of_path = size_of
        self.call = call
        self.paths: dict[int, PathSlice] = {}
        self.sizes: dict[int, Range] = {}
        self.entries: dict[int, Entries] = {}
        self.locals: dict[str, list[_Local]] = {}

    # --- what is known of a node ------------------------------------------------------------------
    def local(self, e: Expr) -> _Local | None:
        if isinstance(e, Ident):
            stack = self.locals.get(e.name)
            if stack:
                return stack[-1]
        return None

    def path(self, e: Expr) -> PathSlice:
        local = self.local(e)
        return local.path if local is not None else self.paths.get(id(e), EMPTY)

    def node(self, e: Expr) -> Node:
        path = self.path(e).names
        if path and path[0] == "@result":
            path = ()
        return Node(e, e.type or DYN, path, self.size(e))

    def size(self, e: Expr) -> Range | None:
        remembered = self.sizes.get(id(e))
        if remembered is not None:
            return remembered
        if isinstance(e, Literal):
            return fixed(len(e.value) if isinstance(e.value, str | bytes) else 1)
        if isinstance(e, ListExpr):
            return fixed(len(e.elements))
        if isinstance(e, MapExpr):
            return fixed(len(e.entries))
        declared = self.size_of_path(self.path(e).names)
        if declared is not None:
            self.sizes[id(e)] = declared
            return declared
        if _is_scalar(e.type or DYN):
            return ONE
        local = self.local(e)
        return local.size if local is not None else None

    def size_or_unknown(self, e: Expr) -> Range:
        return self.size(e) or UNKNOWN

    def entries_of(self, e: Expr) -> Entries | None:
        entries = self.entries.get(id(e))
        if entries is not None:
            return entries
        local = self.local(e)
        return local.entries if local is not None else None

    def size_of_node(self, node: Node) -> Range:
        """The size of an argument, from its expression or its path."""
        return node.size or (self.size_of_path(node.path) if node.path else None) or UNKNOWN

    # --- costs ------------------------------------------------------------------------------------
    def cost(self, e: Expr) -> Range:
        spend(_NODE_STEPS)
        if isinstance(e, Literal):
            return ZERO
        if isinstance(e, Ident):
            return self.ident(e)
        if isinstance(e, Select):
            return self.select(e)
        if isinstance(e, Call):
            return self.call_cost(e)
        if isinstance(e, ListExpr):
            return self.list_expr(e)
        if isinstance(e, MapExpr):
            return self.map_expr(e)
        if isinstance(e, StructExpr):
            return _sum(self.cost(f.value) for f in e.fields).plus(fixed(40))
        assert isinstance(e, Comprehension)
        return self.bind(e) if e.macro == "bind" else self.comprehension(e)

    def ident(self, e: Ident) -> Range:
        local = self.local(e)
        self.paths[id(e)] = (
            local.path if local is not None else PathSlice.of(e.name.removeprefix("."))
        )
        return ONE

    def select(self, e: Select) -> Range:
        if e.ident is not None:
            self.paths[id(e)] = PathSlice.of(e.ident.name.removeprefix("."))
            return ONE
        total = self.cost(e.operand)
        if e.test:
            return total
        if (e.operand.type or DYN).kind in ("map", "struct", "param"):
            total = total.plus(ONE)
        self.paths[id(e)] = self.path(e.operand).plus(e.field)
        return total

    def list_expr(self, e: ListExpr) -> Range:
        total, item = ZERO, Range(MAX if e.elements else 0, 0)
        for element in e.elements:
            total = total.plus(self.cost(element))
            item = item.union(self.size_or_unknown(element))
        self.entries[id(e)] = Entries("list", ONE, item)
        return total.plus(fixed(10))

    def map_expr(self, e: MapExpr) -> Range:
        total = ZERO
        key = value = Range(MAX if e.entries else 0, 0)
        for entry in e.entries:
            total = total.plus(self.cost(entry.key)).plus(self.cost(entry.value))
            key = key.union(self.size_or_unknown(entry.key))
            value = value.union(self.size_or_unknown(entry.value))
        self.entries[id(e)] = Entries("map", key, value)
        return total.plus(fixed(30))

    def comprehension(self, e: Comprehension) -> Range:
        total = self.cost(e.range).plus(self.cost(e.init))
        self.push(e.accu_var, self.local_of(e.init))
        pushed = self.push_iteration(e)
        step = self.cost(e.condition).plus(self.cost(e.step))
        for name in pushed:
            self.locals[name].pop()
        total = total.plus(self.cost(e.result))
        self.locals[e.accu_var].pop()
        count = self.size_or_unknown(e.range)
        total = total.plus(count.times(step))
        if isinstance(e.init, Literal):
            self.set_size(e, self.size(e.init))
        elif isinstance(e.init, ListExpr | MapExpr):
            self.set_size(e, count)
            entries = self.entries_of(e.step)
            if entries is not None:
                self.entries[id(e)] = entries
        return total

    def push(self, name: str, local: _Local) -> None:
        self.locals.setdefault(name, []).append(local)

    def local_of(self, e: Expr) -> _Local:
        return _Local(self.path(e), self.size(e), self.entries_of(e))

    def push_iteration(self, e: Comprehension) -> list[str]:
        entries, path = self.entries_of(e.range), self.path(e.range)
        kind = entries.kind if entries is not None else (e.range.type or DYN).kind
        key = entries.key if entries is not None else None
        value = entries.value if entries is not None else None
        if e.iter_var2:
            self.push(
                e.iter_var, _Local(path.plus("@indices" if kind == "list" else "@keys"), key, None)
            )
            self.push(
                e.iter_var2,
                _Local(path.plus("@items" if kind == "list" else "@values"), value, None),
            )
            return [e.iter_var, e.iter_var2]
        if kind == "list":
            self.push(e.iter_var, _Local(path.plus("@items"), value, None))
        else:
            self.push(e.iter_var, _Local(path.plus("@keys"), key, None))
        return [e.iter_var]

    def bind(self, e: Comprehension) -> Range:
        total = self.cost(e.range).plus(self.cost(e.init))
        self.push(e.accu_var, self.local_of(e.init))
        total = total.plus(self.cost(e.result))
        size, entries = self.size(e.result), self.entries_of(e.result)
        self.locals[e.accu_var].pop()
        self.set_size(e, size)
        if entries is not None:
            self.entries[id(e)] = entries
        return total

    def set_size(self, e: Expr, size: Range | None) -> None:
        if size is not None:
            self.sizes[id(e)] = size

    # --- calls ------------------------------------------------------------------------------------
    def call_cost(self, e: Call) -> Range:
        if e.function == "dyn" and e.target is None:
            total = self.cost(e.args[0]).plus(ONE)
            self.set_size(e, self.size(e.args[0]))
            entries = self.entries_of(e.args[0])
            if entries is not None:
                self.entries[id(e)] = entries
            return total
        costs = [self.cost(a) for a in e.args]
        nodes = [self.node(a) for a in e.args]
        if not e.overloads:
            return ZERO
        total, target = ZERO, None
        if e.target is not None:
            total = self.cost(e.target)
            target = self.node(e.target)
        call = Range(MAX, 0)
        size: Range | None = None
        for overload in e.overloads:
            estimate = self.overload(e, overload, target, nodes, costs)
            call = call.union(estimate.cost)
            if estimate.size is not None:
                size = estimate.size if size is None else size.union(estimate.size)
            if overload in ("index_list", "index_map") and e.args:
                entries = self.entries_of(e.args[0])
                size = entries.value if entries is not None else None
                self.paths[id(e)] = self.path(e.args[0]).plus(
                    "@items" if overload == "index_list" else "@values"
                )
            if size is None:
                size = self.size(e)
        self.set_size(e, size)
        return total.plus(call)

    def overload(
        self, e: Call, overload: str, target: Node | None, args: list[Node], costs: list[Range]
    ) -> Estimate:
        total = _sum(costs)
        if e.function in ("_&&_", "_||_"):
            return Estimate(Range(costs[0].min, total.max))
        if e.function == "_?_:_":
            entries = _union_entries(self.entries_of(e.args[1]), self.entries_of(e.args[2]))
            if entries is not None:
                self.entries[id(e)] = entries
            size = self.size_or_unknown(e.args[1]).union(self.size_or_unknown(e.args[2]))
            return Estimate(costs[0].plus(costs[1].union(costs[2])), size)
        cost = self.call(self, e.function, overload, target, args) or self.standard(
            e, overload, target, args
        )
        return Estimate(cost.cost.plus(total), cost.size)

    def standard(self, e: Call, overload: str, target: Node | None, args: list[Node]) -> Estimate:
        def size(node: Node) -> Range:
            return node.size or UNKNOWN

        if overload == "string_format" and target is not None:
            return Estimate(size(target).factor(0.1))
        if overload == "string_to_bytes":
            s = size(args[0])
            return Estimate(s.factor(0.1), Range(s.min, s.max * 4 & MAX))
        if overload == "bytes_to_string":
            s = size(args[0])
            return Estimate(s.factor(0.1), Range(s.min // 4, s.max))
        if overload == "strings_quote":
            s = size(args[0])
            return Estimate(s.factor(0.1), Range(s.min + 2 & MAX, s.max * 2 + 2 & MAX))
        if overload in ("starts_with_string", "ends_with_string"):
            return Estimate(size(args[0]).factor(0.1))
        if overload == "in_list":
            return Estimate(size(args[1]).factor(1.0))
        if overload == "matches_string" and target is not None:
            return Estimate(size(target).plus(ONE).factor(0.1).times(size(args[0]).factor(0.25)))
        if overload == "contains_string" and target is not None:
            return Estimate(size(target).factor(0.1).times(size(args[0]).factor(0.1)))
        if overload in ("add_string", "add_bytes", "add_list"):
            return self.concatenation(e, overload, size(args[0]).plus(size(args[1])))
        if overload in _COMPARISONS:
            smallest = min(size(args[0]).max, size(args[1]).max)
            return Estimate(Range(1 if smallest > 0 else 0, smallest).factor(0.1))
        return Estimate(ONE)

    def concatenation(self, e: Call, overload: str, size: Range) -> Estimate:
        entries = _union_entries(self.entries_of(e.args[0]), self.entries_of(e.args[1]))
        if entries is not None:
            self.entries[id(e)] = entries
        return Estimate(ONE if overload == "add_list" else size.factor(0.1), size)


_COMPARISONS = frozenset(
    {
        "equals",
        "not_equals",
        *(
            f"{o}_{t}"
            for o in ("less", "less_equals", "greater", "greater_equals")
            for t in ("string", "bytes")
        ),
    }
)


def _union_entries(a: Entries | None, b: Entries | None) -> Entries | None:
    return (
        None
        if a is None or b is None
        else Entries(a.kind, a.key.union(b.key), a.value.union(b.value))
    )


def _sum(costs: Iterable[Range]) -> Range:
    total = ZERO
    for cost in costs:
        total = total.plus(cost)
    return total
