"""The current state of one resource of one tenant, in key order, and a window of its recent
changes.

The window lets watches start at a version of the recent past without a query; older ones read the
log.
"""

from __future__ import annotations

import asyncio
import sys
import time
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Sequence
from operator import attrgetter
from typing import Any, Protocol

from apiserver.meta.gvk import GroupResource
from apiserver.meta.once import once
from apiserver.storage.interface import Event, ObjectKey, Record, key_order, stored_api_version
from apiserver.watch.entry import Change, Entry, Index
from apiserver.watch.labelled import Demand, Labelled, Part, together, within

WINDOW_CHANGES = 4096
WINDOW_SECONDS = 300.0
WINDOW_BYTES = 32 * 2**20
DECODED = 20
"""Objects that are decoded before others may use the loop."""

_json = attrgetter("json")


class Clock(Protocol):
    """Up to where the tenant's log has been applied."""

    position: int


class Made(Protocol):
    """Something that was made of the state of one version, ``at``."""

    @property
    def at(self) -> int: ...


class Entries(tuple[Entry, ...]):
    """A state, or a part of it, in key order. size, largest: bytes of all objects, and of the
    largest; looked at once."""

    @once
    def size(self) -> int:
        return sum(map(len, map(_json, self)))

    @once
    def shared(self) -> tuple[dict[str, Any], ...]:
        """All objects (`Entry.shared`), for those who look at them again and again."""
        return tuple(entry.shared for entry in self)

    @property
    def is_decoded(self) -> bool:
        """Whether ``shared`` costs nothing."""
        return "shared" in self.__dict__

    @once
    def largest(self) -> int:
        return max(map(len, map(_json, self)), default=0)


async def decoded(entries: Entries) -> Sequence[dict[str, Any]]:
    """`Entries.shared`; what was never decoded is so a few at a time, because a tenant may have
    very many."""
    count = 0
    for entry in entries:
        count += not entry.is_decoded
        entry.shared  # noqa: B018  it is kept
        if count == DECODED:
            count = 0
            await asyncio.sleep(0)
    return entries.shared


class Cache:
    """Belongs to one event loop: reads between two awaits see one state."""

    def __init__(self, resource: GroupResource, index: Index, clock: Clock) -> None:
        self.resource = resource
        self._index = index
        self._clock = clock
        self._loaded = 0
        self.size = 0
        """Bytes of all objects."""
        self._keys: list[tuple[str, str]] = []
        self._entries: list[Entry] = []
        self._by_key: dict[tuple[str, str], Entry] = {}
        self.labelled = Labelled()
        self.versions = set[str]()
        """In which objects that it has, or had, are stored."""
        self._selected: dict[str, Entries] = {}
        self._settled: tuple[tuple[int, int], Entries] | None = None
        self.memo: dict[Any, Made] = {}
        """What others have made of its states and want to find again, as long as the window reaches
        back to them."""
        self._window: list[Change] = []
        self._window_after = 0
        self._window_bytes = 0

    @property
    def resource_version(self) -> int:
        """The state is exactly that of this version."""
        return max(self._loaded, self._clock.position)

    @property
    def window_after(self) -> int:
        """All changes above this version are in the window."""
        return self._window_after

    def __len__(self) -> int:
        return len(self._entries)

    def get(self, key: ObjectKey) -> Entry | None:
        return self._by_key.get((key.namespace + "/", key.name))

    def select(self, namespace: str = "") -> Entries:
        """All entries, or those of a namespace, in key order. The sequence never changes; asking
        again is free until the next change."""
        selected = self._selected.get(namespace)
        if selected is None:
            if namespace:
                part = within(self._keys, namespace)
                entries = self._entries[part.begin : part.end]
            else:
                entries = self._entries
            selected = self._selected[namespace] = Entries(entries)
        return selected

    def changes_after(self, resource_version: int) -> Sequence[Change]:
        """From the window; the caller has compared with `window_after`."""
        return self._window[
            bisect_right(self._window, resource_version, key=lambda c: c.resource_version) :
        ]

    def state_at(self, resource_version: int, namespace: str = "") -> Entries | None:
        """What `select` gave at a version of the past; None where the window does not reach back to
        it. The cache must not be older than that version."""
        if resource_version < self._window_after:
            return None
        later = self.changes_after(resource_version)
        if not namespace:
            return self._without(later) if later else self.select()
        later = [change for change in later if change.new.namespace == namespace]
        entries = self.select(namespace)
        if not later:
            return entries
        return self._undone([self._order(namespace, e.name) for e in entries], [*entries], later)

    def having(
        self, demands: Iterable[Demand], resource_version: int, namespace: str, most: int
    ) -> Entries | None:
        """Of `state_at` those that fulfil one of the demands, that which the fewest do. None where
        these are more than ``most``, or the window does not reach back."""
        parts = [(demand, self.labelled.parts(demand, namespace)) for demand in demands]
        if not parts or resource_version < self._window_after:
            return None
        demand, fewest = min(parts, key=lambda one: sum(map(len, one[1])))
        if sum(map(len, fewest)) > most:
            return None
        orders = together(fewest)
        entries = [self._by_key[order] for order in orders]
        later = self.changes_after(resource_version)
        if namespace:
            later = [change for change in later if change.new.namespace == namespace]
        return self._undone(orders, entries, later, lambda entry: demand.holds(entry.labels))

    def foremost(
        self, label: str, count: int, namespace: str, most: int, *, descending: bool
    ) -> Entries | None:
        """Of `select` those with the lowest values of a label, or the highest: at least ``count``,
        and all that have the same. None where so many do not have it, or more than ``most`` have to
        be looked at."""
        values, parts, found = self.labelled.values(label), list[Part](), 0
        for value in sorted(values, reverse=descending) if len(values) <= most else ():
            parts.append(within(values[value], namespace))
            found += len(parts[-1])
            if found >= count:
                break
        if not count <= found <= most:
            return None
        return Entries(self._by_key[order] for order in together(parts))

    def settled(self, seconds: float) -> Entries:
        """All entries but for the changes that were applied here in the last ``seconds``: those
        that the window still has are undone. The same sequence until one more change is as old as
        that."""
        window, limit = self._window, time.monotonic() - seconds
        if not window or window[-1].at <= limit:
            self._settled = None
            return self.select()
        recent = window[bisect_right(window, limit, key=lambda c: c.at) :]
        key = (recent[0].resource_version, recent[-1].resource_version)
        if self._settled is None or self._settled[0] != key:
            self._settled = key, self._without(recent)
        return self._settled[1]

    def _without(self, changes: Sequence[Change]) -> Entries:
        """The state before them; as quick as lists are copied, however many entries there are."""
        return self._undone(list(self._keys), list(self._entries), changes)

    def _undone(
        self,
        keys: list[tuple[str, str]],
        entries: list[Entry],
        changes: Sequence[Change],
        holds: Callable[[Entry], bool] = lambda entry: True,
    ) -> Entries:
        """The entries, which are those of the keys, before the changes: of which it holds."""
        for change in reversed(changes):
            order = self._order(change.new.namespace, change.new.name)
            at = bisect_left(keys, order)
            there = keys[at : at + 1] == [order]
            old = [change.old] if change.old is not None and holds(change.old) else []
            keys[at : at + there] = [order] * len(old)
            entries[at : at + there] = old
        return Entries(entries)

    # --- filled by the tail -----------------------------------------------------------------------
    def load(self, records: Iterable[Record]) -> None:
        """One batch of the first snapshot, in key order."""
        for record in records:
            entry = Entry.of(self.resource, record, self._index)
            order = self._order(entry.namespace, entry.name)
            entry.labels = self.labelled.add(entry.labels, order)
            self.versions.add(stored_api_version(entry.json))
            self._keys.append(order)
            self._entries.append(entry)
            self._by_key[order] = entry
            self.size += len(entry.json)

    def loaded(self, resource_version: int) -> None:
        self._loaded = self._window_after = resource_version

    def apply(self, event: Event) -> Change | None:
        """The next event of the log that is about this resource; None for one that the snapshot
        already held."""
        if event.record.resource_version <= self._loaded:
            return None
        new = Entry.of(self.resource, event.record, self._index)
        order = self._order(new.namespace, new.name)
        old = self._by_key.get(order)
        at = bisect_left(self._keys, order)
        deleted, size = event.type == "DELETED", len(new.json)
        self.size += (0 if deleted else size) - (0 if old is None else len(old.json))
        self.versions.add(stored_api_version(new.json))
        self._label(order, old, None if deleted else new)
        if deleted:
            if old is not None:
                del self._keys[at], self._entries[at], self._by_key[order]
        else:
            if old is None:
                self._keys.insert(at, order)
                self._entries.insert(at, new)
            else:
                self._entries[at] = new
            self._by_key[order] = new
        self._selected.pop("", None)
        self._selected.pop(new.namespace, None)
        change = Change(old, new, deleted)
        self._window.append(change)
        self._window_bytes += size
        if len(self._window) > 2 * WINDOW_CHANGES or self._window_bytes > WINDOW_BYTES:
            self._shrink()
        return change

    def _label(self, order: tuple[str, str], old: Entry | None, new: Entry | None) -> None:
        """The object's state has become another one; None: it is not there."""
        if old is not None and new is not None and old.labels == new.labels:
            new.labels = old.labels
            return
        if old is not None:
            self.labelled.remove(old.labels, order)
        if new is not None:
            new.labels = self.labelled.add(new.labels, order)

    def forget_old(self) -> None:
        """Drops changes that are older than the window's age."""
        limit = time.monotonic() - WINDOW_SECONDS
        self._forget(bisect_left(self._window, limit, key=lambda c: c.at))

    def _shrink(self) -> None:
        """To half of what is allowed, so that the cost of moving the list is spread over many
        changes."""
        count = max(len(self._window) - WINDOW_CHANGES, 0)
        size = self._window_bytes - sum(len(change.new.json) for change in self._window[:count])
        while size > WINDOW_BYTES // 2:
            size -= len(self._window[count].new.json)
            count += 1
        self._forget(count)

    def _forget(self, count: int) -> None:
        if count:
            self._window_after = self._window[count - 1].resource_version
            self._window_bytes -= sum(len(change.new.json) for change in self._window[:count])
            del self._window[:count]
            for name in [n for n, made in self.memo.items() if made.at < self._window_after]:
                del self.memo[name]

    def _order(self, namespace: str, name: str) -> tuple[str, str]:
        prefix, name = key_order(namespace, name)
        return sys.intern(prefix), name
