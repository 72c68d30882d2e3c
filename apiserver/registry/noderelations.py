"""What belongs to a node: its pods, what they refer to, and the volumes behind their claims.

For each tenant of which a node has asked something, two tables are kept: the pods of each node, and
the volumes of each claim. They are brought up to date by the changes since the last question, so
each change is looked at once, however many questions there are; a tenant without nodes has none.
They go with the tenant's caches. What a pod refers to is not kept, since one pod may name ten
thousands of things: those of the node are searched for the name, and the ones that have it are
read. kubernetes ``plugin/pkg/auth/authorizer/node/graph.go`` has a graph for the same.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable

import orjson

from apiserver.authz import node as n
from apiserver.kinds.common import podreferences as of
from apiserver.kinds.common.podannotations import MIRROR
from apiserver.meta.gvk import GroupResource
from apiserver.meta.objects import Object
from apiserver.storage.interface import ObjectKey
from apiserver.watch.cache import Cache
from apiserver.watch.entry import Entry
from apiserver.watch.watches import Watches

_AT_ONCE = 1000
"""Objects that are entered into a table between two turns of the loop."""
_CLAIMS = (b'"claimName"', b'"ephemeral"')
"""One of them is in each pod that has a claim."""
_SEARCHED = 1024 * 1024
"""Bytes that are searched between two of them."""


class NodeRelations:
    def __init__(self, watches: Watches) -> None:
        self._watches = watches
        self._tables: dict[tuple[int, GroupResource], _Table] = {}
        watches.when_idle(self.forget)

    def forget(self, tenant: int) -> None:
        for resource in _GROUPS:
            self._tables.pop((tenant, resource), None)

    async def related(
        self, tenant: int, node: str, resource: GroupResource, namespace: str, name: str
    ) -> bool:
        """Whether that object belongs to the node, or to a pod that is bound to it. Raises
        StorageError."""
        if await self._is(tenant, node, resource, namespace, name):
            return True
        await self._watches.fresh(tenant, n.PODS)  # the node may know more than this process
        return await self._is(tenant, node, resource, namespace, name)

    async def _is(
        self, tenant: int, node: str, resource: GroupResource, namespace: str, name: str
    ) -> bool:
        if resource in (n.ATTACHMENTS, n.SLICES):
            entry = await self._entry(tenant, resource, "", name)
            return entry is not None and entry.object()["spec"].get("nodeName") == node
        if resource == n.PODS:
            entry = await self._entry(tenant, resource, namespace, name)
            return entry is not None and _node_of(entry) == node
        if resource == n.VOLUMES:
            entry = await self._entry(tenant, resource, "", name)
            claim = _claim_of(entry) if entry is not None else ""
            if not claim:
                return False
            resource, (namespace, _, name) = n.CLAIMS, claim.partition("/")
        pods = (await self._table(tenant, n.PODS)).having(node, namespace, name)
        async for pod in pods:
            if name in _named(pod, resource):
                return True
        return resource == n.SECRETS and await self._by_volume(tenant, node, namespace, name)

    async def _by_volume(self, tenant: int, node: str, namespace: str, name: str) -> bool:
        """Whether a volume behind a claim of the node's pods needs the secret."""
        volumes = await self._table(tenant, n.VOLUMES)
        pods = await self._table(tenant, n.PODS)
        if not volumes.members:
            return False
        async for pod in pods.having(node):
            for claim in _named(pod, n.CLAIMS):
                place = f"{pod['metadata']['namespace']}/{claim}"
                async for volume in volumes.having(place, "", name):
                    if (namespace, name) in of.volume_secrets(volume):
                        return True
        return False

    async def _entry(
        self, tenant: int, resource: GroupResource, namespace: str, name: str
    ) -> Entry | None:
        cache = await self._watches.cache(tenant, resource)
        return cache.get(ObjectKey(*resource, namespace, name))

    async def _table(self, tenant: int, resource: GroupResource) -> _Table:
        cache = await self._watches.cache(tenant, resource)
        table = self._tables.get((tenant, resource))
        if table is None or table.cache is not cache:
            table = self._tables[tenant, resource] = _Table(cache, resource)
        await table.catch_up()
        return table


class _Table:
    """members: by what it belongs to (`_GROUPS`), namespace and name of each object. Belongs to
    one cache."""

    def __init__(self, cache: Cache, resource: GroupResource) -> None:
        self.cache, self._resource = cache, resource
        self.members: dict[str, dict[tuple[str, str], None]] = {}
        self._group = _GROUPS[resource]
        self._of: dict[tuple[str, str], str] = {}
        self._position = -1
        self._lock = asyncio.Lock()

    async def having(
        self, group: str, namespace: str = "", name: str = ""
    ) -> AsyncIterator[Object]:
        """Objects of the group, of ``namespace`` if there is one, that may name ``name``; without a
        name those that may name a claim."""
        texts, searched = (orjson.dumps(name)[1:-1],) if name else _CLAIMS, 0
        for place in list(self.members.get(group, ())):
            entry = self.cache.get(ObjectKey(*self._resource, *place))
            if entry is None or (namespace and entry.namespace != namespace):
                continue
            searched += len(entry.json)
            ephemeral = name.startswith(f"{entry.name}-")  # maybe of an ephemeral volume
            if ephemeral or any(text in entry.json for text in texts):
                searched += _SEARCHED
                yield entry.object()
            if searched >= _SEARCHED:
                searched = 0
                await asyncio.sleep(0)

    async def catch_up(self) -> None:
        """Each change once."""
        async with self._lock:
            while self._position != self.cache.resource_version:
                at = self.cache.resource_version
                if self._position < self.cache.window_after:
                    await self._begin()
                else:
                    for change in self.cache.changes_after(self._position):
                        self._drop(change.new)
                        if not change.deleted:
                            self._put(change.new)
                self._position = at

    async def _begin(self) -> None:
        """From the state as it is when this is called."""
        entries = self.cache.select()
        self._of.clear()
        self.members.clear()
        for i, entry in enumerate(entries):
            self._put(entry)
            if i % _AT_ONCE == _AT_ONCE - 1:
                await asyncio.sleep(0)

    def _put(self, entry: Entry) -> None:
        if group := self._group(entry):
            place = entry.namespace, entry.name
            self._of[place] = group
            self.members.setdefault(group, {})[place] = None

    def _drop(self, entry: Entry) -> None:
        place = entry.namespace, entry.name
        if (group := self._of.pop(place, "")) and (members := self.members.get(group)):
            members.pop(place, None)
            if not members:
                del self.members[group]


def _node_of(pod: Entry) -> str:
    return pod.fields.get("spec.nodeName", "")


def _claim_of(volume: Entry) -> str:
    """As namespace/name, "" without one."""
    claim = volume.object()["spec"].get("claimRef")
    return f"{claim.get('namespace', '')}/{claim.get('name', '')}" if claim else ""


_GROUPS: dict[GroupResource, Callable[[Entry], str]] = {n.PODS: _node_of, n.VOLUMES: _claim_of}
"""What pods and volumes belong to, "" for nothing."""


def _named(pod: Object, resource: GroupResource) -> frozenset[str]:
    """Of which names the pod gives its node something. A mirror, which a node makes itself, gives
    it nothing."""
    if MIRROR in (pod["metadata"].get("annotations") or {}):
        return frozenset()
    names: Iterable[str]
    if resource == n.ACCOUNTS:
        names = [pod["spec"].get("serviceAccountName") or ""]
    elif resource == n.SECRETS:
        names = of.secrets(pod["spec"])
    elif resource == n.CONFIG_MAPS:
        names = of.config_maps(pod["spec"])
    else:
        names = (of.volume_claims if resource == n.CLAIMS else of.resource_claims)(pod)
    return frozenset(filter(None, names))
