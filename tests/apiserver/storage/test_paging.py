"""Pages at one version are one consistent list, whatever is written meanwhile."""

from __future__ import annotations

import asyncio

from apiserver.storage.interface import Record
from apiserver.storage.postgres import PostgresStore
from tests.support.storage import CONFIGMAPS, create, delete, key, stored, update


async def test_pages_of_one_version_while_others_write(store: PostgresStore, tenant: int) -> None:
    writes = [create(key(f"n{i:04}", f"ns{i % 3}")) for i in range(600)]
    versions = await asyncio.gather(*(store.write(tenant, w) for w in writes))
    records = {w.key: stored(w, v) for w, v in zip(writes, versions, strict=True)}
    expected = list((await store.list(tenant, CONFIGMAPS)).records)
    assert sorted(expected, key=lambda r: r.key) == [records[k] for k in sorted(records)]
    done = asyncio.Event()

    async def disturb() -> None:
        for i in range(10_000):
            if done.is_set():
                return
            old = expected[i * 7 % 600]
            write = (update(old, str(i)), delete(old), create(key(f"new{i}", "ns1")))[i % 3]
            await asyncio.gather(store.write(tenant, write), return_exceptions=True)

    page = await store.list(
        tenant, CONFIGMAPS, limit=50
    )  # before anybody writes: its version is that of ``expected``
    disturber = asyncio.create_task(disturb())
    at, found = page.at, list[Record](page.records)
    while page.more:
        assert page.remaining == 600 - len(found)
        page = await store.list(
            tenant, CONFIGMAPS, at=at, after=(found[-1].key.namespace, found[-1].key.name), limit=50
        )
        found += page.records
    done.set()
    await disturber
    assert found == expected
    assert await store.head(tenant) > at, "somebody wrote meanwhile"


async def test_limit_as_large_as_the_rest_leaves_no_more(store: PostgresStore, tenant: int) -> None:
    for name in ("a", "b"):
        await store.write(tenant, create(key(name)))
    assert (await store.list(tenant, CONFIGMAPS, limit=2))[2:] == (False, 0)
    assert (await store.list(tenant, CONFIGMAPS, limit=1))[2:] == (True, 1)
    assert (await store.list(tenant, CONFIGMAPS, after=("default", "b"), limit=1)).records == []


async def test_order_is_that_of_etcd_keys(store: PostgresStore, tenant: int) -> None:
    for namespace in ("a", "a-b", "a0"):
        for name in ("b", "B", "a.b", "a-b", "a"):
            await store.write(tenant, create(key(name, namespace)))
    records = (await store.list(tenant, CONFIGMAPS)).records
    paths = [f"{r.key.namespace}/{r.key.name}" for r in records]
    assert paths == sorted(paths) and paths[0] == "a-b/B"
