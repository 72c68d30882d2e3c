"""How many objects there are of each resource, without counting them: tallies that are kept behind
the log (sql/tally.sql), and what the log has above them.

An answer is exact, and of now; what it costs goes by how many resources there are and how much was
written in the last second or so, not by how many objects there are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from apiserver.meta.gvk import GroupResource
from apiserver.storage.call import BIGINT, TEXT, function
from apiserver.storage.pool import Database

BATCH = 20_000
"""Entries of the log that one transaction counts."""

_TALLY = function("pp_tally", "done", BIGINT, BIGINT)
_TALLIED = function("pp_tallied", "api_group, resource, whole, within", BIGINT, TEXT)
_BEHIND = """
SELECT h.tenant_id FROM tenant_heads h LEFT JOIN tally_heads t ON t.tenant_id = h.tenant_id
WHERE h.head > coalesce(t.through, 0) ORDER BY h.tenant_id LIMIT %s
"""


class Number(NamedTuple):
    """Objects of a resource. whole: in the tenant; within: in the namespace that was asked for, in
    the tenant where none was."""

    whole: int
    within: int


NONE = Number(0, 0)


class Tallies:
    """Of one process."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def of(self, tenant: int, namespace: str = "") -> Mapping[GroupResource, Number]:
        """By the names that objects are stored under; resources without objects may be missing.
        ``namespace``: "" for none. Raises Unavailable."""
        rows = await self._database.read(
            lambda connection: _TALLIED.rows(connection, tenant, namespace)
        )
        return {GroupResource(*row[:2]): Number(*row[2:]) for row in rows}

    async def follow(self, tenant: int, batches: int) -> bool:
        """Takes the tallies on by some batches of the log; whether its end was reached. Raises
        StorageError."""
        for _ in range(batches):
            rows = await self._database.read(
                lambda connection: _TALLY.rows(connection, tenant, BATCH)
            )
            if rows[0][0]:
                return True
        return False

    async def behind(self, limit: int) -> Sequence[int]:
        """Tenants whose tallies are not true of all that they have written."""
        return [row[0] for row in await self._database.rows_everywhere(_BEHIND, [limit])]
