"""The beginning of a list in an order that nobody has made yet.

The values by which objects stand are looked at once, the few that may stand in front are put in
order, and where values are equal the further keys are looked at in the same way. So a first page
takes a fraction of what the whole order takes, and is the same. Only for values that are known by a
glance (`apiserver.registry.glances`): to decode all objects is what the order itself takes so long
for.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from apiserver.registry.orders import RUN, Sorting
from apiserver.registry.questions import SortKey
from apiserver.watch.entry import Entry

SAMPLE = RUN
"""Values of which it is told, roughly, which ones are the first of all."""


def is_known(keys: Sequence[SortKey]) -> bool:
    return all(key.glance is not None for key in keys)


def beginning(sorting: Sorting, entries: Sequence[Entry], count: int) -> list[Entry]:
    """The first ``count`` of `Sorting.ordered`. ``entries``: in key order."""
    return _first(sorting, 0, entries, count)


def _first(sorting: Sorting, at: int, entries: Sequence[Entry], count: int) -> list[Entry]:
    """By the keys from ``at`` on; by those before it the entries are equal."""
    if at == len(sorting.keys) or count <= 0:
        return list(entries[: max(count, 0)])
    key = sorting.keys[at]
    assert key.glance is not None, "who asks has looked at is_known"
    values = key.glance(entries)
    if None not in values:
        return _valued(sorting, at, entries, cast(list[str], values), count)
    vacant = [entry for entry, value in zip(entries, values, strict=True) if value is None]
    valued = [entry for entry, value in zip(entries, values, strict=True) if value is not None]
    texts = [value for value in values if value is not None]
    if key.vacant_first:
        found = _first(sorting, at + 1, vacant, count)
        return found + _valued(sorting, at, valued, texts, count - len(found))
    found = _valued(sorting, at, valued, texts, count)
    return found + _first(sorting, at + 1, vacant, count - len(found))


def _valued(
    sorting: Sorting, at: int, entries: Sequence[Entry], values: Sequence[str], count: int
) -> list[Entry]:
    """``values``: of the entries, by the key at ``at``."""
    if count <= 0:
        return []
    descending = sorting.keys[at].descending
    near = _near(values, count, descending=descending)
    if len(near) <= count:
        return cast(list[Entry], sorting.ordered([entries[n] for n in near]))
    last = sorted((values[n] for n in near), reverse=descending)[count - 1]
    front = [n for n in near if (values[n] > last if descending else values[n] < last)]
    equal = [entries[n] for n in near if values[n] == last]
    ordered = cast(list[Entry], sorting.ordered([entries[n] for n in front]))
    return ordered + _first(sorting, at + 1, equal, count - len(ordered))


def _near(values: Sequence[str], count: int, *, descending: bool) -> Sequence[int]:
    """Places of the first ``count`` values, and of not many more: of those that are not behind as
    many of a sample."""
    sample = sorted(values[:: max(len(values) // SAMPLE, 1)], reverse=descending)
    if count > len(sample):
        return range(len(values))
    bound = sample[count - 1]
    if descending:
        return [n for n, value in enumerate(values) if value >= bound]
    return [n for n, value in enumerate(values) if value <= bound]
