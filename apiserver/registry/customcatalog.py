"""The resources of each tenant: the built-in ones and those of its CustomResourceDefinitions.

The definitions come from the tenant's watch cache; when that has changed (its selection is then another object), the definitions that
changed are read again and all others stay as they are. So a request pays one comparison, and a definition counts in every worker as soon as
its watch cache has it. Schemas are compiled at first use and shared by equal definitions (apiserver.kinds.apiextensions.schemas).
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import orjson

from apiserver.kinds import catalog as builtin
from apiserver.kinds.apiextensions import conditions
from apiserver.kinds.apiextensions.custom import CustomResource
from apiserver.kinds.apiextensions.resource import custom_resource
from apiserver.kinds.base import Object, Resource
from apiserver.meta.gvk import GroupResource
from apiserver.registry.scope import Tenant
from apiserver.storage.errors import StorageError
from apiserver.storage.interface import ObjectKey
from apiserver.watch.entry import Entry
from apiserver.watch.errors import WatchClosed
from apiserver.watch.watches import Watches

log = logging.getLogger("polyplane.crd")

DEFINITIONS = GroupResource("apiextensions.k8s.io", "customresourcedefinitions")
FOLLOWED = 300.0
"""Seconds for which the definitions of a tenant are followed after its last request."""


@dataclass(slots=True, eq=False)
class Definition:
    """One definition at one version. outline: metadata, group, names and status, without schemas; resource: None while it is not served."""

    entry: Entry
    outline: Object
    spec: bytes
    resource: CustomResource | None

    @property
    def deleting(self) -> bool:
        return bool(self.outline["metadata"].get("deletionTimestamp"))


@dataclass(slots=True, eq=False)
class _Known:
    """What is known of one tenant. entries: the selection of the cache that the rest was made from."""

    tenant: Tenant
    entries: Sequence[Entry] = ()
    definitions: dict[str, Definition] = field(default_factory=dict)
    custom: dict[GroupResource, CustomResource] = field(default_factory=dict)
    all: Sequence[Resource] = ()
    used: float = 0.0
    following: asyncio.Task[None] | None = None


class TenantCatalog:
    """apiserver.registry.core.Catalog."""

    def __init__(self) -> None:
        self._builtin = builtin.resources()
        self._builtins = list(self._builtin.values())
        self._by_storage = {r.storage: r for r in self._builtins if r.storage == r.group_resource}
        self._known: dict[int, _Known] = {}
        self._watches: Watches | None = None
        self._changed: Callable[[Tenant], None] = lambda tenant: None

    def follow(self, watches: Watches, changed: Callable[[Tenant], None]) -> None:
        """Where definitions come from; ``changed`` is told of every tenant whose definitions are not what they were."""
        self._watches, self._changed = watches, changed

    def stop(self) -> None:
        for known in self._known.values():
            if known.following is not None:
                known.following.cancel()

    # --- reading ---------------------------------------------------------------------------------------------------------------
    def find(self, tenant: Tenant, group: str, resource: str) -> Resource | None:
        key = GroupResource(group, resource)
        return self._builtin.get(key) or self._of(tenant).custom.get(key)

    def all(self, tenant: Tenant) -> Sequence[Resource]:
        return self._of(tenant).all or self._builtins

    def stored(self, resource: GroupResource) -> Resource | None:
        """The built-in resource whose objects are kept under that name."""
        return self._by_storage.get(resource)

    def definitions(self, tenant: Tenant) -> Mapping[str, Definition]:
        return self._of(tenant).definitions

    async def ready(self, tenant: Tenant) -> None:
        """To be awaited before a request looks anything up. Raises StorageError."""
        assert self._watches is not None, "follow() comes first"
        if self._watches.peek(tenant.id, DEFINITIONS) is None:
            await self._watches.cache(tenant.id, DEFINITIONS)
        known = self._known.get(tenant.id)
        if known is None:
            known = self._known[tenant.id] = _Known(tenant)
        known.used = time.monotonic()
        if known.following is None or known.following.done():
            known.following = asyncio.create_task(self._follow(known))
        self._refresh(known)

    async def fresh(self, tenant: Tenant) -> None:
        """As ready(), and not older than the call: before anybody is told that something does not exist."""
        assert self._watches is not None, "follow() comes first"
        await self._watches.fresh(tenant.id, DEFINITIONS)
        await self.ready(tenant)

    def _of(self, tenant: Tenant) -> _Known:
        known = self._known.get(tenant.id)
        if known is None:
            return _Known(tenant)
        self._refresh(known)
        return known

    # --- following -------------------------------------------------------------------------------------------------------------
    def _refresh(self, known: _Known) -> None:
        cache = self._watches.peek(known.tenant.id, DEFINITIONS) if self._watches is not None else None
        if cache is None:
            return
        entries = cache.select()
        if entries is known.entries:
            return
        before = known.definitions
        known.entries = entries
        known.definitions = {e.name: self._definition(e, before.get(e.name)) for e in entries}
        known.custom = {d.resource.group_resource: d.resource for d in known.definitions.values() if d.resource is not None}
        known.all = [*self._builtins, *known.custom.values()]
        self._drop_outdated(known, before)
        self._changed(known.tenant)

    def _definition(self, entry: Entry, before: Definition | None) -> Definition:
        if before is not None and before.entry is entry:
            return before
        crd = entry.object()
        spec = orjson.dumps([crd["spec"], (crd.get("status") or {}).get("acceptedNames"), crd["metadata"].get("deletionTimestamp")])
        outline = {"metadata": crd["metadata"], "spec": {"group": crd["spec"].get("group"), "names": crd["spec"].get("names")}}
        outline["status"] = crd.get("status") or {}
        resource = None
        if conditions.is_served(crd):
            same = before is not None and before.resource is not None and before.spec == spec and before.entry.uid == entry.uid
            resource = before.resource if same and before is not None else custom_resource(crd)
        return Definition(entry, outline, spec, resource)

    def _drop_outdated(self, known: _Known, before: Mapping[str, Definition]) -> None:
        """Watches of instances end when their definition goes or changes, as their objects may look different now."""
        assert self._watches is not None
        for name, definition in before.items():
            now = known.definitions.get(name)
            if definition.resource is not None and (now is None or now.resource is not definition.resource):
                self._watches.drop(known.tenant.id, definition.resource.storage)

    async def _follow(self, known: _Known) -> None:
        """Looks at every change, also while no request comes, for as long as the tenant is in use."""
        assert self._watches is not None
        while time.monotonic() - known.used < FOLLOWED:
            try:
                subscription = await self._watches.subscribe(known.tenant.id, DEFINITIONS, after=None)
            except StorageError as e:
                log.debug("definitions of tenant %s: %s", known.tenant.name, e)
                await asyncio.sleep(1)
                continue
            try:
                while time.monotonic() - known.used < FOLLOWED:
                    await subscription.next(FOLLOWED / 4)
                    self._refresh(known)
            except (WatchClosed, StorageError) as e:
                log.debug("definitions of tenant %s: %s", known.tenant.name, e)
            finally:
                subscription.cancel()

    def forget(self, tenant_id: int) -> None:
        known = self._known.pop(tenant_id, None)
        if known is not None and known.following is not None:
            known.following.cancel()


def key_of(name: str) -> ObjectKey:
    """Where a definition is stored."""
    return ObjectKey(*DEFINITIONS, "", name)
