"""The syntax tree. The parser makes it with macros expanded; the checker writes ``type``,
``overloads`` and resolved names into it.

Every node has ``pos``: the offset in code points of the token that cel-go reports for it (operator,
opening parenthesis, dot, start).
"""

from __future__ import annotations

from typing import Any

from apiserver.cel.types import Type


class Expr:
    """type: set by the checker (None before). depth: how deep the counted recursion below goes
    (parser's limit)."""

    __slots__ = ("depth", "pos", "type")

    def __init__(self, pos: int, depth: int = 0) -> None:
        self.pos = pos
        self.type: Type | None = None
        self.depth = depth


class Literal(Expr):
    """A constant: None, bool, int, Uint, float, str or bytes."""

    __slots__ = ("value",)

    def __init__(self, pos: int, value: Any) -> None:
        super().__init__(pos)
        self.value = value


class Ident(Expr):
    """A name; the checker resolves a global one to its full name with a leading dot. denoted: the
    type that it names, if it names one; constant: (type, value) of a constant."""

    __slots__ = ("constant", "denoted", "name")

    def __init__(self, pos: int, name: str) -> None:
        super().__init__(pos)
        self.name = name
        self.denoted: Type | None = None
        self.constant: tuple[Type, Any] | None = None


class Select(Expr):
    """``operand.field``, or ``has(operand.field)``. ident: set by the checker when the whole chain
    is one qualified name."""

    __slots__ = ("field", "ident", "operand", "test")

    def __init__(self, pos: int, operand: Expr, field: str, test: bool = False) -> None:
        super().__init__(pos, operand.depth)
        self.operand = operand
        self.field = field
        self.test = test
        self.ident: Ident | None = None


class Call(Expr):
    """``function(args)``, ``target.function(args)`` or an operator (``_+_``). && and || hold all
    their terms in one node.

    overloads: ids of the overloads that the checker found to fit. enclosing: what a member call
    turned out to be when ``a.b.f(x)`` names a function in a namespace (target is then None and
    function the qualified name)."""

    __slots__ = ("args", "function", "overloads", "target")

    def __init__(
        self, pos: int, function: str, args: list[Expr], target: Expr | None = None
    ) -> None:
        super().__init__(pos, max((a.depth for a in args), default=0))
        if target is not None:
            self.depth = max(self.depth, target.depth)
        self.function = function
        self.args = args
        self.target = target
        self.overloads: tuple[str, ...] = ()


class ListExpr(Expr):
    """optionals: indices of elements written ``?e``."""

    __slots__ = ("elements", "optionals")

    def __init__(
        self, pos: int, elements: list[Expr], optionals: frozenset[int] = frozenset()
    ) -> None:
        super().__init__(pos, max((e.depth for e in elements), default=0))
        self.elements = elements
        self.optionals = optionals


class Entry:
    """An entry of a map (key: Expr) or a field of a message (key: str)."""

    __slots__ = ("key", "optional", "pos", "value")

    def __init__(self, pos: int, key: Any, value: Expr, optional: bool = False) -> None:
        self.pos = pos
        self.key = key
        self.value = value
        self.optional = optional


class MapExpr(Expr):
    __slots__ = ("entries",)

    def __init__(self, pos: int, entries: list[Entry]) -> None:
        super().__init__(pos, max((max(e.key.depth, e.value.depth) for e in entries), default=0))
        self.entries = entries


class StructExpr(Expr):
    __slots__ = ("fields", "name")

    def __init__(self, pos: int, name: str, fields: list[Entry]) -> None:
        super().__init__(pos, max((e.value.depth for e in fields), default=0))
        self.name = name
        self.fields = fields


class Comprehension(Expr):
    """A fold over ``range``. macro: name of the macro that made it ("all", "map", "bind", ...), so
    that the interpreter can take a short way; iter_var2 "" for one variable."""

    __slots__ = (
        "accu_var",
        "condition",
        "init",
        "iter_var",
        "iter_var2",
        "macro",
        "range",
        "result",
        "step",
    )

    def __init__(
        self,
        pos: int,
        macro: str,
        range_: Expr,
        iter_var: str,
        iter_var2: str,
        accu_var: str,
        init: Expr,
        condition: Expr,
        step: Expr,
        result: Expr,
    ) -> None:
        super().__init__(pos, max(e.depth for e in (range_, init, condition, step, result)))
        self.macro = macro
        self.range = range_
        self.iter_var = iter_var
        self.iter_var2 = iter_var2
        self.accu_var = accu_var
        self.init = init
        self.condition = condition
        self.step = step
        self.result = result


def children(e: Expr) -> list[Expr]:
    """Direct subexpressions in order of the source."""
    if isinstance(e, Select):
        return [e.operand]
    if isinstance(e, Call):
        return [*([e.target] if e.target is not None else []), *e.args]
    if isinstance(e, ListExpr):
        return e.elements
    if isinstance(e, MapExpr):
        return [x for entry in e.entries for x in (entry.key, entry.value)]
    if isinstance(e, StructExpr):
        return [entry.value for entry in e.fields]
    if isinstance(e, Comprehension):
        return [e.range, e.init, e.condition, e.step, e.result]
    return []
