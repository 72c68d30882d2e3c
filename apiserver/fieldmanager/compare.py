"""What differs between two values of one type, as three sets of fields.

Source: structured-merge-diff ``typed/compare.go``.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from apiserver.fieldmanager.fieldpath import LEAF, FieldSet, Filter, as_member
from apiserver.fieldmanager.typed import LIST, MAP, SCALARS, element_of, form, presence_node
from apiserver.fieldmanager.types import ListType, MapType, Type
from apiserver.fieldmanager.values import Value
from apiserver.meta.equality import equal


class Comparison(NamedTuple):
    """No field is in two of the sets; all are empty when the values are equal."""

    added: FieldSet
    modified: FieldSet
    removed: FieldSet

    def filtered(self, keep: Filter | None) -> Comparison:
        return (
            self
            if keep is None
            else Comparison(keep(self.added), keep(self.modified), keep(self.removed))
        )


NOTHING = Comparison({}, {}, {})


def compare(t: Type, old: Value, new: Value) -> Comparison:
    """Both values must be valid, though lists may hold equal items."""
    if equal(old, new):
        return NOTHING
    walk = _Walk()
    walk.values(t, old, new)
    return Comparison(walk.added, walk.modified, walk.removed)


class _Walk:
    """added, modified, removed: the sets so far; path: where the walk is."""

    def __init__(self) -> None:
        self.added: FieldSet = {}
        self.modified: FieldSet = {}
        self.removed: FieldSet = {}
        self.path: list[str] = []

    def put(self, target: FieldSet, element: str, node: FieldSet) -> None:
        """Puts a node for an element below the path; the caller visits each element once."""
        for step in self.path:
            target = target.setdefault(step, {})
        mine = target.get(element)
        target[element] = node if mine is None else as_member(mine)

    def changed(self) -> None:
        """The value at the path changed as a whole."""
        if self.path:
            element = self.path.pop()
            self.put(self.modified, element, LEAF)
            self.path.append(element)

    def values(self, t: Type, old: Value, new: Value) -> None:
        """Two values that are both there and not equal. Of different form, each form is walked with
        the other side empty."""
        if old.__class__ in SCALARS and new.__class__ in SCALARS:
            self.changed()
            return
        old_form = form(t, old)
        new_form = form(t, new)
        self.as_form(old_form, t, old, new)
        if new_form is not old_form:
            self.as_form(new_form, t, old, new)

    def as_form(self, kind: str, t: Type, old: Value, new: Value) -> None:
        if kind is MAP and t.map is not None and not t.map.atomic:
            old_map = old if old.__class__ is dict else {}
            new_map = new if new.__class__ is dict else {}
            if old_map or new_map:
                self.maps(t.map, old_map, new_map)
                return
        elif kind is LIST and t.list is not None and not t.list.atomic:
            old_list = old if old.__class__ is list else []
            new_list = new if new.__class__ is list else []
            if old_list or new_list:
                self.lists(t.list, old_list, new_list)
                return
        if not equal(old, new):
            self.changed()

    def maps(self, t: MapType, old: dict[str, Any], new: dict[str, Any]) -> None:
        path = self.path
        for name, before in old.items():
            if name in new:
                after = new[name]
                if before == after and (before.__class__ is str or equal(before, after)):
                    continue
                below = t.member(name)
                if below is not None:
                    path.append(f"f:{name}")
                    self.values(below, before, after)
                    path.pop()
            else:
                below = t.member(name)
                if below is not None:
                    self.put(self.removed, f"f:{name}", presence_node(below, before))
        for name, after in new.items():
            if name not in old:
                below = t.member(name)
                if below is not None:
                    self.put(self.added, f"f:{name}", presence_node(below, after))

    def lists(self, t: ListType, old: list[Any], new: list[Any]) -> None:
        old_items = _by_element(t, old)
        new_items = _by_element(t, new)
        for name, before in old_items.items():
            self.items(t, name, before, new_items.get(name, []))
        for name, after in new_items.items():
            if name not in old_items:
                self.items(t, name, [], after)

    def items(self, t: ListType, name: str, old: list[Any], new: list[Any]) -> None:
        """Items of one path element: one of each is compared, equal ones count as one atomic
        value."""
        if equal(old, new):
            return
        if len(old) == 1 and len(new) == 1:
            self.path.append(name)
            self.values(t.element, old[0], new[0])
            self.path.pop()
        elif len(old) > 1 and len(new) > 1:
            self.put(self.modified, name, LEAF)
        else:
            if len(new) == 1:
                self.put(self.added, name, presence_node(t.element, new[0]))
            elif new:
                self.put(self.added, name, LEAF)
            if len(old) == 1:
                self.put(self.removed, name, presence_node(t.element, old[0]))
            elif old:
                self.put(self.removed, name, LEAF)


def _by_element(t: ListType, items: list[Any]) -> dict[str, list[Any]]:
    result: dict[str, list[Any]] = {}
    for item in items:
        result.setdefault(element_of(t, item), []).append(item)
    return result
