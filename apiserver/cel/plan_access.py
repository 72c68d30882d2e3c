"""Closures that select fields and index lists and maps, plainly, for presence, and optionally (cel-go ``interpreter/attributes.go``)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from apiserver.cel.ast import Call, Expr, Literal, Select
from apiserver.cel.errors import EvalError, no_such_key, no_such_overload
from apiserver.cel.plan import Code, Frame, Planner, static_type
from apiserver.cel.types import Type, is_optional
from apiserver.cel.values import NONE, Optional, Uint

_MISSING: Any = object()


def source_name(planner: Planner, operand: Type, field: str) -> str:
    """A struct's field as the JSON object calls it."""
    if operand.kind == "struct":
        known = planner.env.struct(operand.name)
        found = known.field(field) if known is not None else None
        if found is not None:
            return found.source
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
        return _member(operand, key, cost, own) if type_.kind == "struct" else _plain(operand, key, cost, own)
    field, source = e.field, operand.run

    def select(f: Frame) -> Any:
        return qualify(source(f), field)

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


def _presence(planner: Planner, operand: Code, type_: Type, field: str, cost: int) -> Code:
    source = operand.run
    strict = planner.env.strict_presence
    if type_.kind in ("map", "struct"):
        key = source_name(planner, type_, field)
        if type_.kind == "struct":

            def has_field(f: Frame) -> Any:
                value = source(f)
                try:
                    return key in value and value[key] is not None
                except TypeError:
                    return False

            return Code(has_field, cost=cost)

        def has(f: Frame) -> Any:
            value = source(f)
            try:
                return key in value
            except TypeError:
                return False

        return Code(has, cost=cost)

    def has_dynamic(f: Frame) -> Any:
        value = source(f)
        if type(value) is Optional:
            if not value.present:
                return False
            value = value.value
        if isinstance(value, Mapping):
            return field in value
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
    source, strict, struct = operand.run, planner.env.strict_presence, inner.kind == "struct"
    cost, own = _chain(operand, 0)

    def run(f: Frame) -> Any:
        found = if_present(f, source(f), key, strict)
        return NONE if struct and found.value is None else found

    return Code(run, cost=cost, own=own, attribute=True)


def plan_index(planner: Planner, e: Call, optional: bool) -> Code:
    operand, index = planner.plan(e.args[0]), planner.plan(e.args[1])
    if index.constant is not None:
        extra = 1
    elif index.attribute:
        extra = 1 + index.cost - index.own
    else:
        extra = 1 + index.cost
    cost, own = _chain(operand, extra)
    source, where = operand.run, index.run
    if optional:
        strict = planner.env.strict_presence

        def maybe(f: Frame) -> Any:
            return if_present(f, source(f), where(f), strict)

        return Code(maybe, cost=cost - 1, own=own, attribute=True)
    run = _typed_index(e.args[0], e.args[1], operand, index)
    if run is None:

        def run(f: Frame) -> Any:
            return qualify(source(f), where(f))

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
                pass
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
    if kind is float and index == index and abs(index) < 2**63 and index == int(index):
        return int(index)
    raise EvalError(f"unsupported index value: {index}" if kind is float else "unsupported index type")


def find(value: Any, key: Any) -> Any:
    """The member of a map, struct or list; _MISSING when there is none. Raises EvalError for what has no members."""
    if isinstance(value, Mapping):
        try:
            return value[key]
        except KeyError:
            return _MISSING
        except TypeError:
            raise no_such_overload() from None
    if isinstance(value, list):
        at = _integer(key)
        return value[at] if 0 <= at < len(value) else _MISSING
    raise no_such_key(key)


def qualify(value: Any, key: Any) -> Any:
    """``value.key`` or ``value[key]`` when the checker does not know what value is; an optional value gives an optional one."""
    if type(value) is Optional:
        if not value.present:
            return NONE
        found = find(value.value, key)
        return NONE if found is _MISSING else Optional(found)
    found = find(value, key)
    if found is _MISSING:
        raise EvalError(f"index out of bounds: {key}") if isinstance(value, list) else no_such_key(key)
    return found


def if_present(f: Frame, value: Any, key: Any, strict: bool) -> Any:
    """``value.?key``: an optional value. A present member costs one unit."""
    if type(value) is Optional:
        if not value.present:
            return NONE
        value = value.value
    if not strict and not isinstance(value, Mapping | list):
        return NONE
    found = find(value, key)
    if found is _MISSING:
        return NONE
    f[0] += 1
    return found if type(found) is Optional else Optional(found)
