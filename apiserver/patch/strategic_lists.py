"""Lists in a strategic merge patch: which elements the result has, and in which order.

Order: elements that the patch names stand as the patch (or its $setElementOrder) has them; the others keep the order of the live list;
the two are interleaved so that an element stands before the first patched one that it preceded in the live list.
Source: k8s.io/apimachinery ``util/strategicpatch`` and its design proposal "Preserve Order in Strategic Merge Patch".
"""

from __future__ import annotations

from typing import Any

from apiserver.errors import PlainError
from apiserver.patch.govalue import go_type, go_value, same
from apiserver.patch.values import PatchRefused

Items = list[Any]
DIRECTIVE = "$patch"
ORDER = "$setElementOrder"


def no_merge_key(item: Any, key: str) -> PlainError:
    return PlainError(f"map: {go_value(item)} does not contain declared merge key: {key}")


def wrong_type(expected: Any, found: Any) -> PlainError:
    return PlainError(f"expected a {go_type(expected)}, but received a {go_type(found)}")


def element_type(*lists: Items) -> type:
    """The one type that all elements have. Raises PatchRefused for lists of lists, PlainError for a mixture."""
    found: type | None = None
    for item in (item for items in lists for item in items):
        if found is None:
            if isinstance(item, list):
                raise PatchRefused("lists of lists are not supported")
            found = type(item)
        elif type(item) is not found:
            raise PlainError(f"list element types are not identical: [{' '.join(map(go_value, lists))}]")
    if found is None:
        raise PlainError("no elements in any of the given slices")
    return found


def find(items: Items, key: str, value: Any) -> int:
    """Position of the first element whose ``key`` has ``value``, -1 when none has. Raises PlainError for an element that is no map."""
    for i, item in enumerate(items):
        if not isinstance(item, dict):
            raise PlainError(f"value for key {i} is not a map")
        if key in item and same(item[key], value):
            return i
    return -1


def merge_scalars(original: Items, patch: Items) -> Items:
    """Both lists, without repetitions; a repeated element's place is taken by the last one, as Go's loop has it."""
    made = original + patch
    i = 0
    while i < len(made) - 1:
        j = i + 1
        while j < len(made):
            if same(made[i], made[j]):
                last = made.pop()
                if j < len(made):
                    made[j] = last
            else:
                j += 1
        i += 1
    return made


def delete_scalars(original: Items, unwanted: Items) -> Items:
    return [item for item in original if not any(same(item, u) for u in unwanted)]


def in_order(merged: Items, patch_order: Items, live_order: Items, key: str, of_maps: bool) -> Items:
    """``merged`` in its final order. ``key``: merge key, "" for scalars."""
    named: Items = []
    others: Items = []
    for item in merged:
        if key and not isinstance(item, dict):
            raise wrong_type({}, item)
        if key and key not in item:
            raise no_merge_key(item, key)
        (named if _names(patch_order, item, key) else others).append(item)
    named = _sorted(named, patch_order, key, of_maps)
    others = _sorted(others, live_order, key, of_maps)
    return _interleaved(others, named, live_order, key, of_maps)


def _names(order: Items, item: Any, key: str) -> bool:
    return find(order, key, item[key]) >= 0 if key else any(same(item, o) for o in order)


def _sorted(items: Items, order: Items, key: str, of_maps: bool) -> Items:
    deleted: Items = []
    if of_maps:
        for item in items + order:
            if not isinstance(item, dict):
                raise wrong_type({}, item)
            if key not in item:
                raise no_merge_key(item, key)
        deleted = [item for item in items if item.get(DIRECTIVE) == "delete"]
        items = [item for item in items if item.get(DIRECTIVE) != "delete"]
    return sorted(items, key=lambda item: _position(order, item, key, of_maps)) + deleted


def _position(order: Items, item: Any, key: str, of_maps: bool) -> int:
    for i, other in enumerate(order):
        if of_maps:
            other_value = other.get(key) if isinstance(other, dict) else None
            if same(item.get(key), other_value):
                return i
        elif same(item, other):
            return i
    return -1


def _interleaved(others: Items, named: Items, live_order: Items, key: str, of_maps: bool) -> Items:
    made: Items = []
    i = j = 0
    while i < len(others) and j < len(named):
        left = _position(live_order, others[i], key, of_maps)
        right = _position(live_order, named[j], key, of_maps)
        if 0 <= left < right:
            made.append(others[i])
            i += 1
        else:
            made.append(named[j])
            j += 1
    return made + others[i:] + named[j:]


def check_order(patch: Items, order: Items, key: str) -> None:
    """Whether the elements of a patch come in the order of its $setElementOrder list, which must name all that are not deleted."""
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
        raise PlainError(f"The order in patch list:\n{go_value(patch)}\n doesn't match {ORDER} list:\n{go_value(order)}\n")


def _same_element(left: Any, right: Any, key: str) -> bool:
    if not key:
        return same(left, right)
    for item in (left, right):
        if not isinstance(item, dict):
            raise wrong_type({}, item)
        if key not in item:
            raise no_merge_key(item, key)
    return same(left[key], right[key])
