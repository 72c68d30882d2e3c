"""Sessions of the console that have ended go: their rows hold ID tokens of their people."""

from __future__ import annotations

import logging
from functools import partial
from typing import NoReturn

from apiserver.storage.leases import Candidate, repeat
from apiserver.storage.pool import Connection, Database

log = logging.getLogger("polyplane.console")

EVERY = 600.0
"""Seconds between two looks."""
_DUTY = "ended-sessions"
_DELETE = "DELETE FROM console_accountsession WHERE expire_date < now()"


async def remove(database: Database) -> None:
    """Raises StorageError."""

    async def query(connection: Connection) -> None:
        await connection.execute(_DELETE)

    await database.read(query)


async def remove_forever(database: Database, holder: str) -> NoReturn:
    """In one process of the installation."""
    candidate, work = Candidate(database, holder, seconds=60.0), partial(remove, database)
    await repeat(candidate, _DUTY, work, EVERY, log, "sessions that have ended")
