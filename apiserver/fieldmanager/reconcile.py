"""Sets that were written when a field was owned in its parts, after its type became atomic.

A list or map that is atomic now is owned as a whole by whoever owned a part of it. (The other way,
from atomic to granular, the owner of the whole keeps owning just that.) Source:
structured-merge-diff ``typed/reconcile_schema.go``.
"""

from __future__ import annotations

from apiserver.fieldmanager.fieldpath import LEAF, FieldSet
from apiserver.fieldmanager.types import Type

_MAX_REMEMBERED = 2_000
_remembered: dict[tuple[int, int], tuple[Type, FieldSet, FieldSet]] = {}
"""(id of type, id of set) → type, set, answer. Holding both keeps their ids their own."""


def reconcile(t: Type, fields: FieldSet) -> FieldSet:
    """The set under the type as it is now; the identical set when nothing changes. Every write asks
    this, of sets that hardly ever change (see fieldpath.decode), so recent answers are
    remembered."""
    remembered = _remembered.get((id(t), id(fields)))
    if remembered is None:
        if len(_remembered) >= _MAX_REMEMBERED:
            _remembered.clear()
        remembered = _remembered[id(t), id(fields)] = (t, fields, _below_root(t, fields))
    return remembered[2]


def _below_root(t: Type, fields: FieldSet) -> FieldSet:
    result: FieldSet = {}
    changed = False
    for element, node in fields.items():
        reconciled = node
        if node:
            below = _below(t, element)
            if below is not None:
                reconciled = _node(below, node)
                changed = changed or reconciled is not node
        result[element] = reconciled
    return result if changed else fields


def _node(t: Type, node: FieldSet) -> FieldSet:
    if t.map is not None:
        if t.map.deduced:
            return node
        return LEAF if t.map.atomic else _below_root(t, node)
    if t.scalar or t.list is None:
        return node
    return LEAF if t.list.atomic else _below_root(t, node)


def _below(t: Type, element: str) -> Type | None:
    if t.map is not None:
        return t.map.member(element[2:]) if element[0] == "f" else t.map.element
    return t.list.element if t.list is not None else None
