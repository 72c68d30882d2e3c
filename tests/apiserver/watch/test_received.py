"""The events that a worker gets, as metrics count them: once each, its own and others'."""

from __future__ import annotations

import pytest

from apiserver.meta.gvk import GroupResource
from apiserver.storage.postgres import PostgresStore
from apiserver.watch import tail
from apiserver.watch.tail import take_received
from apiserver.watch.watches import Watches
from tests.support.storage import CONFIGMAPS, LEASES, create, delete, key, stored, update


async def test_each_event_counts_once_whoever_wrote_it(
    store: PostgresStore, elsewhere: PostgresStore, watches: Watches, tenant: int
) -> None:
    await elsewhere.write(tenant, create(key("before")))
    await watches.cache(tenant, CONFIGMAPS)
    assert tenant not in take_received(), "what was there when the worker began is no event"
    write = create(key("own"))
    own = stored(write, await store.write(tenant, write))
    await store.write(tenant, update(own, "new"))
    assert take_received()[tenant] == {CONFIGMAPS: 2}
    await elsewhere.write(tenant, create(key("others")))
    await watches.fresh(tenant, CONFIGMAPS)
    assert take_received()[tenant] == {CONFIGMAPS: 1}
    await watches.fresh(tenant, CONFIGMAPS)
    assert not take_received().get(tenant)


async def test_events_of_resources_without_a_cache_count_too(
    store: PostgresStore, watches: Watches, tenant: int
) -> None:
    await watches.cache(tenant, CONFIGMAPS)
    write = create(key("a", resource=LEASES))
    record = stored(write, await store.write(tenant, write))
    await store.write(tenant, delete(record))
    assert take_received()[tenant] == {LEASES: 2}


async def test_resources_are_counted_apart_up_to_a_bound(
    store: PostgresStore, watches: Watches, tenant: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tail, "_MOST_RESOURCES", 2)
    await watches.cache(tenant, CONFIGMAPS)
    many = [GroupResource("example.com", f"r{number}") for number in range(5)]
    for resource in many:
        await store.write(tenant, create(key(f"a-{resource.resource}", resource=resource)))
    (first, second, *others) = many
    assert take_received()[tenant] == {first: 1, second: 1, GroupResource("", ""): len(others)}
