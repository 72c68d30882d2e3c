"""The version of a request and the version in storage: every object that the registry reads or
writes passes through here."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeVar

import orjson

from apiserver.fieldmanager.manager import FieldManager
from apiserver.kinds.served import Resource
from apiserver.meta.objects import Object, copy_json
from apiserver.registry import weight
from apiserver.registry.conversion import Converted
from apiserver.registry.core import Item, Registry, State
from apiserver.registry.managers import make_manager
from apiserver.registry.offload import LARGE, Asker, by_size
from apiserver.registry.result import Form
from apiserver.registry.scope import Scope
from apiserver.storage.interface import Record, stored_api_version, without_resource_version
from apiserver.watch.entry import Entry, WatchEvent

T = TypeVar("T")

_MANY = 1000
"""Objects whose stored versions are looked at beside the loop: of a thousand that takes a
millisecond."""


# --- reading --------------------------------------------------------------------------------------
def size_of(scope: Scope, state: State) -> int:
    """What the stored object weighs."""
    return weight.of_json(_text(state), scope.schema)


async def load(
    registry: Registry, scope: Scope, state: State, asker: Asker | None = None
) -> Object:
    """A private copy of the stored object in the request's version, with its resourceVersion.
    ``asker``: who has more than the object to do with. Raises ConversionFailed."""
    asker = asker or scope.asker(size_of(scope, state))
    if scope.resource.webhook is None:
        return await by_size(asker, lambda: registry.materialize(scope, state))
    (converted,) = await in_version(registry, scope, [state])
    return await by_size(asker, lambda: shown(registry, scope, converted))


async def in_version(registry: Registry, scope: Scope, states: Sequence[State]) -> Sequence[State]:
    """What `shown` can be asked about: the same objects, converted where a webhook has to do that.
    Raises ConversionFailed."""
    resource = scope.resource
    if resource.webhook is None:
        if resource.versions_may_go:
            asker = scope.asker(LARGE if len(states) > _MANY else 0)
            await by_size(asker, partial(_check_versions, resource, states))
        return states
    entries = [
        state if isinstance(state, Entry) else _entry_of(registry, scope, state) for state in states
    ]
    return await registry.converter.entries(
        scope.tenant, registry.lookup(scope.tenant), resource, entries, scope.version
    )


def _check_versions(resource: Resource, states: Sequence[State]) -> None:
    for version in {stored_api_version(_text(state)) for state in states}:
        resource.check_stored_version(version)


def _entry_of(registry: Registry, scope: Scope, state: State) -> Entry:
    """The cache's entry where it is of the same state, so that what was made of it is found
    again."""
    assert isinstance(state, Record), "what is no entry comes from storage"
    cache = registry.watches.peek(scope.tenant.id, scope.resource.storage)
    entry = cache.get(state.key) if cache is not None else None
    if entry is not None and entry.resource_version == state.resource_version:
        return entry
    return Entry.of(scope.resource.storage, state, registry.index)


def shown(registry: Registry, scope: Scope, item: Item) -> Object:
    """The object as readers of the request's version see it, decoded anew. ``item``: of
    `in_version`."""
    obj = scope.resource.loads(item.json)
    if isinstance(item, Converted):
        return obj
    return registry.to_version(scope.resource, obj, scope.version)


# --- writing --------------------------------------------------------------------------------------
async def to_store(registry: Registry, scope: Scope, obj: Object) -> Form:
    """Raises ConversionFailed. An object that is stored in another version is converted there and
    back before it is stored, so that nothing is stored that could not be read again."""
    resource = scope.resource
    version = resource.storage_version
    if not resource.asks_to_store(obj):
        data = registry.encode(resource, obj)
        resource.default_as_read(obj)
        return Form(data, obj)
    lookup = registry.lookup(scope.tenant)
    metadata = {k: v for k, v in obj["metadata"].items() if k != "resourceVersion"}
    (stored,) = await registry.converter.convert(
        scope.tenant, lookup, resource, [{**obj, "metadata": metadata}], version
    )
    resource.fit(stored, version)
    stored["metadata"] = resource.ordered_metadata(stored["metadata"])
    data = registry.encode(resource, stored)
    resource.decode_stored(stored)
    (back,) = await registry.converter.convert(
        scope.tenant, lookup, resource, [stored], scope.version
    )
    resource.fit(back, scope.version)
    if "resourceVersion" in obj["metadata"]:
        back["metadata"]["resourceVersion"] = obj["metadata"]["resourceVersion"]
    back["metadata"] = resource.ordered_metadata(back["metadata"])
    return Form(data, back)


def as_it_was(state: State) -> bytes:
    """What is stored of the object now."""
    return (
        state.data
        if isinstance(state, Record)
        else without_resource_version(state.json, state.resource_version)
    )


def is_current(registry: Registry, resource: Resource, state: State) -> bool:
    """Whether storing the object as it is read would change nothing: it is in the version that
    objects are stored in today, and, if it is a custom one, has all defaults and nothing that its
    schema does not know."""
    keeper = registry.keeper(resource)
    if stored_api_version(_text(state)) != keeper.gvk(keeper.storage_version).api_version:
        return False
    return resource.reads_as_stored(_text(state))


def _text(state: State) -> bytes:
    """With or without resourceVersion, whichever is at hand."""
    return state.data if isinstance(state, Record) else state.json


# --- managed fields -------------------------------------------------------------------------------
class _Wanted(Exception):
    """The field manager needs an object in another version. Nothing that it catches."""

    def __init__(self, key: tuple[bytes, str], obj: Object, version: str) -> None:
        super().__init__(version)
        self.key, self.obj, self.version = key, obj, version


class _Conversions:
    """What has been converted for one write."""

    def __init__(self) -> None:
        self.done: dict[tuple[bytes, str], Object] = {}

    def convert(self, obj: Object, version: str) -> Object:
        key = (orjson.dumps(obj, option=orjson.OPT_SORT_KEYS), version)
        if key not in self.done:
            raise _Wanted(key, obj, version)
        return self.done[key]


async def with_manager(
    registry: Registry, scope: Scope, asker: Asker, work: Callable[[FieldManager], T]
) -> T:
    """What ``work`` makes with the resource's field manager; it must change none of its inputs.

    Merging is pure and cannot wait, but which objects it needs in which versions only it knows. So
    where a webhook converts, work is broken off at each conversion that is not at hand, and begun
    again when it is: one round for each version that managers have used, or two. Raises
    ConversionFailed where upstream would forget all managers: a write that a webhook fails is
    refused."""
    resource = scope.resource
    if resource.webhook is None:
        return await by_size(asker, lambda: work(registry.manager(resource)))
    conversions = _Conversions()
    manager = make_manager(resource, conversions.convert)
    while True:
        try:
            return await by_size(asker, lambda: work(manager))
        except _Wanted as wanted:
            obj = copy_json(wanted.obj)
            lookup = registry.lookup(scope.tenant)
            (conversions.done[wanted.key],) = await registry.converter.convert(
                scope.tenant, lookup, resource, [obj], wanted.version
            )


# --- watching -------------------------------------------------------------------------------------
class Conversions:
    """The events of one watch on a resource that a webhook converts. Selectors look at objects in
    the watcher's version, so what enters and what leaves the selection is decided here and not by
    the cache. matches: None selects everything."""

    def __init__(
        self, registry: Registry, scope: Scope, matches: Callable[..., bool] | None
    ) -> None:
        self._registry, self._scope, self._matches = registry, scope, matches

    async def events(self, batch: Sequence[WatchEvent]) -> list[WatchEvent]:
        """What the watcher is sent of them; `shown_in` finds what was converted. Raises
        ConversionFailed."""
        states = [event.entry for event in batch]
        if self._matches is not None:
            states += [event.old for event in batch if event.old is not None]
        by_version = dict(
            zip(map(id, states), await in_version(self._registry, self._scope, states), strict=True)
        )
        converted = (self._event(event, by_version) for event in batch)
        return [event for event in converted if event is not None]

    def _event(self, event: WatchEvent, states: dict[int, State]) -> WatchEvent | None:
        if self._matches is None:
            return event
        new, old = states[id(event.entry)], states.get(id(event.old))
        was, is_ = self._selects(old), event.type != "DELETED" and self._selects(new)
        if event.type == "ADDED":
            return event if is_ else None
        if event.type == "DELETED":
            return event if was or (old is None and self._selects(new)) else None
        if is_:
            return event if was else WatchEvent("ADDED", event.entry)
        if not was:
            return None
        assert isinstance(old, Entry), "events hold entries"
        return WatchEvent("DELETED", old.at(event.resource_version))

    def _selects(self, state: State | None) -> bool:
        return (
            isinstance(state, Entry)
            and self._matches is not None
            and self._matches(state.labels, state.fields)
        )


def shown_in(registry: Registry, scope: Scope, entry: Entry) -> Object:
    """The object of a watch event in the watcher's version; where a webhook converts, the event has
    gone through `Conversions`."""
    return shown(registry, scope, converted(scope, entry))


def converted(scope: Scope, entry: Entry) -> Entry:
    """What a webhook has made of the entry for the request's version; the entry where none has."""
    state = entry.memo.get((scope.resource, scope.version)) if entry.memo is not None else None
    return state if isinstance(state, Converted) else entry
