"""The log looked at backwards: the versions of one object, what was written lately, which version
was the newest at a time, and the audit entries of versions.

Every read is bounded: by rows, by bytes of objects, and, where no index leads to the rows, by how
much of the log is looked through.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import orjson

from apiserver.storage.errors import Compacted, TenantGone
from apiserver.storage.interface import EventType, ObjectKey, Record, storable
from apiserver.storage.pool import Connection, Database, Row, query
from apiserver.storage.transform import Transformer

TYPES: dict[str, EventType] = {"A": "ADDED", "M": "MODIFIED", "D": "DELETED"}
WINDOW = 20_000
"""Entries of the log that one read looks through for those that are wanted."""

_COLUMNS = (
    "resource_version, type, api_group, resource, namespace, name, uid::text, key_previous, at"
)
_BOUNDED = """
SELECT {columns}, data, previous_there, s.type = 'D' AND EXISTS (
    SELECT 1 FROM objects o
    WHERE o.tenant_id = s.tenant_id AND o.api_group = s.api_group AND o.resource = s.resource
        AND o.namespace = s.namespace AND o.name = s.name
), bytes_before + size FROM (
    SELECT *, coalesce(sum(size) OVER (
        ORDER BY resource_version DESC ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
    ), 0) AS bytes_before,
    key_previous > 0 AND EXISTS (
        SELECT 1 FROM events p
        WHERE p.tenant_id = n.tenant_id AND p.resource_version = n.key_previous
    ) AS previous_there
    FROM (
        SELECT * FROM events WHERE tenant_id = %(tenant)s AND {where}
        ORDER BY resource_version DESC LIMIT %(limit)s
    ) n
) s WHERE bytes_before < %(bytes)s ORDER BY resource_version DESC
"""
_OF_KEY = """
    api_group = %(group)s AND resource = %(resource)s AND namespace = %(namespace)s
    AND name = %(name)s AND resource_version < %(before)s
"""
_LATEST = """
    resource_version < %(before)s AND resource_version >= %(through)s
    AND (api_group, resource) IN (SELECT * FROM unnest(%(groups)s::text[], %(resources)s::text[]))
    AND CASE WHEN %(namespace)s::text = '' THEN (namespace = '') = %(cluster)s
        ELSE namespace = %(namespace)s END
    AND %(type)s::text IN ('', type::text) AND %(name)s::text IN ('', name)
    AND %(uid)s::text IN ('', uid::text)
"""
_THROUGH = """
SELECT resource_version FROM events WHERE tenant_id = %(tenant)s AND resource_version < %(before)s
ORDER BY resource_version DESC OFFSET %(window)s - 1 LIMIT 1
"""
_ONE = "resource_version = ANY(%(versions)s)"
_EDGES = """
SELECT h.head, h.floor, (
    SELECT max(e.at) FROM events e WHERE e.tenant_id = h.tenant_id AND e.resource_version = h.floor
) FROM tenant_heads h WHERE h.tenant_id = %(tenant)s
"""
BEGINS = """
coalesce((
    SELECT e.at FROM events e WHERE e.tenant_id = h.tenant_id AND e.resource_version = h.floor
), (
    SELECT e.at FROM events e WHERE e.tenant_id = h.tenant_id AND e.resource_version > h.floor
    ORDER BY e.resource_version LIMIT 1
))
"""
"""The earliest time as of which a tenant's state can be read, NULL where nothing of its log is
left. h: its row of tenant_heads."""
_REACH = f"""
SELECT h.floor, h.head, h.retention, {BEGINS}
FROM tenant_heads h WHERE h.tenant_id = %(tenant)s
"""  # noqa: S608  constants
_AT = """
SELECT resource_version, at FROM events
WHERE tenant_id = %(tenant)s AND resource_version >= %(from)s ORDER BY resource_version LIMIT 1
"""
_ENTRIES = """
SELECT resource_version, data FROM audit_entries
WHERE tenant_id = %(tenant)s AND at BETWEEN %(first)s AND %(last)s
    AND at = ANY(%(times)s) AND resource_version = ANY(%(versions)s)
"""


@dataclass(frozen=True, slots=True)
class Version:
    """One retained entry of the log. previous: the version that it replaced, 0 for an object that
    was new; has_previous: whether that one is retained. The record of a DELETED one is the last
    state."""

    type: EventType
    record: Record
    previous: int
    at: datetime
    has_previous: bool
    present: bool

    @property
    def number(self) -> int:
        return self.record.resource_version

    @property
    def is_oldest(self) -> bool:
        """Whether there was something before it that is no longer there."""
        return self.previous > 0 and not self.has_previous


@dataclass(frozen=True, slots=True)
class Reach:
    """How far the log reaches back. oldest, newest: the versions whose states can be read, and all
    between; begins: the earliest time as of which they can be, None where nothing of the log is
    left; retention: for how long it is kept, None for the default."""

    oldest: int
    newest: int
    begins: datetime | None
    retention: timedelta | None


class History:
    """Of one process. transformer: of its store, which knows how objects are kept."""

    def __init__(self, database: Database, transformer: Transformer) -> None:
        self._database, self._transformer = database, transformer

    async def get(
        self, tenant: int, versions: Sequence[int], *, max_bytes: int = 2**62
    ) -> Sequence[Version]:
        """Those of them that are retained, the newest first, none after those that have
        ``max_bytes`` together."""
        asked = {"versions": list(versions), "limit": len(versions), "bytes": max_bytes}
        return (await self._versions(tenant, _ONE, asked))[0]

    async def of_key(
        self, tenant: int, key: ObjectKey, *, before: int, limit: int, max_bytes: int
    ) -> tuple[Sequence[Version], int]:
        """The versions of one object (of all that had its name) below ``before``, the newest first:
        at most ``limit``, none after those that have ``max_bytes`` together. And below which one to
        go on, 0 at the end."""
        names = {part: storable(name) for part, name in key._asdict().items()}
        asked = {**names, "before": before, "limit": limit, "bytes": max_bytes}
        versions, cut = await self._versions(tenant, _OF_KEY, asked)
        return versions, versions[-1].number if cut else 0

    async def latest(
        self,
        tenant: int,
        kinds: Sequence[tuple[str, str]],
        namespace: str,
        *,
        cluster: bool,
        before: int,
        limit: int,
        max_bytes: int,
        type_: str = "",
        name: str = "",
        uid: str = "",
    ) -> tuple[Sequence[Version], int]:
        """What was written of ``kinds`` (group, resource) within the `WINDOW` below ``before``, as
        `of_key`. namespace "": of all namespaces, or with ``cluster`` what is in none. type_ (an
        EventType), name, uid: of these only, unless empty."""
        window = {"tenant": tenant, "before": before, "window": WINDOW}
        rows = await self._database.rows_within(tenant, _THROUGH, window)
        through = rows[0][0] if rows else 0
        asked = {
            "groups": [storable(group) for group, _ in kinds],
            "resources": [storable(resource) for _, resource in kinds],
            "namespace": storable(namespace),
            "cluster": cluster,
            "type": type_[:1],
            "name": storable(name),
            "uid": storable(uid),
            "before": before,
            "through": through,
            "limit": limit,
            "bytes": max_bytes,
        }
        versions, cut = await self._versions(tenant, _LATEST, asked)
        return versions, versions[-1].number if cut else through

    async def _versions(
        self, tenant: int, where: str, asked: dict[str, Any]
    ) -> tuple[Sequence[Version], bool]:
        """And whether there may be more."""
        statement = _BOUNDED.format(columns=_COLUMNS, where=where)
        rows = await self._database.rows_within(tenant, statement, asked | {"tenant": tenant})
        cut = bool(rows) and (len(rows) >= asked["limit"] or rows[-1][-1] >= asked["bytes"])
        return [self._version(tenant, row) for row in rows], cut

    def _version(self, tenant: int, row: Row) -> Version:
        number, kind, group, resource, namespace, name, uid, previous, at, data, *flags, _ = row
        key = ObjectKey(group, resource, namespace, name)
        record = Record(key, uid, number, self._transformer.decode(tenant, key, data))
        return Version(TYPES[kind], record, previous, at, *flags)

    async def reach(self, tenant: int) -> Reach:
        """Raises TenantGone."""
        rows = await self._database.rows_within(tenant, _REACH, {"tenant": tenant})
        if not rows:
            raise TenantGone(f"tenant {tenant} is gone")
        floor, head, retention, begins = rows[0]
        return Reach(floor, head, begins, retention)

    async def at(self, tenant: int, moment: datetime) -> int:
        """Which version was the newest at that time. Binary search: the log is in the order of
        time. Raises Compacted for a time before the retained past, TenantGone."""

        async def search(connection: Connection) -> int:
            rows = await query(connection, _EDGES, {"tenant": tenant})
            if not rows:
                raise TenantGone(f"tenant {tenant} is gone")
            head, floor, floor_at = rows[0]
            newest, low, high = 0, floor + 1, head
            while low <= high:
                middle = (low + high) // 2
                next_ = await query(connection, _AT, {"tenant": tenant, "from": middle})
                if next_ and next_[0][1] <= moment:
                    newest, low = next_[0][0], next_[0][0] + 1
                else:
                    high = middle - 1
            if not newest and (floor_at is None or floor_at > moment):
                raise Compacted(floor)
            return int(newest or floor)

        return await self._database.read_within(tenant, search)

    async def entries(self, tenant: int, versions: Sequence[Version]) -> dict[int, dict[str, Any]]:
        """The audit entries of versions, by their numbers; those that are not kept are left
        out."""
        times = [version.at for version in versions]
        if not times:
            return {}
        asked = {
            "tenant": tenant,
            "first": min(times),
            "last": max(times),
            "times": times,
            "versions": [version.number for version in versions],
        }
        rows = await self._database.rows_within(tenant, _ENTRIES, asked)
        return {number: orjson.loads(data) for number, data in rows}
