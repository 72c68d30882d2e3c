"""Values with a type: validation, and the set of fields that a value mentions.

Source: structured-merge-diff ``typed/validate.go``, ``typed/tofieldset.go``, ``typed/helpers.go``.
"""

from __future__ import annotations

from typing import Any

from apiserver.fieldmanager.fieldpath import (
    LEAF,
    FieldSet,
    as_member,
    element_text,
    key_element,
    value_element,
)
from apiserver.fieldmanager.types import ListType, MapType, Type
from apiserver.fieldmanager.values import Value
from apiserver.golang.fmt import go_syntax, go_type, go_value

Problems = list[tuple[str, str]]
"""(path, what is wrong) pairs."""

_Steps = tuple[Any, ...]
"""A path on the way down, made into text only for an error: () or (steps before, path element or
index)."""

SCALARS = frozenset({str, int, float, bool})
MAP, LIST, SCALAR = "map", "list", "scalar"


class TypedError(ValueError):
    """A value does not fit its type."""

    def __init__(self, problems: Problems) -> None:
        self.problems = problems
        lines = [f"{path}: {text}" if path else text for path, text in problems]
        super().__init__(lines[0] if len(lines) == 1 else "\n  ".join(["errors:", *lines]))


class ElementError(ValueError):
    """A list item has no path element."""


def form(t: Type, value: Value) -> str:
    """Which form of the type the value has: `MAP`, `LIST` or `SCALAR`. A null or misfit counts as
    the first of map, scalar and list that the type has."""
    cls = value.__class__
    if cls is dict:
        if t.map is not None:
            return MAP
    elif cls is list:
        if t.list is not None:
            return LIST
    elif cls in SCALARS and t.scalar:
        return SCALAR
    if t.map is not None:
        return MAP
    return SCALAR if t.scalar else LIST


def element_of(t: ListType, item: Value) -> str:
    """The path element of an item of an associative list. Raises ElementError."""
    if not t.keys:
        return _set_element(item)
    if item.__class__ is not dict:
        if item is None:
            raise ElementError("associative list with keys may not have a null element")
        raise ElementError("associative list with keys may not have non-map elements")
    fields: list[Any] = []
    for name in t.sorted_keys:
        if name in item:
            fields += (name, item[name])
        else:
            default = t.key_default(name)
            if default is not None:
                fields += (name, default)
    if not fields:
        names = " ".join(f'"{name}"' for name in t.keys)
        raise ElementError(
            f"associative list with keys has an element that omits all key fields [{names}]"
            " (and doesn't have default values for any key fields)"
        )
    return key_element(*fields)


def _set_element(item: Value) -> str:
    cls = item.__class__
    if cls is dict:
        raise ElementError("associative list without keys has an element that's a map type")
    if cls is list:
        raise ElementError("not supported: associative list with lists as elements")
    if item is None:
        raise ElementError("associative list without keys has an element that's an explicit null")
    return value_element(item)


# --- validation -----------------------------------------------------------------------------------
def validate(t: Type, value: Value, *, allow_duplicates: bool = False) -> None:
    """Raises TypedError with every misfit. allow_duplicates: sets and associative lists may hold
    equal items."""
    problems: Problems = []
    _validate(t, value, allow_duplicates, (), problems)
    if problems:
        raise TypedError(problems)


def _validate(t: Type, value: Value, duplicates: bool, path: _Steps, problems: Problems) -> None:
    if value is None:
        return
    kind = form(t, value)
    if kind is MAP:
        if value.__class__ is not dict:
            problems.append((_text(path), f"expected map, got &{{{go_value(value)}}}"))
        else:
            assert t.map is not None
            _validate_map(t.map, value, duplicates, path, problems)
    elif kind is LIST:
        if value.__class__ is not list:
            problems.append((_text(path), f"expected list, got &{{{go_value(value)}}}"))
        else:
            assert t.list is not None
            _validate_list(t.list, value, duplicates, path, problems)
    else:
        text = scalar_problem(t.scalar, value)
        if text:
            problems.append((_text(path), text))


def scalar_problem(scalar: str, value: Value) -> str:
    """What is wrong with a value that is not null where a scalar is wanted, "" when nothing."""
    cls = value.__class__
    if scalar == "string":
        return (
            ""
            if cls is str
            else f"expected string, got &value.valueUnstructured{{Value:{go_syntax(value)}}}"
        )
    if scalar == "numeric":
        return (
            ""
            if cls is int or cls is float
            else f"expected numeric (int or float), got {go_type(value)}"
        )
    if scalar == "boolean":
        return "" if cls is bool else f"expected boolean, got &{{{go_value(value)}}}"
    return "" if cls in SCALARS else f"expected any scalar, got &{{{go_value(value)}}}"


def _validate_map(
    t: MapType, value: dict[str, Any], duplicates: bool, path: _Steps, problems: Problems
) -> None:
    fields, element = t.fields, None if t.declares else t.element
    for name, item in value.items():
        below = element or fields.get(name) or t.member(name)
        if below is None:
            problems.append((f"{_text(path)}.{name}", "field not declared in schema"))
            return
        if item is None or (item.__class__ is str and below.scalar == "string"):
            continue
        _validate(below, item, duplicates, (path, f"f:{name}"), problems)


def _validate_list(
    t: ListType, value: list[Any], duplicates: bool, path: _Steps, problems: Problems
) -> None:
    element = t.element
    if t.atomic:
        for i, item in enumerate(value):
            _validate(element, item, duplicates, (path, i), problems)
        return
    seen: set[str] = set()
    for i, item in enumerate(value):
        try:
            name = element_of(t, item)
        except ElementError as error:
            problems.append((_text(path), f"element {i}: {error}"))
            return
        if name in seen and not duplicates:
            problems.append((_text(path), f"duplicate entries for key {element_text(name)}"))
        seen.add(name)
        _validate(element, item, duplicates, (path, name), problems)


def _text(path: _Steps) -> str:
    if not path:
        return ""
    before, step = path
    return _text(before) + (f"[{step}]" if step.__class__ is int else element_text(step))


# --- sets of fields -------------------------------------------------------------------------------
def field_set(t: Type, value: Value, *, named: bool = False) -> FieldSet:
    """Every leaf field and list item that a valid value mentions: what an applier owns.

    named: declared members of structs that lead to a member of the set are members, too (see
    named_fields_as_members)."""
    return _node(t, value, named) or {}


def _node(t: Type, value: Value, named: bool) -> FieldSet | None:
    """The node to put where the value stands, None for none."""
    kind = form(t, value)
    if kind is MAP:
        assert t.map is not None
        if t.map.atomic:
            return LEAF
        return _map_node(t.map, value, named) if value.__class__ is dict else None
    if kind is LIST:
        assert t.list is not None
        if t.list.atomic:
            return LEAF
        return _list_node(t.list, value, named) if value.__class__ is list else None
    return LEAF


def _map_node(t: MapType, value: dict[str, Any], named: bool) -> FieldSet | None:
    result: FieldSet = {}
    fields, element = t.fields, t.element
    for name, item in value.items():
        declared = (fields.get(name) or t.field(name)) if t.declares else None
        below = declared or element
        if below is None:
            continue
        if below.scalar and item.__class__ in SCALARS:
            result["f:" + name] = LEAF
            continue
        node = _node(below, item, named)
        empty = item is None or (item.__class__ is dict and not item)
        if declared is None or empty or (named and node):
            node = as_member(node)
        if node is not None:
            result["f:" + name] = node
    return result or None


def _list_node(t: ListType, value: list[Any], named: bool) -> FieldSet | None:
    result: FieldSet = {}
    repeated: set[str] = set()
    element = t.element
    for item in value:
        try:
            name = element_of(t, item)
        except ElementError:
            continue
        if name in result:
            repeated.add(name)
        else:
            result[name] = as_member(_node(element, item, named))
    for name in repeated:  # equal items are owned together, without what lies below them
        result[name] = LEAF
    return result or None


def presence_node(t: Type, value: Value) -> FieldSet:
    """All that is there with a value that was added or removed as a whole. Unlike in `field_set`,
    maps and lists that hold something are members beside what they hold."""
    if value.__class__ is dict and value and t.map is not None and not t.map.atomic:
        result: FieldSet = {".": LEAF}
        for name, item in value.items():
            below = t.map.member(name)
            if below is not None:
                scalar = item.__class__ in SCALARS
                result[f"f:{name}"] = LEAF if scalar else presence_node(below, item)
        return result
    if value.__class__ is list and value and t.list is not None and not t.list.atomic:
        result = {".": LEAF}
        repeated: set[str] = set()
        element = t.list.element
        for item in value:
            name = element_of(t.list, item)
            if name in result:
                repeated.add(name)
            else:
                result[name] = presence_node(element, item)
        for name in repeated:
            result[name] = LEAF
        return result
    return LEAF


def named_fields_as_members(t: Type | None, fields: FieldSet) -> FieldSet:
    """The set with every declared member of a struct that leads to a member of the set
    (Set.EnsureNamedFieldsAreMembers)."""
    result: FieldSet = {}
    changed = False
    for element, node in fields.items():
        if not node:
            result[element] = node
            continue
        below, declared = _below(t, element)
        member = named_fields_as_members(below, node)
        if declared:
            member = as_member(member)
        changed = changed or member is not node
        result[element] = member
    return result if changed else fields


def _below(t: Type | None, element: str) -> tuple[Type | None, bool]:
    if t is None:
        return None, False
    if element[0] == "f" and t.map is not None:
        declared = t.map.field(element[2:])
        return (declared, True) if declared is not None else (t.map.element, False)
    if element[0] == "k" and t.list is not None:
        return t.list.element, False
    return None, False
