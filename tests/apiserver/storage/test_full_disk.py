"""A disk that is full beneath the database: said so, to who writes and to who operates it, and over
as soon as there is room again."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Sequence

import psycopg
import pytest

from apiserver.storage import pool, writer
from apiserver.storage.commit import Prepared, commit
from apiserver.storage.errors import DiskFull
from apiserver.storage.postgres import PostgresStore
from tests.support.storage import create, key


async def test_writes_are_refused_until_there_is_room(
    store: PostgresStore,
    tenant: int,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    room = False

    async def sometimes(connection: object, tenant: int, batch: Sequence[Prepared]) -> object:
        if not room:
            await connection.execute(  # type: ignore[attr-defined]
                "DO $$ BEGIN RAISE 'could not extend file' USING ERRCODE = 'disk_full'; END $$"
            )
        return await commit(connection, tenant, batch)  # type: ignore[arg-type]

    monkeypatch.setattr(writer, "commit", sometimes)
    monkeypatch.setattr(pool, "_full_disk", pool._FullDisk())
    caplog.set_level(logging.ERROR, "polyplane.storage")
    writes = [create(key(f"n{i}")) for i in range(20)]
    outcomes = await asyncio.gather(
        *(store.write(tenant, write) for write in writes), return_exceptions=True
    )
    assert all(isinstance(outcome, DiskFull) for outcome in outcomes), outcomes
    assert [record.getMessage() for record in caplog.records] == [
        "the disk of the database is full, what is written gets 503: could not extend file"
    ], "the operator is told once"
    assert not any(outcome.unknown for outcome in outcomes if isinstance(outcome, DiskFull))
    room = True
    assert await asyncio.gather(*(store.write(tenant, write) for write in writes))


def test_a_disk_that_stays_full_is_told_of_again(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    now = [1000.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    monkeypatch.setattr(pool, "_full_disk", pool._FullDisk())
    caplog.set_level(logging.ERROR, "polyplane.storage")
    for now[0] in (1000.0, 1001.0, 1059.0, 1061.0):
        pool.translate(psycopg.errors.DiskFull("could not write"))
    assert len(caplog.records) == 2
