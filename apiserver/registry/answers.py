"""Answers to questions (`apiserver.registry.questions`): lists that are filtered, sorted, counted.

All pages of a list are of one state. The first takes that of the watch cache, later ones the same
state again: from the cache while its window reaches back to it, from the log afterwards. The token
says which object came last, so it is good in every worker. The work is done beside the loop in the
tenant's turn (`apiserver.registry.offload`): nobody else waits for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import islice

from apiserver.errors import BadRequest, Expired
from apiserver.meta.objects import Object
from apiserver.registry import continuation, questions
from apiserver.registry.core import Registry, State
from apiserver.registry.offload import LARGE, repeatable
from apiserver.registry.options import ListOptions
from apiserver.registry.questions import Question, Rank, SortKey
from apiserver.registry.reading import (
    INCONSISTENT,
    Listing,
    TooOld,
    is_exact,
    past_page,
    reach,
    recent,
    requested_version,
    seen,
)
from apiserver.registry.scope import Scope
from apiserver.registry.selection import Selection
from apiserver.registry.sifting import sift
from apiserver.registry.versions import in_version, shown
from apiserver.storage.interface import key_order

FEW = 200
"""Objects that are measured before it is decided where they are looked at."""
_EXPIRED = (
    "The provided continue parameter is too old to go on with a sorted list. You must start a new "
    "list without the continue parameter."
)
Place = tuple[str, str]
"""(namespace, name) of the object that came last on the page before."""


@dataclass(frozen=True, slots=True)
class _Chosen:
    """remaining: behind these items; None where nobody has counted them."""

    items: Sequence[State]
    remaining: int | None
    more: bool


async def list_(
    registry: Registry, scope: Scope, options: ListOptions, selection: Selection
) -> Listing:
    """Raises Invalid for questions that cannot be answered, Expired, BadRequest."""
    version = requested_version(options)
    question = await questions.parse(scope, options)
    after: Place | None = None
    if options.continue_token:
        at, after = await _position(registry, scope, options, question)
        states = await _continued(registry, scope, question, at, after)
    elif is_exact(options, version):
        at, states = version, await _past(registry, scope, version, first=True)
    else:
        cache = await recent(registry, scope, options, version)
        at, states = cache.resource_version, cache.select(scope.namespace)
    states = await in_version(registry, scope, states)
    work = _Work(registry, scope, selection, question, options.limit, after)
    chosen = await repeatable(scope.asker(_size(states)), lambda: work.choose(states))
    token = ""
    if chosen.more:
        last = chosen.items[-1].key
        position = continuation.Position(at, (last.namespace, last.name))
        token = _token(registry, scope, position, question)
    shard = "" if selection.shard is None else str(selection.shard)
    return Listing(chosen.items, at, token, chosen.remaining, shard, bool(question.sort))


def _size(states: Sequence[State]) -> int:
    """Bytes of the objects; what many have is large."""
    return LARGE if len(states) > FEW else sum(len(state.json) for state in states)


# --- which state ----------------------------------------------------------------------------------
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
    await reach(registry, scope, at)
    cache = registry.watches.peek(scope.tenant.id, scope.resource.storage)
    if cache is not None and cache.resource_version >= at:
        states = cache.state_at(at, scope.namespace)
        if states is not None:
            return states
    page = await past_page(registry, scope, at, None, 0, first=first)
    return page.records


# --- which objects, in which order ----------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class _Work:
    """Needs neither the loop nor other threads, and may be begun anew."""

    registry: Registry
    scope: Scope
    selection: Selection
    question: Question
    limit: int
    after: Place | None

    def choose(self, states: Sequence[State]) -> _Chosen:
        """Raises Invalid for a filter that costs too much, BadRequest for a token that leads
        nowhere."""
        sort, count = self.question.sort, self.question.count
        behind = self._filtered(self._selected(states))
        if count == "only":
            return _Chosen([], sum(1 for _ in behind), more=False)
        if sort:
            items = _behind(_ordered(list(behind), sort, self._shown), self.after)
        elif count or not self.limit:
            items = list(behind)
        else:
            items = list(islice(behind, self.limit + 1))
        page = items[: self.limit] if self.limit else items
        more = len(items) > len(page)
        counted = bool(sort or count)
        return _Chosen(page, len(items) - len(page) if counted else None, more)

    def _selected(self, states: Sequence[State]) -> Iterable[State]:
        place = key_order(*self.after) if self.after and not self._from_the_start else None
        for state in states:
            if place is not None and key_order(state.key.namespace, state.key.name) <= place:
                continue
            if self.selection.everything or self.selection.matches(
                *seen(self.registry, self.scope, state)
            ):
                yield state

    @property
    def _from_the_start(self) -> bool:
        """Whether objects before the last one's key may be behind it in the list, or are wanted
        all the same."""
        return bool(self.question.sort) or self.question.count == "only"

    def _filtered(self, states: Iterable[State]) -> Iterable[State]:
        expression = self.question.filter
        return states if expression is None else sift(expression, states, self._shown)

    def _shown(self, state: State) -> Object:
        return shown(self.registry, self.scope, state)


def _ordered(
    states: list[State], sort: Sequence[SortKey], shown: Callable[[State], Object]
) -> list[State]:
    """By the keys, then as they come; what has no value stands last in either direction."""
    ranked: list[tuple[list[Rank | None], State]] = []
    for state in states:
        obj = shown(state)
        ranked.append(([key.rank(obj) for key in sort], state))
    for i, key in reversed(list(enumerate(sort))):
        valued = [r for r in ranked if r[0][i] is not None]
        valued.sort(key=lambda r, i=i: r[0][i], reverse=key.descending)  # type: ignore[misc]
        ranked = valued + [r for r in ranked if r[0][i] is None]
    return [state for _, state in ranked]


def _behind(states: list[State], after: Place | None) -> list[State]:
    if after is None:
        return states
    for i, state in enumerate(states):
        if (state.key.namespace, state.key.name) == after:
            return states[i + 1 :]
    raise BadRequest("invalid continue token: its object is not in the list")
