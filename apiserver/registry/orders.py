"""Orders: lists as `sortBy` wants them, and those of them that are kept beside a watch cache.

To put objects in order means to decode them all. So the order of a whole list is kept, as
references to the cache's entries, and brought to the state of a later request, or of a page that
goes on with an older one, by the changes between the two: their places are found by bisection. It
is what sorting anew would give, because both compare the same ranks of the same objects. Orders
are kept as long as the cache's window reaches back to them.

To decode a million objects takes longer than one request may work. So an order of more than `RUN`
objects is made in pieces (`Making`), which whoever asks for it does or waits for, and which are not
lost when a request ends before the order is whole: the next one goes on.

Functions of the shelf (`find`, `begin`, `keep`) belong to the loop, everything else may run beside
it.
"""

from __future__ import annotations

import asyncio
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass
from functools import total_ordering
from time import thread_time
from typing import Any, TypeGuard, cast

from apiserver.kinds.served import Resource
from apiserver.meta.objects import Object
from apiserver.registry.core import State
from apiserver.registry.glances import Glance
from apiserver.registry.questions import Rank, SortKey
from apiserver.storage.interface import key_order
from apiserver.watch.cache import Cache
from apiserver.watch.entry import Entry

MOST = 4
"""Orders that one cache keeps."""
RUN = 10_000
"""Objects that are sorted at once: nothing else in the process runs meanwhile. So many are decoded
for one piece of an order."""
PIECE = 0.05
"""Seconds of processor time after which others of the tenant have their turn."""
_SAMPLES = 100
"""Objects of a run by which its parts are told."""
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
        direction, or first where a key says so."""
        pieces = self.pieces(states, self.ranks(states))
        while True:
            try:
                next(pieces)
            except StopIteration as end:
                return cast(list[State], end.value)

    def ranks(self, states: Sequence[State]) -> list[Ranks]:
        glances = self._glances
        if len(glances) < len(self.keys) or not all(type(state) is Entry for state in states):
            return [self._ranks(state) for state in states]
        columns = [glance(cast(Sequence[Entry], states)) for glance in glances]
        return list(zip(*(map(_of_text, column) for column in columns), strict=True))

    def pieces(
        self, states: Sequence[State], ranks: Sequence[Ranks]
    ) -> Generator[None, None, list[State]]:
        """`ordered`, in pieces of a fraction of a second. ``ranks``: of the states."""
        numbers = list(range(len(states)))
        for i, key in reversed(list(enumerate(self.keys))):
            column = [row[i] for row in ranks]
            yield
            valued = [n for n in numbers if column[n] is not None]
            vacant = [n for n in numbers if column[n] is None]
            yield
            placed = yield from _sorted(valued, column, key.descending)
            numbers = vacant + placed if key.vacant_first else placed + vacant
        return [states[n] for n in numbers]

    def place(self, state: State) -> tuple[Any, ...]:
        """What `ordered` is ascending by."""
        places: list[Any] = []
        for key, rank in zip(self.keys, self._ranks(state), strict=True):
            if rank is None:
                places.append((-1,) if key.vacant_first else (1,))
            else:
                places.append((0, _Down(rank) if key.descending else rank))
        return *places, key_order(state.key.namespace, state.key.name)

    def moved(
        self, order: Sequence[State], steps: Sequence[Step], *, whole: bool = True
    ) -> list[State]:
        """The order after those steps. Of one that is not ``whole``, but the first of it, what is
        known then of the first."""
        items, places = list(order), dict[int, Any]()

        def place(state: State) -> Any:
            if id(state) not in places:
                places[id(state)] = self.place(state)
            return places[id(state)]

        def belongs(state: State | None) -> TypeGuard[State]:
            if state is None:
                return False
            return whole or bool(items and place(state) <= place(items[-1]))

        for gone, come in steps:
            if belongs(gone):
                at = bisect_left(items, place(gone), key=place)
                assert items[at].key == gone.key, "an order has all objects of its state"
                del items[at]
            if belongs(come):
                items.insert(bisect_left(items, place(come), key=place), come)
        return items

    def _ranks(self, state: State) -> Ranks:
        """Names are known without decoding the object, of a cached one also what a glance tells."""
        glances = self._glances
        if len(glances) == len(self.keys) and type(state) is Entry:
            return tuple(_of_text(glance([state])[0]) for glance in glances)
        if all(key.of_the_key is not None for key in self.keys):
            return tuple(key.rank_of_key(state.key) for key in self.keys)
        obj = self.shown(state)
        return tuple(key.rank(obj) for key in self.keys)

    @property
    def _glances(self) -> list[Glance]:
        return [key.glance for key in self.keys if key.glance is not None]


def _of_text(value: str | None) -> Rank | None:
    return None if value is None else (2, value)


def _sorted(
    numbers: list[int], column: Sequence[Any], descending: bool
) -> Generator[None, None, list[int]]:
    """The numbers by their ranks in the column; stable. In runs, and then in parts of all runs that
    belong together, because no other thread has its turn while a list is sorted."""
    if descending:  # to be turned round again, so that equal ones stay as they come
        turned = yield from _sorted(numbers[::-1], column, descending=False)
        return turned[::-1]
    rank, runs = column.__getitem__, list[list[int]]()
    for at in range(0, len(numbers), RUN):
        runs.append(sorted(numbers[at : at + RUN], key=rank))
        yield
    if len(runs) <= 1:
        return runs[0] if runs else []
    found = list[int]()
    for part in _merged(runs, column):
        found += part
        yield
    return found


def _merged(runs: Sequence[list[int]], column: Sequence[Any]) -> Iterator[list[int]]:
    """Parts of some RUN numbers, in order, but for numbers of equal rank, which are one part."""
    rank = column.__getitem__
    step = max(RUN // _SAMPLES, 1)
    samples = sorted(rank(number) for run in runs for number in run[::step])
    bounds = list(dict.fromkeys(samples[:: max(RUN // step, 1)]))
    starts = [0] * len(runs)
    for bound, find in [(b, find) for b in bounds for find in (bisect_left, bisect_right)]:
        ends = [
            find(run, bound, lo=start, key=rank) for run, start in zip(runs, starts, strict=True)
        ]
        part = _part(runs, starts, ends)
        if find is bisect_left:  # otherwise all are equal, and stand in the order of their runs
            part.sort(key=rank)
        yield part
        starts = ends
    part = _part(runs, starts, [len(run) for run in runs])
    part.sort(key=rank)
    yield part


def _part(runs: Sequence[list[int]], starts: Sequence[int], ends: Sequence[int]) -> list[int]:
    places = zip(runs, starts, ends, strict=True)
    return [number for run, start, end in places for number in run[start:end]]


# --- what is kept ---------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True, eq=False)
class Order:
    """All of a list at one state, or the first of it. resource: by whose schema objects were read;
    items: nobody changes them."""

    resource: Resource
    at: int
    items: Sequence[State]


class Making:
    """An order that is not whole yet: of ``states``, all of a list at one state.

    turn: one at a time goes on with it; meanwhile: the task that makes it while nobody waits for
    it; front: the first of the list that will be whole, where that has been looked for."""

    def __init__(self, resource: Resource, at: int, states: Sequence[State]) -> None:
        self.resource, self.at, self.states = resource, at, states
        self._ranks: list[Ranks] = []
        self._pieces: Generator[None, None, list[State]] | None = None
        self.turn = asyncio.Lock()
        self.meanwhile: asyncio.Task[None] | None = None
        self.front: Order | None = None

    @property
    def done(self) -> int:
        """Of so many states the ranks are known."""
        return len(self._ranks)

    def go_on(self, sorting: Sorting) -> Order | None:
        """Does one piece of it; the order once it is whole. May be ended at any point: then what
        it has begun is begun anew."""
        piece = self.states[self.done : self.done + RUN]
        if piece:
            self._ranks += sorting.ranks(piece)
            return None
        pieces, self._pieces = self._pieces, None
        if pieces is None:
            pieces = sorting.pieces(self.states, self._ranks)
        until = thread_time() + PIECE
        try:
            next(pieces)
            while thread_time() < until:
                next(pieces)
        except StopIteration as end:
            return Order(self.resource, self.at, end.value)
        self._pieces = pieces
        return None


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
    return led(cache, order, at, namespace)


def led(cache: Cache, order: Order, at: int, namespace: str) -> Near | None:
    """What leads from the order to that state; None where nothing does."""
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


def begin(cache: Cache, name: Name, resource: Resource, at: int, states: Sequence[State]) -> Making:
    """That which is being made already, of whatever state, or one of this state."""
    held = cache.memo.get(name)
    if not isinstance(held, Making) or held.resource is not resource:
        held = Making(resource, at, states)
        _put(cache, name, held)
    return held


def keep(cache: Cache, name: Name, order: Order) -> None:
    """Unless a later one is kept already; of too many the one that was kept longest ago goes."""
    held = cache.memo.get(name)
    if isinstance(held, Order) and held.resource is order.resource and held.at > order.at:
        order = held
    _put(cache, name, order)


def _put(cache: Cache, name: Name, made: Order | Making) -> None:
    cache.memo.pop(name, None)
    cache.memo[name] = made
    while len(cache.memo) > MOST:
        del cache.memo[next(iter(cache.memo))]
