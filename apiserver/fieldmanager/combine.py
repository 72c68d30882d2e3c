"""One value laid over another: what apply makes of the live object and the intent.

Source: structured-merge-diff ``typed/merge.go`` with the rule that the right side wins at each
leaf.
"""

from __future__ import annotations

from typing import Any

from apiserver.fieldmanager.fieldpath import element_text
from apiserver.fieldmanager.typed import LIST, MAP, ElementError, TypedError, element_of, form
from apiserver.fieldmanager.types import ListType, MapType, Type
from apiserver.fieldmanager.values import Value


def combine(t: Type, live: Value, intent: Value) -> Value:
    """``live`` with ``intent`` over it; nothing is removed, so null over a granular map or list
    that holds something changes nothing.

    Shares containers with both. Items of associative lists take the order of ``intent`` where it
    names them; the others stay around them. Raises TypedError where ``intent`` repeats an item."""
    if live == intent:
        return intent
    kind = form(t, intent)
    if kind is MAP and t.map is not None and not t.map.atomic:
        below = live if live.__class__ is dict else {}
        above = intent if intent.__class__ is dict else {}
        if below or above:
            return _maps(t.map, below, above)
    elif kind is LIST and t.list is not None and not t.list.atomic:
        items = live if live.__class__ is list else []
        intended = intent if intent.__class__ is list else []
        if items or intended:
            return _lists(t.list, items, intended)
    return intent


def _maps(t: MapType, live: dict[str, Any], intent: dict[str, Any]) -> dict[str, Any]:
    result = dict(live)
    for name, value in intent.items():
        # most of what is applied is there already, and stays as it is
        below = t.member(name) if name in live and live[name] != value else None
        result[name] = value if below is None else combine(below, live[name], value)
    return result


class _Items:
    """A list by path elements. elements: one per item; values: the item of each element (null where
    the live list repeats it)."""

    def __init__(self, t: ListType, items: list[Any], repeats: bool) -> None:
        self.elements: list[str] = []
        self.values: dict[str, Any] = {}
        for i, item in enumerate(items):
            try:
                element = element_of(t, item)
            except ElementError as error:
                raise TypedError([("", f"element {i}: {error}")]) from error
            if element in self.values:
                if not repeats:
                    raise TypedError([("", f"duplicate entries for key {element_text(element)}")])
                self.values[element] = None
            else:
                self.values[element] = item
            self.elements.append(element)


def _lists(t: ListType, live: list[Any], intent: list[Any]) -> list[Any]:
    items = _Items(t, intent, repeats=False)
    there = _Items(t, live, repeats=True)
    out: list[Any] = []

    def merged(name: str) -> Value:
        value = items.values[name]
        return combine(t.element, there.values[name], value) if name in there.values else value

    shared = iter([name for name in items.elements if name in there.values])
    next_shared = next(shared, None)
    done: set[str] = set()
    at, wanted_at = 0, 0
    while at < len(there.elements) or wanted_at < len(items.elements):
        name = there.elements[at] if at < len(there.elements) else None
        if name is not None and wanted_at < len(items.elements):
            if name == items.elements[wanted_at]:
                done.add(name)
                out.append(merged(name))
                at, wanted_at = at + 1, wanted_at + 1
                next_shared = next(shared, None)
                continue
            if name in items.values and next_shared is not None and next_shared != name:
                at += 1  # wanted, but not the one whose turn it is
                continue
        if name is not None:
            if name not in items.values:
                out.append(live[at])
                at += 1
                continue
            if name in done:
                at += 1
        if wanted_at < len(items.elements):
            turn = items.elements[wanted_at]
            done.add(turn)
            out.append(merged(turn))
            wanted_at += 1
            if turn == next_shared:
                next_shared = next(shared, None)
    return out
