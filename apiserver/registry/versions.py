"""The version of a request and the version in storage: every object that the registry reads or writes passes through here."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeVar

import orjson

from admission.attributes import Object
from apiserver.fieldmanager.manager import FieldManager
from apiserver.kinds.base import Resource
from apiserver.meta.objects import copy_json
from apiserver.registry.conversion import Converted, check_known, default_stored, shape, webhook_of
from apiserver.registry.core import Item, Registry, State, ordered_metadata
from apiserver.registry.managers import make_manager
from apiserver.registry.offload import by_size
from apiserver.registry.scope import Scope
from apiserver.schema.defaults import apply_defaults
from apiserver.storage.interface import Record, stored_api_version, without_resource_version
from apiserver.watch.entry import Entry, WatchEvent

T = TypeVar("T")


# --- reading -------------------------------------------------------------------------------------------------------------------------
async def load(registry: Registry, scope: Scope, state: State) -> Object:
    """A private copy of the stored object in the request's version, with its resourceVersion. Raises ConversionFailed."""
    size = max(scope.size, len(_text(state)))
    if webhook_of(scope.resource) is None:
        return await by_size(size, lambda: registry.materialize(scope, state))
    (found,) = await in_version(registry, scope, [state])
    return await by_size(size, lambda: shown(registry, scope, found))


async def in_version(registry: Registry, scope: Scope, states: Sequence[State]) -> Sequence[State]:
    """What `shown` can be asked about: the same objects, converted where a webhook has to do that. Raises ConversionFailed."""
    resource = scope.resource
    if webhook_of(resource) is None:
        if resource.custom:
            for version in {stored_api_version(_text(state)) for state in states}:
                check_known(resource, version)
        return states
    entries = [state if isinstance(state, Entry) else _entry_of(registry, scope, state) for state in states]
    return await registry.converter.entries(scope.tenant, registry.lookup(scope.tenant), resource, entries, scope.version)


def _entry_of(registry: Registry, scope: Scope, state: State) -> Entry:
    """The cache's entry where it is of the same state, so that what was made of it is found again."""
    assert isinstance(state, Record), "what is no entry comes from storage"
    cache = registry.watches.peek(scope.tenant.id, scope.resource.storage)
    entry = cache.get(state.key) if cache is not None else None
    if entry is not None and entry.resource_version == state.resource_version:
        return entry
    return Entry.of(scope.resource.storage, state, registry.index)


def shown(registry: Registry, scope: Scope, item: Item) -> Object:
    """The object as readers of the request's version see it, decoded anew. ``item``: of `in_version`."""
    obj: Object = orjson.loads(item.json)
    if isinstance(item, Converted):
        return obj
    return registry.to_version(scope.resource, obj, scope.version)


# --- writing -------------------------------------------------------------------------------------------------------------------------
class Form(NamedTuple):
    """data: what is stored; shown: what readers of the request's version will see of that, as the answer to the write."""

    data: bytes
    shown: Object


async def to_store(registry: Registry, scope: Scope, obj: Object) -> Form:
    """Raises ConversionFailed. An object that is stored in another version is converted there and back before it is stored, so that
    nothing is stored that could not be read again."""
    resource = scope.resource
    version = resource.storage_version
    if not resource.custom or obj["apiVersion"] == resource.gvk(version).api_version:
        data = registry.encode(resource, obj)
        if resource.custom:
            apply_defaults(resource.versions[version].schema, obj)  # what the strategy has dropped (status) is read with its defaults
        return Form(data, obj)
    lookup = registry.lookup(scope.tenant)
    metadata = {k: v for k, v in obj["metadata"].items() if k != "resourceVersion"}
    (stored,) = await registry.converter.convert(scope.tenant, lookup, resource, [{**obj, "metadata": metadata}], version)
    shape(resource, stored, version)
    stored["metadata"] = ordered_metadata(stored["metadata"], resource)
    data = registry.encode(resource, stored)
    default_stored(resource, stored)
    (back,) = await registry.converter.convert(scope.tenant, lookup, resource, [stored], scope.version)
    shape(resource, back, scope.version)
    if "resourceVersion" in obj["metadata"]:
        back["metadata"]["resourceVersion"] = obj["metadata"]["resourceVersion"]
    back["metadata"] = ordered_metadata(back["metadata"], resource)
    return Form(data, back)


def as_it_was(state: State) -> bytes:
    """What is stored of the object now."""
    return state.data if isinstance(state, Record) else without_resource_version(state.json, state.resource_version)


def is_current(registry: Registry, resource: Resource, state: State) -> bool:
    """Whether storing the object as it is read would change nothing: it is in the version that objects are stored in today, and, if it is
    a custom one, has all defaults and nothing that its schema does not know."""
    keeper = registry.keeper(resource)
    if stored_api_version(_text(state)) != keeper.gvk(keeper.storage_version).api_version:
        return False
    if not resource.custom:
        return True
    stored, read = orjson.loads(_text(state)), orjson.loads(_text(state))
    default_stored(resource, read)
    return bool(stored == read)


def _text(state: State) -> bytes:
    """With or without resourceVersion, whichever is at hand."""
    return state.data if isinstance(state, Record) else state.json


# --- managed fields ------------------------------------------------------------------------------------------------------------------
class _Wanted(Exception):
    """The field manager needs an object in another version. Nothing that it catches."""

    def __init__(self, key: tuple[bytes, str], obj: Object, version: str) -> None:
        super().__init__(version)
        self.key, self.obj, self.version = key, obj, version


class _Known:
    """What has been converted for one write."""

    def __init__(self) -> None:
        self.made: dict[tuple[bytes, str], Object] = {}

    def convert(self, obj: Object, version: str) -> Object:
        key = (orjson.dumps(obj, option=orjson.OPT_SORT_KEYS), version)
        if key not in self.made:
            raise _Wanted(key, obj, version)
        return self.made[key]


async def with_manager(registry: Registry, scope: Scope, work: Callable[[FieldManager], T]) -> T:
    """What ``work`` makes with the resource's field manager; it must change none of its inputs.

    Merging is pure and cannot wait, but which objects it needs in which versions only it knows. So where a webhook converts, work is broken
    off at each conversion that is not at hand, and begun again when it is: one round for each version that managers have used, or two.
    Raises ConversionFailed where upstream would forget all managers: a write that a webhook fails is refused."""
    resource = scope.resource
    if webhook_of(resource) is None:
        return await by_size(scope.size, lambda: work(registry.manager(resource)))
    known = _Known()
    manager = make_manager(resource, known.convert)
    while True:
        try:
            return await by_size(scope.size, lambda: work(manager))
        except _Wanted as wanted:
            obj = copy_json(wanted.obj)
            lookup = registry.lookup(scope.tenant)
            (known.made[wanted.key],) = await registry.converter.convert(scope.tenant, lookup, resource, [obj], wanted.version)


# --- watching ------------------------------------------------------------------------------------------------------------------------
class Conversions:
    """The events of one watch on a resource that a webhook converts. Selectors look at objects in the watcher's version, so what enters
    and what leaves the selection is decided here and not by the cache. matches: None selects everything."""

    def __init__(self, registry: Registry, scope: Scope, matches: Callable[..., bool] | None) -> None:
        self._registry, self._scope, self._matches = registry, scope, matches

    async def events(self, batch: Sequence[WatchEvent]) -> list[WatchEvent]:
        """What the watcher is sent of them; `shown_in` finds what was converted. Raises ConversionFailed."""
        states = [event.entry for event in batch]
        if self._matches is not None:
            states += [event.old for event in batch if event.old is not None]
        found = dict(zip(map(id, states), await in_version(self._registry, self._scope, states), strict=True))
        made = (self._event(event, found) for event in batch)
        return [event for event in made if event is not None]

    def _event(self, event: WatchEvent, found: dict[int, State]) -> WatchEvent | None:
        if self._matches is None:
            return event
        new, old = found[id(event.entry)], found.get(id(event.old))
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
        return isinstance(state, Entry) and self._matches is not None and self._matches(state.labels, state.fields)


def shown_in(registry: Registry, scope: Scope, entry: Entry) -> Object:
    """The object of a watch event in the watcher's version; where a webhook converts, the event has gone through `Conversions`."""
    found = entry.memo.get((scope.resource, scope.version)) if entry.memo is not None else None
    return shown(registry, scope, found if isinstance(found, Converted) else entry)
