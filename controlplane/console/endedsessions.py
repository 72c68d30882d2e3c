"""Sessions of the console that have ended go: their rows hold ID tokens of their people."""

from __future__ import annotations

import asyncio
import logging

from apiserver.storage.errors import StorageError
from apiserver.storage.leases import Candidate
from apiserver.storage.pool import Connection, Database

log = logging.getLogger("polyplane.console")

EVERY, AGAIN = 600.0, 60.0
"""Seconds between two looks, and after one that failed."""
_DUTY = "ended-sessions"
_DELETE = "DELETE FROM console_accountsession WHERE expire_date < now()"


async def remove(database: Database) -> None:
    """Raises StorageError."""

    async def query(connection: Connection) -> None:
        await connection.execute(_DELETE)

    await database.read(query)


async def remove_forever(database: Database, holder: str) -> None:
    """In one process of the installation."""
    candidate = Candidate(database, holder, seconds=60.0)
    while True:
        pause = EVERY
        try:
            if await candidate.elected(_DUTY):
                await remove(database)
        except StorageError as error:
            log.warning("sessions that have ended: %s", error)
            pause = AGAIN
        await asyncio.sleep(pause)
