"""Macros: calls that the parser turns into comprehensions and presence tests (cel-go
``parser/macro.go``, ``ext/comprehensions.go``).

A macro gets the place of the call, its target (None for a global one) and its arguments, and gives
the expansion, or None when the call is no macro after all. MacroError names the argument at fault.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from apiserver.cel.syntax.ast import (
    Call,
    Comprehension,
    Expr,
    Ident,
    ListExpr,
    Literal,
    MapExpr,
    Select,
)

ACCUMULATOR: Final = "@result"
_RESERVED = frozenset({ACCUMULATOR, "__result__"})


class MacroError(Exception):
    def __init__(self, pos: int, message: str) -> None:
        super().__init__(message)
        self.pos = pos
        self.message = message


Expander = Callable[[int, Expr | None, list[Expr]], Expr | None]
MacroKey = tuple[str, int, bool]
"""Function name, number of arguments, whether it has a target."""


def _accu(pos: int) -> Ident:
    return Ident(pos, ACCUMULATOR)


def _variable(e: Expr, complaint: str) -> str:
    if not isinstance(e, Ident):
        raise MacroError(e.pos, complaint)
    if e.name in _RESERVED:
        raise MacroError(e.pos, "iteration variable overwrites accumulator variable")
    return e.name


def _fold(
    pos: int,
    macro: str,
    target: Expr | None,
    names: tuple[str, str],
    init: Expr,
    condition: Expr,
    step: Expr,
    result: Expr,
) -> Expr:
    assert target is not None  # all callers are receiver macros
    return Comprehension(
        pos, macro, target, names[0], names[1], ACCUMULATOR, init, condition, step, result
    )


def _all(pos: int, target: Expr | None, names: tuple[str, str], predicate: Expr) -> Expr:
    condition = Call(pos, "@not_strictly_false", [_accu(pos)])
    step = Call(pos, "_&&_", [_accu(pos), predicate])
    return _fold(pos, "all", target, names, Literal(pos, True), condition, step, _accu(pos))


def _exists(pos: int, target: Expr | None, names: tuple[str, str], predicate: Expr) -> Expr:
    condition = Call(pos, "@not_strictly_false", [Call(pos, "!_", [_accu(pos)])])
    step = Call(pos, "_||_", [_accu(pos), predicate])
    return _fold(pos, "exists", target, names, Literal(pos, False), condition, step, _accu(pos))


def _exists_one(pos: int, target: Expr | None, names: tuple[str, str], predicate: Expr) -> Expr:
    more = Call(pos, "_+_", [_accu(pos), Literal(pos, 1)])
    step = Call(pos, "_?_:_", [predicate, more, _accu(pos)])
    result = Call(pos, "_==_", [_accu(pos), Literal(pos, 1)])
    return _fold(
        pos, "exists_one", target, names, Literal(pos, 0), Literal(pos, True), step, result
    )


def _collect(
    pos: int,
    macro: str,
    target: Expr | None,
    names: tuple[str, str],
    keep: Expr | None,
    step: Expr,
    init: Expr,
) -> Expr:
    if keep is not None:
        step = Call(pos, "_?_:_", [keep, step, _accu(pos)])
    return _fold(pos, macro, target, names, init, Literal(pos, True), step, _accu(pos))


def _append(pos: int, item: Expr) -> Expr:
    return Call(pos, "_+_", [_accu(pos), ListExpr(pos, [item])])


def _one_variable(make: Callable[[int, Expr | None, tuple[str, str], Expr], Expr]) -> Expander:
    def expand(pos: int, target: Expr | None, args: list[Expr]) -> Expr:
        return make(
            pos, target, (_variable(args[0], "argument must be a simple name"), ""), args[1]
        )

    return expand


def _two_names(args: list[Expr]) -> tuple[str, str]:
    for arg in args[:2]:
        if not isinstance(arg, Ident):
            raise MacroError(arg.pos, "argument must be a simple name")
    first, second = args[0], args[1]
    assert isinstance(first, Ident)
    assert isinstance(second, Ident)
    if first.name == second.name:
        raise MacroError(second.pos, f"duplicate variable name: {first.name}")
    return _variable(first, ""), _variable(second, "")


def _two_variables(make: Callable[[int, Expr | None, tuple[str, str], Expr], Expr]) -> Expander:
    def expand(pos: int, target: Expr | None, args: list[Expr]) -> Expr:
        return make(pos, target, _two_names(args), args[2])

    return expand


def _has(pos: int, _target: Expr | None, args: list[Expr]) -> Expr:
    arg = args[0]
    if isinstance(arg, Select):
        return Select(pos, arg.operand, arg.field, test=True)
    raise MacroError(arg.pos, "invalid argument to has() macro")


def _map(pos: int, target: Expr | None, args: list[Expr]) -> Expr:
    name = _variable(args[0], "argument is not an identifier")
    keep = args[1] if len(args) == 3 else None
    return _collect(pos, "map", target, (name, ""), keep, _append(pos, args[-1]), ListExpr(pos, []))


def _filter(pos: int, target: Expr | None, args: list[Expr]) -> Expr:
    name = _variable(args[0], "argument is not an identifier")
    return _collect(
        pos, "filter", target, (name, ""), args[1], _append(pos, args[0]), ListExpr(pos, [])
    )


def _transform_list(pos: int, target: Expr | None, args: list[Expr]) -> Expr:
    names = _two_names(args)
    keep = args[2] if len(args) == 4 else None
    return _collect(pos, "map", target, names, keep, _append(pos, args[-1]), ListExpr(pos, []))


def _transform_map(pos: int, target: Expr | None, args: list[Expr]) -> Expr:
    names = _two_names(args)
    keep = args[2] if len(args) == 4 else None
    step = Call(pos, "cel.@mapInsert", [_accu(pos), Ident(pos, names[0]), args[-1]])
    return _collect(pos, "transformMap", target, names, keep, step, MapExpr(pos, []))


def _transform_map_entry(pos: int, target: Expr | None, args: list[Expr]) -> Expr:
    names = _two_names(args)
    keep = args[2] if len(args) == 4 else None
    step = Call(pos, "cel.@mapInsert", [_accu(pos), args[-1]])
    return _collect(pos, "transformMapEntry", target, names, keep, step, MapExpr(pos, []))


def _bind(pos: int, name: str, value: Expr, body: Expr) -> Expr:
    return Comprehension(
        pos,
        "bind",
        ListExpr(pos, []),
        "#unused",
        "",
        name,
        value,
        Literal(pos, False),
        Ident(pos, name),
        body,
    )


def _cel_bind(pos: int, target: Expr | None, args: list[Expr]) -> Expr | None:
    if not isinstance(target, Ident) or target.name != "cel":
        return None
    variable = args[0]
    if not isinstance(variable, Ident):
        raise MacroError(variable.pos, "cel.bind() variable names must be simple identifiers")
    return _bind(pos, variable.name, args[1], args[2])


def _opt_map(flat: bool) -> Expander:
    function = "optFlatMap" if flat else "optMap"

    def expand(pos: int, target: Expr | None, args: list[Expr]) -> Expr:
        variable = args[0]
        if not isinstance(variable, Ident):
            raise MacroError(
                variable.pos, f"{function}() variable name must be a simple identifier"
            )
        body = _bind(pos, variable.name, Call(pos, "value", [], target), args[1])
        if not flat:
            body = Call(pos, "optional.of", [body])
        return Call(
            pos, "_?_:_", [Call(pos, "hasValue", [], target), body, Call(pos, "optional.none", [])]
        )

    return expand


STANDARD: Final[Mapping[MacroKey, Expander]] = {
    ("has", 1, False): _has,
    ("all", 2, True): _one_variable(_all),
    ("exists", 2, True): _one_variable(_exists),
    ("exists_one", 2, True): _one_variable(_exists_one),
    ("map", 2, True): _map,
    ("map", 3, True): _map,
    ("filter", 2, True): _filter,
}

OPTIONAL: Final[Mapping[MacroKey, Expander]] = {
    ("optMap", 2, True): _opt_map(flat=False),
    ("optFlatMap", 2, True): _opt_map(flat=True),
}

BINDINGS: Final[Mapping[MacroKey, Expander]] = {("bind", 3, True): _cel_bind}
"""``cel.bind(name, value, expression)`` (cel-go ``ext/bindings.go``, version 0)."""

TWO_VARIABLES: Final[Mapping[MacroKey, Expander]] = {
    ("all", 3, True): _two_variables(_all),
    ("exists", 3, True): _two_variables(_exists),
    ("existsOne", 3, True): _two_variables(_exists_one),
    ("exists_one", 3, True): _two_variables(_exists_one),
    ("transformList", 3, True): _transform_list,
    ("transformList", 4, True): _transform_list,
    ("transformMap", 3, True): _transform_map,
    ("transformMap", 4, True): _transform_map,
    ("transformMapEntry", 3, True): _transform_map_entry,
    ("transformMapEntry", 4, True): _transform_map_entry,
}
