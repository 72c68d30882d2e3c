"""The query parameter ``filter``: a CEL expression over ``self``, one object as readers of the
request's version see it.

It is checked against the schema of that version, as the rules of definitions are, but sees all of
metadata. What an object does not have makes an expression that reads it fail, and an object for
which it fails is not selected, as a row is not for which a condition of SQL is unknown; ``has()``
and ``orValue()`` say otherwise. Costs are bounded for each object and for all of one request.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TypeVar

from apiserver.cel.check.validators import walk
from apiserver.cel.env import Env
from apiserver.cel.errors import BudgetExceeded, CelError
from apiserver.cel.kubernetes.binding import bind
from apiserver.cel.kubernetes.decltypes import declare, schema_decl_type
from apiserver.cel.kubernetes.environments import BASE
from apiserver.cel.plan.program import (
    PER_CALL_LIMIT,
    ROOM,
    Program,
    compile,
    error_text,
    patience,
    unmade,
)
from apiserver.cel.syntax.ast import Ident, Select
from apiserver.cel.types import BOOL
from apiserver.meta.objects import Object
from apiserver.registry.equalities import Equality, equalities
from apiserver.schema.builtin import definition
from apiserver.schema.definitions import META
from apiserver.schema.types import Schema

MOST = 16 * 1024
"""Characters."""
REQUEST_LIMIT = 100 * PER_CALL_LIMIT
"""Units of cost for all objects that one request looks at."""
_CACHE = "filter"
_SELF = ".self"
"""The checker's name of the variable."""

T = TypeVar("T")


class FilterError(ValueError):
    """What is wrong with an expression (``source``), or what it has cost too much for."""

    def __init__(self, message: str, source: str = "") -> None:
        super().__init__(message)
        self.source = source


@dataclass(frozen=True, slots=True, eq=False)
class _Typed:
    """schema: without what contains itself; sources: members by the names that CEL has for
    them."""

    env: Env
    schema: Schema
    sources: dict[str, str]


@dataclass(frozen=True, slots=True, eq=False)
class Filter:
    """schema: of the members that the expression looks at."""

    source: str
    program: Program
    schema: Schema

    def chosen(self, items: Iterable[T], shown: Callable[[T], Object]) -> Iterator[T]:
        """Those for which it is true, in their order. ``shown``: the object of an item. Raises
        FilterError where one of them, or all that have been looked at, cost too much."""
        spent = 0
        for item in items:
            obj = shown(item)
            value, cost = self._evaluate(obj)
            spent += cost
            if spent > REQUEST_LIMIT:
                raise FilterError(
                    f"it has cost more than {REQUEST_LIMIT} units before all objects were looked "
                    "at: select fewer of them, or page through them with limit",
                    self.source,
                )
            if value:
                yield item

    def equalities(self) -> list[Equality]:
        """What each chosen object has at some paths."""
        return list(equalities(self.program.tree, _SELF))

    def _evaluate(self, obj: Object) -> tuple[bool, int]:
        try:
            with patience() as account:
                account.room = ROOM
                value, spent = self.program.run({"self": bind(obj, self.schema)}, PER_CALL_LIMIT)
        except BudgetExceeded:
            text = f"it costs too much for {_name(obj)}: cost limit exceeded"
            raise FilterError(text, self.source) from None
        except CelError as e:
            return False, e.spent
        return value is True, spent


def _name(obj: Object) -> str:
    metadata = obj.get("metadata") or {}
    return "/".join(filter(None, (metadata.get("namespace"), metadata.get("name"))))


def compile_filter(source: str, schema: Schema) -> Filter:
    """``schema``: of the request's version. Raises FilterError."""
    if len(source) > MOST:
        raise FilterError(f"may have at most {MOST} characters")
    typed = _typed(schema)
    program = compile(typed.env, source)
    if not isinstance(program, Program):
        raise FilterError("compilation failed: " + error_text(source, program))
    if program.type != BOOL:
        raise FilterError("cel expression must evaluate to a bool")
    if why := unmade(program):
        raise FilterError(why)
    used = _used(program, typed)
    members = {n: s for n, s in (typed.schema.properties or {}).items() if n in used}
    return Filter(source, program, Schema(type="object", properties=members))


def _used(program: Program, typed: _Typed) -> set[str]:
    """Members of ``self`` that are looked at; all where it is used as a whole."""
    selected: set[str] = set()
    whole = 0
    for e in walk(program.tree):
        if isinstance(e, Select) and isinstance(e.operand, Ident) and e.operand.name == _SELF:
            selected.add(typed.sources.get(e.field, e.field))
            whole -= 1
        elif isinstance(e, Ident) and e.name == _SELF:
            whole += 1
    return set(typed.schema.properties or {}) if whole > 0 else selected


def _typed(schema: Schema) -> _Typed:
    """Made once for a schema: programs are kept by the identity of their environment."""
    typed: _Typed | None = schema.cache.get(_CACHE)
    if typed is None:
        finite = _finite(_whole(schema), frozenset())
        declared = schema_decl_type(finite, False)
        assert declared is not None, "it is an object"
        type_, structs = declare(declared, "self0")
        env = BASE.extend({"self": type_}, structs)
        typed = schema.cache[_CACHE] = _Typed(env, finite, declared.sources)
    return typed


def _whole(schema: Schema) -> Schema:
    """With what every object has; custom schemas leave it out."""
    text = Schema(type="string")
    properties = {
        **(schema.properties or {}),
        "kind": text,
        "apiVersion": text,
        "metadata": definition(META + "ObjectMeta"),
    }
    return Schema(type="object", properties=properties)


def _finite(schema: Schema, within: frozenset[str]) -> Schema:
    """A definition that contains itself is empty there, as for CEL's types."""
    if schema.definition:
        if schema.definition in within:
            return Schema(type="object")
        within |= {schema.definition}
    if schema.properties is None and schema.items is None and schema.additional is None:
        return schema
    return replace(
        schema,
        definition="",
        properties={n: _finite(s, within) for n, s in schema.properties.items()}
        if schema.properties is not None
        else None,
        items=_finite(schema.items, within) if schema.items is not None else None,
        additional=_finite(schema.additional, within) if schema.additional is not None else None,
        cache={},
    )
