"""Limits are exact, also under concurrency, and never keep anybody from making room."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from apiserver.meta.gvk import GroupResource
from apiserver.storage import tenants
from apiserver.storage.commit import MAX_OBJECT
from apiserver.storage.errors import (
    InvalidText,
    ObjectTooLarge,
    QuotaExceeded,
    RateExceeded,
    StorageError,
    TenantGone,
)
from apiserver.storage.interface import Write
from apiserver.storage.models import TenantHead
from apiserver.storage.postgres import PostgresStore
from apiserver.storage.tenants import Limits
from tests.support.fixtures import in_thread, looking
from tests.support.storage import CONFIGMAPS, create, delete, key, numbers, stored, update


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


def _marked(write: Write) -> Write:
    write.deleting = True
    return write


async def _refusal(outcome: Any) -> tuple[object, ...]:
    """What an error says but for the seconds to wait, which go by; () for none."""
    try:
        await outcome
    except (QuotaExceeded, RateExceeded) as error:
        return type(error), error.what, error.limit
    except StorageError as error:
        return type(error), str(error)
    return ()


LIMITS: list[dict[str, int]] = [
    {},
    {"objects": 2},
    {"bytes": 2200},
    {"bytes": 1800},
    {"hour_bytes": 3000},
    {"hour_bytes": 1700},
    {"log_bytes": 3000},
    {"log_bytes": 1700},
    {"definitions": 0},
]


@pytest.mark.parametrize("limits", LIMITS, ids=str)
async def test_a_rehearsal_refuses_what_the_write_would_and_writes_nothing(
    store: PostgresStore, tenant: int, limits: dict[str, int]
) -> None:
    """Writes of all sorts, each rehearsed and then done in the same state of a tenant."""
    crds = GroupResource("apiextensions.k8s.io", "customresourcedefinitions")
    records = []
    for name in ("a", "b"):
        write = create(key(name), "x" * 900)
        records.append(stored(write, await store.write(tenant, write)))
    await _limit(tenant, **limits)
    first, second = records
    said = []
    for write in (
        create(key("c"), "x" * 300),
        create(key("crd", resource=crds)),
        update(first, "x" * 1100),
        _marked(update(first, "x" * 950)),
        _marked(update(first, "x" * 2100)),
        update(first, "x" * 100),
        delete(second),
        create(key("d"), "x\x00"),
        create(key("e"), "x" * MAX_OBJECT),
    ):
        if write.key == first.key:
            write.expected = first.resource_version
        before = await store.head(tenant)
        rehearsed = await _refusal(store.rehearse(tenant, write))
        assert await store.head(tenant) == before, "a rehearsal writes nothing"
        assert rehearsed == await _refusal(store.write(tenant, write))
        if not rehearsed and write.key == first.key:
            first = stored(write, await store.head(tenant))
        said.append(rehearsed[0] if rehearsed else None)
    assert said[-2:] == [InvalidText, ObjectTooLarge]
    assert any(said[:-2]) == bool(limits), "the case is about its limit"


async def test_a_rehearsal_for_a_tenant_that_is_gone(store: PostgresStore) -> None:
    with pytest.raises(TenantGone):
        await store.rehearse(next(numbers), create(key("a")))
