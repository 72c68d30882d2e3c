"""Lists in a strategic merge patch: which elements the result has, and in which order.

Order: elements that the patch names stand as the patch (or its $setElementOrder) has them; the
others keep the order of the live list; the two are interleaved so that an element stands before the
first patched one that it preceded in the live list. Source: k8s.io/apimachinery
``util/strategicpatch`` and its design proposal "Preserve Order in Strategic Merge Patch".
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from heapq import heappop, heappush
from itertools import takewhile
from typing import Any

from apiserver.errors import PlainError
from apiserver.golang.fmt import go_type, go_value
from apiserver.meta.equality import scalars_equal
from apiserver.patch.values import PatchRefused

Items = list[Any]
DIRECTIVE = "$patch"
ORDER = "$setElementOrder"


def no_merge_key(item: Any, key: str) -> PlainError:
    return PlainError(f"map: {go_value(item)} does not contain declared merge key: {key}")


def wrong_type(expected: Any, actual: Any) -> PlainError:
    return PlainError(f"expected a {_type_text(expected)}, but received a {_type_text(actual)}")


def _type_text(value: Any) -> str:
    """%s of reflect.TypeOf: null has no type."""
    return "%!s(<nil>)" if value is None else go_type(value)


def element_type(*lists: Items) -> type:
    """The one type that all elements have. Raises PatchRefused for lists of lists, PlainError for a
    mixture."""
    first_type: type | None = None
    for item in (item for items in lists for item in items):
        if first_type is None:
            if isinstance(item, list):
                raise PatchRefused("lists of lists are not supported")
            first_type = type(item)
        elif type(item) is not first_type:
            raise PlainError(
                f"list element types are not identical: [{' '.join(map(go_value, lists))}]"
            )
    if first_type is None:
        raise PlainError("no elements in any of the given slices")
    return first_type


class Positions:
    """Where in a list a value comes first. Made once for a list, so that merging takes time by the
    sum of the lists, not by their product.

    values: of the list's elements, in order. Go's == decides what is the same
    (`apiserver.golang.fmt.same`)."""

    def __init__(self, values: Iterable[Any]) -> None:
        self._first: dict[Hashable, int] = {}
        for i, value in enumerate(values):
            self._first.setdefault(identity(value), i)

    def of(self, value: Any) -> int:
        """-1 when it is not there."""
        return self._first.get(identity(value), -1)


def identity(value: Any) -> Hashable:
    """Equal for values that Go holds to be the same: those of one type. A list or map is the same
    as nothing."""
    return object() if isinstance(value, dict | list) else (type(value), value)


def merge_scalars(original: Items, patch: Items) -> Items:
    """Both lists, without repetitions; a repeated element's place is taken by the last one, as Go's
    loop has it."""
    merged = original + patch
    places: dict[Hashable, list[int]] = {}
    for i, item in enumerate(merged):
        places.setdefault(identity(item), []).append(i)  # ascending, so each is a heap
    i = 0
    while i < len(merged):
        mine = identity(merged[i])
        heap = places[mine]
        while heap:
            at = heappop(heap)
            if i < at < len(merged) and identity(merged[at]) == mine:
                last = merged.pop()
                if at < len(merged):
                    merged[at] = last
                    heappush(places[identity(last)], at)
        i += 1
    return merged


def delete_scalars(original: Items, unwanted: Items) -> Items:
    gone = set(map(identity, unwanted))
    return [item for item in original if identity(item) not in gone]


def left_by_go(live: Items, patch: Items, key: str) -> Items:
    """What Go's merge leaves in the array of the live list, by which a $setElementOrder directive
    orders later: elements that the patch deletes make room in it, and elements that the patch adds
    fill that room, behind those that stay."""
    of_maps = all(isinstance(item, dict) for item in live + patch)
    if not key or not of_maps or any(item.get(DIRECTIVE) == "replace" for item in patch):
        return live
    deleted = {identity(item.get(key)) for item in patch if item.get(DIRECTIVE) == "delete"}
    stays = [item for item in live if identity(item.get(key)) not in deleted]
    known = {identity(item.get(key)) for item in stays}
    added = [
        item for item in patch if DIRECTIVE not in item and identity(item.get(key)) not in known
    ]
    return (stays + added)[: len(live)]


def in_order(
    merged: Items, patch_order: Items, live_order: Items, key: str, of_maps: bool
) -> Items:
    """``merged`` in its final order. ``key``: merge key, "" for scalars."""
    names = _naming(patch_order, key)
    named: Items = []
    others: Items = []
    for item in merged:
        if key and not isinstance(item, dict):
            raise wrong_type({}, item)
        if key and key not in item:
            raise no_merge_key(item, key)
        (named if names(item) else others).append(item)
    live = _positions(live_order, key, of_maps)
    named = _sorted(named, patch_order, _positions(patch_order, key, of_maps), key, of_maps)
    others = _sorted(others, live_order, live, key, of_maps)
    return _interleaved(others, named, live)


def _naming(order: Items, key: str) -> Callable[[Any], bool]:
    """Whether the order names an element. Raises PlainError where something that is no map stands
    before it, or instead of it."""
    if not key:
        scalars = Positions(order)
        return lambda item: scalars.of(item) >= 0
    maps = list(takewhile(lambda item: isinstance(item, dict), order))
    positions = Positions(_value(item, key) for item in maps)

    def names(item: Any) -> bool:
        if positions.of(item[key]) >= 0:
            return True
        if len(maps) < len(order):
            raise PlainError(f"value for key {len(maps)} is not a map")
        return False

    return names


_NOTHING: list[Any] = []
"""Stands for the value of a key that an element lacks: the same as nothing."""


def _value(item: Any, key: str) -> Any:
    return item.get(key, _NOTHING)


Position = Callable[[Any], int]


def _positions(order: Items, key: str, of_maps: bool) -> Position:
    if not of_maps:
        return Positions(order).of
    positions = Positions(item.get(key) if isinstance(item, dict) else None for item in order)
    return lambda item: positions.of(item.get(key))


def _sorted(items: Items, order: Items, position: Position, key: str, of_maps: bool) -> Items:
    deleted: Items = []
    if of_maps:
        for item in items + order:
            if not isinstance(item, dict):
                raise wrong_type({}, item)
            if key not in item:
                raise no_merge_key(item, key)
        deleted = [item for item in items if item.get(DIRECTIVE) == "delete"]
        items = [item for item in items if item.get(DIRECTIVE) != "delete"]
    return sorted(items, key=position) + deleted


def _interleaved(others: Items, named: Items, live: Position) -> Items:
    merged: Items = []
    i = j = 0
    while i < len(others) and j < len(named):
        if 0 <= live(others[i]) < live(named[j]):
            merged.append(others[i])
            i += 1
        else:
            merged.append(named[j])
            j += 1
    return merged + others[i:] + named[j:]


def check_order(patch: Items, order: Items, key: str) -> None:
    """Whether the elements of a patch come in the order of its $setElementOrder list, which must
    name all that are not deleted."""
    if not patch or not order:
        return
    kept = patch
    if key:
        for item in patch:
            if not isinstance(item, dict):
                raise wrong_type({}, item)
        kept = [item for item in patch if item.get(DIRECTIVE) != "delete"]
    i = j = 0
    while i < len(kept) and j < len(order):
        if isinstance(kept[i], dict) and DIRECTIVE in kept[i]:
            i += 1
            continue
        i += _same_element(kept[i], order[j], key)
        j += 1
    if i < len(kept) and j >= len(order):
        raise PlainError(
            f"The order in patch list:\n{go_value(patch)}\n doesn't match {ORDER} "
            f"list:\n{go_value(order)}\n"
        )


def _same_element(left: Any, right: Any, key: str) -> bool:
    if not key:
        return scalars_equal(left, right)
    for item in (left, right):
        if not isinstance(item, dict):
            raise wrong_type({}, item)
        if key not in item:
            raise no_merge_key(item, key)
    return scalars_equal(left[key], right[key])
