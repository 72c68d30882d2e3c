"""What became of writes whose answer was lost with the connection.

The log knows: a committed write left an event that names its uid and what it replaced, with the
very same text. One that left none may be committed again: should the first attempt still sit in the
input of a server process, then only one of the two can win, because each is a compare-and-swap; a
second attempt that loses finds the first one's event when it looks again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from apiserver.storage.commit import EVENT_TYPES, OPERATIONS, Prepared
from apiserver.storage.interface import Event, Record
from apiserver.storage.pool import Connection
from apiserver.storage.visibility import within

# Waits for a batch of the tenant that is being committed; what follows sees the state after it.
_LOCK = "SELECT pg_advisory_xact_lock(5786, hashint8(%s))"
_FIND = """
SELECT resource_version, previous FROM events
WHERE tenant_id = %s AND api_group = %s AND resource = %s AND namespace = %s AND name = %s
    AND uid = %s::uuid AND type = %s AND key_previous = %s AND data::text = %s
ORDER BY resource_version DESC LIMIT 1
"""


async def find_committed(
    connection: Connection, tenant: int, batch: Sequence[Prepared]
) -> list[Event | None]:
    """The event that each of the writes left, None for none. Raises psycopg's errors."""
    async with within(connection, tenant):
        await connection.execute(_LOCK, [tenant])
        return [await _find(connection, tenant, item) for item in batch]


async def _find(connection: Connection, tenant: int, item: Prepared) -> Event | None:
    write = item.write
    key_previous = 0 if write.operation == "create" else write.expected
    parameters: list[Any] = [
        tenant,
        *write.key,
        write.uid,
        OPERATIONS[write.operation].decode(),
        key_previous,
        item.stored.decode(),
    ]
    row = await (await connection.execute(_FIND, parameters)).fetchone()
    if row is None:
        return None
    version, previous = row
    return Event(
        EVENT_TYPES[write.operation],
        Record(write.key, write.uid, version, write.data),
        previous,
        key_previous,
    )
