"""What a filter demands of single fields, so that an index can say which objects are worth a look.

Only of terms that all have to hold: ``self.spec.a == 'x' && ...``, ``self.spec.b in [1, 2]``, and
``self.spec.c`` where it is a boolean. What an index finds by them is looked at with the whole
filter all the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from apiserver.cel.syntax.ast import Call, Expr, Ident, ListExpr, Literal, Select
from apiserver.cel.types import BOOL
from apiserver.meta.fieldpaths import text_of


class Equality(NamedTuple):
    """One of the values (as `text_of` has them) stands at the path."""

    path: str
    values: tuple[str, ...]


def equalities(tree: Expr, root: str) -> Iterator[Equality]:
    """``tree``: checked; ``root``: the checker's name of the variable whose fields are meant."""
    if isinstance(tree, Call) and tree.function == "_&&_":
        for term in tree.args:
            yield from equalities(term, root)
        return
    path = ""
    values: tuple[str, ...] | None = None
    if isinstance(tree, Select) and tree.type == BOOL:
        path, values = _path(tree, root), ("true",)
    elif isinstance(tree, Call) and len(tree.args) == 2:
        first, second = tree.args
        if tree.function == "_==_":
            first, second = (second, first) if isinstance(first, Literal) else (first, second)
            path, values = _path(first, root), _texts([second])
        elif tree.function in ("@in", "_in_") and isinstance(second, ListExpr):
            path, values = _path(first, root), _texts(second.elements)
    if path and values:
        yield Equality(path, values)


def _path(expr: Expr, root: str) -> str:
    """ "" for anything but a chain of fields below the variable, by names that are theirs in JSON,
    too."""
    names: list[str] = []
    while isinstance(expr, Select) and not expr.test:
        names.append(expr.field)
        expr = expr.operand
    if not (isinstance(expr, Ident) and expr.name == root) or any("__" in n for n in names):
        return ""
    return ".".join(reversed(names))


def _texts(values: list[Expr]) -> tuple[str, ...] | None:
    """None where one of them is no constant that an index has. An empty text is not indexed."""
    texts = [
        text_of(value.value)
        if isinstance(value, Literal) and type(value.value) in (str, int, bool)
        else ""
        for value in values
    ]
    return tuple(texts) if all(texts) else None
