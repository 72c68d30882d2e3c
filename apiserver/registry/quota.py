"""ResourceQuotas as storage has them: what their namespace uses, and the status that says so.

Two write that status. Admission charges a request before its object is committed; `recalculate`
brings down what is not used any more. It must not take away what has been charged for an object
that is still on its way, and finds out from the log: whatever was charged since ``WINDOW`` seconds
before the objects were counted is left standing. All writes are compare-and-swap.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

import orjson

from admission.plugins.quota_scopes import in_scope, requirements
from admission.plugins.quota_usage import Usage, counted, matching, parsed, usage
from admission.plugins.resourcequota import IGNORED
from apiserver.errors import Conflict
from apiserver.kinds.served import Resource
from apiserver.meta.gvk import GroupResource
from apiserver.meta.objects import Object
from apiserver.meta.quantity import Quantity
from apiserver.meta.times import now
from apiserver.registry.core import write_of
from apiserver.registry.lookup import Catalog
from apiserver.registry.offload import Asker, by_size
from apiserver.registry.scope import Tenant
from apiserver.registry.translate import BUDGET, over_budget
from apiserver.storage.errors import KeyMissing, Stale
from apiserver.storage.interface import Event, ObjectKey, Record, Store

QUOTAS = GroupResource("", "resourcequotas")
WINDOW = 1.0
"""Seconds within which a request that has been charged is committed, or has failed."""
_PAGE = 200
_LOG_PAGES = 50


class Sample(NamedTuple):
    """A quota as it was when a look at it began, ``WINDOW`` before the objects are counted."""

    uid: str
    resource_version: int
    used: Mapping[str, str]


def sample(quota: Object) -> Sample:
    metadata = quota["metadata"]
    used = (quota.get("status") or {}).get("used") or {}
    return Sample(metadata["uid"], int(metadata["resourceVersion"]), used)


class Quotas:
    """The quotas of all tenants."""

    def __init__(self, store: Store, catalog: Catalog) -> None:
        self._store, self._catalog = store, catalog

    async def of(self, tenant: int, namespace: str) -> Sequence[Object]:
        """Those of a namespace, from the database."""
        page = await self._store.list(tenant, QUOTAS, namespace=namespace)
        return [orjson.loads(record.json) for record in page.records]

    async def charge(self, tenant: int, quota: Object, used: Mapping[str, str]) -> None:
        """admission.plugins.resourcequota.Store. Raises Conflict, if the quota has changed since it
        was read."""
        await self._write(tenant, quota, {**(quota.get("status") or {}), "used": dict(used)})

    async def settle(self, tenant: int, quota: Object) -> None:
        """Lets a quota bind whose status does not say yet what its spec does. What was charged
        already stays. Raises Conflict as `charge`."""
        used = await self._measured(tenant, quota)
        before = parsed((quota.get("status") or {}).get("used") or {})
        more = {n: max(amount, before.get(n, amount)) for n, amount in used.items()}
        await self._write(tenant, quota, _status(quota, more))

    async def recalculate(self, tenant: int, namespace: str, name: str, since: Sample) -> bool:
        """Writes what the namespace uses now; False: a part of what has been charged may belong to
        objects on their way, and wants another look. ``since``: the quota ``WINDOW`` ago. Raises
        Conflict as `charge`."""
        record = await self._store.get(tenant, ObjectKey(*QUOTAS, namespace, name))
        if record is None or record.uid != since.uid:
            return True
        used = await self._measured(tenant, orjson.loads(record.json))
        record = await self._store.get(tenant, record.key)
        if record is None or record.uid != since.uid:
            return True
        quota: Object = orjson.loads(record.json)
        before = parsed((quota.get("status") or {}).get("used") or {})
        charges = await self._charges(tenant, record, since)
        if charges is None:
            return False
        after = {n: _bounded(amount, before.get(n), charges.get(n)) for n, amount in used.items()}
        status = _status(quota, after)
        if after != before or status["hard"] != (quota.get("status") or {}).get("hard"):
            await self._write(tenant, quota, status)
        return after == used

    async def _charges(self, tenant: int, record: Record, since: Sample) -> Usage | None:
        """By how much ``used`` rose from one state of the quota to the next since then; None where
        the log is too long to say."""
        charges: Usage = {}
        before, after = parsed(since.used), since.resource_version
        for _ in range(_LOG_PAGES):
            page = await self._store.events(tenant, after, resource=QUOTAS)
            for event in page.events:
                if event.record.key == record.key and not _later(event, record):
                    now_used = _used(event.record)
                    for n, amount in now_used.items():
                        rise = amount - before.get(n, Quantity())
                        if rise.sign > 0:
                            charges[n] = charges.get(n, Quantity()) + rise
                    before = now_used
            if page.through >= record.resource_version or page.through == after:
                return charges
            after = page.through
        return None

    async def _measured(self, tenant: int, quota: Object) -> Usage:
        """What the objects of the namespace use of what the quota limits (k8s.io/apiserver
        ``pkg/quota/v1/resources.go`` CalculateUsage)."""
        namespace, at = quota["metadata"]["namespace"], now()
        hard = (quota.get("spec") or {}).get("hard") or {}
        total: Usage = {}
        for resource in self._catalog.all(Tenant(tenant, "")):
            fits = _fitting(resource, hard)
            total.update(dict.fromkeys(fits, Quantity()))
            kind = resource.group_resource
            if not fits:
                continue
            if not requirements(quota) and set(fits) <= counted(kind):
                count = await self._count(tenant, kind, namespace)
                total.update(dict.fromkeys(fits, Quantity(count)))
            else:
                async for obj in self._objects(tenant, kind, namespace):
                    _add(total, fits, quota, kind, obj, at)
        return total

    async def _count(self, tenant: int, resource: GroupResource, namespace: str) -> int:
        page = await self._store.list(tenant, resource, namespace=namespace, limit=1)
        return len(page.records) + page.remaining

    async def _objects(
        self, tenant: int, resource: GroupResource, namespace: str
    ) -> AsyncIterator[Object]:
        """In one state of the tenant."""
        at, after = 0, None
        while True:
            page = await self._store.list(
                tenant, resource, namespace=namespace, at=at, after=after, limit=_PAGE
            )
            at = page.at
            for record in page.records:
                yield await _decoded(tenant, record)
            if not page.more:
                return
            last = page.records[-1].key
            after = (last.namespace, last.name)

    async def _write(self, tenant: int, quota: Object, status: Object) -> None:
        metadata = quota["metadata"]
        key = ObjectKey(*QUOTAS, metadata["namespace"], metadata["name"])
        expected = int(metadata["resourceVersion"])
        kept = {k: v for k, v in metadata.items() if k != "resourceVersion"}
        new = {"kind": "ResourceQuota", "apiVersion": "v1", "metadata": kept}
        new |= {k: v for k, v in quota.items() if k not in ("kind", "apiVersion", "metadata")}
        new["status"] = status
        write = write_of("update", key, new, orjson.dumps(new), expected)
        write.subresource = "status"
        try:
            await self._store.write(tenant, write)
        except (Stale, KeyMissing):
            raise Conflict(QUOTAS, metadata["name"]) from None
        except BUDGET as e:
            raise over_budget(e, QUOTAS, metadata["name"], "the tenant") from None


def _fitting(resource: Resource, hard: Mapping[str, str]) -> Sequence[str]:
    """What of ``hard`` the resource's objects use."""
    kind = resource.group_resource
    if not resource.namespaced or resource.storage != kind or kind in IGNORED:
        return ()
    return matching(kind, hard)


def _add(
    total: Usage,
    fits: Sequence[str],
    quota: Object,
    kind: GroupResource,
    obj: Object,
    at: datetime,
) -> None:
    if in_scope(quota, kind, obj):
        uses = usage(kind, obj, at)
        for name in fits:
            if name in uses:
                total[name] = total[name] + uses[name]


def _bounded(amount: Quantity, before: Quantity | None, charge: Quantity | None) -> Quantity:
    """What is used, and what may have been charged for objects on their way; never more than the
    status says already, unless that is not even enough for what is there."""
    if charge is None:
        return amount
    most = amount + charge
    return most if before is None or before < amount else min(most, before)


def _status(quota: Object, used: Usage) -> Object:
    """With the amounts that another controller may have counted."""
    hard = (quota.get("spec") or {}).get("hard") or {}
    before = (quota.get("status") or {}).get("used") or {}
    kept = {n: text for n, text in before.items() if n in hard}
    return {"hard": dict(hard), "used": {**kept, **{n: str(a) for n, a in used.items()}}}


def _used(record: Record) -> Usage:
    quota = orjson.loads(record.data)
    return parsed((quota.get("status") or {}).get("used") or {})


def _later(event: Event, record: Record) -> bool:
    return event.record.resource_version > record.resource_version


async def _decoded(tenant: int, record: Record) -> Object:
    asker = Asker(Tenant(tenant, ""), len(record.data))
    obj: Object = await by_size(asker, lambda: orjson.loads(record.data))
    return obj
