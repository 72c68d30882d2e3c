"""Duties of the whole installation that one process does at a time: a row that says who, and until
when (the database's clock).

Not an advisory lock: one that outlives a transaction belongs to a session, which PgBouncer in
transaction mode does not have.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import NoReturn

from apiserver.storage.errors import StorageError
from apiserver.storage.pool import Connection, Database

_ACQUIRE = """
INSERT INTO leases (name, holder, expires_at)
    VALUES (%(name)s, %(holder)s, now() + make_interval(secs => %(seconds)s))
ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, expires_at = excluded.expires_at
    WHERE leases.holder = excluded.holder OR leases.expires_at < now()
RETURNING true
"""
_HELD = "SELECT name FROM leases WHERE starts_with(name, %s) AND expires_at >= now()"
_RELEASE = "DELETE FROM leases WHERE name = %(name)s AND holder = %(holder)s"
_RELEASE_ALL = "DELETE FROM leases WHERE holder = %s"


async def acquire(database: Database, name: str, holder: str, seconds: float) -> bool:
    """Takes or renews the lease; False while another holder's has not run out. Raises
    Unavailable."""
    parameters = {"name": name, "holder": holder, "seconds": seconds}
    return bool(await database.rows(_ACQUIRE, parameters))


async def release(database: Database, name: str, holder: str) -> None:
    """Gives it up, if it is held. Raises Unavailable."""

    async def query(connection: Connection) -> None:
        await connection.execute(_RELEASE, {"name": name, "holder": holder})

    await database.read(query)


async def held(database: Database, prefix: str) -> Sequence[str]:
    """The names of leases that somebody has, and that begin so. Raises Unavailable."""
    return [row[0] for row in await database.rows(_HELD, [prefix])]


@dataclass(frozen=True, slots=True)
class Candidate:
    """One process that stands for duties. holder: its name in leases; seconds: how long a lease
    lasts that it does not renew."""

    database: Database
    holder: str
    seconds: float = 15.0

    async def elected(self, name: str) -> bool:
        """Whether the duty is this process's, now and for the time of the lease. Raises
        Unavailable."""
        return await acquire(self.database, name, self.holder, self.seconds)

    async def resign(self, name: str) -> None:
        """Gives the duty up, if it is held. Raises Unavailable."""
        await release(self.database, name, self.holder)

    async def retire(self) -> None:
        """Gives up all duties: whoever stands for them need not wait until the leases have run out.
        Raises Unavailable."""

        async def query(connection: Connection) -> None:
            await connection.execute(_RELEASE_ALL, [self.holder])

        await self.database.read(query)


async def repeat(
    candidate: Candidate,
    duty: str,
    work: Callable[[], Awaitable[None]],
    every: float,
    log: logging.Logger,
    what: str,
) -> NoReturn:
    """Does the work every so many seconds, in the one process that has the duty; a minute after it
    failed. what: it, in the log's words."""
    while True:
        pause = every
        try:
            if await candidate.elected(duty):
                await work()
        except StorageError as error:
            log.warning("%s: %s", what, error)
            pause = 60.0
        await asyncio.sleep(pause)
