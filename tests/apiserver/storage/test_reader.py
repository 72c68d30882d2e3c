"""Shared head queries, the chain, and hints between processes."""

from __future__ import annotations

import asyncio
import itertools
from contextlib import suppress

import pytest
from django.db import connection

from apiserver.storage.errors import ChainBroken
from apiserver.storage.heads import Heads
from apiserver.storage.interface import Head
from apiserver.storage.postgres import PostgresStore
from tests.support.fixtures import looking
from tests.support.storage import LEASES, create, key
from tests.support.waiting import until, until_true


async def test_readers_that_wait_share_one_query_but_never_an_older_one(
    store: PostgresStore, tenant: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rounds: list[list[int]] = []
    real, answered = Heads.of_all, asyncio.Event()

    async def counted(self: Heads, asked: list[int]) -> dict[int, Head]:
        heads = await real(self, asked)
        rounds.append(asked)
        await answered.wait()  # what the first round says is old by then
        return heads

    monkeypatch.setattr(Heads, "of_all", counted)
    first = asyncio.create_task(store.head(tenant))
    await until(lambda: rounds)
    version = await store.write(tenant, create(key("a")))
    later = [asyncio.create_task(store.head(tenant)) for _ in range(50)]
    answered.set()
    assert set(await asyncio.gather(*later)) == {version}
    await first
    assert len(rounds) == 2


async def test_a_hole_in_the_log_is_found_by_every_reader(
    store: PostgresStore, tenant: int
) -> None:
    keys = [*(key(f"n{i}") for i in range(5)), key("last", resource=LEASES)]
    versions = [await store.write(tenant, create(k)) for k in keys]

    def lose() -> None:
        with connection.cursor() as cursor:
            cursor.execute(
                "DELETE FROM events WHERE tenant_id = %s AND resource_version = %s",
                [tenant, versions[2]],
            )

    await looking(lose)
    for after in (versions[0] - 1, versions[0], versions[1]):
        with pytest.raises(ChainBroken):
            await store.events(tenant, after)
        with pytest.raises(ChainBroken):
            await store.events(tenant, after, resource=LEASES)
    assert len((await store.events(tenant, versions[3])).events) == 2


async def test_hints_reach_other_processes(
    store: PostgresStore, tenant: int, postgres: str
) -> None:
    other = PostgresStore(postgres, size=1)
    await other.open()
    heard: dict[int, int] = {}
    changed = asyncio.Event()

    def listen(number: int, version: int) -> None:
        heard[number] = version
        changed.set()

    other.listen(listen)
    names = itertools.count()

    async def told() -> bool:  # not at the first time, where LISTEN has not begun
        version = await store.write(tenant, create(key(f"n{next(names)}")))
        changed.clear()
        with suppress(TimeoutError):
            await asyncio.wait_for(changed.wait(), 0.2)
        return heard.get(tenant) == version

    await until_true(told)
    await other.close()
