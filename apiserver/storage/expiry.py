"""Which Events are older than their time to live.

Etcd ends them by leases, renewed by each write; here the log says when an object was written last.
It is in the order of time, so what is due lies at its beginning: whoever remembers how far he has
been reads each entry once. A partial index holds the entries of Events alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import takewhile
from typing import NamedTuple

from apiserver.storage.pool import Database

# S608 below: what is filled in are constants
_OF_EVENTS = "api_group = '' AND resource = 'events' AND type <> 'D'"
_DUE = f"""
SELECT h.tenant_id FROM tenant_heads h
LEFT JOIN unnest(%s::bigint[], %s::bigint[]) AS seen (tenant, version) ON seen.tenant = h.tenant_id
CROSS JOIN LATERAL (
    SELECT at FROM events
    WHERE tenant_id = h.tenant_id AND {_OF_EVENTS} AND resource_version > coalesce(version, 0)
    ORDER BY resource_version LIMIT 1
) AS oldest
WHERE oldest.at <= now() - make_interval(secs => %s)
ORDER BY h.tenant_id
"""  # noqa: S608
# The page first: the entries that are not due need not be looked at.
_PAGE = f"""
WITH page AS MATERIALIZED (
    SELECT * FROM events
    WHERE tenant_id = %(tenant)s AND {_OF_EVENTS} AND resource_version > %(after)s
    ORDER BY resource_version LIMIT %(limit)s
)
SELECT e.resource_version, e.uid::text, e.size, EXISTS (
    SELECT 1 FROM objects o
    WHERE o.tenant_id = %(tenant)s AND o.api_group = e.api_group AND o.resource = e.resource
        AND o.namespace = e.namespace AND o.name = e.name
        AND o.resource_version = e.resource_version
), e.at <= now() - make_interval(secs => %(ttl)s)
FROM page e ORDER BY e.resource_version
"""  # noqa: S608


class Entry(NamedTuple):
    """One write of an Event. latest: the object is as this write left it; size: its bytes."""

    resource_version: int
    uid: str
    size: int
    latest: bool


async def due(database: Database, seen: Mapping[int, int], ttl: float) -> Sequence[int]:
    """The tenants that have Events to end. seen: up to which version somebody has looked, by
    tenant; ttl: seconds. Raises Unavailable."""
    parameters = [list(seen), list(seen.values()), ttl]
    return [row[0] for row in await database.rows_everywhere(_DUE, parameters)]


async def entries(
    database: Database, tenant: int, after: int, ttl: float, limit: int
) -> Sequence[Entry]:
    """The next ``limit`` writes of Events above the version ``after`` that are older than ``ttl``
    seconds. Raises Unavailable."""
    parameters = {"tenant": tenant, "after": after, "ttl": ttl, "limit": limit}
    rows = await database.rows_within(tenant, _PAGE, parameters)
    return [Entry(*row[:4]) for row in takewhile(lambda row: bool(row[4]), rows)]
