"""The audit log beside the commit: entries of what made no version are written soon, in batches,
and days that are over go (sql/audit.sql).

The queue is bounded, as a whole and for each tenant, so that a flood of refusals neither fills the
memory nor hides what others do; a rate bounds what it fills of the disk. What is not taken is
counted.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter, deque
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import NamedTuple, NoReturn

import psycopg

from apiserver.flow.buckets import Buckets
from apiserver.storage.call import BIGINTS, TEXTS, TIMES, Call
from apiserver.storage.errors import StorageError
from apiserver.storage.interface import Entry
from apiserver.storage.leases import Candidate, repeat
from apiserver.storage.pool import Connection, Database
from apiserver.storage.visibility import everywhere
from apiserver.whose import shared_task

log = logging.getLogger("polyplane.audit")

MOST_ROWS, MOST_BYTES = 10_000, 32 * 2**20
"""That wait to be written."""
MOST_OF_TENANT = MOST_ROWS // 4
PER_SECOND = 100
"""Rows of one tenant that a worker takes for long; a burst of `MOST_OF_TENANT` is taken at once."""
_SHORT = 4096
"""Bytes of a row that counts as one; a long row counts as several."""
UNKNOWN = 401
_KNOWN, _UNKNOWN, _TOGETHER = range(3)
"""Kinds of buckets: of a tenant, of a tenant by nobody knows whom, and of all tenants by those."""
_TIMES = 4
"""How many times the rate of one tenant the last has."""
BATCH, BATCH_BYTES = 500, 4 * 2**20
SOON = 0.5
"""Seconds after which entries are written that do not fill a batch."""
AHEAD = 7
"""Days for which there are partitions."""
EVERY = 3600.0
_DUTY = "audit-days"

_WRITE = Call(
    "SELECT pp_audit($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)",
    *(BIGINTS, TIMES, TEXTS, TEXTS, BIGINTS),  # tenant, at, user, verb, code
    *(TEXTS,) * 5,  # group, resource, namespace, name, data
)
_THERE = """
SELECT 1 FROM audit_entries
WHERE (tenant_id = %s::bigint OR %s::bigint IS NULL AND tenant_id IS NULL)
    AND at BETWEEN %s - interval '1 second' AND %s + interval '1 second' AND data::text = %s
LIMIT 1
"""
_KEEP = "SELECT partition, done FROM pp_keep_audit(%s, %s)"


class Row(NamedTuple):
    """An entry of something that made no object version. tenant: its number, None where it got to
    none; at: seconds since 1970."""

    tenant: int | None
    at: float
    entry: Entry
    group: str
    resource: str
    namespace: str
    name: str


class AuditLog:
    """Takes rows of this process's event loop. rate: rows a second of one tenant; on_drop: is
    called for each that there is no room for."""

    def __init__(
        self,
        database: Database,
        on_drop: Callable[[], None] = lambda: None,
        rate: float = PER_SECOND,
    ) -> None:
        self._database, self._on_drop = database, on_drop
        self._rate, self._buckets = rate, Buckets()
        self._rows: deque[Row] = deque()
        self._bytes = 0
        self._of: Counter[int | None] = Counter()
        self._task: asyncio.Task[None] | None = None
        self._full = asyncio.Event()
        self._stopping = False

    def put(self, row: Row) -> None:
        if (
            len(self._rows) >= MOST_ROWS
            or self._bytes >= MOST_BYTES
            or self._of[row.tenant] >= MOST_OF_TENANT
            or not self._takes(row)
        ):
            self._on_drop()
            return
        self._rows.append(row)
        self._bytes += len(row.entry.data)
        self._of[row.tenant] += 1
        if self._fills_a_batch():
            self._full.set()
        if self._task is None:
            self._task = shared_task(self._write_soon())

    def _takes(self, row: Row) -> bool:
        """What nobody has authenticated for is not the tenant's that it names, and bounded for all
        tenants together."""
        unknown, tenant = row.entry.code == UNKNOWN, str(row.tenant)
        cost = 1 + len(row.entry.data) // _SHORT
        if unknown and not self._draw(_TOGETHER, "", self._rate * _TIMES, cost):
            return False
        return self._draw(_UNKNOWN if unknown else _KNOWN, tenant, self._rate, cost)

    def _draw(self, kind: int, key: str, rate: float, cost: int) -> bool:
        return self._buckets.take(kind, key, rate, MOST_OF_TENANT, cost=cost)

    async def close(self) -> None:
        """Writes what waits, if the database is there."""
        self._stopping = True
        self._full.set()
        if self._task is not None:
            await self._task

    async def _write_soon(self) -> None:
        try:
            while self._rows:
                if not self._stopping and not self._fills_a_batch():
                    await self._pause()
                there = await self._write(self._take())
                if self._stopping and not there:
                    self._lose(len(self._rows), "the database is away")
                    self._rows.clear()
        finally:
            self._task = None

    def _fills_a_batch(self) -> bool:
        return len(self._rows) >= BATCH or self._bytes >= BATCH_BYTES

    async def _pause(self) -> None:
        try:
            async with asyncio.timeout(SOON):
                await self._full.wait()
        except TimeoutError:
            pass
        self._full.clear()

    def _take(self) -> list[Row]:
        rows: list[Row] = []
        size = 0
        while self._rows and len(rows) < BATCH and size < BATCH_BYTES:
            row = self._rows.popleft()
            size += len(row.entry.data)
            self._of[row.tenant] -= 1
            if not self._of[row.tenant]:
                del self._of[row.tenant]
            rows.append(row)
        self._bytes -= size
        return rows

    async def _write(self, rows: Sequence[Row]) -> bool:
        """Waits as long as readers do for a database that went away; then what cannot be written is
        lost, and counted. A row that the database does not take costs no other. False: the database
        is away."""
        try:
            await self._write_once(rows)
        except StorageError as error:
            refused = _is_refusal(error)
            if refused and len(rows) > 1:
                middle = len(rows) // 2
                halves = [await self._write(half) for half in (rows[:middle], rows[middle:])]
                return all(halves)
            self._lose(len(rows), str(error))
            return refused
        return True

    def _lose(self, count: int, why: str) -> None:
        log.error("%d audit entries are lost: %s", count, why)
        for _ in range(count):
            self._on_drop()

    async def _write_once(self, rows: Sequence[Row]) -> None:
        """All or none. Whether they are there is asked where an answer was lost, so that they do
        not come twice."""
        parameters, sent = _parameters(rows), False

        async def write(connection: Connection) -> None:
            nonlocal sent
            if sent and await _is_there(connection, rows[0]):
                return
            sent = True
            await _WRITE.rows(connection, *parameters)

        await self._database.read(write)


async def _is_there(connection: Connection, row: Row) -> bool:
    at = datetime.fromtimestamp(row.at, UTC)
    async with everywhere(connection):
        cursor = await connection.execute(
            _THERE, [row.tenant, row.tenant, at, at, row.entry.data.decode()]
        )
        return await cursor.fetchone() is not None


def _is_refusal(error: StorageError) -> bool:
    """Whether the database said no to what was sent, and was not away."""
    cause = error.__cause__
    return isinstance(cause, psycopg.DataError | psycopg.errors.StatementTooComplex)


def _parameters(rows: Sequence[Row]) -> list[object]:
    return [
        [row.tenant for row in rows],
        [row.at for row in rows],
        [row.entry.user.encode() for row in rows],
        [row.entry.verb.encode() for row in rows],
        [row.entry.code for row in rows],
        [row.group.encode() for row in rows],
        [row.resource.encode() for row in rows],
        [row.namespace.encode() for row in rows],
        [row.name.encode() for row in rows],
        [row.entry.data for row in rows],
    ]


async def keep_days(database: Database, days: int) -> list[tuple[str, str]]:
    """Makes the partitions of the days to come, and drops those that ended more than ``days`` days
    ago (0: none): (name, "made" or "dropped"). Raises StorageError, also when somebody reads the
    table for so long that it would have kept writers waiting."""
    return [(name, done) for name, done in await database.rows(_KEEP, [days, AHEAD])]


async def keep_days_forever(database: Database, holder: str, days: int) -> NoReturn:
    """The same, every hour, in one process of the installation."""

    async def keep() -> None:
        for partition, done in await keep_days(database, days):
            log.info("%s %s", done, partition)

    candidate = Candidate(database, holder, seconds=60.0)
    await repeat(candidate, _DUTY, keep, EVERY, log, "the audit log's days")
