"""Tallies beside the log: an answer is what is stored, whatever of it has been counted yet."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from apiserver.meta.gvk import GroupResource
from apiserver.search.indexer import Indexer
from apiserver.storage import tally, tenants
from apiserver.storage.compact import compact
from apiserver.storage.interface import ObjectKey
from apiserver.storage.postgres import PostgresStore
from apiserver.storage.tally import Number
from tests.support.fixtures import in_thread
from tests.support.storage import CONFIGMAPS, LEASES, create, delete, key, numbers, update
from tests.support.waiting import PATIENCE

NODES = GroupResource("", "nodes")
MOST = 100
TALLIES = "SELECT namespace, resource, number FROM tallies WHERE tenant_id = %s ORDER BY 1, 2"
THROUGH = "SELECT through FROM tally_heads WHERE tenant_id = %s"


async def written(store: PostgresStore, tenant: int, *keys: ObjectKey) -> None:
    for one in keys:
        await store.write(tenant, create(one))


async def removed(store: PostgresStore, tenant: int, one: ObjectKey) -> None:
    old = await store.get(tenant, one)
    assert old is not None
    await store.write(tenant, delete(old))


async def numbers_of(
    store: PostgresStore, tenant: int, namespace: str = ""
) -> Mapping[GroupResource, Number]:
    """Of those that there are."""
    found = await store.tallies.of(tenant, namespace)
    return {resource: number for resource, number in found.items() if number.whole}


def look(owner: str, statement: str, tenant: int) -> list[tuple[Any, ...]]:
    """As the owner of the tables."""
    with psycopg.connect(owner) as connection:
        connection.execute("SELECT set_config('polyplane.tenant', %s, true)", [str(tenant)])
        return connection.execute(statement.encode(), [tenant]).fetchall()


async def test_numbers_of_the_tenant_and_of_a_namespace(store: PostgresStore, tenant: int) -> None:
    await written(store, tenant, key("a"), key("b"), key("a", "other"), key("n", "", NODES))
    for _ in range(2):  # none is counted, all are
        assert await numbers_of(store, tenant) == {CONFIGMAPS: Number(3, 3), NODES: Number(1, 1)}
        assert await numbers_of(store, tenant, "default") == {
            CONFIGMAPS: Number(3, 2),
            NODES: Number(1, 0),
        }
        assert await numbers_of(store, tenant, "empty") == {
            CONFIGMAPS: Number(3, 0),
            NODES: Number(1, 0),
        }
        assert await store.tallies.follow(tenant, MOST)
    assert await store.tallies.of(next(numbers)) == {}, "of a tenant that is not there"


async def test_what_came_and_went_since(store: PostgresStore, tenant: int, owner: str) -> None:
    await written(store, tenant, key("a"), key("b", "other"), key("n", "", NODES))
    assert await store.tallies.follow(tenant, MOST)
    old = await store.get(tenant, key("a"))
    assert old is not None
    await store.write(tenant, update(old, "changed"))
    await written(store, tenant, key("l", "other", LEASES), key("c"))
    for gone in (key("b", "other"), key("n", "", NODES)):
        await removed(store, tenant, gone)
    for _ in range(2):
        assert await numbers_of(store, tenant, "other") == {
            CONFIGMAPS: Number(2, 0),
            LEASES: Number(1, 1),
        }
        assert await store.tallies.follow(tenant, MOST)
    assert look(owner, TALLIES, tenant) == [
        ("", "configmaps", 2),
        ("", "leases", 1),
        ("default", "configmaps", 2),
        ("other", "leases", 1),
    ], "and nothing is kept of what there is none of"


async def test_the_log_is_counted_in_parts(
    store: PostgresStore, tenant: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert await store.tallies.follow(tenant, 1)
    await written(store, tenant, *(key(f"n{i}") for i in range(5)))
    monkeypatch.setattr(tally, "BATCH", 2)
    assert not await store.tallies.follow(tenant, 2)
    assert await numbers_of(store, tenant) == {CONFIGMAPS: Number(5, 5)}
    assert await store.tallies.follow(tenant, 2)
    assert await numbers_of(store, tenant) == {CONFIGMAPS: Number(5, 5)}


async def test_what_was_compacted_meanwhile_is_counted_anew(
    store: PostgresStore, tenant: int, owner: str
) -> None:
    await written(store, tenant, key("a"), key("b"))
    assert await store.tallies.follow(tenant, MOST)
    await removed(store, tenant, key("a"))
    await removed(store, tenant, key("b"))
    await written(store, tenant, key("c"))
    head = await store.head(tenant)
    await compact(store.database, tenant, head)
    for _ in range(2):
        assert await numbers_of(store, tenant) == {CONFIGMAPS: Number(1, 1)}
        assert await store.tallies.follow(tenant, MOST)
    assert look(owner, TALLIES, tenant) == [("", "configmaps", 1), ("default", "configmaps", 1)]
    assert look(owner, THROUGH, tenant) == [(head,)]


async def test_only_one_is_at_it_and_nobody_waits(
    store: PostgresStore, tenant: int, owner: str
) -> None:
    await written(store, tenant, key("a"))
    assert await store.tallies.follow(tenant, MOST)
    await written(store, tenant, key("b"))
    with psycopg.connect(owner) as other, other.transaction(force_rollback=True):
        assert other.execute("SELECT done FROM pp_tally(%s, 100)", [tenant]).fetchone() == (True,)
        async with asyncio.timeout(PATIENCE):
            assert await store.tallies.follow(tenant, MOST), "somebody else sees to it"
            await written(store, tenant, key("c"))
            assert await numbers_of(store, tenant) == {CONFIGMAPS: Number(3, 3)}
    assert await store.tallies.follow(tenant, MOST)
    assert look(owner, TALLIES, tenant) == [("", "configmaps", 3), ("default", "configmaps", 3)]


async def test_tenants_that_are_behind(store: PostgresStore, tenant: int) -> None:
    async def is_behind() -> bool:
        return tenant in await store.tallies.behind(1_000_000)

    assert await is_behind(), "it has never been counted"
    assert await store.tallies.follow(tenant, MOST)
    assert not await is_behind()
    await written(store, tenant, key("a"))
    assert await is_behind()
    assert await store.tallies.follow(tenant, MOST)
    assert not await is_behind()


async def test_a_tenant_that_goes_takes_its_tallies_with_it(
    store: PostgresStore, owner: str
) -> None:
    number = next(numbers)
    await in_thread(lambda: tenants.create(number))
    await written(store, number, key("a"))
    assert await store.tallies.follow(number, MOST)
    assert look(owner, TALLIES, number) != []
    await in_thread(lambda: tenants.drop(number))
    assert await store.tallies.follow(number, MOST)
    assert look(owner, TALLIES, number) == look(owner, THROUGH, number) == []


async def test_the_indexer_counts_what_its_process_writes(
    store: PostgresStore, tenant: int, owner: str
) -> None:
    task = asyncio.create_task(Indexer(store).run_forever())
    try:
        await asyncio.sleep(0)
        await written(store, tenant, key("a"))
        async with asyncio.timeout(PATIENCE):
            while look(owner, THROUGH, tenant) != [(await store.head(tenant),)]:  # noqa: ASYNC110
                await asyncio.sleep(0.1)
        assert look(owner, TALLIES, tenant) == [("", "configmaps", 1), ("default", "configmaps", 1)]
    finally:
        task.cancel()


async def test_an_answer_is_of_one_state(store: PostgresStore, tenant: int) -> None:
    """One object goes and comes beside those that stay, while all is counted again and again."""
    await written(store, tenant, *(key(f"stays-{i}") for i in range(3)))
    writing = True

    async def write() -> None:
        for _ in range(60):
            await written(store, tenant, key("comes"))
            await removed(store, tenant, key("comes"))

    async def follow() -> None:
        while writing:
            await store.tallies.follow(tenant, MOST)
            await compact(store.database, tenant, await store.head(tenant))

    async def read() -> int:
        reads = 0
        while writing:
            found = await store.tallies.of(tenant, "default")
            assert found[CONFIGMAPS] in (Number(3, 3), Number(4, 4))
            reads += 1
        return reads

    others = [asyncio.create_task(follow()), asyncio.create_task(read())]
    await write()
    writing = False
    _, reads = await asyncio.gather(*others)
    assert reads
    assert (await store.tallies.of(tenant))[CONFIGMAPS] == Number(3, 3)


# --- any history ----------------------------------------------------------------------------------
PLACES = [(CONFIGMAPS, "a"), (CONFIGMAPS, "b"), (LEASES, "a"), (NODES, "")]
STEP = st.one_of(
    st.tuples(st.just("put"), st.sampled_from(PLACES), st.sampled_from("xyz")),
    st.tuples(st.just("delete"), st.sampled_from(PLACES), st.sampled_from("xyz")),
    st.just(("follow",)),
    st.just(("compact",)),
)


@settings(max_examples=25, suppress_health_check=list(HealthCheck))
@given(st.lists(STEP, min_size=5, max_size=40))
def test_they_are_what_lists_have(
    runner: asyncio.Runner, shared_store: PostgresStore, steps: list[Any]
) -> None:
    number = next(numbers)
    tenants.create(number)
    try:
        runner.run(replay(shared_store, number, steps))
    finally:
        tenants.drop(number)


async def replay(store: PostgresStore, tenant: int, steps: list[Any]) -> None:
    for what, *where in steps:
        if what == "follow":
            await store.tallies.follow(tenant, MOST)
        elif what == "compact":
            await compact(store.database, tenant, await store.head(tenant))
        else:
            await change(store, tenant, what, *where)
        for namespace in ("", "a"):
            assert await numbers_of(store, tenant, namespace) == await listed(
                store, tenant, namespace
            )


async def change(
    store: PostgresStore, tenant: int, what: str, place: tuple[GroupResource, str], name: str
) -> None:
    resource, namespace = place
    old = await store.get(tenant, key(name, namespace, resource))
    if old is None and what == "put":
        await store.write(tenant, create(key(name, namespace, resource)))
    elif old is not None:
        await store.write(tenant, update(old, "again") if what == "put" else delete(old))


async def listed(
    store: PostgresStore, tenant: int, namespace: str
) -> Mapping[GroupResource, Number]:
    found = {}
    for resource in (CONFIGMAPS, LEASES, NODES):
        records = (await store.list(tenant, resource)).records
        within = [r for r in records if namespace in ("", r.key.namespace)]
        if records:
            found[resource] = Number(len(records), len(within))
    return found
