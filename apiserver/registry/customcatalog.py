"""The resources of each tenant: the built-in ones and those of its CustomResourceDefinitions.

The definitions come from the tenant's watch cache; when that has changed (its selection is then
another object), the definitions that changed are read again and all others stay as they are. So a
request pays one comparison, and a definition counts in every worker as soon as its watch cache has
it. Before anything is said not to exist, the cache is brought to the tenant's head
(`TenantCatalog.fresh`): what one worker has told a client is true in all. A tenant that has gone
unused for minutes is forgotten with all that was made for it.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Protocol

from apiserver.kinds import catalog as builtin
from apiserver.kinds.apiextensions.custom import CustomResource
from apiserver.kinds.served import Resource
from apiserver.meta.gvk import GroupResource
from apiserver.registry.definitions import DEFINITIONS, Change, Definition, read
from apiserver.registry.offload import LARGE, Asker, by_size
from apiserver.registry.scope import Tenant
from apiserver.request import DEFAULT_TENANT, OWN_TENANTS
from apiserver.storage.errors import StorageError, TenantGone
from apiserver.watch.cache import Cache
from apiserver.watch.entry import Entry
from apiserver.watch.errors import WatchClosed
from apiserver.watch.watches import Watches

log = logging.getLogger("polyplane.crd")

FOLLOWED = 300.0
"""Seconds for which the definitions of a tenant are followed after its last request."""
AHEAD = 512 * 1024
"""Bytes of definitions that are read between two turns of the event loop when a tenant is
entered."""


class Follower(Protocol):
    """Who is told about definitions. Called in the event loop; must not wait."""

    def changed(self, tenant: Tenant, changes: Sequence[Change]) -> None:
        """Definitions of the tenant are not what they were."""


@dataclass(slots=True, eq=False)
class _TenantDefinitions:
    """What is known of one tenant. entries: the selection of the cache that the rest was made from;
    groups: definitions by group and name; ahead: definitions that have been read already for the
    next selection."""

    tenant: Tenant
    entries: Sequence[Entry] = ()
    definitions: Mapping[str, Definition] = field(default_factory=dict)
    groups: dict[str, dict[str, Definition]] = field(default_factory=dict)
    ahead: dict[Entry, Definition] = field(default_factory=dict)
    custom: dict[GroupResource, CustomResource] = field(default_factory=dict)
    all: Sequence[Resource] = ()
    reading: asyncio.Lock = field(default_factory=asyncio.Lock)
    used: float = float("-inf")
    following: asyncio.Task[None] | None = None


class TenantCatalog:
    """apiserver.registry.core.Catalog. followed: seconds for which a tenant is followed after its
    last request."""

    def __init__(self, followed: float = FOLLOWED) -> None:
        self._followed = followed
        self._builtin = builtin.resources()
        self._builtins = list(self._builtin.values())
        self._by_storage = {r.storage: r for r in self._builtins if r.storage == r.group_resource}
        self._sharing: dict[GroupResource, list[Resource]] = {}
        for resource in self._builtins:
            self._sharing.setdefault(resource.storage, []).append(resource)
        self._tenants: dict[int, _TenantDefinitions] = {}
        self._watches: Watches | None = None
        self._follower: Follower | None = None

    def follow(self, watches: Watches, follower: Follower) -> None:
        """Where definitions come from, and who is told when they change."""
        self._watches, self._follower = watches, follower

    def stop(self) -> None:
        for tenant in list(self._tenants):
            self.forget(tenant)

    # --- reading ----------------------------------------------------------------------------------
    def find(self, tenant: Tenant, group: str, resource: str) -> Resource | None:
        key = GroupResource(group, resource)
        return self._builtin.get(key) or self._of(tenant).custom.get(key)

    def all(self, tenant: Tenant) -> Sequence[Resource]:
        return self._of(tenant).all or self._builtins

    def stored(self, resource: GroupResource) -> Resource | None:
        """The built-in resource whose objects are kept under that name."""
        return self._by_storage.get(resource)

    def sharing(self, storage: GroupResource) -> Sequence[Resource]:
        """The built-in resources whose objects are kept under that name."""
        return self._sharing.get(storage, ())

    def definitions(self, tenant: Tenant) -> Mapping[str, Definition]:
        return self._of(tenant).definitions

    def group(self, tenant: Tenant, group: str) -> Mapping[str, Definition]:
        """The definitions of one API group, by name."""
        return self._of(tenant).groups.get(group, {})

    def used(self, tenant_id: int) -> Tenant | None:
        """The tenant, while it is in use in this process."""
        served = self._tenants.get(tenant_id)
        return served.tenant if served is not None else None

    async def ready(self, tenant: Tenant) -> None:
        """To be awaited before a request looks anything up. Raises StorageError."""
        served = self._tenants.get(tenant.id)
        cache = self._cache(served) if served is not None else None
        if (
            served is None
            or cache is None
            or cache.select() is not served.entries
            or served.following is None
            or served.following.done()
        ):
            await self._bring(tenant, use=True)
        else:  # as nearly always: nothing has changed since the last request
            served.used = time.monotonic()

    async def fresh(self, tenant: Tenant) -> None:
        """As ready(), and not older than the call: before anybody is told that something does not
        exist."""
        assert self._watches is not None, "follow() comes first"
        await self._watches.fresh(tenant.id, DEFINITIONS)
        await self.ready(tenant)

    async def latest(self, tenant: Tenant) -> bool:
        """As fresh(), for a follower: does not count as use. False, and nothing done, when the
        tenant is not in use."""
        assert self._watches is not None, "follow() comes first"
        if tenant.id not in self._tenants:
            return False
        await self._watches.fresh(tenant.id, DEFINITIONS)
        if tenant.id not in self._tenants:
            return False
        await self._bring(tenant, use=False)
        return True

    async def _bring(self, tenant: Tenant, *, use: bool) -> None:
        assert self._watches is not None, "follow() comes first"
        if self._watches.peek(tenant.id, DEFINITIONS) is None:
            await self._watches.cache(tenant.id, DEFINITIONS)
        served = self._tenants.get(tenant.id)
        if served is None:
            served = self._tenants[tenant.id] = _TenantDefinitions(tenant)
        if use:
            served.used = time.monotonic()
        if served.following is None or served.following.done():
            served.following = asyncio.create_task(self._follow(served))
        await self._read_ahead(served)
        self._refresh(served)

    def _of(self, tenant: Tenant) -> _TenantDefinitions:
        served = self._tenants.get(tenant.id)
        if served is None:
            return _TenantDefinitions(tenant)
        self._refresh(served)
        return served

    # --- following --------------------------------------------------------------------------------
    async def _read_ahead(self, served: _TenantDefinitions) -> None:
        """Reads what is new in slices, and what is large in its tenant's turn, so that megabytes of
        definitions hold nobody up."""
        cache = self._cache(served)
        if cache is None or cache.select() is served.entries:
            return
        async with served.reading:  # whoever comes second finds it read
            size = 0
            for entry in cache.select():
                if not _is_new(served, entry):
                    continue
                before = served.definitions.get(entry.name)
                asker = Asker(served.tenant, len(entry.json))
                served.ahead[entry] = await by_size(asker, partial(read, entry, before))
                size += len(entry.json)
                if size > AHEAD:
                    size = 0
                    await asyncio.sleep(0)

    def _cache(self, served: _TenantDefinitions) -> Cache | None:
        return (
            self._watches.peek(served.tenant.id, DEFINITIONS) if self._watches is not None else None
        )

    def _refresh(self, served: _TenantDefinitions) -> None:
        """What is large and has not been read yet has to wait for whoever can."""
        cache = self._cache(served)
        if cache is None:
            return
        entries = cache.select()
        if entries is served.entries or any(
            _is_new(served, e) and len(e.json) >= LARGE for e in entries
        ):
            return
        before = served.definitions
        after: dict[str, Definition] = {}
        changes: list[Change] = []
        for entry in entries:
            old = before.get(entry.name)
            if old is not None and old.entry is entry:
                after[entry.name] = old
            else:
                after[entry.name] = new = served.ahead.get(entry) or read(entry, old)
                changes.append(Change(old, new))
        changes += [Change(old, None) for name, old in before.items() if name not in after]
        served.entries, served.definitions = entries, after
        served.ahead.clear()
        _regroup(served, changes)
        self._serve(served, changes)
        if changes and self._follower is not None:
            self._follower.changed(served.tenant, changes)

    def _serve(self, served: _TenantDefinitions, changes: Sequence[Change]) -> None:
        """Brings the resources up to date. Watches of instances end when their definition goes or
        changes, as their objects may look different now."""
        assert self._watches is not None
        if all(
            (c.before.resource if c.before else None) is (c.after.resource if c.after else None)
            for c in changes
        ):
            return
        served.custom = {
            d.resource.group_resource: d.resource
            for d in served.definitions.values()
            if d.resource is not None
        }
        if served.tenant.name == DEFAULT_TENANT and (review := served.custom.get(OWN_TENANTS)):
            review.answers = True
        served.all = [
            *self._builtins,
            *(r for key, r in served.custom.items() if key not in self._builtin),
        ]
        for old, new in changes:
            if (
                old is not None
                and old.resource is not None
                and (new is None or new.resource is not old.resource)
            ):
                self._watches.drop(served.tenant.id, old.resource.storage)

    async def _follow(self, served: _TenantDefinitions) -> None:
        """Looks at every change, also while no request comes, for as long as the tenant is in use;
        then forgets it."""
        try:
            while self._in_use(served):
                await self._listen(served)
        finally:
            if self._tenants.get(served.tenant.id) is served:
                del self._tenants[served.tenant.id]

    async def _listen(self, served: _TenantDefinitions) -> None:
        assert self._watches is not None
        try:
            subscription = await self._watches.subscribe(served.tenant.id, DEFINITIONS, after=None)
        except StorageError as e:
            log.debug("definitions of tenant %s: %s", served.tenant.name, e)
            if isinstance(e, TenantGone):
                served.used = float("-inf")
            else:
                await asyncio.sleep(1)
            return
        try:
            while self._in_use(served):
                await subscription.next(self._followed / 4)
                await self._read_ahead(served)
                self._refresh(served)
        except (WatchClosed, StorageError) as e:
            log.debug("definitions of tenant %s: %s", served.tenant.name, e)
            await asyncio.sleep(0.05)
        finally:
            subscription.cancel()

    def _in_use(self, served: _TenantDefinitions) -> bool:
        """Someone asks, or watches: a watch of instances must learn of the end of their
        definition."""
        assert self._watches is not None
        idle = time.monotonic() - served.used >= self._followed
        return not idle or self._watches.watched(served.tenant.id, but=DEFINITIONS)

    def forget(self, tenant_id: int) -> None:
        served = self._tenants.pop(tenant_id, None)
        if served is not None and served.following is not None:
            served.following.cancel()


def _is_new(served: _TenantDefinitions, entry: Entry) -> bool:
    before = served.definitions.get(entry.name)
    return entry not in served.ahead and (before is None or before.entry is not entry)


def _regroup(served: _TenantDefinitions, changes: Sequence[Change]) -> None:
    for old, new in changes:
        if new is not None:
            served.groups.setdefault(new.group, {})[new.name] = new
        elif old is not None:
            group = served.groups[old.group]
            del group[old.name]
            if not group:
                del served.groups[old.group]


__all__ = ["DEFINITIONS", "Change", "Definition", "Follower", "TenantCatalog"]
