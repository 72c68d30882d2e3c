"""An object as its fields: the paths by which managers own them, each with its value.

A field is what has one owner: a scalar, an atomic list or map, an item of a set, and an empty list
or map. Items of lists with keys are named by their keys, so that a field keeps its path when the
list is sorted anew.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from apiserver.fieldmanager.fieldpath import Path
from apiserver.fieldmanager.typed import LIST, MAP, SCALARS, ElementError, element_of, form
from apiserver.fieldmanager.types import ListType, MapType, Type

Leaves = dict[Path, Any]

_LEFT_OUT = ("managedFields", "resourceVersion")
"""Of metadata: what differs between any two versions, or has a place of its own in a Revision."""


def leaves(t: Type, obj: Mapping[str, Any]) -> Leaves:
    """In the order of the object. It need not fit its type."""
    metadata = {k: v for k, v in (obj.get("metadata") or {}).items() if k not in _LEFT_OUT}
    fields: Leaves = {}
    _walk(t, {**obj, "metadata": metadata}, (), fields)
    return fields


def _walk(t: Type, value: Any, path: Path, fields: Leaves) -> None:
    if value:
        kind = form(t, value)
        if kind is MAP and t.map is not None and not t.map.atomic and isinstance(value, dict):
            _map(t.map, value, path, fields)
            return
        if kind is LIST and t.list is not None and not t.list.atomic and isinstance(value, list):
            _list(t.list, value, path, fields)
            return
    fields[path] = value


def _map(t: MapType, value: dict[str, Any], path: Path, fields: Leaves) -> None:
    for name, item in value.items():
        below = t.member(name)
        if below is None or item.__class__ in SCALARS:
            fields[(*path, f"f:{name}")] = item
        else:
            _walk(below, item, (*path, f"f:{name}"), fields)


def _list(t: ListType, value: list[Any], path: Path, fields: Leaves) -> None:
    items: dict[str, list[Any]] = {}
    try:
        for item in value:
            items.setdefault(element_of(t, item), []).append(item)
    except ElementError:
        fields[path] = value
        return
    for element, alike in items.items():
        if len(alike) == 1:
            _walk(t.element, alike[0], (*path, element), fields)
        else:  # owned together
            fields[(*path, element)] = alike
