"""The audit log's queue and its days."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from typing import Any

import psycopg
import pytest

from apiserver.storage import auditlog
from apiserver.storage.auditlog import AuditLog, Row, keep_days
from apiserver.storage.errors import Unavailable
from apiserver.storage.interface import Entry
from apiserver.storage.postgres import PostgresStore
from tests.support.storage import numbers

COUNT = "SELECT count(*) FROM audit_entries WHERE tenant_id = %s"
DAYS = """
SELECT inhrelid::regclass::text FROM pg_inherits WHERE inhparent = 'audit_entries'::regclass
"""


def row(tenant: int | None, data: bytes = b"{}") -> Row:
    return Row(tenant, time.time(), Entry("ann", "get", 200, data), "", "pods", "ns", "a")


def long(characters: int) -> bytes:
    """An Event of that many characters and a few: other tests read what is in the table."""
    return b'{"x":"%b"}' % (b"x" * characters)


async def count(store: PostgresStore, tenant: int) -> int:
    async def query(connection: Any) -> int:
        found = await (await connection.execute(COUNT, [tenant])).fetchone()
        return int(found[0])

    return await store.database.read_within(tenant, query)


async def test_what_is_put_is_written_by_the_end(store: PostgresStore) -> None:
    a, b, log = next(numbers), next(numbers), AuditLog(store.database)
    for _ in range(auditlog.BATCH + 1):
        log.put(row(a))
    log.put(row(b))
    log.put(row(None))
    await log.close()
    assert (await count(store, a), await count(store, b)) == (auditlog.BATCH + 1, 1)


async def test_a_tenant_that_floods_takes_no_room_from_another(
    store: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(auditlog, "MOST_OF_TENANT", 5)
    dropped: list[int] = []
    a, b, log = next(numbers), next(numbers), AuditLog(store.database, lambda: dropped.append(1))
    for _ in range(20):
        log.put(row(a))
    log.put(row(b))
    await log.close()
    assert (await count(store, a), await count(store, b), len(dropped)) == (5, 1, 15)
    log = AuditLog(store.database, rate=1e9)
    for _ in range(2):
        for _ in range(5):
            log.put(row(a))
        await log.close()
    assert await count(store, a) == 15, "what was written takes no room"


async def test_a_long_row_counts_as_several(
    store: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(auditlog, "MOST_OF_TENANT", 5)
    a, log = next(numbers), AuditLog(store.database, rate=1e-9)
    log.put(row(a, long(3 * 4096)))
    log.put(row(a))
    log.put(row(a))
    await log.close()
    assert await count(store, a) == 2
    b = next(numbers)
    log.put(row(b, long(9 * 4096)))
    await log.close()
    assert await count(store, b) == 1, "no row is too long for ever"


async def test_a_flood_by_nobody_knows_whom_hides_no_refusal_and_is_bounded_for_all_tenants(
    store: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(auditlog, "MOST_OF_TENANT", 40)
    a, log = next(numbers), AuditLog(store.database, rate=1e-9)
    others = [next(numbers) for _ in range(9)]

    def unknown(tenant: int) -> Row:
        return row(tenant)._replace(entry=Entry("", "get", 401, b"{}"))

    for tenant in (a, *others):
        for _ in range(30):
            log.put(unknown(tenant))
    await log.close()
    assert await count(store, a) == 30
    assert sum([await count(store, other) for other in others]) == 10, "40 of all tenants"
    for _ in range(3):
        log.put(unknown(a))
        log.put(row(a))
    await log.close()
    assert await count(store, a) == 33, "what is known has its own room"


async def test_the_queue_is_bounded_in_bytes(
    store: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(auditlog, "MOST_BYTES", 3000)
    dropped: list[int] = []
    log, tenant = AuditLog(store.database, lambda: dropped.append(1)), next(numbers)
    for _ in range(5):
        log.put(row(tenant, long(1000)))
    await log.close()
    assert (await count(store, tenant), len(dropped)) == (3, 2)


async def test_what_the_database_refuses_is_counted_and_costs_no_other_entry(
    store: PostgresStore,
) -> None:
    dropped: list[int] = []
    a, b = next(numbers), next(numbers)
    log = AuditLog(store.database, lambda: dropped.append(1))
    for i in range(20):
        log.put(row(a, b"no json" if i in (3, 11) else b"{}"))
        log.put(row(b))
    await log.close()
    assert (await count(store, a), await count(store, b), len(dropped)) == (18, 20, 2)


@pytest.mark.parametrize("arrives", [True, False])
async def test_a_connection_that_breaks_doubles_and_loses_nothing(
    store: PostgresStore, monkeypatch: pytest.MonkeyPatch, arrives: bool
) -> None:
    real, calls, tenant = auditlog._WRITE, 0, next(numbers)

    class Breaking:
        async def rows(self, connection: Any, *values: Any) -> list[tuple[Any, ...]]:
            nonlocal calls
            calls += 1
            if calls > 1:
                return await real.rows(connection, *values)
            if arrives:
                await real.rows(connection, *values)
            await connection.close()
            raise psycopg.OperationalError("lost")

    monkeypatch.setattr(auditlog, "_WRITE", Breaking())
    dropped: list[int] = []
    log = AuditLog(store.database, lambda: dropped.append(1))
    log.put(row(None, b'{"auditID":"%d"}' % tenant))
    for _ in range(3):
        log.put(row(tenant))
    await log.close()
    assert (await count(store, tenant), dropped) == (3, [])
    assert calls == (1 if arrives else 2)


async def test_the_end_does_not_wait_for_a_database_again_and_again(
    store: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    tries = 0
    dropped: list[int] = []

    async def away(*_: Any) -> None:
        nonlocal tries
        tries += 1
        raise Unavailable("away")

    monkeypatch.setattr(store.database, "read", away)
    monkeypatch.setattr(auditlog, "BATCH", 2)
    log = AuditLog(store.database, lambda: dropped.append(1))
    for _ in range(9):
        log.put(row(next(numbers)))
    await log.close()
    assert (tries, len(dropped)) == (1, 9)


# --- days -----------------------------------------------------------------------------------------
def day(ago: int) -> datetime:
    today = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    return today - timedelta(days=ago)


def partition(ago: int) -> str:
    return f"audit_entries_{day(ago):%Y%m%d}"


async def test_days_are_made_ahead_and_dropped_when_they_are_over(
    store: PostgresStore, owner: str
) -> None:
    tenant = next(numbers)
    with psycopg.connect(owner, autocommit=True) as connection:
        for ago in (40, 11, 10):
            connection.execute(
                f"CREATE TABLE {partition(ago)} PARTITION OF audit_entries "
                f"FOR VALUES FROM ('{day(ago)}') TO ('{day(ago - 1)}')"
            )
        for ago in (40, 30, 11, 10, 0):  # of the 30th day nobody has made a partition
            with connection.transaction():
                connection.execute("SELECT set_config('polyplane.tenant', %s, true)", [str(tenant)])
                connection.execute(
                    "INSERT INTO audit_entries (tenant_id, at, resource_version, user_name, verb, "
                    "code, api_group, resource, namespace, name, data) VALUES "
                    "(%s, %s, 0, '', '', 0, '', '', '', '', '{}')",
                    [tenant, day(ago) + timedelta(hours=5)],
                )
        assert await count(store, tenant) == 5
        done = await keep_days(store.database, 10)
        assert {name for name, what in done if what == "dropped"} == {partition(40), partition(11)}
        assert await count(store, tenant) == 2
        there = {name for (name,) in connection.execute(DAYS).fetchall()}
        assert there >= {partition(ago) for ago in range(-auditlog.AHEAD, 1)}
        assert await keep_days(store.database, 10) == [], "all is done"
        assert await keep_days(store.database, 0) == []
        connection.execute(f"DROP TABLE {partition(10)}")


async def test_nobody_drops_what_has_just_happened(store: PostgresStore) -> None:
    """The workers' role may call it with any number of days."""
    tenant, log = next(numbers), AuditLog(store.database)
    log.put(row(tenant))
    await log.close()
    for days in (-36_500, -1, 0, 1):
        await keep_days(store.database, days)
        assert await count(store, tenant) == 1


async def test_writers_do_not_wait_for_a_reader_that_keeps_the_days_from_being_made(
    store: PostgresStore, owner: str
) -> None:
    """What would wait behind the reader's lock gives up; who comes after it is served."""
    old, tenant = partition(50), next(numbers)
    with psycopg.connect(owner, autocommit=True) as connection:
        connection.execute(
            f"CREATE TABLE {old} PARTITION OF audit_entries "
            f"FOR VALUES FROM ('{day(50)}') TO ('{day(49)}')"
        )
        with connection.transaction():
            connection.execute("SELECT count(*) FROM audit_entries")
            with pytest.raises(Unavailable, match="lock timeout"):
                await keep_days(store.database, 10)
            log = AuditLog(store.database)
            log.put(row(tenant))
            await log.close()
            assert await count(store, tenant) == 1
        assert (old, "dropped") in await keep_days(store.database, 10)
