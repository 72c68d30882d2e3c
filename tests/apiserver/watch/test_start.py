"""Where a watch starts, and that nothing is missed or doubled at the seam between what was and what
comes."""

from __future__ import annotations

import asyncio

import pytest

from apiserver.storage import tenants
from apiserver.storage.compact import compact
from apiserver.storage.errors import Compacted, TenantGone, TooLarge
from apiserver.storage.postgres import PostgresStore
from apiserver.watch import cache as cache_module
from apiserver.watch.watches import Watches
from tests.support.fixtures import in_thread
from tests.support.storage import CONFIGMAPS, LEASES, create, delete, key, stored, update
from tests.support.waiting import PATIENCE
from tests.support.watch import Label, nothing, read, short


async def test_unset_begins_with_the_latest_state_even_of_another_process(
    store: PostgresStore, elsewhere: PostgresStore, watches: Watches, tenant: int
) -> None:
    await watches.cache(tenant, CONFIGMAPS)
    version = 0
    for i in range(20):
        version = await elsewhere.write(tenant, create(key(f"n{i:02}")))
        subscription = await watches.subscribe(tenant, CONFIGMAPS, after=None)
        assert short(await read(subscription, i + 1))[-1] == ("ADDED", f"n{i:02}")
        assert subscription.start >= version
        subscription.cancel()


async def test_zero_begins_with_any_state_then_changes(
    store: PostgresStore, watches: Watches, tenant: int
) -> None:
    for name in ("b", "a"):
        await store.write(tenant, create(key(name)))
    subscription = await watches.subscribe(tenant, CONFIGMAPS, after=0)
    assert not subscription.synced
    assert short(await read(subscription, 2)) == [("ADDED", "a"), ("ADDED", "b")]
    await nothing(subscription)
    assert subscription.synced
    await store.write(tenant, create(key("c")))
    assert short(await read(subscription, 1)) == [("ADDED", "c")]


async def test_a_version_begins_exactly_there(
    store: PostgresStore, watches: Watches, tenant: int
) -> None:
    first = create(key("a"))
    one = stored(first, await store.write(tenant, first))
    two = await store.write(tenant, create(key("b")))
    await watches.cache(tenant, CONFIGMAPS)
    change = update(one, "x")
    three = stored(change, await store.write(tenant, change))
    await store.write(tenant, delete(three))
    await store.write(tenant, create(key("other", resource=LEASES)))
    expected = [("ADDED", "b"), ("MODIFIED", "a"), ("DELETED", "a")]
    for after, count in ((one.resource_version, 3), (two, 2), (three.resource_version, 1)):
        subscription = await watches.subscribe(tenant, CONFIGMAPS, after=after)
        assert short(await read(subscription, count)) == expected[-count:]
        await nothing(subscription)
        assert subscription.position() == await store.head(tenant)


async def test_the_future_is_waited_for(
    store: PostgresStore, watches: Watches, tenant: int
) -> None:
    head = await store.head(tenant)
    subscription = await watches.subscribe(tenant, CONFIGMAPS, after=head + 3)
    assert subscription.position() == head + 3
    for i in range(5):
        await store.write(tenant, create(key(f"n{i}")))
    assert short(await read(subscription, 2)) == [("ADDED", "n3"), ("ADDED", "n4")]


async def test_initial_state_not_older_than(
    elsewhere: PostgresStore, watches: Watches, tenant: int
) -> None:
    await watches.cache(tenant, CONFIGMAPS)
    version = await elsewhere.write(tenant, create(key("a")))
    subscription = await watches.subscribe(tenant, CONFIGMAPS, after=version, initial=True)
    assert short(await read(subscription, 1)) == [("ADDED", "a")]
    assert subscription.start >= version


async def test_initial_state_of_the_future_is_too_large(
    watches: Watches, store: PostgresStore, tenant: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("apiserver.watch.watches.REACH", 0.1)
    with pytest.raises(TooLarge):
        await watches.wait_for(tenant, CONFIGMAPS, await store.head(tenant) + 1, 0.1)


@pytest.mark.parametrize("window", [0, 3, 4096])
async def test_window_and_log_replay_the_same(
    store: PostgresStore,
    watches: Watches,
    tenant: int,
    window: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each object goes in and out of the selection; from every version on, both sources must tell
    the same."""
    monkeypatch.setattr(cache_module, "WINDOW_CHANGES", window)
    start = await store.head(tenant)
    await watches.cache(tenant, CONFIGMAPS)
    seen = await watches.subscribe(tenant, CONFIGMAPS, after=start, predicate=Label("app", "x"))
    for i in range(12):
        write = create(key(f"n{i % 3}-{i}"), labels={"app": "xy"[i % 2]})
        record = stored(write, await store.write(tenant, write))
        for j in range(3):
            write = update(record, str(j), labels={"app": "xy"[(i + j) % 3 % 2]})
            record = stored(write, await store.write(tenant, write))
        await store.write(tenant, delete(record))
    live = await read(seen, 20)
    for after in range(start, await store.head(tenant), 5):
        again = await watches.subscribe(
            tenant, CONFIGMAPS, after=after, predicate=Label("app", "x")
        )
        expected = [e.frame for e in live if e.resource_version > after]
        assert [e.frame for e in await read(again, len(expected))] == expected
        await nothing(again, 0.01)
        again.cancel()


async def test_below_the_floor_is_compacted(
    store: PostgresStore, watches: Watches, tenant: int
) -> None:
    versions = [await store.write(tenant, create(key(f"n{i}"))) for i in range(4)]
    await compact(store.database, tenant, versions[2])
    with pytest.raises(Compacted) as raised:
        await watches.subscribe(tenant, CONFIGMAPS, after=versions[1])
    assert raised.value.floor == versions[2]
    subscription = await watches.subscribe(tenant, CONFIGMAPS, after=versions[2])
    assert short(await read(subscription, 1)) == [("ADDED", "n3")]


async def test_a_restore_ends_watches_with_compacted_and_new_ones_work(
    store: PostgresStore, watches: Watches, tenant: int
) -> None:
    version = await store.write(tenant, create(key("a")))
    subscription = await watches.subscribe(tenant, CONFIGMAPS, after=version)
    await nothing(subscription, 0.01)
    head = await in_thread(lambda: tenants.bump(tenant))
    with pytest.raises(Compacted):
        await subscription.next(PATIENCE)
    cache = await watches.fresh(tenant, CONFIGMAPS)
    assert cache.resource_version == head and len(cache) == 1


async def test_a_tenant_that_is_dropped_ends_its_watches(
    store: PostgresStore, watches: Watches, tenant: int
) -> None:
    subscription = await watches.subscribe(tenant, CONFIGMAPS, after=None)
    await nothing(subscription, 0.01)
    await in_thread(lambda: tenants.drop(tenant))
    with pytest.raises(TenantGone):
        await subscription.next(PATIENCE)
    with pytest.raises(TenantGone):
        await watches.cache(tenant, CONFIGMAPS)


async def test_a_large_state_does_not_block_and_misses_nothing_meanwhile(
    store: PostgresStore, watches: Watches, tenant: int
) -> None:
    await asyncio.gather(*(store.write(tenant, create(key(f"n{i:04}"))) for i in range(1200)))
    subscription = await watches.subscribe(tenant, CONFIGMAPS, after=0)
    first = await subscription.next()
    assert 0 < len(first) <= 500
    await store.write(tenant, create(key("a-late-one")))
    events = first + await read(subscription, 1201 - len(first))
    assert short(events) == [*(("ADDED", f"n{i:04}") for i in range(1200)), ("ADDED", "a-late-one")]
