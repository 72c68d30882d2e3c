"""The SQL of the readers. One statement is one snapshot: head, floor and rows of an answer belong
together.

State at a past version A needs no scan of the log: it is the objects that did not change since
(resource_version <= A), and of those that did, what their first event after A replaced (that
event's key_previous, when it is not above A). Compaction keeps all of these rows for every A at or
above the floor.
"""

from __future__ import annotations

from functools import cache

from apiserver.storage.call import BIGINT, BOOLEAN, TEXT, function

HEAD = "SELECT head, floor FROM tenant_heads WHERE tenant_id = %(tenant)s"

GET = function("pp_get", "uid, resource_version, data", BIGINT, *(TEXT,) * 4)

# Of the events that are not of the resource only the last comes, and such whose predecessor is
# missing.
EVENTS = function(
    "pp_events",
    "floor, resource_version, previous, prior, matched, type, "
    "api_group, resource, namespace, name, uid, data, key_previous, old",
    *(BIGINT,) * 4,  # tenant, after, limit, bytes
    *(TEXT,) * 2,  # group, resource
    BOOLEAN,  # with_old
)

TYPE_AT = "SELECT type FROM events WHERE tenant_id = %(tenant)s AND resource_version = %(version)s"
DEPENDENT_PLACES = """
SELECT DISTINCT o.api_group, o.resource, o.namespace
FROM pp_dependents(%(tenant)s, ARRAY[%(uid)s]::text[]) d
JOIN objects o ON o.tenant_id = %(tenant)s AND o.uid = d.uid::uuid
ORDER BY 1, 2, 3 LIMIT %(limit)s
"""

DEPENDENTS = """
SELECT o.api_group, o.resource, o.namespace, o.name, o.uid::text, o.resource_version, e.data
FROM pp_dependents(%(tenant)s, ARRAY[%(uid)s]::text[]) d
JOIN objects o ON o.tenant_id = %(tenant)s AND o.uid = d.uid::uuid
JOIN events e ON e.tenant_id = o.tenant_id AND e.resource_version = o.resource_version
WHERE (o.api_group, o.resource, o.namespace) IN (
    SELECT * FROM unnest(%(groups)s::text[], %(resources)s::text[], %(namespaces)s::text[])
)
ORDER BY 1, 2, 3, 4 LIMIT %(limit)s
"""

BY_UID = """
SELECT o.api_group, o.resource, o.namespace, o.name, o.uid::text, o.resource_version, e.data
FROM objects o
JOIN events e ON e.tenant_id = o.tenant_id AND e.resource_version = o.resource_version
WHERE o.tenant_id = %(tenant)s AND o.uid = ANY(%(uids)s::uuid[])
"""

# The text of each row, by its version. A subquery, because a planner without fresh statistics likes
# to hash all of a tenant's events; outside the sort (OFFSET 0 keeps it there), because sorting the
# texts too would spill to disk.
_DATA = (
    "(SELECT e.data FROM events e WHERE e.tenant_id = %(tenant)s AND e.resource_version "
    "= {version})"
)

_SNAPSHOT = """
DECLARE snapshot NO SCROLL CURSOR FOR SELECT namespace, name, uid, resource_version, {data} FROM (
    SELECT namespace, name, uid::text, resource_version FROM objects
    WHERE tenant_id = %(tenant)s AND api_group = %(group)s AND resource = %(resource)s
    ORDER BY namespace || '/' COLLATE "C", name OFFSET 0
) r
"""
SNAPSHOT = _SNAPSHOT.format(data=_DATA.format(version="r.resource_version"))
SNAPSHOT_BATCH = 500
SNAPSHOT_NEXT = f"FETCH FORWARD {SNAPSHOT_BATCH} FROM snapshot"

_NOW = """
SELECT o.namespace, o.name, o.uid, o.resource_version FROM objects o
WHERE o.tenant_id = %(tenant)s AND o.api_group = %(group)s AND o.resource = %(resource)s {within}
"""

_PAST = """
SELECT o.namespace, o.name, o.uid, o.resource_version FROM objects o
WHERE o.tenant_id = %(tenant)s AND o.api_group = %(group)s AND o.resource = %(resource)s
    AND o.resource_version <= %(at)s {within}
UNION ALL
SELECT e.namespace, e.name, e.uid, e.key_previous FROM events e
WHERE e.tenant_id = %(tenant)s AND e.resource_version > %(at)s
    AND e.api_group = %(group)s AND e.resource = %(resource)s
    AND e.key_previous BETWEEN 1 AND %(at)s {within}
"""

_LIST = """
WITH live (namespace, name, uid, resource_version) AS ({live}), page AS (
    SELECT *, count(*) OVER () AS keys FROM live {after}
    ORDER BY namespace || '/' COLLATE "C", name {limit}
)
SELECT r.*, {data} FROM (
    SELECT h.head, h.floor, p.keys, p.namespace, p.name, p.uid::text, p.resource_version
    FROM tenant_heads h LEFT JOIN page p ON true
    WHERE h.tenant_id = %(tenant)s ORDER BY p.namespace || '/' COLLATE "C", p.name OFFSET 0
) r
"""

_AFTER = """
    WHERE (namespace || '/' COLLATE "C", name)
        > (%(after_namespace)s || '/' COLLATE "C", %(after_name)s)
"""


@cache
def list_statement(*, past: bool, namespaced: bool, after: bool, limited: bool) -> str:
    """Columns: head, floor, number of keys from here on, then namespace to data of each record
    (NULL when there is none)."""
    live = (_PAST if past else _NOW).format(
        within="AND namespace = %(namespace)s" if namespaced else ""
    )
    return _LIST.format(
        live=live,
        after=_AFTER if after else "",
        limit="LIMIT %(limit)s" if limited else "",
        data=_DATA.format(version="r.resource_version"),
    )


# What `list_statement` gives for the first page of now, without a look at each key: how many there
# are say the tallies (tally.sql).
FIRST = """
SELECT r.head, r.floor, r.keys, r.namespace, r.name, r.uid, r.resource_version,
    (SELECT e.data FROM events e WHERE e.tenant_id = %(tenant)s
        AND e.resource_version = r.resource_version)
FROM (
    SELECT h.head, h.floor, (
        SELECT t.within FROM pp_tallied(%(tenant)s, %(namespace)s) t
        WHERE t.api_group = %(group)s AND t.resource = %(resource)s
    ) AS keys, p.number, p.namespace, p.name, p.uid::text, p.resource_version
    FROM tenant_heads h
    LEFT JOIN pp_first(%(tenant)s, %(group)s, %(resource)s, %(namespace)s, %(limit)s) p ON true
    WHERE h.tenant_id = %(tenant)s ORDER BY p.number OFFSET 0
) r
"""

DATABASE_SIZE = "SELECT pg_database_size(current_database())"
COUNTS = "SELECT api_group, resource, count(*) FROM objects GROUP BY api_group, resource"
COUNTS_OF_TENANT = """
SELECT api_group, resource, count(*) FROM objects WHERE tenant_id = %(tenant)s
GROUP BY api_group, resource
"""
