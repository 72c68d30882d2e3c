"""Versions of a tenant never rewind: not by deletion and re-creation of its name, not by a
restore."""

from __future__ import annotations

import asyncio

import pytest

from apiserver.storage import tenants
from apiserver.storage.errors import Compacted, TenantGone
from apiserver.storage.models import EventRow, ObjectRow
from apiserver.storage.postgres import PostgresStore
from tests.support.fixtures import in_thread, looking
from tests.support.storage import CONFIGMAPS, create, key, numbers


async def test_a_new_tenant_is_empty_at_a_version_above_zero(
    store: PostgresStore, tenant: int
) -> None:
    page = await store.list(tenant, CONFIGMAPS)
    assert page.at > 0 and page.records == []
    assert (await store.bounds(tenant)).floor == page.at
    assert await store.write(tenant, create(key("a"))) == page.at + 1


async def test_creating_again_changes_nothing(store: PostgresStore, tenant: int) -> None:
    version = await store.write(tenant, create(key("a")))
    await in_thread(lambda: tenants.create(tenant))
    assert await store.head(tenant) == version


async def test_a_dropped_tenant_leaves_nothing_and_its_versions_are_gone_for_ever(
    store: PostgresStore, postgres: str
) -> None:
    old, new = next(numbers), next(numbers)
    await in_thread(lambda: tenants.create(old))
    version = 0
    for i in range(5):
        version = await store.write(old, create(key(f"n{i}")))
    await in_thread(lambda: tenants.drop(old))
    with pytest.raises(TenantGone):
        await store.write(old, create(key("late")))
    assert (
        await looking(
            lambda: (
                EventRow.objects.filter(tenant_id=old).count()
                + ObjectRow.objects.filter(tenant_id=old).count()
            )
        )
        == 0
    )
    await in_thread(lambda: tenants.create(new))
    assert (await store.bounds(new)).floor > version
    with pytest.raises(Compacted):
        await store.events(new, version)
    await in_thread(lambda: tenants.drop(new))


async def test_nobody_sees_a_tenant_go_piece_by_piece(store: PostgresStore, postgres: str) -> None:
    """A hole in the log of one that is being deleted is none (`ChainBroken` says: a bug)."""
    number = next(numbers)
    await in_thread(lambda: tenants.create(number))
    first = await store.write(number, create(key("n0")))
    for i in range(1, 9):
        await store.write(number, create(key(f"n{i}")))
    await in_thread(lambda: tenants.close(number))
    asked = (
        lambda: store.events(number, first),
        lambda: store.head(number),
        lambda: store.get(number, key("n0")),
        lambda: store.list(number, CONFIGMAPS),
        lambda: store.write(number, create(key("late"))),
    )
    pieces = 0
    while True:
        for ask in asked:
            with pytest.raises(TenantGone):
                await ask()
        if not await in_thread(lambda: tenants.drop_some(number, 2)):
            break
        pieces += 1
    assert pieces > 8, "objects and events go in pieces of two"
    await in_thread(lambda: tenants.close(number))  # once more, after a crash
    await in_thread(lambda: tenants.drop(number))


async def test_writers_that_meet_a_drop_get_an_answer(store: PostgresStore, postgres: str) -> None:
    number = next(numbers)
    await in_thread(lambda: tenants.create(number))
    writes = [asyncio.create_task(store.write(number, create(key(f"n{i}")))) for i in range(300)]
    await in_thread(lambda: tenants.drop(number))
    results = await asyncio.gather(*writes, return_exceptions=True)
    assert all(isinstance(r, int | TenantGone) for r in results)
    assert await looking(lambda: ObjectRow.objects.filter(tenant_id=number).count()) == 0


async def test_bump_makes_all_earlier_versions_expire_and_keeps_the_objects(
    store: PostgresStore, tenant: int
) -> None:
    version = await store.write(tenant, create(key("a")))
    head = await in_thread(lambda: tenants.bump(tenant, above=version + 5_000_000))
    assert head > version + 5_000_000
    assert await store.head(tenant) == head
    with pytest.raises(Compacted):
        await store.events(tenant, version)
    page = await store.list(tenant, CONFIGMAPS)
    assert page.at == head and [r.resource_version for r in page.records] == [version]
    later = await store.write(tenant, create(key("b")))
    assert later == head + 1
    events = (await store.events(tenant, head)).events
    assert [(e.previous, e.record.resource_version) for e in events] == [(head, later)]
    assert [r.key.name for r in (await store.list(tenant, CONFIGMAPS, at=head)).records] == ["a"]
