"""A Store in memory, for tests that measure the work of this process and nothing else. One tenant,
no log before the present."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from itertools import count

from apiserver.meta.gvk import GroupResource
from apiserver.storage.errors import KeyExists, KeyMissing, Stale
from apiserver.storage.interface import (
    Event,
    EventPage,
    Head,
    Listener,
    ObjectKey,
    Observer,
    Page,
    Record,
    Write,
    key_order,
)


class MemoryStore:
    def __init__(self) -> None:
        self._records: dict[ObjectKey, Record] = {}
        self._numbers = count(1)
        self._head = 0
        self._observers: list[Observer] = []

    async def head(self, tenant: int) -> int:
        return self._head

    async def bounds(self, tenant: int) -> Head:
        return Head(self._head, 0)

    async def heads(self, tenants: list[int]) -> dict[int, Head]:
        return {tenant: Head(self._head, 0) for tenant in tenants}

    async def get(self, tenant: int, key: ObjectKey) -> Record | None:
        return self._records.get(key)

    async def is_first(self, tenant: int, resource_version: int) -> bool:
        return False

    async def list(
        self,
        tenant: int,
        resource: GroupResource,
        *,
        namespace: str = "",
        at: int = 0,
        after: tuple[str, str] | None = None,
        limit: int = 0,
    ) -> Page:
        records = [r for r in self._of(resource) if not namespace or r.key.namespace == namespace]
        if after is not None:
            records = [
                r for r in records if key_order(r.key.namespace, r.key.name) > key_order(*after)
            ]
        kept = records[:limit] if limit else records
        return Page(kept, self._head, len(kept) < len(records), len(records) - len(kept))

    async def first(
        self, tenant: int, resource: GroupResource, *, namespace: str = "", limit: int
    ) -> Page:
        return await self.list(tenant, resource, namespace=namespace, limit=limit)

    async def snapshot(
        self, tenant: int, resource: GroupResource
    ) -> AsyncGenerator[tuple[int, Sequence[Record]], None]:
        yield self._head, self._of(resource)

    async def events(
        self,
        tenant: int,
        after: int,
        *,
        resource: GroupResource | None = None,
        with_old: bool = False,
        limit: int = 1000,
    ) -> EventPage:
        return EventPage([], self._head)

    async def counts(self) -> Mapping[GroupResource, int]:
        return {}

    async def size(self) -> int:
        return 0

    async def write(self, tenant: int, write: Write) -> int:
        stored = self._records.get(write.key)
        if write.operation == "create":
            if stored is not None:
                raise KeyExists
        elif stored is None:
            raise KeyMissing
        elif stored.resource_version != write.expected:
            raise Stale(stored.resource_version)
        previous, self._head = self._head, next(self._numbers)
        record = Record(write.key, write.uid, self._head, write.data)
        if write.operation == "delete":
            del self._records[write.key]
        else:
            self._records[write.key] = record
        kind = {"create": "ADDED", "update": "MODIFIED", "delete": "DELETED"}[write.operation]
        event = Event(kind, record, previous, stored.resource_version if stored is not None else 0)  # type: ignore[arg-type]
        for observer in self._observers:
            observer(tenant, [event])
        return self._head

    async def rehearse(self, tenant: int, write: Write) -> None:
        """It has no limits."""

    def observe(self, observer: Observer) -> None:
        self._observers.append(observer)

    def listen(self, listener: Listener) -> None:
        """There is nobody else who writes."""

    def _of(self, resource: GroupResource) -> Sequence[Record]:
        records = [r for r in self._records.values() if r.key.group_resource == resource]
        return sorted(records, key=lambda r: key_order(r.key.namespace, r.key.name))
