"""Hints between processes: "tenant T is at version V now". After a commit, never in its
transaction, where NOTIFY takes a lock that all writers of the database share. Losing one is
harmless; the tails look for themselves once a second.

Both directions use connections of their own: one that is in LISTEN cannot be pooled, and PgBouncer
in transaction mode cannot carry it (then give ``conninfo`` a way around it, or live with the
second).
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable, Sequence

import psycopg

from apiserver.storage.call import TEXT, Call
from apiserver.storage.interface import Event, Listener
from apiserver.storage.pool import Database

log = logging.getLogger("polyplane.storage")

_CHANNEL = "polyplane"
# A hint need not survive a crash. Set for this transaction only: behind PgBouncer the session may
# be another client's next.
_NOTIFY = Call(
    f"SELECT set_config('synchronous_commit', 'off', true), pg_notify('{_CHANNEL}', $1)", TEXT
)
_MOST = 400  # tenants of one NOTIFY, whose payload must stay below 8,000 bytes
_REST = 0.005  # seconds between two NOTIFYs of a process


class Hints:
    def __init__(self, database: Database, conninfo: str = "") -> None:
        self._database = database
        self._conninfo = conninfo
        self._news: dict[int, int] = {}
        self._wake = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []
        self.listeners: list[Listener] = []

    def start(self) -> None:
        self._tasks = [
            asyncio.create_task(self._for_ever(self._send)),
            asyncio.create_task(self._for_ever(self._receive)),
        ]

    async def stop(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def committed(self, tenant: int, events: Sequence[Event]) -> None:
        """To be told to other processes, soon and together with what else is new."""
        self._news[tenant] = events[-1].record.resource_version
        self._wake.set()

    async def _for_ever(
        self, use: Callable[[psycopg.AsyncConnection[tuple[object, ...]]], Awaitable[None]]
    ) -> None:
        while True:
            try:
                async with await self._database.dedicated(self._conninfo) as connection:
                    await use(connection)
            except (psycopg.Error, OSError) as error:
                log.debug("hints: %s", error)
            except Exception:
                log.exception("hints")
            await asyncio.sleep(random.uniform(0.2, 0.6))  # noqa: S311

    async def _send(self, connection: psycopg.AsyncConnection[tuple[object, ...]]) -> None:
        while True:
            await self._wake.wait()
            self._wake.clear()
            news, self._news = self._news, {}
            words = [f"{tenant}:{version}" for tenant, version in news.items()]
            for i in range(0, len(words), _MOST):
                await _NOTIFY.rows(connection, " ".join(words[i : i + _MOST]))
            await asyncio.sleep(_REST)

    async def _receive(self, connection: psycopg.AsyncConnection[tuple[object, ...]]) -> None:
        await connection.execute(f"LISTEN {_CHANNEL}")
        async for notification in connection.notifies():
            for word in notification.payload.split():
                tenant, _, version = word.partition(":")
                for listener in self.listeners:
                    listener(int(tenant), int(version))
