"""Calls whose caller goes away in the middle: what their connection still had to say reaches nobody
else, and the pool has its connections back."""

from __future__ import annotations

import asyncio
import random
from contextlib import suppress

from apiserver.storage.call import BIGINT, TEXT, Call
from apiserver.storage.errors import Unavailable
from apiserver.storage.pool import Database

SIZE, CALLERS, ROUNDS = 3, 12, 25
_ECHO = Call(
    "SELECT $1, repeat($2, 1000), pg_sleep(0.001 * ($3 % 4)) IS NULL, 1 / ($3 % 5) "
    "FROM generate_series(1, 1 + $3 % 100)",
    BIGINT,
    TEXT,
    BIGINT,
)
"""Rows that only this caller asks for; up to a megabyte, so that it may be half read, and now and
then an error in their place."""


async def _ask(database: Database, number: int) -> None:
    text = f"<{number}>"
    with suppress(Unavailable):  # division by zero
        rows = await database.read(lambda c: _ECHO.rows(c, number, text, number))
        assert number % 5, "this one cannot be answered"
        assert [row[:2] for row in rows] == [(number, text * 1000)] * (1 + number % 100)


async def test_no_caller_gets_what_another_asked(postgres: str) -> None:
    chance, database = random.Random(7), Database(postgres, size=SIZE, patience=600.0)
    await database.open()
    try:
        for _ in range(ROUNDS):
            tasks = [
                asyncio.create_task(_ask(database, chance.randrange(10**9))) for _ in range(CALLERS)
            ]
            for _ in range(chance.randrange(40)):
                await asyncio.sleep(chance.choice([0.0, 0.0, 0.0, 0.002]))
                chance.choice(tasks).cancel()  # some of them while they cancel their query
            ends = await asyncio.gather(*tasks, return_exceptions=True)
            assert [e for e in ends if isinstance(e, Exception)] == []
        held = [await database._pool.getconn(600.0) for _ in range(SIZE)]
        for connection in held:
            await database._pool.putconn(connection)
    finally:
        await database.close()
