"""Calls of ``string.format`` with a literal template and a literal list are checked when compiled
(cel-go ``ext/formatting.go``)."""

from __future__ import annotations

from collections.abc import Iterator

from apiserver.cel.errors import CompileError, EvalError
from apiserver.cel.library.formatting import STRING_CLAUSE, Clause, ClauseError, interpolate
from apiserver.cel.syntax.ast import Call, Expr, ListExpr, Literal, MapExpr
from apiserver.cel.types import DYN

_STRINGS = frozenset(
    [
        "list",
        "map",
        "int",
        "uint",
        "double",
        "bool",
        "string",
        "timestamp",
        "bytes",
        "duration",
        "type",
        "null",
    ]
)
_KINDS = {
    "d": (frozenset({"int", "uint"}), "decimal clause can only be used on integers"),
    "f": (frozenset({"double", "string"}), "fixed-point clause can only be used on doubles"),
    "e": (frozenset({"double", "string"}), "scientific clause can only be used on doubles"),
    "b": (frozenset({"int", "uint", "bool"}), "only integers and bools can be formatted as binary"),
    "x": (
        frozenset({"int", "uint", "string", "bytes"}),
        "only integers, byte buffers, and strings can be formatted as hex",
    ),
    "X": (
        frozenset({"int", "uint", "string", "bytes"}),
        "only integers, byte buffers, and strings can be formatted as hex",
    ),
    "o": (frozenset({"int", "uint"}), "octal clause can only be used on integers"),
}


def check_format_calls(nodes: list[Expr]) -> Iterator[tuple[Expr, CompileError]]:
    """What is wrong, and with which call."""
    for e in nodes:
        if (
            not isinstance(e, Call)
            or e.function != "format"
            or len(e.args) != 1
            or "string_format" not in e.overloads
        ):
            continue
        template, items = e.target, e.args[0]
        if (
            isinstance(template, Literal)
            and isinstance(template.value, str)
            and isinstance(items, ListExpr)
        ):
            error = _check(e, template.value, items.elements)
            if error is not None:
                yield e, error


def _check(call: Call, template: str, args: list[Expr]) -> CompileError | None:
    place = call.pos
    used = 0

    def clause(c: Clause, index: int) -> str:
        nonlocal place, used
        used = index + 1
        bad = _unfit(args[index]) if c.verb == "s" else _mismatch(args[index], c.verb)
        if bad is not None:
            place = bad.pos
            complaint = STRING_CLAUSE if c.verb == "s" else _KINDS[c.verb][1]
            raise ClauseError(f"{complaint}, was given {(bad.type or DYN).name}")
        return ""

    try:
        interpolate(template, len(args), clause)
    except EvalError as e:
        return CompileError(place, e.message)
    if len(args) > used:
        return CompileError(
            call.pos,
            f"too many arguments supplied to string.format (expected {used}, got {len(args)})",
        )
    return None


def _mismatch(arg: Expr, verb: str) -> Expr | None:
    kind = (arg.type or DYN).kind
    return None if kind == "dyn" or kind in _KINDS[verb][0] else arg


def _unfit(arg: Expr) -> Expr | None:
    """The part of an argument of %s that cannot be printed."""
    kind = (arg.type or DYN).kind
    if kind != "dyn" and kind not in _STRINGS:
        return arg
    parts: list[Expr] = []
    if isinstance(arg, ListExpr):
        parts = arg.elements
    elif isinstance(arg, MapExpr):
        parts = [part for entry in arg.entries for part in (entry.key, entry.value)]
    return next((bad for bad in map(_unfit, parts) if bad is not None), None)
