"""A connection that breaks around a commit: the outcome is found out, and nothing is done twice."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence

import psycopg
import pytest

from apiserver.storage import writer
from apiserver.storage.commit import Prepared, commit
from apiserver.storage.errors import KeyExists, Stale, Unavailable
from apiserver.storage.interface import Event
from apiserver.storage.pool import Connection, Database
from apiserver.storage.postgres import PostgresStore
from tests.support.storage import create, delete, key, stored, update

Commit = Callable[[Connection, int, Sequence[Prepared]], Awaitable[object]]


def _break(monkeypatch: pytest.MonkeyPatch, first: Commit) -> None:
    """The first batch goes through ``first``, all later ones as usual."""
    calls = 0

    async def committed(connection: Connection, tenant: int, batch: Sequence[Prepared]) -> object:
        nonlocal calls
        calls += 1
        return await (first if calls == 1 else commit)(connection, tenant, batch)

    monkeypatch.setattr(writer, "commit", committed)


async def _after(connection: Connection, tenant: int, batch: Sequence[Prepared]) -> object:
    await commit(connection, tenant, batch)
    await connection.close()
    raise psycopg.OperationalError("lost")


async def _before(connection: Connection, tenant: int, batch: Sequence[Prepared]) -> object:
    await connection.close()
    raise psycopg.OperationalError("lost")


@pytest.mark.parametrize("first", [_before, _after])
async def test_every_kind_of_write_gets_its_own_answer(
    store: PostgresStore, tenant: int, monkeypatch: pytest.MonkeyPatch, first: Commit
) -> None:
    writes = [create(key(name)) for name in ("changed", "deleted")]
    changed, deleted = [stored(w, await store.write(tenant, w)) for w in writes]
    start = await store.head(tenant)
    observed: list[Event] = []
    store.observe(lambda _, events: observed.extend(events))
    _break(monkeypatch, first)
    batch = [
        create(key("new")),
        update(changed, "2"),
        delete(deleted),
        create(key("changed")),
        update(deleted, "late"),
    ]
    results = await asyncio.gather(*(store.write(tenant, w) for w in batch), return_exceptions=True)
    assert results[:3] == [start + 1, start + 2, start + 3]
    assert isinstance(results[3], KeyExists)
    assert not isinstance(results[4], int)
    events = list((await store.events(tenant, start)).events)
    assert [e.type for e in events] == ["ADDED", "MODIFIED", "DELETED"]
    assert observed == events


async def test_a_first_attempt_that_arrives_late_is_recognised(
    store: PostgresStore, tenant: int, monkeypatch: pytest.MonkeyPatch, postgres: str
) -> None:
    """The broken connection's server process commits after the log was searched and before the
    second attempt."""
    searches = 0
    late: list[Prepared] = []
    find = writer.find_committed

    async def found(
        connection: Connection, number: int, batch: Sequence[Prepared]
    ) -> list[Event | None]:
        nonlocal searches
        searches += 1
        result = await find(connection, number, batch)
        if searches == 1:
            await commit(connection, number, late)
        return result

    async def lost(connection: Connection, number: int, batch: Sequence[Prepared]) -> object:
        late.extend(batch)
        return await _before(connection, number, batch)

    monkeypatch.setattr(writer, "find_committed", found)
    _break(monkeypatch, lost)
    start = await store.head(tenant)
    assert await store.write(tenant, create(key("a"))) == start + 1
    assert len((await store.events(tenant, start)).events) == 1


async def test_another_writers_change_is_not_taken_for_ones_own(
    store: PostgresStore, tenant: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = create(key("a"))
    record = stored(write, await store.write(tenant, write))

    async def lost(connection: Connection, number: int, batch: Sequence[Prepared]) -> object:
        await commit(connection, number, [Prepared(theirs, theirs.data)])
        return await _before(connection, number, batch)

    theirs = update(record, "theirs")
    _break(monkeypatch, lost)
    with pytest.raises(Stale):
        await store.write(tenant, update(record, "mine"))


async def test_an_outcome_that_cannot_be_found_out_is_said_to_be_unknown(
    store: PostgresStore, tenant: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def unreachable(self: Database, query: object) -> object:
        raise Unavailable("still away")

    _break(monkeypatch, _before)
    with monkeypatch.context() as patch:
        patch.setattr(Database, "read", unreachable)
        with pytest.raises(Unavailable) as raised:
            await store.write(tenant, create(key("a")))
    assert raised.value.unknown


async def test_pooled_connections_keep_no_session_state(store: PostgresStore, tenant: int) -> None:
    """What PgBouncer in transaction mode demands."""
    await asyncio.gather(*(store.write(tenant, create(key(f"n{i}"))) for i in range(20)))
    for _ in range(10):
        await store.list(tenant, key("a").group_resource)
    _ = [item async for item in store.snapshot(tenant, key("a").group_resource)]
    for statement in (
        "SELECT name FROM pg_prepared_statements",
        "SELECT name FROM pg_cursors WHERE is_holdable",
        "SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid()",
        "SELECT name FROM pg_settings WHERE source = 'session'",
        "SELECT pg_listening_channels()",
    ):
        async with store.database.connection() as connection:
            assert await (await connection.execute(statement)).fetchall() == [], statement
