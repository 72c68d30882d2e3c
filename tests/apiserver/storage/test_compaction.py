"""What compaction removes, what it keeps, and when it runs by itself. That reads stay exact is
test_exact_reads'."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest
from django.core.management import call_command
from django.db import connection

from apiserver.storage import compact as compaction
from apiserver.storage import leases, tenants
from apiserver.storage.compact import compact, compact_due, compact_forever, version_before
from apiserver.storage.errors import TenantGone, TooLarge
from apiserver.storage.interface import Record
from apiserver.storage.models import EventRow
from apiserver.storage.postgres import PostgresStore
from apiserver.storage.tenants import Limits
from tests.support.fixtures import in_thread, looking
from tests.support.leases import refused
from tests.support.storage import create, delete, key, stored, update
from tests.support.waiting import PATIENCE, until, until_true


async def _history(store: PostgresStore, tenant: int, name: str, updates: int) -> Record:
    write = create(key(name))
    record = stored(write, await store.write(tenant, write))
    for i in range(updates):
        write = update(record, str(i))
        record = stored(write, await store.write(tenant, write))
    return record


async def _versions(tenant: int) -> list[int]:
    rows = (
        EventRow.objects.filter(tenant_id=tenant)
        .order_by("resource_version")
        .values_list("resource_version", flat=True)
    )
    return await looking(lambda: list(rows))


async def _age(tenant: int, through: int, hours: int) -> None:
    def run() -> None:
        with connection.cursor() as cursor:
            cursor.execute(
                "UPDATE events SET at = at - make_interval(hours => %s) WHERE tenant_id = %s AND "
                "resource_version <= %s",
                [hours, tenant, through],
            )

    await looking(run)


async def test_only_the_newest_event_of_each_living_object_stays(
    store: PostgresStore, tenant: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compaction, "BATCH", 3)
    kept = await _history(store, tenant, "kept", 4)
    gone = await _history(store, tenant, "gone", 4)
    deleted = await store.write(tenant, delete(gone))
    later = await _history(store, tenant, "later", 2)
    progress: list[tuple[int, int]] = []
    done = await compact(
        store.database,
        tenant,
        deleted,
        progress=lambda through, removed: progress.append((through, removed)),
    )
    assert done.floor == deleted and done.removed == 4 + 6
    assert await _versions(tenant) == [
        kept.resource_version,
        *range(deleted + 1, later.resource_version + 1),
    ]
    assert len(progress) > 2 and progress[-1] == (deleted, 10)
    assert await compact(store.database, tenant, deleted) == (deleted, 0)
    assert (await compact(store.database, tenant, deleted - 1)).floor == deleted, (
        "a floor never sinks"
    )


async def test_an_interrupted_compaction_goes_on(
    store: PostgresStore, tenant: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compaction, "BATCH", 2)
    record = await _history(store, tenant, "a", 9)

    def interrupt(through: int, removed: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        await compact(store.database, tenant, record.resource_version, progress=interrupt)
    assert len(await _versions(tenant)) > 1
    assert tenant in await compact_due(store.database)
    assert await _versions(tenant) == [record.resource_version]


async def test_by_age(store: PostgresStore, tenant: int) -> None:
    old = await _history(store, tenant, "a", 5)
    young = await _history(store, tenant, "b", 5)
    await _age(tenant, old.resource_version, hours=2)
    floor = (await store.bounds(tenant)).floor
    assert await version_before(store.database, tenant, timedelta(hours=1)) == old.resource_version
    assert await version_before(store.database, tenant, timedelta(hours=3)) == floor
    assert await version_before(store.database, tenant, timedelta()) == young.resource_version


async def test_due_follows_each_tenants_retention(store: PostgresStore, tenant: int) -> None:
    old = await _history(store, tenant, "a", 5)
    await _age(tenant, old.resource_version, hours=2)
    assert tenant not in await compact_due(store.database)
    assert tenant in await compact_due(store.database, timedelta(hours=1))
    old = await _history(store, tenant, "b", 5)
    await _age(tenant, old.resource_version, hours=2)
    await in_thread(lambda: tenants.set_limits(tenant, Limits(), retention=timedelta(hours=1)))
    assert (await compact_due(store.database))[tenant].floor == old.resource_version
    assert tenant not in await compact_due(store.database)


async def test_one_process_at_a_time_compacts(
    store: PostgresStore, tenant: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For a lease of its own: a server of another test may still have that of the database."""
    monkeypatch.setattr(compaction, "LEASE", f"compaction-{tenant}")
    old = await _history(store, tenant, "a", 3)
    await _age(tenant, old.resource_version, hours=30)
    assert await leases.acquire(store.database, compaction.LEASE, "other", PATIENCE)
    refusals = refused(monkeypatch)
    worker = asyncio.create_task(compact_forever(store.database, "me", every=0.05))
    await until(lambda: refusals.count(compaction.LEASE) > 2)
    assert len(await _versions(tenant)) == 4
    await leases.release(store.database, compaction.LEASE, "other")

    async def compacted() -> bool:
        return len(await _versions(tenant)) == 1

    await until_true(compacted)
    worker.cancel()
    await leases.release(store.database, compaction.LEASE, "me")
    assert await _versions(tenant) == [old.resource_version]


async def test_lease_passes_on_when_it_runs_out(store: PostgresStore) -> None:
    assert await leases.acquire(store.database, "duty", "a", PATIENCE)
    assert not await leases.acquire(store.database, "duty", "b", PATIENCE)
    assert await leases.acquire(store.database, "duty", "a", 0.01)
    await until_true(lambda: leases.acquire(store.database, "duty", "b", PATIENCE))
    await leases.release(store.database, "duty", "a")
    assert not await leases.acquire(store.database, "duty", "a", PATIENCE)
    await leases.release(store.database, "duty", "b")


async def test_beyond_the_head_or_without_tenant(store: PostgresStore, tenant: int) -> None:
    head = await store.head(tenant)
    with pytest.raises(TooLarge) as raised:
        await compact(store.database, tenant, head + 1)
    assert raised.value.current == head
    with pytest.raises(TenantGone):
        await compact(store.database, 77, 1)


async def test_command(
    store: PostgresStore, postgres: str, capsys: pytest.CaptureFixture[str]
) -> None:
    from controlplane.errors import OperatorError
    from controlplane.tenancy import service

    made = await in_thread(lambda: service.create_tenant("compacted"))
    try:
        record = await _history(store, made.pk, "a", 5)
        await in_thread(
            lambda: call_command("compact", tenant="compacted", retain=timedelta(hours=1))
        )
        assert "0 events removed" in capsys.readouterr().out
        await in_thread(
            lambda: call_command("compact", tenant="compacted", to=record.resource_version)
        )
        assert f"floor {record.resource_version}, 5 events removed" in capsys.readouterr().out
        with pytest.raises(OperatorError, match=f"is at resourceVersion {record.resource_version}"):
            await in_thread(
                lambda: call_command("compact", tenant="compacted", to=record.resource_version + 1)
            )
        with pytest.raises(OperatorError, match="needs --tenant"):
            await in_thread(lambda: call_command("compact", to=1))
    finally:
        await in_thread(lambda: service.delete_tenant("compacted"))
