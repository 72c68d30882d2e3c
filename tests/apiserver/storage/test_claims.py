"""What an object claims is its own within its tenant, whoever asks at the same moment, until it
goes or lets go."""

from __future__ import annotations

import asyncio
import dataclasses

import pytest

from apiserver.storage import tenants
from apiserver.storage.errors import Claimed
from apiserver.storage.postgres import PostgresStore
from tests.support.fixtures import in_thread
from tests.support.storage import create, delete, key, numbers, stored, update


async def test_of_many_that_claim_the_same_one_gets_it(
    store: PostgresStore, tenant: int, postgres: str
) -> None:
    other = PostgresStore(postgres, size=2)
    await other.open()
    writes = [
        (store, other)[i % 2].write(
            tenant, create(key(f"n{i}"), claims=("node-port/30080", f"own/{i}"))
        )
        for i in range(16)
    ]
    results = await asyncio.gather(*writes, return_exceptions=True)
    await other.close()
    assert (
        sum(isinstance(r, int) for r in results) == 1
        and sum(isinstance(r, Claimed) for r in results) == 15
    )


async def test_claims_are_free_after_a_delete_and_after_an_update_without_them(
    store: PostgresStore, tenant: int
) -> None:
    first = create(key("a"), claims=("ip/1", "ip/2"))
    record = stored(first, await store.write(tenant, first))
    again = dataclasses.replace(update(record, "x"), claims=("ip/2",))
    record = stored(again, await store.write(tenant, again))
    await store.write(tenant, create(key("b"), claims=("ip/1",)))
    with pytest.raises(Claimed):
        await store.write(tenant, create(key("c"), claims=("ip/2",)))
    with pytest.raises(Claimed):
        await store.write(tenant, dataclasses.replace(update(record, "y"), claims=("ip/1",)))
    await store.write(tenant, delete(record))
    await store.write(tenant, create(key("c"), claims=("ip/2",)))


async def test_tenants_do_not_meet(store: PostgresStore, tenant: int) -> None:
    neighbour = next(numbers)
    await in_thread(lambda: tenants.create(neighbour))
    for number in (tenant, neighbour):
        await store.write(number, create(key("a"), claims=("ip/1",)))
    await in_thread(lambda: tenants.drop(neighbour))
