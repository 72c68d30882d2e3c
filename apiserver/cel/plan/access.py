"""Closures that select fields and index lists and maps, plainly, for presence, and optionally
(cel-go ``interpreter/attributes.go``)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from apiserver.cel.errors import EvalError, InstantiationError, no_such_key, no_such_overload
from apiserver.cel.plan.overloads import go_native_type, go_type
from apiserver.cel.plan.planner import Code, Frame, Planner, Run, static_type
from apiserver.cel.scalars import Uint
from apiserver.cel.syntax.ast import Call, Expr, Literal, Select
from apiserver.cel.types import Type, is_optional
from apiserver.cel.values import NONE, Fields, Joined, Optional, type_of
from apiserver.golang.strconv import format_float

_MISSING: Any = object()
_KEYS: Final = frozenset({bool, int, Uint, float, str})
_WITH_MEMBERS: Final = (Mapping, list, Joined, Fields)


def source_name(planner: Planner, operand: Type, field: str) -> str:
    """A struct's field as the JSON object calls it."""
    if operand.kind == "struct":
        struct_type = planner.env.struct(operand.name)
        field_type = struct_type.field(field) if struct_type is not None else None
        if field_type is not None:
            return field_type.source
    return field


def _chain(operand: Code, cost: int) -> tuple[int, int]:
    """(cost, own) of a chain that goes on from ``operand`` by one qualifier."""
    if operand.attribute:
        return operand.cost + cost, operand.own
    return operand.cost + 1 + cost, 1


def plan_select(planner: Planner, e: Select) -> Code:
    if e.ident is not None:
        return planner.ident(e.ident)
    operand = planner.plan(e.operand)
    type_ = static_type(e.operand)
    cost, own = _chain(operand, 1)
    if e.test:
        return _presence(planner, operand, type_, e.field, cost - own)
    if type_.kind in ("map", "struct"):
        key = source_name(planner, type_, e.field)
        return (
            _member(operand, key, cost, own)
            if type_.kind == "struct"
            else _plain(operand, key, cost, own)
        )
    field, source, strict = e.field, operand.run, planner.env.strict

    def select(f: Frame) -> Any:
        value = source(f)
        if type(value) is dict:
            try:
                return value[field]
            except KeyError:
                raise no_such_key(field) from None
        if type(value) is Optional:
            return _of_optional(f, value, field, 1, strict)
        return qualify(value, field)

    return Code(select, cost=cost, own=own, attribute=True)


def _plain(operand: Code, key: str, cost: int, own: int) -> Code:
    slot, source = operand.variable, operand.run

    def of_variable(f: Frame) -> Any:
        try:
            return f[slot][key]
        except (KeyError, TypeError):
            raise no_such_key(key) from None

    def of_value(f: Frame) -> Any:
        value = source(f)
        try:
            return value[key]
        except (KeyError, TypeError):
            raise no_such_key(key) from None

    return Code(of_variable if slot else of_value, cost=cost, own=own, attribute=True)


def _member(operand: Code, key: str, cost: int, own: int) -> Code:
    """A field of a struct; null counts as absent."""
    slot, source = operand.variable, operand.run

    def of_variable(f: Frame) -> Any:
        try:
            value = f[slot][key]
        except (KeyError, TypeError):
            raise no_such_key(key) from None
        if value is None:
            raise no_such_key(key)
        return value

    def of_value(f: Frame) -> Any:
        value = source(f)
        try:
            value = value[key]
        except (KeyError, TypeError):
            raise no_such_key(key) from None
        if value is None:
            raise no_such_key(key)
        return value

    return Code(of_variable if slot else of_value, cost=cost, own=own, attribute=True)


def _has_member(source: Run, key: str, *, struct: bool) -> Run:
    """Presence in what is known to be a map or a struct; null counts as absent in a struct."""

    def has_field(f: Frame) -> Any:
        value = source(f)
        try:
            return key in value and value[key] is not None
        except TypeError:
            return False

    def has(f: Frame) -> Any:
        value = source(f)
        try:
            return key in value
        except TypeError:
            return False

    return has_field if struct else has


def _presence(planner: Planner, operand: Code, type_: Type, field: str, cost: int) -> Code:
    source = operand.run
    strict = planner.env.strict
    if type_.kind in ("map", "struct"):
        key = source_name(planner, type_, field)
        return Code(_has_member(source, key, struct=type_.kind == "struct"), cost=cost)

    def has_dynamic(f: Frame) -> Any:
        value = source(f)
        if type(value) is Optional:
            if not value.present:
                f[0] -= 1
                return False
            value = value.value
        if type(value) is dict or isinstance(value, Mapping | Fields):
            return field in value
        if isinstance(value, list | Joined):
            _integer(field)
        if strict:
            raise no_such_overload()
        return False

    return Code(has_dynamic, cost=cost)


def plan_optional_select(planner: Planner, e: Call) -> Code:
    operand = planner.plan(e.args[0])
    field = e.args[1]
    assert isinstance(field, Literal)
    type_ = static_type(e.args[0])
    inner = type_.params[0] if is_optional(type_) else type_
    key = source_name(planner, inner, field.value)
    source, strict, struct = operand.run, planner.env.strict, inner.kind == "struct"
    cost, own = _chain(operand, 0)

    def run(f: Frame) -> Any:
        member = if_present(f, source(f), key, strict)
        return NONE if struct and member.value is None else member

    return Code(run, cost=cost, own=own, attribute=True)


def plan_index(planner: Planner, e: Call, optional: bool) -> Code:
    operand, index = planner.plan(e.args[0]), planner.plan(e.args[1])
    if index.constant is not None:
        if type(index.constant[0]) not in _KEYS and not planner.env.strict:
            raise InstantiationError(f"invalid qualifier type: {go_type(index.constant[0])}")
        extra = 1
    elif index.attribute:
        extra = 1 + index.cost - index.own
    else:
        extra = 1 + index.cost
    cost, own = _chain(operand, extra)
    source, where = operand.run, index.run
    strict = planner.env.strict
    if optional:

        def maybe(f: Frame) -> Any:
            return if_present(f, source(f), where(f), strict)

        return Code(maybe, cost=cost - 1, own=own, attribute=True)
    run = _typed_index(e.args[0], e.args[1], operand, index)
    if run is None:

        def run(f: Frame) -> Any:
            value = source(f)
            if type(value) is Optional:
                return _of_optional(f, value, where(f) if value.present else None, extra, strict)
            return qualify(value, where(f))

    return Code(run, cost=cost, own=own, attribute=True)


def _typed_index(operand: Expr, index: Expr, o: Code, i: Code) -> Any:
    """The short ways: a list by int, a map by string."""
    source, where = o.run, i.run
    of, by = static_type(operand), static_type(index)
    if of.kind == "list" and by.kind == "int":

        def item(f: Frame) -> Any:
            items, at = source(f), where(f)
            try:
                if at >= 0:
                    return items[at]
            except (IndexError, TypeError):
                if type(items) is Joined and at < items.size:
                    return items.at(at)
            raise EvalError(f"index out of bounds: {at}")

        return item
    if of.kind == "map" and by.kind == "string":

        def value(f: Frame) -> Any:
            entries, key = source(f), where(f)
            try:
                return entries[key]
            except (KeyError, TypeError):
                raise no_such_key(key) from None

        return value
    return None


def _integer(index: Any) -> int:
    kind = type(index)
    if kind is int or kind is Uint:
        return int(index)
    if kind is not float:
        raise EvalError(f"unsupported index type '{type_of(index).name}' in list")
    if index == index and abs(index) < 2**63 and index == int(index):
        return int(index)
    raise EvalError(f"unsupported index value {format_float(index)} in list")


def find(value: Any, key: Any) -> Any:
    """The member of a map, struct or list; _MISSING when there is none. Raises EvalError for what
    has no members."""
    if type(key) not in _KEYS:
        raise EvalError(f"invalid qualifier type: {go_native_type(key)}")
    if type(value) is dict or isinstance(value, Mapping | Fields):
        try:
            return value[key]
        except KeyError:
            return _MISSING
    if isinstance(value, list):
        at = _integer(key)
        return value[at] if 0 <= at < len(value) else _MISSING
    if type(value) is Joined:
        at = _integer(key)
        return value.at(at) if 0 <= at < value.size else _MISSING
    raise no_such_key(key)


def qualify(value: Any, key: Any) -> Any:
    """``value.key`` or ``value[key]`` when the checker does not know what value is."""
    member = find(value, key)
    if member is _MISSING:
        raise (
            EvalError(f"index out of bounds: {_integer(key)}")
            if isinstance(value, list | Joined)
            else no_such_key(key)
        )
    return member


def _of_optional(f: Frame, value: Optional, key: Any, cost: int, strict: bool) -> Optional:
    """A member of an optional value. What is absent is not looked at: its cost, paid beforehand, is
    given back."""
    if not value.present:
        f[0] -= cost
        return NONE
    member = (
        find(value.value, key) if strict or isinstance(value.value, _WITH_MEMBERS) else _MISSING
    )
    if member is _MISSING:
        f[0] -= 1
        return NONE
    return Optional(member)


def if_present(f: Frame, value: Any, key: Any, strict: bool) -> Any:
    """``value.?key``: an optional value. A present member costs one unit."""
    if type(value) is Optional:
        if not value.present:
            return NONE
        value = value.value
    if not strict and type(value) is not dict and not isinstance(value, _WITH_MEMBERS):
        return NONE
    member = find(value, key)
    if member is _MISSING:
        return NONE
    f[0] += 1
    return Optional(member)
