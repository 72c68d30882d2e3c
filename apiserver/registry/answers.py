"""Answers to questions (`apiserver.registry.questions`): lists that are filtered, sorted, counted,
or selected by fields that the tenant has declared (`apiserver.registry.indexes`).

All pages of a list are of one state. The first takes that of the watch cache, later ones the same
state again: from the cache while its window reaches back to it, from the log afterwards. The token
says which object came last, so it is good in every worker. The work is done beside the loop in the
tenant's turn (`apiserver.registry.offload`): nobody else waits for it.
"""

from __future__ import annotations

import asyncio
import logging
from bisect import bisect_left, bisect_right
from collections.abc import Coroutine, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from time import monotonic
from typing import Any, cast

from apiserver.errors import ApiError, BadRequest, Expired, TimedOut
from apiserver.meta.objects import Object
from apiserver.registry import continuation, indexes, orders, questions
from apiserver.registry.beginnings import beginning, is_known
from apiserver.registry.core import Registry, State
from apiserver.registry.offload import LARGE, PATIENCE, Meter, beside, by_size, repeatable
from apiserver.registry.options import ListOptions
from apiserver.registry.orders import Making, Near, Order, Sorting
from apiserver.registry.questions import Question
from apiserver.registry.reading import (
    INCONSISTENT,
    LABELLED,
    Listing,
    TooOld,
    check_continued,
    held_at,
    is_exact,
    labelled,
    past_page,
    recent,
    requested_version,
    seen,
)
from apiserver.registry.scope import Scope
from apiserver.registry.selection import Selection
from apiserver.registry.sifting import Chooser, sift
from apiserver.registry.versions import in_version, shown
from apiserver.storage.interface import key_order
from apiserver.watch.cache import Cache, Entries

log = logging.getLogger("polyplane.api")

DEAR = 100
"""Objects of a kept order that are looked at while one is decoded and put in its place."""
FEW = 200
"""Objects that are measured before it is decided where they are looked at."""
FRONT = 1_000
"""Objects that are found at once of the first of a list which nobody has put in order yet."""
_EXPIRED = (
    "The provided continue parameter is too old to go on with a sorted list. You must start a new "
    "list without the continue parameter."
)
_ON_ITS_WAY = (
    "the list is being put in order: {done} of {all} objects are done, and stay done; ask again"
)
Place = tuple[str, str]
"""(namespace, name) of the object that came last on the page before."""


@dataclass(frozen=True, slots=True)
class _Chosen:
    """remaining: behind these items; None where nobody has counted them; order: of the whole
    list, where that is known."""

    items: Sequence[State]
    remaining: int | None
    more: bool
    order: Sequence[State] | None = None


async def list_(
    registry: Registry, scope: Scope, options: ListOptions, selection: Selection
) -> Listing:
    """Raises Invalid for questions that cannot be answered, Expired, BadRequest."""
    version = requested_version(options)
    question = await questions.parse(scope, options)
    at, after, states = await _states(registry, scope, options, question, version)
    shelf = _shelf(registry, scope, question, at, states)  # at once: the cache goes on
    few = _labelled(registry, scope, selection, at, states, shelf)
    if few is None:
        few = await _indexed(registry, scope, selection, question, at, after, states)
    if few is not None:
        states, shelf = few, None
    states = await in_version(registry, scope, states)
    lookers = indexes.choosers(selection, question)
    whole = selection.everything and not lookers
    chosen = None
    if shelf is not None and shelf.near is None and whole and len(states) > orders.RUN:
        if after is None and 0 < options.limit <= orders.RUN and is_known(question.sort):
            chosen = await _begun(registry, scope, question, shelf, at, states, options.limit)
        else:
            await _put_in_order(registry, scope, question, shelf, at, states)
            shelf = _shelf(registry, scope, question, at, states)
    if chosen is None:
        near = shelf.near if shelf is not None else None
        work = _Work(registry, scope, selection, question, options.limit, after, near, lookers)
        chosen = await repeatable(scope.asker(_size(states)), lambda: work.choose(states))
    if shelf is not None and chosen.order is not None:
        orders.keep(shelf.cache, shelf.name, Order(scope.resource, at, chosen.order))
    token = ""
    if chosen.more:
        last = chosen.items[-1].key
        position = continuation.Position(at, (last.namespace, last.name))
        token = _token(registry, scope, position, question)
    shard = "" if selection.shard is None else str(selection.shard)
    return Listing(chosen.items, at, token, chosen.remaining, shard, bool(question.sort))


def _labelled(
    registry: Registry,
    scope: Scope,
    selection: Selection,
    at: int,
    states: Sequence[State],
    shelf: _Shelf | None,
) -> Sequence[State] | None:
    """Those of the states that have a label which is demanded; None: all are to be looked at, or
    an order that is kept is of more use."""
    cache = registry.watches.peek(scope.tenant.id, scope.resource.storage)
    if cache is None or not isinstance(states, Entries):
        return None
    few = labelled(scope, selection, cache, at)
    is_ordered = shelf is not None and shelf.near is not None
    return None if few is not None and is_ordered and len(few) * DEAR > len(states) else few


async def _indexed(
    registry: Registry,
    scope: Scope,
    selection: Selection,
    question: Question,
    at: int,
    after: Place | None,
    states: Sequence[State],
) -> Sequence[State] | None:
    """Those of the states that an index leaves to be looked at; None: all are."""
    equalities = indexes.demanded(scope, selection, question) if len(states) > FEW else []
    if question.sort or question.count == "only":
        after = None  # what comes before it in the order of keys counts, too
    found = await indexes.candidates(registry, scope, equalities, at=at, after=after)
    if found is None or (question.sort and found.through is not None):
        return None
    asker = scope.asker(LARGE if len(found.keys) > FEW else 0)
    return await by_size(asker, lambda: indexes.narrowed(states, found))


def _size(states: Sequence[State]) -> int:
    """Bytes of the objects; what many have is large."""
    return LARGE if len(states) > FEW else sum(len(state.json) for state in states)


async def _begun(
    registry: Registry,
    scope: Scope,
    question: Question,
    shelf: _Shelf,
    at: int,
    states: Sequence[State],
    limit: int,
) -> _Chosen:
    """The first page of a list that nobody has put in order yet, which is done meanwhile for the
    pages that come."""
    sorting = Sorting(question.sort, lambda state: shown(registry, scope, state))
    making = orders.begin(shelf.cache, shelf.name, scope.resource, at, states)
    front = _known_front(sorting, shelf.cache, making, at, scope.namespace)
    if len(front) < limit:
        front = await _front(sorting, scope, shelf.cache, at, states, max(limit, FRONT))
        making.front = Order(scope.resource, at, front)
    if making.meanwhile is None or making.meanwhile.done():
        left = replace(scope, gone=None)
        work = _put_in_order(registry, left, question, shelf, at, states)
        making.meanwhile = asyncio.create_task(_unseen(work))
    remaining = len(states) - limit
    return _Chosen(front[:limit], remaining, remaining > 0)


def _known_front(
    sorting: Sorting, cache: Cache, making: Making, at: int, namespace: str
) -> Sequence[State]:
    """The first of the list, as far as that has been found for a state from which it is not far."""
    near = orders.led(cache, making.front, at, namespace) if making.front is not None else None
    if near is None or near.is_dear:
        return ()
    return sorting.moved(near.order.items, near.steps, whole=False)


async def _front(
    sorting: Sorting, scope: Scope, cache: Cache, at: int, states: Sequence[State], count: int
) -> Sequence[State]:
    """The first ``count`` of the list."""
    first, entries = sorting.keys[0], cast(Entries, states)
    if first.label is not None and not first.vacant_first and cache.resource_version == at:
        few = cache.foremost(
            first.label, count, scope.namespace, LABELLED, descending=first.descending
        )
        if few is not None:
            return beginning(sorting, few, count)
    return await beside(scope.asker(LARGE), lambda: beginning(sorting, entries, count))


async def _unseen(work: Coroutine[Any, Any, None]) -> None:
    """Whoever needs the order goes on with it where this has ended."""
    try:
        await work
    except ApiError as error:
        log.debug("a list has not been put in order meanwhile: %s", error)


async def _put_in_order(
    registry: Registry,
    scope: Scope,
    question: Question,
    shelf: _Shelf,
    at: int,
    states: Sequence[State],
) -> None:
    """Has an order on the shelf from which that of this state can be made. Each piece of the work
    is a turn of its own. Raises TimedOut after PATIENCE; what is done by then is kept."""
    sorting = Sorting(question.sort, lambda state: shown(registry, scope, state))
    making = orders.begin(shelf.cache, shelf.name, scope.resource, at, states)
    until = monotonic() + PATIENCE
    while shelf.cache.memo.get(shelf.name) is making:
        async with making.turn:
            asker = replace(scope.asker(LARGE), meter=Meter())
            if shelf.cache.memo.get(shelf.name) is making:
                order = await beside(asker, partial(making.go_on, sorting))
                if order is not None:
                    orders.keep(shelf.cache, shelf.name, order)
        if monotonic() > until:
            raise TimedOut(_ON_ITS_WAY.format(done=making.done, all=len(making.states)))


# --- which state ----------------------------------------------------------------------------------
async def _states(
    registry: Registry, scope: Scope, options: ListOptions, question: Question, version: int
) -> tuple[int, Place | None, Sequence[State]]:
    """(its resourceVersion, behind which object the page is, all objects in key order)."""
    if options.continue_token:
        at, after = await _position(registry, scope, options, question)
        return at, after, await _continued(registry, scope, question, at, after)
    if is_exact(options, version):
        return version, None, await _past(registry, scope, version, first=True)
    cache = await recent(registry, scope, options, version)
    return cache.resource_version, None, cache.select(scope.namespace)


@dataclass(frozen=True, slots=True, eq=False)
class _Shelf:
    """Where the order of a list is kept; near: one from which that of its state can be made sooner
    than by sorting anew."""

    cache: Cache
    name: orders.Name
    near: Near | None


def _shelf(
    registry: Registry, scope: Scope, question: Question, at: int, states: Sequence[State]
) -> _Shelf | None:
    """None for lists whose order is not kept: few objects, a state from the log, and what a webhook
    converts, whose answers may differ from one time to the next."""
    cache = registry.watches.peek(scope.tenant.id, scope.resource.storage)
    held = isinstance(states, Entries) and len(states) > FEW
    if cache is None or not (question.sort and held) or scope.resource.webhook is not None:
        return None
    keys = tuple((key.text, key.descending, key.vacant_first) for key in question.sort)
    name = (scope.version, scope.namespace, *keys)
    near = orders.find(cache, name, scope.resource, at, scope.namespace)
    return _Shelf(cache, name, None if near is None or near.is_dear else near)


async def _position(
    registry: Registry, scope: Scope, options: ListOptions, question: Question
) -> tuple[int, Place]:
    at, after = continuation.decode(
        options.continue_token,
        scope.tenant.id,
        scope.namespace,
        namespaced=scope.resource.namespaced,
        sign=registry.sign,
        question=question.digest,
    )
    check_continued(options)
    return (await registry.store.head(scope.tenant.id) if at < 0 else at), after


async def _continued(
    registry: Registry, scope: Scope, question: Question, at: int, after: Place
) -> Sequence[State]:
    """Raises Expired where the state is gone; with a token for the state of now, if the order is
    that of keys, in which an object's place does not depend on others."""
    try:
        return await _past(registry, scope, at, first=False)
    except TooOld:
        if question.sort:
            raise Expired(_EXPIRED) from None
        error = Expired(INCONSISTENT)
        onward = continuation.Position(-1, after)
        error.metadata["continue"] = _token(registry, scope, onward, question)
        raise error from None


def _token(
    registry: Registry, scope: Scope, position: continuation.Position, question: Question
) -> str:
    return continuation.encode(
        position, scope.tenant.id, scope.namespace, registry.sign, question.digest
    )


async def _past(registry: Registry, scope: Scope, at: int, *, first: bool) -> Sequence[State]:
    """Raises as `past_page` does."""
    held = await held_at(registry, scope, at)
    if held is not None:
        return held
    page = await past_page(registry, scope, at, None, 0, first=first)
    return page.records


# --- which objects, in which order ----------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class _Work:
    """Needs neither the loop nor other threads, and may be begun anew. near: the kept order from
    which that of this state can be made."""

    registry: Registry
    scope: Scope
    selection: Selection
    question: Question
    limit: int
    after: Place | None
    near: Near | None
    choosers: Sequence[Chooser]

    def choose(self, states: Sequence[State]) -> _Chosen:
        """``states``: all, in key order. Raises Invalid for a filter that costs too much,
        BadRequest for a token that leads nowhere."""
        sort, count = self.question.sort, self.question.count
        if count == "only":
            return _Chosen([], _length(self._chosen(states)), more=False)
        if sort:
            return self._sorted(states)
        if self.after is not None:
            states = states[bisect_right(states, key_order(*self.after), key=_key_order) :]
        behind = self._chosen(states)
        if isinstance(behind, Iterator):
            whole = bool(count) or not self.limit
            behind = list(behind if whole else islice(behind, self.limit + 1))
        return self._page(behind, counted=bool(count))

    def _sorted(self, states: Sequence[State]) -> _Chosen:
        """An order is made of all objects where all are wanted, and used wherever there is one."""
        sorting = Sorting(self.question.sort, self._shown)
        order = self._order(sorting, states)
        if order is None:
            ordered = sorting.ordered(list(self._chosen(states)))
            return self._page(_behind(ordered, self.after), counted=True)
        behind = order
        if self.after is not None:
            at = bisect_left(states, key_order(*self.after), key=_key_order)
            if at == len(states) or _key_order(states[at]) != key_order(*self.after):
                raise _nowhere()
            if next(iter(self._chosen(states[at : at + 1])), None) is None:
                raise _nowhere()  # where what is not in the list stands, would say what it holds
            place = sorting.place(states[at])
            behind = order[bisect_right(order, place, key=sorting.place) :]
        chosen = self._chosen(behind)
        items = list(chosen) if isinstance(chosen, Iterator) else chosen
        return self._page(items, counted=True, order=order)

    def _order(self, sorting: Sorting, states: Sequence[State]) -> Sequence[State] | None:
        if self.near is not None:
            steps = self.near.steps
            order = self.near.order.items
            return sorting.moved(order, steps) if steps else order
        return sorting.ordered(states) if self._wants_all else None

    def _page(
        self, items: Sequence[State], *, counted: bool, order: Sequence[State] | None = None
    ) -> _Chosen:
        page = items[: self.limit] if self.limit else items
        left = len(items) - len(page)
        return _Chosen(page, left if counted else None, left > 0, order)

    @property
    def _wants_all(self) -> bool:
        return self.selection.everything and not self.choosers

    def _chosen(self, states: Sequence[State]) -> Sequence[State] | Iterator[State]:
        """Those that selectors and the filter leave, in their order."""
        if self._wants_all:
            return states
        selected = iter(states) if self.selection.everything else self._selected(states)
        return sift(self.choosers, selected, self._shown) if self.choosers else selected

    def _selected(self, states: Sequence[State]) -> Iterator[State]:
        for state in states:
            if self.selection.matches(*seen(self.registry, self.scope, state)):
                yield state

    def _shown(self, state: State) -> Object:
        return shown(self.registry, self.scope, state)


def _length(chosen: Sequence[State] | Iterator[State]) -> int:
    return sum(1 for _ in chosen) if isinstance(chosen, Iterator) else len(chosen)


def _key_order(state: State) -> tuple[str, str]:
    return key_order(state.key.namespace, state.key.name)


def _behind(states: list[State], after: Place | None) -> list[State]:
    if after is None:
        return states
    for i, state in enumerate(states):
        if (state.key.namespace, state.key.name) == after:
            return states[i + 1 :]
    raise _nowhere()


def _nowhere() -> BadRequest:
    return BadRequest("invalid continue token: its object is not in the list")
