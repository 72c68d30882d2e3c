"""The indexes of declared fields as a store: which objects may have a value at a path, and what is
still to be indexed.

They follow the log, as the search index does (`apiserver.storage.search`), each up to a version of
its own. What was written since, or since the state that somebody looks at, is read from the log,
so that a list of any state that is still there misses nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any, NamedTuple

from apiserver.meta.gvk import GroupResource
from apiserver.storage.call import BIGINT, TEXT, TEXTS, function
from apiserver.storage.interface import ObjectKey, Record, key_order
from apiserver.storage.pool import Connection, Database, query
from apiserver.storage.transform import Transformer

MOST_SINCE = 5_000
"""Entries of the tenant's log that are looked at beside an index."""
MOST = 20_000
"""Objects that one look into an index gives."""
_FORGOTTEN = 10_000
"""Entries that one transaction removes."""

_DECLARE = function(
    "pp_declare_fields", "api_group, resource, path, built", BIGINT, TEXTS, TEXTS, TEXTS
)
_FORGET = function("pp_forget_fields", "gone", BIGINT, BIGINT)
_INDEX = function("pp_index_field", "done", *(BIGINT,) * 4, *(TEXTS,) * 3)
_CANDIDATES = function(
    "pp_field_candidates",
    "place, name, cut",
    BIGINT,
    *(TEXT,) * 3,  # group, resource, path
    TEXTS,  # values
    *(TEXT,) * 3,  # place; the key above which to begin
    *(BIGINT,) * 3,  # at, most since, most
)
_DECLARED = """
SELECT id, api_group, resource, path, indexed FROM field_indexes WHERE tenant_id = %(tenant)s
ORDER BY api_group, resource, indexed, id
"""
_BEHIND = """
SELECT DISTINCT i.tenant_id FROM field_indexes i JOIN tenant_heads h ON h.tenant_id = i.tenant_id
WHERE i.indexed < h.head ORDER BY i.tenant_id LIMIT %s
"""
# The row without a name says up to which version there is nothing else: up to the last entry, or,
# where there are no more, up to the tenant's head in the same snapshot.
_WRITTEN = """
WITH next AS MATERIALIZED (
    SELECT resource_version, namespace, name,
        sum(size) OVER (ORDER BY resource_version) - size < %(bytes)s AS taken
    FROM (
        SELECT * FROM events WHERE tenant_id = %(tenant)s AND resource_version > %(after)s
            AND api_group = %(group)s AND resource = %(resource)s
        ORDER BY resource_version LIMIT %(limit)s
    ) n
)
SELECT n.resource_version, n.namespace, n.name, o.uid::text,
    CASE WHEN o.uid IS NOT NULL THEN (
        SELECT e.data FROM events e
        WHERE e.tenant_id = %(tenant)s AND e.resource_version = n.resource_version
    ) END
FROM next n LEFT JOIN objects o ON o.tenant_id = %(tenant)s AND o.api_group = %(group)s
    AND o.resource = %(resource)s AND o.namespace = n.namespace AND o.name = n.name
    AND o.resource_version = n.resource_version
WHERE n.taken
UNION ALL
SELECT CASE WHEN more THEN last ELSE (
        SELECT head FROM tenant_heads WHERE tenant_id = %(tenant)s
    ) END, CASE WHEN more THEN 'more' END, NULL, NULL, NULL
FROM (
    SELECT count(*) = %(limit)s OR bool_and(taken) IS FALSE AS more,
        max(resource_version) FILTER (WHERE taken) AS last
    FROM next
) s
"""


class Field(NamedTuple):
    """path: as a field selector names it, ``spec.nodeName``."""

    resource: GroupResource
    path: str


class Index(NamedTuple):
    """indexed: the version up to which it is true."""

    number: int
    field: Field
    indexed: int


class Written(NamedTuple):
    """The object as it is, or None where a later entry of the log has it, or nobody."""

    key: ObjectKey
    record: Record | None


class Batch(NamedTuple):
    """Entries of the log of one resource; through: the version up to which there are no others;
    more: there are above it."""

    through: int
    more: bool
    written: Sequence[Written]


@dataclass(frozen=True, slots=True)
class Candidates:
    """Objects, as `key_order` has them, of which alone a value may stand at a path. through: up to
    which of them that is said; None: of all."""

    keys: frozenset[tuple[str, str]]
    through: tuple[str, str] | None


class Fields:
    """Of one process. transformer: of its store, which knows how objects are kept."""

    def __init__(self, database: Database, transformer: Transformer) -> None:
        self._database, self._transformer = database, transformer

    async def declare(self, tenant: int, fields: Collection[Field]) -> frozenset[Field]:
        """Makes these the tenant's indexes, and no others; those that are true of all that had been
        written when they were declared."""
        groups = [f.resource.group.encode() for f in fields]
        resources = [f.resource.resource.encode() for f in fields]
        paths = [f.path.encode() for f in fields]
        rows = await self._database.read(
            lambda connection: _DECLARE.rows(connection, tenant, groups, resources, paths)
        )
        return frozenset(Field(GroupResource(g, r), path) for g, r, path, built in rows if built)

    async def forget(self, tenant: int) -> bool:
        """Removes some entries that belong to no index any more; whether there are more."""
        rows = await self._database.read(
            lambda connection: _FORGET.rows(connection, tenant, _FORGOTTEN)
        )
        return bool(rows[0][0] == _FORGOTTEN)

    # --- asking -----------------------------------------------------------------------------------
    async def candidates(
        self,
        tenant: int,
        field: Field,
        values: Sequence[str],
        *,
        namespace: str,
        at: int,
        after: tuple[str, str] | None,
    ) -> Candidates | None:
        """Objects behind the one with the namespace and name ``after`` at which one of the values
        may have stood at the version ``at``. None where the index does not know (yet)."""
        encoded = [value.encode() for value in values]
        begin = key_order(*after) if after is not None else ("", "")
        rows = await self._database.read(
            lambda connection: _CANDIDATES.rows(
                connection,
                tenant,
                *field.resource,
                field.path,
                encoded,
                f"{namespace}/",
                *begin,
                at,
                MOST_SINCE,
                MOST,
            )
        )
        if not rows:
            return None
        cut = next(((place, name) for place, name, is_cut in rows if is_cut), None)
        return Candidates(frozenset((place, name) for place, name, _ in rows[1:]), cut)

    # --- indexing ---------------------------------------------------------------------------------
    async def indexes(self, tenant: int) -> Sequence[Index]:
        """Those of one resource that stand at the same version are beside each other."""
        rows = await self._database.rows_within(tenant, _DECLARED, {"tenant": tenant})
        return [Index(i, Field(GroupResource(g, r), path), v) for i, g, r, path, v in rows]

    async def behind(self, limit: int) -> Sequence[int]:
        """Tenants with an index that is not true of all that they have written."""
        return [row[0] for row in await self._database.rows_everywhere(_BEHIND, [limit])]

    async def written(
        self, tenant: int, resource: GroupResource, after: int, *, limit: int, max_bytes: int
    ) -> Batch:
        """The next entries of the log about a resource: at most ``limit``, none after those that
        have ``max_bytes`` together."""
        group, name = resource
        asked = {"tenant": tenant, "after": after, "group": group, "resource": name}

        async def read(connection: Connection) -> Sequence[Any]:
            bounds = {"limit": limit, "bytes": max_bytes}
            return await query(connection, _WRITTEN, {**asked, **bounds})

        rows = await self._database.read_within(tenant, read)
        ((through, more, *_),) = [row for row in rows if row[2] is None]
        rows = sorted((row for row in rows if row[2] is not None), key=itemgetter(0))
        keys = [ObjectKey(group, name, row[1], row[2]) for row in rows]
        records = [self._record(tenant, key, row) for key, row in zip(keys, rows, strict=True)]
        # without a head, the tenant is gone
        return Batch(through or after, more is not None, list(map(Written, keys, records)))

    def _record(self, tenant: int, key: ObjectKey, row: Any) -> Record | None:
        version, _, _, uid, data = row
        if data is None:
            return None
        return Record(key, uid, version, self._transformer.decode(tenant, key, data))

    async def index(
        self,
        tenant: int,
        index: Index,
        through: int,
        values: Sequence[tuple[ObjectKey, str | None]],
    ) -> bool:
        """Makes the index true up to ``through``; False if somebody else has changed it, or it is
        gone. ``values``: of objects, each once; None where there is none, or no object."""
        places = [f"{key.namespace}/".encode() for key, _ in values]
        names = [key.name.encode() for key, _ in values]
        texts = [None if value is None else value.encode() for _, value in values]
        number, _, indexed = index
        rows = await self._database.read(
            lambda connection: _INDEX.rows(
                connection, tenant, number, indexed, through, places, names, texts
            )
        )
        return bool(rows[0][0])
