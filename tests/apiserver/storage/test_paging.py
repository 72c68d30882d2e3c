"""Pages at one version are one consistent list, whatever is written meanwhile."""

from __future__ import annotations

import asyncio

import pytest

from apiserver.meta.gvk import GroupResource
from apiserver.storage.errors import TenantGone
from apiserver.storage.interface import ObjectKey, Record
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


SPACES = ("", "a", "a-", "a--b", "a-b", "a-b-c", "a-bc", "a.b", "a0", "ab", "b", "b-a", "c")
"""Some before others that they begin with, when a '/' stands behind them."""


async def test_the_first_are_those_that_a_list_has_first(store: PostgresStore, tenant: int) -> None:
    for namespace in SPACES:
        for name in ("b", "B", "a.b"):
            await store.write(tenant, create(key(name, namespace)))
    await store.write(tenant, create(ObjectKey("", "secrets", "a", "other")))
    for tallied in (False, True):
        for namespace in SPACES:
            for limit in (1, 2, 3, 4, 7, 13, 38, 39, 40):
                listed = await store.list(tenant, CONFIGMAPS, namespace=namespace, limit=limit)
                found = await store.first(tenant, CONFIGMAPS, namespace=namespace, limit=limit)
                assert found == listed, (tallied, namespace, limit)
        await store.tallies.follow(tenant, 1)
        last = (await store.list(tenant, CONFIGMAPS, namespace="b")).records[-1]
        await store.write(tenant, delete(last))  # the tallies are behind
    nothing = GroupResource("", "pods")
    assert await store.first(tenant, nothing, limit=1) == await store.list(tenant, nothing, limit=1)
    with pytest.raises(TenantGone):
        await store.first(-1, CONFIGMAPS, limit=1)


async def test_the_first_and_the_head_are_of_one_state(store: PostgresStore, tenant: int) -> None:
    done = asyncio.Event()

    async def disturb() -> None:
        while not done.is_set():
            record = (await store.first(tenant, CONFIGMAPS, limit=1)).records
            names = [create(key(f"n{i}", "ns")) for i in range(5)]
            write = [delete(r) for r in record] or names
            await asyncio.gather(*(store.write(tenant, w) for w in write), return_exceptions=True)

    disturbers = [asyncio.create_task(disturb()) for _ in range(2)]
    for _ in range(60):
        page = await store.first(tenant, CONFIGMAPS, limit=3)
        assert page == await store.list(tenant, CONFIGMAPS, at=page.at, limit=3)
    done.set()
    await asyncio.gather(*disturbers)
