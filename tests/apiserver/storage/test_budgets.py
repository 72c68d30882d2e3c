"""What a tenant writes is bounded, exactly: bytes in an hour, bytes of its log, definitions, and
the size of one object. Whoever is full can still make room."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest
from django.db import connection

from apiserver.meta.gvk import GroupResource
from apiserver.storage import tenants
from apiserver.storage.commit import MAX_OBJECT
from apiserver.storage.compact import relieve
from apiserver.storage.errors import ObjectTooLarge, QuotaExceeded, RateExceeded
from apiserver.storage.interface import Write
from apiserver.storage.models import EventRow, TenantHead
from apiserver.storage.postgres import PostgresStore
from apiserver.storage.tenants import Limits
from tests.support.fixtures import in_thread, looking
from tests.support.storage import create, delete, key, stored, update

DEFINITIONS = GroupResource("apiextensions.k8s.io", "customresourcedefinitions")


async def _limit(tenant: int, **limits: int) -> None:
    await in_thread(lambda: tenants.set_limits(tenant, Limits(**limits)))


async def _head(tenant: int) -> TenantHead:
    return await looking(lambda: TenantHead.objects.get(pk=tenant))


async def _logged(tenant: int) -> int:
    return await looking(
        lambda: sum(EventRow.objects.filter(tenant_id=tenant).values_list("size", flat=True))
    )


async def test_bytes_of_an_hour_are_counted_exactly_under_concurrency(
    store: PostgresStore, tenant: int, postgres: str
) -> None:
    """Sixteen writers over two stores; the log's budget and the number of definitions in the same
    way."""
    size = len(create(key("n000"), "x" * 1000).data)
    await _limit(tenant, hour_bytes=40 * size)
    other = PostgresStore(postgres, size=2)
    await other.open()

    async def writer(number: int) -> list[object]:
        writes = [create(key(f"n{number:02}{i}"), "x" * 1000) for i in range(6)]
        return list(
            await asyncio.gather(
                *((store, other)[number % 2].write(tenant, w) for w in writes),
                return_exceptions=True,
            )
        )

    results = [r for part in await asyncio.gather(*(writer(i) for i in range(16))) for r in part]
    await other.close()
    refused = [r for r in results if isinstance(r, RateExceeded)]
    assert len(results) - len(refused) == 40 and all(
        isinstance(r, int) for r in results if r not in refused
    )
    assert all(
        (r.what, r.limit) == ("hour", 40 * size) and 0 < r.retry_after <= 3600 for r in refused
    )
    head = await _head(tenant)
    assert (
        head.written_this_hour == head.log_bytes == head.bytes == 40 * size == await _logged(tenant)
    )


async def test_updates_of_one_object_fill_the_log_no_further_than_its_budget(
    store: PostgresStore, tenant: int
) -> None:
    """Sixty updates of 900 KB left 53 MB, whatever the quota said."""
    await _limit(tenant, bytes=2_000_000, log_bytes=5_000_000)
    write = create(key("a"), "x" * 900_000)
    record = stored(write, await store.write(tenant, write))
    refused = 0
    for i in range(60):
        write = update(record, str(i).rjust(2, "0") + "x" * 899_998)
        try:
            record = stored(write, await store.write(tenant, write))
        except RateExceeded as error:
            assert error.what == "log" and error.limit == 5_000_000 and error.retry_after > 0
            refused += 1
    assert (
        refused == 60 - 4 and (await _head(tenant)).log_bytes == await _logged(tenant) <= 5_000_000
    )


async def test_a_new_hour_is_a_new_budget(store: PostgresStore, tenant: int) -> None:
    size = len(create(key("a"), "x").data)
    await _limit(tenant, hour_bytes=size)
    await store.write(tenant, create(key("a"), "x"))
    with pytest.raises(RateExceeded):
        await store.write(tenant, create(key("b"), "x"))
    await looking(lambda: TenantHead.objects.filter(pk=tenant).update(hour=1))
    await store.write(tenant, create(key("b"), "x"))
    assert (await _head(tenant)).hour_bytes == size


async def test_limits_bind_from_the_next_write_on(store: PostgresStore, tenant: int) -> None:
    await store.write(tenant, create(key("a")))
    await _limit(tenant, hour_bytes=1)
    with pytest.raises(RateExceeded):
        await store.write(tenant, create(key("b")))
    await _limit(tenant, hour_bytes=10**6)
    await store.write(tenant, create(key("b")))


@pytest.mark.parametrize("limit", ["objects", "bytes", "log_bytes", "hour_bytes"])
async def test_a_tenant_that_is_full_can_delete_also_what_has_finalizers(
    store: PostgresStore, tenant: int, limit: str
) -> None:
    plain, held = (
        create(key("plain"), "x" * 5000),
        create(key("held"), "x" * 5000, finalizers=("example.com/wait",)),
    )
    old = stored(plain, await store.write(tenant, plain))
    kept = stored(held, await store.write(tenant, held))
    written = {
        "objects": 2,
        "bytes": 2 * len(plain.data),
        "log_bytes": 2 * len(plain.data),
        "hour_bytes": 2 * len(plain.data),
    }
    await _limit(tenant, **{limit: written[limit]})
    with pytest.raises((QuotaExceeded, RateExceeded)):
        await store.write(tenant, create(key("more"), "x"))
    await store.write(tenant, delete(old))
    mark = Write(
        "update",
        kept.key,
        kept.uid,
        kept.data + b" " * 90,
        kept.resource_version,
        (),
        ("example.com/wait",),
        True,
    )
    kept = stored(mark, await store.write(tenant, mark))
    await _limit(
        tenant, **{limit: written[limit] * 3}
    )  # an hour later, or when the log has been cut
    release = Write(
        "update", kept.key, kept.uid, kept.data[:-30], kept.resource_version, (), (), True
    )
    kept = stored(release, await store.write(tenant, release))
    await store.write(tenant, delete(kept))
    assert (await _head(tenant)).object_count == 0


async def test_updates_that_shrink_have_a_reserve_and_no_more(
    store: PostgresStore, tenant: int
) -> None:
    write = create(key("a"), "x" * 1000)
    record = stored(write, await store.write(tenant, write))
    await _limit(tenant, hour_bytes=len(record.data) * 4)
    accepted = 0
    with pytest.raises(RateExceeded):
        for i in range(1, 20):
            write = update(record, "x" * (1000 - i))
            record = stored(write, await store.write(tenant, write))
            accepted += 1
    assert accepted == 4, "three within the budget, one from the quarter that is kept for it"


async def test_definitions_are_counted(store: PostgresStore, tenant: int) -> None:
    await _limit(tenant, definitions=3)
    writes = [store.write(tenant, create(key(f"d{i}", "", DEFINITIONS))) for i in range(8)]
    results = await asyncio.gather(*writes, return_exceptions=True)
    assert [(r.what, r.limit) for r in results if isinstance(r, QuotaExceeded)] == [
        ("definitions", 3)
    ] * 5
    await store.write(tenant, create(key("something-else")))


async def test_a_log_that_nears_its_budget_is_cut_but_not_below_five_minutes(
    store: PostgresStore, tenant: int
) -> None:
    write = create(key("a"), "x" * 1000)
    record = stored(write, await store.write(tenant, write))
    for i in range(20):
        write = update(record, f"{i:02}" + "x" * 998)
        record = stored(write, await store.write(tenant, write))
    size = len(record.data)
    await _limit(tenant, log_bytes=22 * size)
    assert tenant not in await relieve(store.database) or await _logged(tenant) == 21 * size, (
        "all of it is younger"
    )

    def age() -> None:
        with connection.cursor() as cursor:
            cursor.execute(
                "UPDATE events SET at = at - interval '2 hours' WHERE tenant_id = %s AND "
                "resource_version <= %s",
                [tenant, record.resource_version - 5],
            )

    await looking(age)
    assert tenant in await relieve(store.database)
    head = await _head(tenant)
    assert head.floor == record.resource_version - 5
    assert head.log_bytes == await _logged(tenant) == 6 * size
    assert tenant not in await relieve(store.database, timedelta(minutes=5))


async def test_one_object_is_bounded(store: PostgresStore, tenant: int) -> None:
    with pytest.raises(ObjectTooLarge) as raised:
        await store.write(tenant, create(key("a"), "x" * MAX_OBJECT))
    assert raised.value.limit == MAX_OBJECT < raised.value.size
    fits = MAX_OBJECT - len(create(key("a")).data)
    await store.write(tenant, create(key("a"), "x" * fits))
