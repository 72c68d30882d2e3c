"""The cache: order, freshness, life and death."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from apiserver.storage.errors import ChainBroken, TooLarge
from apiserver.storage.interface import EventPage, Record
from apiserver.storage.postgres import PostgresStore
from apiserver.watch import cache as cache_module
from apiserver.watch import subscription as subscription_module
from apiserver.watch import watches as watches_module
from apiserver.watch.cache import DECODED, decoded
from apiserver.watch.errors import TooSlow, WatchClosed
from apiserver.watch.watches import Watches
from tests.support.storage import (
    CONFIGMAPS,
    LEASES,
    create,
    delete,
    index,
    key,
    stored,
    text,
    update,
)
from tests.support.waiting import PATIENCE, until
from tests.support.watch import nothing, read, short


async def test_order_and_selection_by_namespace(
    store: PostgresStore, watches: Watches, tenant: int
) -> None:
    names = [("b", "x"), ("a-b", "y"), ("a", "z"), ("a", "x"), ("a0", "x")]
    for namespace, name in names[:2]:
        await store.write(tenant, create(key(name, namespace)))
    cache = await watches.cache(tenant, CONFIGMAPS)
    for namespace, name in names[2:]:
        await store.write(tenant, create(key(name, namespace)))
    assert [(e.namespace, e.name) for e in cache.select()] == [
        ("a-b", "y"),
        ("a", "x"),
        ("a", "z"),
        ("a0", "x"),
        ("b", "x"),
    ]
    assert [e.name for e in cache.select("a")] == ["x", "z"]
    assert list(cache.select("nowhere")) == []
    listed = (await store.list(tenant, CONFIGMAPS)).records
    assert [e.key for e in cache.select()] == [r.key for r in listed]
    assert [e.json for e in cache.select()] == [r.json for r in listed]


async def test_a_selection_never_changes_and_is_shared_until_the_next_change(
    store: PostgresStore, watches: Watches, tenant: int
) -> None:
    write = create(key("a"))
    record = stored(write, await store.write(tenant, write))
    cache = await watches.cache(tenant, CONFIGMAPS)
    before, elsewhere = cache.select("default"), cache.select("other")
    assert cache.select("default") is before
    await store.write(tenant, update(record, "new"))
    assert before[0].resource_version == record.resource_version
    assert cache.select("default")[0].resource_version > record.resource_version
    assert cache.select("other") is elsewhere


async def test_own_writes_are_there_without_waiting(
    store: PostgresStore, watches: Watches, tenant: int
) -> None:
    cache = await watches.cache(tenant, CONFIGMAPS)
    for i in range(20):
        version = await store.write(tenant, create(key(f"n{i}")))
        assert cache.resource_version == version
        entry = cache.get(key(f"n{i}"))
        assert entry is not None and entry.object()["metadata"]["resourceVersion"] == str(version)


async def test_fresh_sees_what_another_process_committed_before(
    elsewhere: PostgresStore, watches: Watches, tenant: int
) -> None:
    for i in range(20):
        version = await elsewhere.write(tenant, create(key(f"n{i}")))
        cache = await watches.fresh(tenant, CONFIGMAPS)
        assert cache.resource_version >= version and cache.get(key(f"n{i}")) is not None


async def test_wait_for_a_version_that_comes_and_one_that_does_not(
    elsewhere: PostgresStore, watches: Watches, tenant: int
) -> None:
    head = (await watches.cache(tenant, CONFIGMAPS)).resource_version
    waiting = asyncio.create_task(watches.wait_for(tenant, CONFIGMAPS, head + 2, PATIENCE))
    await elsewhere.write(tenant, create(key("a")))
    await asyncio.sleep(0.05)
    assert not waiting.done()
    await elsewhere.write(tenant, create(key("b")))
    assert (await waiting).resource_version == head + 2
    with pytest.raises(TooLarge) as raised:
        await watches.wait_for(tenant, CONFIGMAPS, head + 3, 0.05)
    assert raised.value.current == head + 2
    assert not watches._tails[tenant]._waiters


async def test_without_hints_the_poll_finds_news(
    elsewhere: PostgresStore, watches: Watches, tenant: int
) -> None:
    subscription = await watches.subscribe(tenant, CONFIGMAPS, after=None)
    await nothing(subscription, 0.01)
    await elsewhere._hints.stop()
    await elsewhere.write(tenant, create(key("a")))
    assert short(await read(subscription, 1)) == [("ADDED", "a")]


async def test_peek_never_loads(store: PostgresStore, watches: Watches, tenant: int) -> None:
    assert watches.peek(tenant, CONFIGMAPS) is None
    cache = await watches.cache(tenant, CONFIGMAPS)
    assert watches.peek(tenant, CONFIGMAPS) is cache
    assert watches.peek(tenant, LEASES) is None


async def test_many_first_readers_load_once(
    store: PostgresStore, watches: Watches, tenant: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    loads = []
    snapshot = store.snapshot

    def counted(number: int, resource: object) -> object:
        loads.append(resource)
        return snapshot(number, resource)  # type: ignore[arg-type]

    monkeypatch.setattr(store, "snapshot", counted)
    caches = await asyncio.gather(*(watches.cache(tenant, CONFIGMAPS) for _ in range(20)))
    assert len({id(c) for c in caches}) == 1 and loads == [CONFIGMAPS]


async def test_events_during_the_load_are_neither_lost_nor_doubled(
    store: PostgresStore,
    elsewhere: PostgresStore,
    watches: Watches,
    tenant: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    await watches.cache(tenant, LEASES)  # the tail runs
    write = create(key("deleted-meanwhile"))
    record = stored(write, await store.write(tenant, write))
    snapshot = store.snapshot

    async def slow(number: int, resource: object) -> object:  # type: ignore[misc]
        await store.write(tenant, create(key("before-the-snapshot")))
        async for item in snapshot(number, resource):  # type: ignore[arg-type]
            await store.write(tenant, create(key("after-the-snapshot")))
            await elsewhere.write(tenant, delete(record))
            yield item

    monkeypatch.setattr(store, "snapshot", slow)
    cache = await watches.cache(tenant, CONFIGMAPS)
    await watches.fresh(tenant, CONFIGMAPS)
    assert [e.name for e in cache.select()] == ["after-the-snapshot", "before-the-snapshot"]


async def test_dropped_caches_end_their_watches_and_are_made_anew(
    store: PostgresStore, watches: Watches, tenant: int
) -> None:
    subscription = await watches.subscribe(tenant, CONFIGMAPS, after=None)
    cache = await watches.cache(tenant, CONFIGMAPS)
    watches.drop(tenant, CONFIGMAPS)
    await nothing_then_closed(subscription)
    assert await watches.cache(tenant, CONFIGMAPS) is not cache
    loading = asyncio.create_task(watches.cache(tenant, LEASES))
    await asyncio.sleep(0.001)
    watches.drop(tenant, LEASES)
    assert (await loading).resource == LEASES


async def nothing_then_closed(subscription: subscription_module.Subscription) -> None:
    assert await subscription.next() == []
    with pytest.raises(WatchClosed):
        await subscription.next(1)


async def test_idle_tenants_leave_memory_and_watched_ones_stay(
    store: PostgresStore, tenant: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watches_module, "SWEEP", 0.02)
    watches = Watches(store, index, idle=0.05)
    await watches.start()
    subscription = await watches.subscribe(tenant, CONFIGMAPS, after=None)
    await watches.cache(tenant, LEASES)
    channels = watches._tails[tenant].channels  # peek() would count as use
    await until(lambda: LEASES not in channels)
    assert CONFIGMAPS in channels
    subscription.cancel()
    await until(lambda: watches._tails == {})
    await store.write(tenant, create(key("a")))
    assert len(await watches.fresh(tenant, CONFIGMAPS)) == 1
    await watches.stop()


async def test_an_object_that_cannot_be_indexed_ends_watches_rather_than_be_skipped(
    store: PostgresStore, tenant: int, caplog: pytest.LogCaptureFixture
) -> None:
    def strict(resource: object, data: bytes) -> tuple[dict[str, str], dict[str, str]]:
        if b"poison" in data:
            raise ValueError("poison")
        return {}, {}

    watches = Watches(store, strict)
    subscription = await watches.subscribe(tenant, CONFIGMAPS, after=None)
    other = await watches.subscribe(tenant, LEASES, after=await store.head(tenant))
    await store.write(tenant, create(key("poison")))
    await store.write(tenant, create(key("fine", resource=LEASES)))
    await nothing_then_closed(subscription)
    assert short(await read(other, 1)) == [("ADDED", "fine")]
    await watches.stop()


@pytest.mark.parametrize(("most", "size"), [(10, 2**20), (10_000, 9 * len(text(key("n0"))))])
async def test_a_watcher_that_does_not_read_is_dropped_by_number_and_size(
    store: PostgresStore,
    watches: Watches,
    tenant: int,
    monkeypatch: pytest.MonkeyPatch,
    most: int,
    size: int,
) -> None:
    monkeypatch.setattr(subscription_module, "MAX_PENDING", most)
    monkeypatch.setattr(watches, "_max_unread", size)
    head = await store.head(tenant)
    slow = await watches.subscribe(tenant, CONFIGMAPS, after=head)
    quick = await watches.subscribe(tenant, CONFIGMAPS, after=head)
    await nothing(quick, 0.01)
    await nothing(slow, 0.01)
    for i in range(11):
        await store.write(tenant, create(key(f"n{i}")))
        assert len(await read(quick, 1)) == 1
    with pytest.raises(TooSlow):
        await slow.next()
    assert len(watches._tails[tenant].channels[CONFIGMAPS].hub) == 1


async def test_changes_of_all_resources_count_for_who_is_behind(
    store: PostgresStore, watches: Watches, tenant: int
) -> None:
    watches._max_unread = 9 * len(text(key("n0")))
    slow, quick = [
        await watches.subscribe(tenant, CONFIGMAPS, after=await store.head(tenant))
        for _ in range(2)
    ]
    await watches.cache(tenant, LEASES)  # what nobody reads is not in memory, and counts for nobody
    await store.write(tenant, create(key("a")))
    assert len(await read(quick, 1)) == 1
    for i in range(11):
        await store.write(tenant, create(key(f"n{i}", resource=LEASES)))
    watches._sweep()
    with pytest.raises(TooSlow):
        await slow.next()
    await store.write(tenant, create(key("b")))
    assert short(await read(quick, 1)) == [("ADDED", "b")]


async def test_the_state_that_a_watcher_began_with_is_kept_for_so_long_only(
    store: PostgresStore, watches: Watches, tenant: int
) -> None:
    watches._max_unread = 9 * len(text(key("n0")))
    slow = await watches.subscribe(tenant, CONFIGMAPS, after=None)
    for i in range(11):
        await store.write(tenant, create(key(f"n{i}")))
    watches._sweep()
    with pytest.raises(TooSlow):
        await slow.next()
    assert len(watches._tails[tenant].channels[CONFIGMAPS].hub) == 0


async def test_batches_end_by_their_size(
    store: PostgresStore, watches: Watches, tenant: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(subscription_module, "BATCH_BYTES", 3 * len(text(key("n0"))))
    monkeypatch.setattr(watches_module, "BATCH_BYTES", 3 * len(text(key("n0"))))
    first = await store.head(tenant)
    changed = await watches.subscribe(tenant, CONFIGMAPS, after=first)
    await nothing(changed, 0.01)
    for i in range(8):
        await store.write(tenant, create(key(f"n{i}")))
    batches = {"pushed": [await changed.next(PATIENCE) for _ in range(4)]}
    watches.drop(tenant, CONFIGMAPS)  # and with it the window
    of_log = await watches.subscribe(tenant, CONFIGMAPS, after=first)
    of_state = await watches.subscribe(tenant, CONFIGMAPS, after=None)
    batches["log"] = [await of_log.next() for _ in range(4)]
    batches["state"] = [await of_state.next() for _ in range(4)]
    for source, taken in batches.items():
        assert [e.entry.name for batch in taken for e in batch] == [f"n{i}" for i in range(8)], (
            source
        )
        assert max(map(len, taken)) < 5, source


async def test_a_watcher_that_does_not_read_is_dropped_by_time(
    store: PostgresStore, tenant: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(watches_module, "SWEEP", 0.02)
    monkeypatch.setattr(subscription_module, "MAX_STALL", 0.1)
    watches = Watches(store, index)
    await watches.start()
    head = await store.head(tenant)
    stalled, waiting = [await watches.subscribe(tenant, CONFIGMAPS, after=head) for _ in range(2)]
    await store.write(tenant, create(key("a")))
    await read(waiting, 1)
    await until(lambda: stalled._error is not None)  # to read is what it must not do
    with pytest.raises(TooSlow):
        await stalled.next()
    await nothing(waiting, 0.01)
    await watches.stop()


async def test_stop_ends_watches_after_what_is_pending(store: PostgresStore, tenant: int) -> None:
    watches = Watches(store, index)
    await watches.start()
    subscription = await watches.subscribe(tenant, CONFIGMAPS, after=await store.head(tenant))
    await nothing(subscription, 0.01)
    await store.write(tenant, create(key("a")))
    await watches.stop()
    assert short(await subscription.next()) == [("ADDED", "a")]
    with pytest.raises(WatchClosed):
        await subscription.next()


async def test_a_hole_in_the_log_is_reported_and_ends_the_watches(
    elsewhere: PostgresStore,
    watches: Watches,
    tenant: int,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    subscription = await watches.subscribe(tenant, CONFIGMAPS, after=None)
    await nothing(subscription, 0.01)
    real = watches._store.events

    async def holed(number: int, after: int, **options: Any) -> EventPage:
        page = await real(number, after, **options)
        return EventPage(page.events[1:], page.through)

    with monkeypatch.context() as patch:
        patch.setattr(watches._store, "events", holed)
        await elsewhere.write(tenant, create(key("lost")))
        await asyncio.gather(*(elsewhere.write(tenant, create(key(f"n{i}"))) for i in range(3)))
        with pytest.raises(ChainBroken):
            while True:
                await subscription.next(PATIENCE)
    assert "the log has a hole" in caplog.text
    assert len(await watches.fresh(tenant, CONFIGMAPS)) == 4


async def test_the_window_is_bounded_in_bytes_and_older_watches_read_the_log(
    store: PostgresStore, watches: Watches, tenant: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("apiserver.watch.cache.WINDOW_BYTES", 20_000)
    cache = await watches.cache(tenant, CONFIGMAPS)
    start = cache.resource_version
    for i in range(30):
        await store.write(tenant, create(key(f"n{i:02}"), "x" * 1000))
        assert sum(len(c.new.json) for c in cache.changes_after(cache.window_after)) <= 20_000
    assert cache.window_after > start
    subscription = await watches.subscribe(tenant, CONFIGMAPS, after=start)
    assert [name for _, name in short(await read(subscription, 30))] == [
        f"n{i:02}" for i in range(30)
    ]


async def test_what_changed_a_moment_ago_is_undone_in_what_has_settled(
    store: PostgresStore, watches: Watches, tenant: int
) -> None:
    async def written(name: str, old: Record | None = None) -> Record:
        write = create(key(name)) if old is None else update(old, "new")
        return stored(write, await store.write(tenant, write))

    first = {name: await written(name) for name in ("b", "d", "f")}
    cache = await watches.cache(tenant, CONFIGMAPS)
    settled = cache.select()
    await written("a")
    await store.write(tenant, delete(first["d"]))
    changed = await written("f", first["f"])
    await store.write(tenant, delete(changed))
    await written("g")
    again = await written("d")
    await written("d", again)
    assert [e.name for e in cache.select()] == ["a", "b", "d", "g"]
    assert cache.settled(1000) == settled
    assert cache.settled(1000) is cache.settled(1000)
    assert cache.settled(0) is cache.select()


async def test_many_objects_are_decoded_a_few_at_a_time(
    store: PostgresStore, watches: Watches, tenant: int
) -> None:
    count = 3 * DECODED + 1
    for i in range(count):
        await store.write(tenant, create(key(f"n{i:03}")))
    entries = (await watches.cache(tenant, CONFIGMAPS)).select()
    seen = []

    async def look() -> None:
        while not all(entry.is_decoded for entry in entries):
            seen.append(sum(entry.is_decoded for entry in entries))
            await asyncio.sleep(0)

    looking = asyncio.create_task(look())
    found = await decoded(entries)
    await looking
    assert len(found) == count
    assert seen == [DECODED, 2 * DECODED, 3 * DECODED]
    assert await decoded(entries) is found


async def test_a_state_of_the_past_is_found_in_the_window(
    store: PostgresStore, watches: Watches, tenant: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = await watches.cache(tenant, CONFIGMAPS)
    states = {cache.resource_version: cache.select()}
    last = {}
    for name, namespace in (("x", "a"), ("y", "a-b"), ("z", "a"), ("x", "a0"), ("w", "a")):
        write = create(key(name, namespace))
        last[name] = stored(write, await store.write(tenant, write))
        states[last[name].resource_version] = cache.select()
    write = update(last["z"], "changed")
    changed = stored(write, await store.write(tenant, write))
    states[changed.resource_version] = cache.select()
    gone = await store.write(tenant, delete(changed))
    states[gone] = cache.select()
    assert len({len(state) for state in states.values()}) > 4
    for version, state in states.items():
        assert cache.state_at(version) == state
        assert cache.state_at(version, "a") == tuple(e for e in state if e.namespace == "a")
    monkeypatch.setattr(cache_module, "WINDOW_SECONDS", -1.0)
    cache.forget_old()
    assert [version for version in states if cache.state_at(version) is not None] == [max(states)]
