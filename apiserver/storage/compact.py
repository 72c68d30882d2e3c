"""Compaction: raises a tenant's floor and removes the events that no read at or above the floor
needs.

An event at or below the floor is needed if it is its object's newest there and the object still
existed: exact reads at the floor and the object's current text come from it. So what goes is each
event that another one at or below the floor replaced, and each deletion. Both are found from the
replacing side (``key_previous``), batch by batch in the order of the log, so no scan per object is
needed.

It runs when events are past their retention, and earlier where a tenant's log nears its budget of
bytes.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from functools import partial
from itertools import count
from typing import Any, NamedTuple

from apiserver.storage import leases, statements
from apiserver.storage.errors import StorageError, TenantGone, TooLarge
from apiserver.storage.pool import Connection, Database

log = logging.getLogger("polyplane.storage")

RETENTION = timedelta(hours=24)
LEAST_RETENTION = timedelta(minutes=5)
"""What other API servers keep; a log that is over its budget is not cut shorter."""
BATCH = 1000  # events of one transaction
LEASE = "compaction"

_RAISE = """
UPDATE tenant_heads SET floor = greatest(floor, %(to)s)
WHERE tenant_id = %(tenant)s AND head >= %(to)s
RETURNING floor, compacted
"""
_REMOVE = """
WITH batch AS MATERIALIZED (
    SELECT resource_version, key_previous, type FROM events
    WHERE tenant_id = %(tenant)s AND resource_version > %(after)s AND resource_version <= %(floor)s
    ORDER BY resource_version LIMIT %(batch)s
), removed AS (
    DELETE FROM events WHERE tenant_id = %(tenant)s AND resource_version IN (
        SELECT key_previous FROM batch WHERE key_previous > 0
        UNION SELECT resource_version FROM batch WHERE type = 'D'
    ) RETURNING size
)
SELECT (SELECT max(resource_version) FROM batch), count(*), coalesce(sum(size), 0) FROM removed
"""
_PROGRESS = """
UPDATE tenant_heads SET
    compacted = greatest(compacted, %(through)s), log_bytes = log_bytes - %(bytes)s
WHERE tenant_id = %(tenant)s
"""
_PROBE = """
SELECT resource_version, at < now() - %(retain)s FROM events
WHERE tenant_id = %(tenant)s AND resource_version >= %(from)s ORDER BY resource_version LIMIT 1
"""
_DUE = """
SELECT h.tenant_id, coalesce(h.retention, %(retain)s) FROM tenant_heads h
WHERE h.compacted < h.floor OR h.head > h.floor AND (
    SELECT e.at FROM events e
    WHERE e.tenant_id = h.tenant_id AND e.resource_version > h.floor
    ORDER BY e.resource_version LIMIT 1
) < now() - coalesce(h.retention, %(retain)s)
ORDER BY h.tenant_id
"""
# Logs that have reached three quarters of their budget: there is time left to cut them before
# writers are refused.
_PRESSED = """
SELECT tenant_id, coalesce(retention, %(retain)s) FROM tenant_heads
WHERE log_bytes > max_log_bytes / 4 * 3 AND head > floor
    AND tenant_id = coalesce(%(tenant)s::bigint, tenant_id)
ORDER BY tenant_id
"""


class Compaction(NamedTuple):
    """floor: as it is now; removed: events."""

    floor: int
    removed: int


async def compact(
    database: Database, tenant: int, to: int, *, progress: Callable[[int, int], None] | None = None
) -> Compaction:
    """Raises the floor to ``to`` (never lowers it) and removes what is superseded below.
    progress(through, removed so far) after each batch. Interrupted, it goes on at the next call.
    Raises TooLarge above the head, TenantGone, Unavailable."""
    parameters: dict[str, Any] = {"tenant": tenant, "to": to, "batch": BATCH}
    raised = await _row(database, tenant, _RAISE, parameters)
    if raised is None:
        head = await _row(database, tenant, statements.HEAD, parameters)
        raise TooLarge(head[0]) if head else TenantGone(f"tenant {tenant} is gone")
    floor, through = raised
    removed = 0
    while through < floor:
        through, batch = await _remove(database, parameters | {"after": through, "floor": floor})
        removed += batch
        if progress is not None:
            progress(through, removed)
    return Compaction(floor, removed)


async def version_before(database: Database, tenant: int, retain: timedelta) -> int:
    """The last version that is older than ``retain``; the floor if there is none. Binary search:
    the log is in the order of time."""
    row = await _row(database, tenant, statements.HEAD, {"tenant": tenant})
    if row is None:
        raise TenantGone(f"tenant {tenant} is gone")
    head, version = row
    low, high = version + 1, head
    while low <= high:
        middle = (low + high) // 2
        probe = await _row(
            database, tenant, _PROBE, {"tenant": tenant, "from": middle, "retain": retain}
        )
        if probe is not None and probe[1]:
            version = probe[0]
            low = version + 1
        else:
            high = middle - 1
    return int(version)


async def compact_forever(
    database: Database, holder: str, *, every: float = 15.0, retain: timedelta = RETENTION
) -> None:
    """Compacts all tenants that have something to remove, as long as this holder has the lease.
    Runs until it is cancelled.

    holder: unique to this process; retain: for tenants without a retention of their own."""
    keep = partial(leases.acquire, database, LEASE, holder, 12 * every)
    for turn in count():
        try:
            if await keep():
                await relieve(database, retain, keep=keep)
                if turn % 4 == 0:
                    await compact_due(database, retain, keep=keep)
        except StorageError as error:
            log.warning("compaction: %s", error)
        await asyncio.sleep(every)


async def compact_due(
    database: Database, retain: timedelta = RETENTION, *, keep: Callable[[], Any] | None = None
) -> dict[int, Compaction]:
    """One round over all tenants with events past their retention. keep: awaited before each
    tenant; False ends the round."""
    done: dict[int, Compaction] = {}
    for tenant, retention in await database.rows_everywhere(_DUE, {"retain": retain}):
        if keep is not None and not await keep():
            break
        with suppress(TenantGone):
            done[tenant] = await compact(
                database, tenant, await version_before(database, tenant, retention)
            )
    return done


async def relieve(
    database: Database, retain: timedelta = RETENTION, *, keep: Callable[[], Any] | None = None
) -> dict[int, Compaction]:
    """One round over all tenants whose log nears its budget: each keeps a quarter as long as
    before, again and again until that is enough or the least retention is reached. keep: as for
    `compact_due`."""
    done: dict[int, Compaction] = {}
    for tenant, retention in await database.rows_everywhere(
        _PRESSED, {"retain": retain, "tenant": None}
    ):
        pressed = True
        while pressed and retention > LEAST_RETENTION and (keep is None or await keep()):
            retention = max(retention / 4, LEAST_RETENTION)
            with suppress(TenantGone):
                done[tenant] = await compact(
                    database, tenant, await version_before(database, tenant, retention)
                )
            pressed = bool(
                await database.rows_everywhere(_PRESSED, {"retain": retain, "tenant": tenant})
            )
    return done


async def _remove(database: Database, parameters: dict[str, Any]) -> tuple[int, int]:
    """(version up to which superseded events are gone, how many went) of one batch, in one
    transaction."""

    async def query(connection: Connection) -> tuple[int, int]:
        row = await (await connection.execute(_REMOVE, parameters)).fetchone()
        assert row is not None
        through = row[0] if row[0] is not None else parameters["floor"]
        await connection.execute(_PROGRESS, {**parameters, "through": through, "bytes": row[2]})
        return through, row[1]

    return await database.read_within(parameters["tenant"], query)


async def _row(
    database: Database, tenant: int, statement: str, parameters: dict[str, Any]
) -> tuple[Any, ...] | None:
    rows = await database.rows_within(tenant, statement, parameters)
    return rows[0] if rows else None
