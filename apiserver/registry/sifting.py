"""What filters leave of objects and of the events of a watch, worked out beside the loop where that
takes long."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Protocol, TypeVar

from apiserver.fielderrors import invalid
from apiserver.meta.objects import Object
from apiserver.registry.core import Registry
from apiserver.registry.filters import FilterError
from apiserver.registry.offload import Asker, repeatable
from apiserver.registry.questions import refused
from apiserver.registry.scope import Scope
from apiserver.registry.versions import converted, shown_in
from apiserver.watch.entry import Entry, WatchEvent

T = TypeVar("T")


class Events(Protocol):
    """What the events of one watch go through."""

    async def events(self, batch: Sequence[WatchEvent]) -> list[WatchEvent]: ...


class Chooser(Protocol):
    """A filter (`apiserver.registry.filters.Filter`), or what else looks at whole objects."""

    def chosen(self, items: Iterable[T], shown: Callable[[T], Object]) -> Iterator[T]: ...


def sift(
    choosers: Iterable[Chooser], items: Iterable[T], shown: Callable[[T], Object]
) -> Iterator[T]:
    """What all of them choose. ``shown``: the object of an item. Raises Invalid where that costs
    too much."""
    for chooser in choosers:
        items = chooser.chosen(items, shown)
    try:
        yield from items
    except FilterError as e:
        raise refused([invalid("filter", e.source, str(e))]) from None


class FilteredEvents:
    """The events of one watch with filters: an object that comes to fulfil them is ADDED, one that
    no longer does is DELETED, in its old state at the new version, as for selectors
    (`apiserver.watch.entry.Change`). before: what events go through first."""

    def __init__(
        self,
        registry: Registry,
        scope: Scope,
        choosers: Sequence[Chooser],
        before: Events | None,
    ) -> None:
        self._registry, self._scope, self._before = registry, scope, before
        self._choosers = choosers

    async def events(self, batch: Sequence[WatchEvent]) -> list[WatchEvent]:
        """Raises ConversionFailed, Invalid for an object that costs too much, TimedOut."""
        if self._before is not None:
            batch = await self._before.events(batch)
        # an account for each batch, because a watch has no end; whoever reads it hears of its
        # client's going from elsewhere
        size = sum(len(event.entry.json) for event in batch)
        asker = Asker(self._scope.tenant, size, place=self._scope.place)
        return await repeatable(asker, lambda: self._sifted(batch))

    def _sifted(self, batch: Sequence[WatchEvent]) -> list[WatchEvent]:
        states = [event.entry for event in batch]
        states += [event.old for event in batch if event.old is not None and event.type != "ADDED"]
        fulfilling = set(map(id, sift(self._choosers, states, self._shown)))
        sifted = (self._seen(event, fulfilling) for event in batch)
        return [event for event in sifted if event is not None]

    def _seen(self, event: WatchEvent, fulfilling: set[int]) -> WatchEvent | None:
        """``fulfilling``: ids of the states that fulfil all filters."""
        is_, old = id(event.entry) in fulfilling, event.old
        if event.type == "ADDED":
            return event if is_ else None
        was = id(event.entry if old is None else old) in fulfilling
        if event.type == "DELETED":
            return event if was else None
        assert old is not None, "what is modified was there before"
        if is_:
            return event if was else WatchEvent("ADDED", event.entry)
        if not was:
            return None
        return WatchEvent("DELETED", converted(self._scope, old).at(event.resource_version))

    def _shown(self, entry: Entry) -> Object:
        return shown_in(self._registry, self._scope, entry)
