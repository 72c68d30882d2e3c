"""Orders: lists as `sortBy` wants them, and those of them that are kept beside a watch cache.

To put objects in order means to decode them all. So the order of a whole list is kept, as
references to the cache's entries, and brought to the state of a later request, or of a page that
goes on with an older one, by the changes between the two: their places are found by bisection. It
is what sorting anew would give, because both compare the same ranks of the same objects. Orders
are kept as long as the cache's window reaches back to them.

Functions of the shelf (`find`, `keep`) belong to the loop, everything else may run beside it.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import total_ordering
from heapq import merge
from typing import Any

from apiserver.kinds.served import Resource
from apiserver.meta.objects import Object
from apiserver.registry.core import State
from apiserver.registry.questions import Rank, SortKey
from apiserver.storage.interface import key_order
from apiserver.watch.cache import Cache
from apiserver.watch.entry import Entry

MOST = 4
"""Orders that one cache keeps."""
RUN = 10_000
"""Objects that are sorted at once: nothing else in the process runs meanwhile."""
LOOKS = 40
"""Objects that are decoded to find the places of one change, among a million."""

Name = tuple[object, ...]
"""What tells the orders of one cache apart."""
Ranks = tuple[Rank | None, ...]
Step = tuple[Entry | None, Entry | None]
"""(the state that goes, the state that comes) of one object."""


@total_ordering
class _Down:
    """A rank among those that descend."""

    __slots__ = ("rank",)

    def __init__(self, rank: Rank) -> None:
        self.rank = rank

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Down) and self.rank == other.rank

    def __lt__(self, other: _Down) -> bool:
        return bool(other.rank < self.rank)

    __hash__ = None  # type: ignore[assignment]  # is only compared


@dataclass(frozen=True, slots=True, eq=False)
class Sorting:
    """shown: the object as readers of the request's version see it."""

    keys: Sequence[SortKey]
    shown: Callable[[State], Object]

    def ordered(self, states: Sequence[State]) -> list[State]:
        """By the keys, then as they come (in key order); what has no value stands last in either
        direction."""
        ranked = [(self._ranks(state), state) for state in states]
        for i, key in reversed(list(enumerate(self.keys))):
            valued = [r for r in ranked if r[0][i] is not None]
            ranked = _sorted(valued, i, key.descending) + [r for r in ranked if r[0][i] is None]
        return [state for _, state in ranked]

    def place(self, state: State) -> tuple[Any, ...]:
        """What `ordered` is ascending by."""
        places: list[Any] = []
        for key, rank in zip(self.keys, self._ranks(state), strict=True):
            if rank is None:
                places.append((1,))
            else:
                places.append((0, _Down(rank) if key.descending else rank))
        return *places, key_order(state.key.namespace, state.key.name)

    def moved(self, order: Sequence[State], steps: Sequence[Step]) -> list[State]:
        """The order after those steps."""
        items, places = list(order), dict[int, Any]()

        def place(state: State) -> Any:
            if id(state) not in places:
                places[id(state)] = self.place(state)
            return places[id(state)]

        for gone, come in steps:
            if gone is not None:
                at = bisect_left(items, place(gone), key=place)
                assert items[at].key == gone.key, "an order has all objects of its state"
                del items[at]
            if come is not None:
                items.insert(bisect_left(items, place(come), key=place), come)
        return items

    def _ranks(self, state: State) -> Ranks:
        """Names are known without decoding the object."""
        if all(key.of_the_key is not None for key in self.keys):
            return tuple(key.rank_of_key(state.key) for key in self.keys)
        obj = self.shown(state)
        return tuple(key.rank(obj) for key in self.keys)


def _sorted(
    ranked: list[tuple[Ranks, State]], i: int, descending: bool
) -> list[tuple[Ranks, State]]:
    """Stable. In runs, because no other thread has its turn while a list is sorted."""

    def rank(item: tuple[Ranks, State]) -> Any:
        return item[0][i]

    runs = [ranked[at : at + RUN] for at in range(0, len(ranked), RUN)]
    for run in runs:
        run.sort(key=rank, reverse=descending)
    return runs[0] if len(runs) == 1 else list(merge(*runs, key=rank, reverse=descending))


# --- what is kept ---------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True, eq=False)
class Order:
    """All of a list at one state. resource: by whose schema objects were read; items: nobody
    changes them."""

    resource: Resource
    at: int
    items: Sequence[State]


@dataclass(frozen=True, slots=True, eq=False)
class Near:
    """A kept order, and what leads from it to the state that is wanted."""

    order: Order
    steps: Sequence[Step]

    @property
    def is_dear(self) -> bool:
        """Whether sorting anew decodes fewer objects."""
        return len(self.steps) * LOOKS > len(self.order.items)


def find(cache: Cache, name: Name, resource: Resource, at: int, namespace: str) -> Near | None:
    """``at``: not above the cache's own version. None where nothing leads there."""
    order = cache.memo.get(name)
    if not isinstance(order, Order) or order.resource is not resource:
        return None
    low, high = sorted((order.at, at))
    if low < cache.window_after:
        return None
    steps: list[Step] = [
        (change.old, None if change.deleted else change.new)
        for change in cache.changes_after(low)
        if change.resource_version <= high and namespace in ("", change.new.namespace)
    ]
    if at < order.at:
        steps = [(come, gone) for gone, come in reversed(steps)]
    return Near(order, steps)


def keep(cache: Cache, name: Name, order: Order) -> None:
    """Unless a later one is kept already; of too many the one that was kept longest ago goes."""
    held = cache.memo.pop(name, None)
    if isinstance(held, Order) and held.resource is order.resource and held.at > order.at:
        order = held
    cache.memo[name] = order
    while len(cache.memo) > MOST:
        del cache.memo[next(iter(cache.memo))]
