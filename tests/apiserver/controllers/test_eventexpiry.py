"""Events go an hour after their last write, in every tenant, and nobody else waits for it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from uuid import uuid4

import pytest

from apiserver.controllers import eventexpiry, names
from apiserver.controllers.eventexpiry import EventExpiry
from apiserver.controllers.manager import nothing_off
from apiserver.controllers.upkeep import TurnedOff
from apiserver.meta.gvk import GroupResource
from apiserver.storage import tenants
from apiserver.storage.errors import Unavailable
from apiserver.storage.interface import Event, ObjectKey, Write
from apiserver.storage.leases import Candidate
from apiserver.storage.pool import Connection
from apiserver.storage.postgres import PostgresStore
from tests.support.storage import numbers

EVENTS, MAPS = GroupResource("", "events"), GroupResource("", "configmaps")


@pytest.fixture
def neighbour(postgres: str) -> Iterator[int]:
    number = next(numbers)
    tenants.create(number)
    yield number
    tenants.drop(number)


def expiry(store: PostgresStore, off: TurnedOff = nothing_off, holder: str = "one") -> EventExpiry:
    return EventExpiry(store, Candidate(store.database, holder), off)


async def add(
    store: PostgresStore, tenant: int, name: str, resource: GroupResource = EVENTS, size: int = 0
) -> Write:
    text = '{"kind":"K","apiVersion":"v1","metadata":{"name":"%s"},"note":"%s"}'
    data = (text % (name, "x" * size)).encode()
    write = Write("create", ObjectKey(*resource, "ns", name), str(uuid4()), data)
    await store.write(tenant, write)
    return write


async def aged(store: PostgresStore, tenant: int, hours: float) -> None:
    """What is stored now was written that long ago."""

    async def query(connection: Connection) -> None:
        await connection.execute(
            "UPDATE events SET at = at - make_interval(secs => %s) WHERE tenant_id = %s",
            [hours * 3600, tenant],
        )

    await store.database.read_within(tenant, query)


async def left(store: PostgresStore, tenant: int, resource: GroupResource = EVENTS) -> list[str]:
    return [r.key.name for r in (await store.list(tenant, resource)).records]


async def rounds(some: EventExpiry) -> None:
    while await some.round():
        pass


async def test_old_events_go_and_nothing_else(store: PostgresStore, tenant: int) -> None:
    await add(store, tenant, "old")
    await add(store, tenant, "map", MAPS)
    await aged(store, tenant, 1.1)
    await add(store, tenant, "new")
    await rounds(expiry(store))
    assert await left(store, tenant) == ["new"]
    assert await left(store, tenant, MAPS) == ["map"]


async def test_watchers_are_told(store: PostgresStore, tenant: int) -> None:
    seen: list[Event] = []
    before = await store.head(tenant)
    added = await add(store, tenant, "old")
    await aged(store, tenant, 2)
    store.observe(lambda _, events: seen.extend(events))
    await rounds(expiry(store))
    assert [(e.type, e.record.key, e.record.data) for e in seen] == [
        ("DELETED", added.key, added.data)
    ]
    assert (await store.events(tenant, before)).events[-1].type == "DELETED"


async def test_the_last_write_counts(store: PostgresStore, tenant: int) -> None:
    added = await add(store, tenant, "series")
    (record,) = (await store.list(tenant, EVENTS)).records
    await aged(store, tenant, 2)
    again = Write("update", added.key, added.uid, added.data, record.resource_version)
    await store.write(tenant, again)
    some = expiry(store)
    await rounds(some)
    assert await left(store, tenant) == ["series"]
    await aged(store, tenant, 1)
    await rounds(some)
    assert not await left(store, tenant)


async def test_a_write_at_the_last_moment_wins(
    store: PostgresStore, tenant: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the look for what is due, and the deletion."""
    added = await add(store, tenant, "series")
    await aged(store, tenant, 2)
    read = store.records

    async def written_meanwhile(tenant: int, uids: list[str]) -> object:
        records = await read(tenant, uids)
        (record,) = records
        again = Write("update", added.key, added.uid, added.data, record.resource_version)
        await store.write(tenant, again)
        return records

    monkeypatch.setattr(store, "records", written_meanwhile)
    await rounds(expiry(store))
    assert await left(store, tenant) == ["series"]


async def test_pages_of_all_tenants_take_turns(
    store: PostgresStore, tenant: int, neighbour: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(eventexpiry, "PAGE", 10)
    many, one = sorted([tenant, neighbour])
    await asyncio.gather(*(add(store, many, f"e{i:03}") for i in range(35)))
    await add(store, one, "own")
    for number in (many, one):
        await aged(store, number, 2)
    some = expiry(store)
    assert await some.round()
    assert len(await left(store, many)) == 25
    assert not await left(store, one)
    await rounds(some)
    assert not await left(store, many)


async def test_who_takes_over_goes_on(
    store: PostgresStore, tenant: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(eventexpiry, "PAGE", 2)
    for i in range(5):
        await add(store, tenant, f"e{i}")
    await aged(store, tenant, 2)
    await expiry(store).round()
    await rounds(expiry(store, holder="other"))
    assert not await left(store, tenant)


async def test_who_is_no_longer_elected_stops(
    store: PostgresStore, tenant: int, neighbour: int
) -> None:
    for number in (tenant, neighbour):
        await add(store, number, "old")
        await aged(store, number, 2)
    terms = iter([True, False])

    async def keep() -> bool:
        return next(terms)

    assert not await expiry(store).round(keep)
    assert len(await left(store, tenant)) + len(await left(store, neighbour)) == 1


async def test_two_at_once_end_each_event_once(store: PostgresStore, tenant: int) -> None:
    """A lease that ran out while its holder was held up."""
    before = await store.head(tenant)
    for i in range(20):
        await add(store, tenant, f"e{i}")
    await aged(store, tenant, 2)
    await asyncio.gather(rounds(expiry(store)), rounds(expiry(store, holder="other")))
    events = (await store.events(tenant, before)).events
    assert [e.type for e in events].count("DELETED") == 20


async def test_an_outage_loses_nothing(
    store: PostgresStore, tenant: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    await add(store, tenant, "old")
    await aged(store, tenant, 2)
    some = expiry(store)

    async def fails(tenant: int, write: Write) -> int:
        raise Unavailable("the database is away")

    with monkeypatch.context() as patch:
        patch.setattr(store, "write", fails)
        with pytest.raises(Unavailable):
            await some.round()
    await rounds(some)
    assert not await left(store, tenant)


async def test_a_tenant_may_keep_them(store: PostgresStore, tenant: int) -> None:
    await add(store, tenant, "old")
    await aged(store, tenant, 2)

    async def off(number: int) -> tuple[str, ...]:
        return (names.EVENT_TTL,)

    await rounds(expiry(store, off))
    assert await left(store, tenant) == ["old"]


async def test_large_ones_are_read_a_few_at_a_time(
    store: PostgresStore, tenant: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []
    read = store.records

    async def counted(tenant: int, uids: list[str]) -> object:
        asked.append(len(uids))
        return await read(tenant, uids)

    monkeypatch.setattr(eventexpiry, "_BYTES", 2000)
    monkeypatch.setattr(store, "records", counted)
    for i in range(5):
        await add(store, tenant, f"e{i}", size=800)
    await aged(store, tenant, 2)
    await rounds(expiry(store))
    assert asked == [2, 2, 1] and not await left(store, tenant)


async def test_the_index_finds_what_is_due(store: PostgresStore, tenant: int) -> None:
    """Behind the wall, too: a policy keeps PostgreSQL from indexes whose operators are not
    leakproof."""
    async with plan(
        store,
        tenant,
        "SELECT at FROM events WHERE tenant_id = %s AND api_group = '' "
        "AND resource = 'events' AND type <> 'D' AND resource_version > 5 "
        "ORDER BY resource_version LIMIT 1",
    ) as text:
        assert "events_of_events" in text


@asynccontextmanager
async def plan(store: PostgresStore, tenant: int, statement: str) -> AsyncIterator[str]:
    async def query(connection: Connection) -> str:
        await connection.execute("SET LOCAL enable_seqscan = off")
        cursor = await connection.execute(f"EXPLAIN {statement}", [tenant])
        return "\n".join(row[0] for row in await cursor.fetchall())

    yield await store.database.read_within(tenant, query)
