"""The search index as a store: which objects may have certain words, what was written since the
index was made, and what is still to be indexed.

The index (sql/search.sql) follows the log, so that commits need not know of it. It says up to which
version it is true (`Found.indexed`); what was written above that is read from the log. Both
together miss nothing: an object that was not written since has its words in the index.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

import psycopg

from apiserver.meta.gvk import GroupResource
from apiserver.storage.call import BIGINT, TEXT, TEXTS, function
from apiserver.storage.interface import ObjectKey, Record
from apiserver.storage.pool import Connection, Database, Places, Row, query
from apiserver.storage.transform import Transformer
from apiserver.storage.visibility import within

MOST_SINCE = 2_000
"""Entries of the log above the index that a search looks at."""
WALK = 10_000
"""Entries of the index that are looked through before GIN is asked (sql/search.sql)."""
MOST_GATHERED = 250_000
"""Entries that GIN may gather, which all have to be sorted; where there are more, entry by entry is
gone through."""
AT_ONCE = 2
"""Searches of one tenant in one process: the others wait for their turn."""
_SECONDS = 4
"""For one statement."""
BEGINNING = ("", "", "", "")

_SEARCH = function(
    "pp_search",
    "api_group, resource, namespace, name",
    BIGINT,
    TEXT,  # query
    *(TEXTS,) * 6,  # whole resources; resources in namespaces; the key above which to begin
    *(BIGINT,) * 3,  # limit, walk, most that is gathered
    TEXT,  # an easier query
)
_INDEX = function("pp_index_entries", "done", *(BIGINT,) * 3, *(TEXTS,) * 6)

_KINDS = function("pp_kinds", "api_group, resource", BIGINT)
_SPACES = function("pp_places", "api_group, resource, namespace", BIGINT, TEXTS, TEXTS, BIGINT)

_HEAD = """
SELECT coalesce((SELECT indexed FROM search_heads WHERE tenant_id = %(tenant)s), 0)
"""
_PLACES = """(
    (o.api_group, o.resource) IN (SELECT * FROM unnest(%(groups)s::text[], %(resources)s::text[]))
    OR (o.api_group, o.resource, o.namespace) IN (
        SELECT * FROM unnest(
            %(place_groups)s::text[], %(place_resources)s::text[], %(place_namespaces)s::text[]
        )
    )
)"""
# Both read no more than so many bytes of objects, one object at least.
_BOUNDED = """
SELECT api_group, resource, namespace, name, uid, resource_version, CASE WHEN before < %(bytes)s
    THEN (
        SELECT e.data FROM events e
        WHERE e.tenant_id = %(tenant)s AND e.resource_version = s.resource_version
    ) END
FROM (
    SELECT o.api_group, o.resource, o.namespace, o.name, o.uid::text, o.resource_version,
        sum(o.size) OVER (ORDER BY {order}) - o.size AS before
    FROM {source}
) s ORDER BY api_group, resource, namespace, name
"""
_KEY = "o.api_group, o.resource, o.namespace, o.name"
_SINCE = _BOUNDED.format(
    order=_KEY,
    source=f"""(
        SELECT * FROM events WHERE tenant_id = %(tenant)s AND resource_version > %(indexed)s
        ORDER BY resource_version LIMIT %(most)s
    ) w JOIN objects o ON o.tenant_id = w.tenant_id AND o.api_group = w.api_group
        AND o.resource = w.resource AND o.namespace = w.namespace AND o.name = w.name
        AND o.resource_version = w.resource_version
    WHERE ({_KEY}) > (%(after_group)s, %(after_resource)s, %(after_namespace)s, %(after_name)s)
        AND {_PLACES}""",  # noqa: S608  constants
)
_BEHIND_BY = """
SELECT count(*) FROM (
    SELECT 1 FROM events WHERE tenant_id = %(tenant)s AND resource_version > %(indexed)s
    LIMIT %(most)s + 1
) w
"""
_NAMED = _BOUNDED.format(
    order=_KEY,
    source="""unnest(
        %(g)s::text[], %(r)s::text[], %(ns)s::text[], %(n)s::text[]
    ) AS k (g, r, ns, n) JOIN objects o ON o.tenant_id = %(tenant)s
        AND o.api_group = k.g AND o.resource = k.r AND o.namespace = k.ns AND o.name = k.n""",
)
_WRITTEN = """
SELECT w.resource_version, w.api_group, w.resource, w.namespace, w.name, o.uid::text,
    CASE WHEN o.uid IS NOT NULL THEN w.data END, w.before + w.size
FROM (
    SELECT *, sum(size) OVER (ORDER BY resource_version) - size AS before FROM (
        SELECT * FROM events WHERE tenant_id = %(tenant)s AND resource_version > %(indexed)s
        ORDER BY resource_version LIMIT %(limit)s
    ) n
) w LEFT JOIN objects o ON o.tenant_id = w.tenant_id AND o.api_group = w.api_group
    AND o.resource = w.resource AND o.namespace = w.namespace AND o.name = w.name
    AND o.resource_version = w.resource_version
WHERE w.before < %(bytes)s ORDER BY w.resource_version
"""
_BEHIND = """
SELECT h.tenant_id FROM tenant_heads h LEFT JOIN search_heads s ON s.tenant_id = h.tenant_id
WHERE h.head > coalesce(s.indexed, 0) AND EXISTS (
    SELECT 1 FROM events e
    WHERE e.tenant_id = h.tenant_id AND e.resource_version > coalesce(s.indexed, 0)
) ORDER BY h.tenant_id LIMIT %s
"""


class Where(NamedTuple):
    """Where a search looks: in whole resources, and in resources in namespaces. everything: that is
    all that the tenant stores."""

    whole: Sequence[GroupResource]
    places: Sequence[tuple[GroupResource, str]]
    everything: bool = False

    @property
    def beginning(self) -> tuple[str, str, str, str]:
        """A key below those of all objects there."""
        if self.whole or not self.places:
            return BEGINNING
        resource, namespace = min(self.places)
        return *resource, namespace, ""

    @property
    def nowhere(self) -> bool:
        return not self.whole and not self.places


class Words(NamedTuple):
    """What is looked for, as tsqueries. easy: one that finds no less than ``exact``, and sooner in
    an index; broad: an index has too much to do to find either."""

    exact: str
    easy: str | None = None
    broad: bool = False


@dataclass(frozen=True, slots=True)
class Found:
    """Objects that may have the words, in the order of their keys. through: the key up to which all
    such objects are among them; None: all. behind: more was written since the index was made than
    is looked at, so that some may be missing."""

    records: Sequence[Record]
    through: ObjectKey | None
    behind: bool


class Written(NamedTuple):
    """What an entry of the log leaves for the index: the object as it is, or None where a later
    entry has it, or nobody."""

    version: int
    key: ObjectKey
    record: Record | None


class Entry(NamedTuple):
    """What the index is to have of an object. terms: separated by spaces, None where the object may
    be gone; ends: when the first certificate in a Secret for TLS does, None for all else."""

    key: ObjectKey
    terms: str | None
    ends: datetime | None = None


class Search:
    """Of one process. transformer: of its store, which knows how objects are kept."""

    def __init__(self, database: Database, transformer: Transformer) -> None:
        self._database, self._transformer = database, transformer
        self._turns = Places(AT_ONCE)

    # --- what there is ----------------------------------------------------------------------------
    async def kinds(self, tenant: int) -> Sequence[GroupResource]:
        """The resources that the tenant has objects of, by their keys."""
        rows = await self._database.read(lambda connection: _KINDS.rows(connection, tenant))
        return [GroupResource(*row) for row in rows]

    async def namespaces(
        self, tenant: int, resources: Sequence[GroupResource], limit: int
    ) -> Sequence[tuple[GroupResource, str]]:
        """The namespaces that hold objects of these resources, ``limit`` of them in all."""
        groups, names = ([part.encode() for part in column] for column in _columns(resources, 2))
        rows = await self._database.read(
            lambda connection: _SPACES.rows(connection, tenant, groups, names, limit)
        )
        return [(GroupResource(group, resource), place) for group, resource, place in rows]

    # --- searching --------------------------------------------------------------------------------
    async def find(
        self,
        tenant: int,
        words: Words | None,
        where: Where,
        after: tuple[str, str, str, str],
        *,
        limit: int,
        max_bytes: int,
    ) -> Found | None:
        """The next ``limit`` objects above the key ``after`` that may have the words (None: all
        have), no more than some ``max_bytes`` of them; None if that took too long."""
        await self._turns.take(tenant)
        try:
            return await self._database.read(
                lambda connection: self._find(
                    connection, tenant, words, where, after, limit, max_bytes
                )
            )
        finally:
            self._turns.give_back(tenant)

    async def _find(
        self,
        connection: Connection,
        tenant: int,
        words: Words | None,
        where: Where,
        after: tuple[str, str, str, str],
        limit: int,
        max_bytes: int,
    ) -> Found | None:
        after = max(after, where.beginning)
        exact, easy, broad = words or (None, None, True)
        asked = {**_places(where), **_after(after), "tenant": tenant, "bytes": max_bytes}
        try:
            async with within(connection, tenant):
                await connection.execute(f"SET LOCAL statement_timeout = '{_SECONDS}s'")
                # The head first: what is indexed afterwards is then found twice, and never missed.
                ((asked["indexed"],),) = await query(connection, _HEAD, asked)
                asked["most"] = MOST_SINCE
                ((written,),) = await query(connection, _BEHIND_BY, asked)
                since = await query(connection, _SINCE, asked) if written else []
                walk, most = None if broad else WALK, MOST_GATHERED
                keys = await _SEARCH.rows(
                    connection, tenant, exact, *_encoded(asked, after), limit, walk, most, easy
                )
                asked |= zip(("g", "r", "ns", "n"), _columns(keys), strict=True)
                named = await query(connection, _NAMED, asked) if keys else []
        except psycopg.errors.QueryCanceled:
            return None
        through = ObjectKey(*keys[-1]) if len(keys) == limit else None
        return self._merged(tenant, [*since, *named], through, written > MOST_SINCE)

    def _merged(
        self, tenant: int, rows: Sequence[Row], through: ObjectKey | None, behind: bool
    ) -> Found:
        """Rows without a text were too much for one answer: it ends before the first of them, and
        has one object at least."""
        by_key: dict[ObjectKey, Row] = {}
        for row in rows:
            if row[6] is not None or row[:4] not in by_key:
                by_key[ObjectKey(*row[:4])] = row
        records: list[Record] = []
        last: ObjectKey | None = None
        for key in sorted(by_key):
            if through is not None and key > through:
                break
            uid, version, data = by_key[key][4:7]
            if data is None:
                return Found(records, last, behind)
            records.append(Record(key, uid, version, self._transformer.decode(tenant, key, data)))
            last = key
        return Found(records, through, behind)

    # --- indexing ---------------------------------------------------------------------------------
    async def behind(self, limit: int) -> Sequence[int]:
        """Tenants whose index is not true of all that they have written."""
        return [row[0] for row in await self._database.rows_everywhere(_BEHIND, [limit])]

    async def written(
        self, tenant: int, *, limit: int, max_bytes: int
    ) -> tuple[int, Sequence[Written]]:
        """Up to which version the index is true, and the next entries of the log: at most
        ``limit``, none after those that have ``max_bytes`` together."""

        async def read(connection: Connection) -> tuple[int, Sequence[Row]]:
            asked: dict[str, Any] = {"tenant": tenant, "limit": limit, "bytes": max_bytes}
            ((asked["indexed"],),) = await query(connection, _HEAD, asked)
            return asked["indexed"], await query(connection, _WRITTEN, asked)

        indexed, rows = await self._database.read_within(tenant, read)
        return indexed, [self._written(tenant, row) for row in rows]

    def _written(self, tenant: int, row: Row) -> Written:
        version, key, uid, data = row[0], ObjectKey(*row[1:5]), row[5], row[6]
        if data is None:
            return Written(version, key, None)
        text = self._transformer.decode(tenant, key, data)
        return Written(version, key, Record(key, uid, version, text))

    async def index(self, tenant: int, after: int, through: int, entries: Sequence[Entry]) -> bool:
        """Makes the index, which is true up to ``after``, true up to ``through``; False if somebody
        else has changed it, or the tenant is gone. ``entries``: of each object one."""
        columns = _columns([entry.key for entry in entries])
        terms = [None if e.terms is None else e.terms.encode() for e in entries]
        ends = [None if e.ends is None else e.ends.isoformat().encode() for e in entries]
        encoded = [[part.encode() for part in column] for column in columns]
        rows = await self._database.read(
            lambda connection: _INDEX.rows(
                connection, tenant, after, through, *encoded, terms, ends
            )
        )
        return bool(rows[0][0])


def _columns(keys: Sequence[tuple[str, ...]], parts: int = 4) -> Sequence[list[str]]:
    return [list(column) for column in zip(*keys, strict=True)] or [[] for _ in range(parts)]


def _places(where: Where) -> dict[str, Any]:
    return {
        "groups": [resource.group for resource in where.whole],
        "resources": [resource.resource for resource in where.whole],
        "place_groups": [resource.group for resource, _ in where.places],
        "place_resources": [resource.resource for resource, _ in where.places],
        "place_namespaces": [namespace for _, namespace in where.places],
    }


def _after(after: tuple[str, str, str, str]) -> dict[str, Any]:
    names = ("after_group", "after_resource", "after_namespace", "after_name")
    return dict(zip(names, after, strict=True))


def _encoded(asked: dict[str, Any], after: tuple[str, str, str, str]) -> list[list[bytes]]:
    names = ("groups", "resources", "place_groups", "place_resources", "place_namespaces")
    return [[part.encode() for part in values] for values in (*map(asked.get, names), after)]  # type: ignore[union-attr]
