"""Charging a ResourceQuota: its status.used is replaced if nobody has changed the quota since it was read."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import orjson

from admission.attributes import Object
from apiserver.errors import Conflict
from apiserver.meta.gvk import GroupResource
from apiserver.registry.core import write_of
from apiserver.storage.errors import KeyMissing, Stale
from apiserver.storage.interface import ObjectKey, Store

QUOTAS = GroupResource("", "resourcequotas")


def charger(store: Store) -> Callable[[int, Object, dict[str, str]], Awaitable[None]]:
    """admission.plugins.resourcequota.Store over storage."""

    async def charge(tenant: int, quota: Object, used: dict[str, str]) -> None:
        metadata = quota["metadata"]
        key = ObjectKey(*QUOTAS, metadata["namespace"], metadata["name"])
        expected = int(metadata["resourceVersion"])
        kept = {k: v for k, v in metadata.items() if k != "resourceVersion"}
        rest = {k: v for k, v in quota.items() if k not in ("kind", "apiVersion", "metadata", "status")}
        status = {**quota.get("status", {}), "used": used}
        new = {"kind": "ResourceQuota", "apiVersion": "v1", "metadata": kept, **rest, "status": status}
        try:
            await store.write(tenant, write_of("update", key, new, orjson.dumps(new), expected))
        except (Stale, KeyMissing):
            raise Conflict(QUOTAS, metadata["name"]) from None

    return charge
