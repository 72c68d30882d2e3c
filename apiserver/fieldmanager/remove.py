"""A value without the fields of a set. Source: structured-merge-diff ``typed/remove.go``."""

from __future__ import annotations

from typing import Any

from apiserver.fieldmanager.fieldpath import FieldSet, is_member
from apiserver.fieldmanager.typed import LIST, MAP, ElementError, element_of, form
from apiserver.fieldmanager.types import ListType, MapType, Type
from apiserver.fieldmanager.values import Value


def remove(t: Type, value: Value, fields: FieldSet) -> Value:
    """``value`` without the members of ``fields``; atomic values go as a whole. Containers that
    become empty stay, as empty ones."""
    if not fields:
        return value
    kind = form(t, value)
    if kind is MAP:
        if t.map is None or t.map.atomic or value.__class__ is not dict or not value:
            return None
        return _from_map(t.map, value, fields)
    if kind is LIST:
        if t.list is None or t.list.atomic or value.__class__ is not list or not value:
            return None
        return _from_list(t.list, value, fields)
    return value


def _from_map(t: MapType, value: dict[str, Any], fields: FieldSet) -> Value:
    result: dict[str, Any] = {}
    descended = False
    for name, item in value.items():
        node = fields.get(f"f:{name}")
        if node is None:
            result[name] = item
        elif not is_member(node):
            descended = True
            below = t.member(name)
            result[name] = _inside(below, item, node) if below is not None else item
    return result if result or descended else None


def _from_list(t: ListType, value: list[Any], fields: FieldSet) -> Value:
    result: list[Any] = []
    descended = False
    for item in value:
        try:
            node = fields.get(element_of(t, item))
        except ElementError:
            node = None
        if node is None:
            result.append(item)
        elif not is_member(node):
            descended = True
            result.append(_inside(t.element, item, node))
    return result if result or descended else None


def _inside(t: Type, value: Value, fields: FieldSet) -> Value:
    """A value that stays itself: when nothing of it stays, its container does."""
    rest = remove(t, value, fields)
    if rest is None and value.__class__ is dict:
        return {}
    if rest is None and value.__class__ is list:
        return []
    return rest
