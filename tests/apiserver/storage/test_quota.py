"""Limits are exact, also under concurrency, and never keep anybody from making room."""

from __future__ import annotations

import asyncio

import pytest

from apiserver.storage import tenants
from apiserver.storage.errors import QuotaExceeded
from apiserver.storage.models import TenantHead
from apiserver.storage.postgres import PostgresStore
from apiserver.storage.tenants import Limits
from tests.support.fixtures import in_thread, looking
from tests.support.storage import CONFIGMAPS, create, delete, key, stored, update


async def _limit(tenant: int, **limits: int) -> None:
    await in_thread(lambda: tenants.set_limits(tenant, Limits(**limits)))


async def test_objects_are_counted_exactly_under_concurrency(
    store: PostgresStore, tenant: int, postgres: str
) -> None:
    await _limit(tenant, objects=50)
    other = PostgresStore(postgres, size=2)
    await other.open()
    writes = [(store, other)[i % 2].write(tenant, create(key(f"n{i}"))) for i in range(120)]
    results = await asyncio.gather(*writes, return_exceptions=True)
    await other.close()
    refused = [r for r in results if isinstance(r, QuotaExceeded)]
    assert len(refused) == 70 and all((r.what, r.limit) == ("objects", 50) for r in refused)
    page = await store.list(tenant, CONFIGMAPS)
    assert len(page.records) == 50
    await store.write(tenant, delete(page.records[0]))
    await store.write(tenant, create(key("room-again")))
    with pytest.raises(QuotaExceeded):
        await store.write(tenant, create(key("full-again")))


async def test_bytes_count_what_is_there_now(store: PostgresStore, tenant: int) -> None:
    first = create(key("a"), "x" * 1000)
    await _limit(tenant, bytes=2 * len(first.data))
    record = stored(first, await store.write(tenant, first))
    second = create(key("b"), "x" * 1000)
    other = stored(second, await store.write(tenant, second))
    with pytest.raises(QuotaExceeded) as raised:
        await store.write(tenant, create(key("c")))
    assert raised.value.what == "bytes" and raised.value.limit == 2 * len(first.data)
    with pytest.raises(QuotaExceeded):
        await store.write(tenant, update(record, "x" * 1001))
    smaller = update(record, "x" * 900)
    record = stored(smaller, await store.write(tenant, smaller))
    await _limit(tenant, bytes=10)
    smaller = update(record, "x" * 800)
    record = stored(smaller, await store.write(tenant, smaller))  # above the limit, but it shrinks
    await store.write(tenant, delete(other))
    head = await looking(lambda: TenantHead.objects.get(pk=tenant))
    assert (head.object_count, head.bytes) == (1, len(record.data))
