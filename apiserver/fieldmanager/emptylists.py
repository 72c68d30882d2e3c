"""Empty lists and maps that the comparison of two objects tells from none.

structured-merge-diff compares Go structs field by field and passes over what ``omitempty`` leaves
out, but two lists that are compared as a whole, those of an atomic list or inside of anything
atomic, with ``reflect.DeepEqual``, which does not (``value/listreflect.go``).
"""

from __future__ import annotations

from collections.abc import Sequence

from apiserver.fieldmanager.types import Type
from apiserver.meta.objects import Object
from apiserver.schema.decode_errors import Empty
from apiserver.schema.empties import with_empties


def with_told_apart(t: Type | None, obj: Object, empties: Sequence[Empty]) -> Object:
    """``obj``, which decoding left ``empties`` out of, with those that count."""
    told_apart = [empty for empty in empties if t is not None and _counts(t, empty)]
    return with_empties(obj, told_apart) if told_apart else obj


def _counts(t: Type, empty: Empty) -> bool:
    below: Type | None = t
    atomic = False
    for step in empty.path[:-1]:
        if below is None:
            return False
        if isinstance(step, int):
            if atomic or (below.list is not None and below.list.atomic):
                return True
            below = below.list.element if below.list is not None else None
        else:
            atomic = atomic or (below.map is not None and below.map.atomic)
            below = below.map.member(step) if below.map is not None else None
    return False
