"""Questions across resources that controllers ask: who depends on an object, what a namespace
holds, what waits for deletion.

SQL over the columns that `Write` fills (owner_uids, finalizers, deleting); everything is keyed by
tenant.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

import orjson

from apiserver.meta.gvk import GroupResource
from apiserver.storage.interface import ObjectKey
from apiserver.storage.pool import Connection, Database, Row, query

_FOREGROUND = "foregroundDeletion"
_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_OWNERS_AT_ONCE = 5000

_COLUMNS = "tenant_id, api_group, resource, namespace, name, uid::text"
_DEPENDENTS = "SELECT uid, deleting FROM pp_dependents(%s, %s::text[])"
# S608 below: what is filled in are the constants above
_BELOW = f"""
SELECT bool_or(deleting AND '{_FOREGROUND}' = ANY(finalizers)) FROM pp_dependents(%s, %s::text[])
"""  # noqa: S608
_IN_NAMESPACE = f"""
SELECT {_COLUMNS} FROM objects
WHERE tenant_id = %(tenant)s AND namespace = %(namespace)s
    AND (%(any)s OR (api_group = %(group)s AND resource = %(resource)s))
    AND (api_group, resource, name) > (%(after_group)s, %(after_resource)s, %(after_name)s)
ORDER BY api_group, resource, name LIMIT %(limit)s
"""  # noqa: S608
_LEFT = """
SELECT api_group, resource, finalizers, count(*) FROM objects
WHERE tenant_id = %s AND namespace = %s GROUP BY api_group, resource, finalizers
ORDER BY api_group, resource, finalizers LIMIT 1000
"""
_OWNERS = f"""
SELECT api_group, resource, namespace, name, uid::text,
    deleting AND '{_FOREGROUND}' = ANY(finalizers)
FROM objects WHERE tenant_id = %s AND uid = ANY(%s::uuid[])
"""  # noqa: S608
_WAITING = f"""
SELECT {_COLUMNS} FROM objects WHERE deleting AND (
    (api_group = '' AND resource = 'namespaces')
    OR (api_group = 'apiextensions.k8s.io' AND resource = 'customresourcedefinitions')
    OR finalizers && ARRAY['orphan', '{_FOREGROUND}']::text[]
) AND (tenant_id, uid) > (%s, %s::uuid) ORDER BY tenant_id, uid LIMIT %s
"""  # noqa: S608
# Objects with a living owner first, by hashing: to compare each object with each list of owners
# takes minutes where there are many. An owner in another namespace is none.
_ORPHANED = f"""
WITH reference AS MATERIALIZED (
    SELECT tenant_id AS tenant, namespace AS place, uid AS dependent, unnest(owner_uids) AS owner
    FROM objects WHERE owner_uids <> '{{}}'
), held AS MATERIALIZED (
    SELECT DISTINCT tenant, dependent FROM reference
    JOIN objects ON tenant_id = tenant AND uid::text = owner AND namespace IN ('', place)
)
SELECT {_COLUMNS} FROM objects
WHERE owner_uids <> '{{}}' AND NOT deleting AND created_at < now() - interval '1 minute'
    AND (api_group, resource) <> ('', 'events')
    AND NOT EXISTS (SELECT 1 FROM held WHERE tenant = tenant_id AND dependent = uid)
    AND (tenant_id, uid) > (%s, %s::uuid) ORDER BY tenant_id, uid LIMIT %s
"""  # noqa: S608

# Within a minute of the mark: the index is by time.
_DELETED_BY = """
SELECT user_name, data->'impersonatedUser'->>'username' FROM audit_entries
WHERE tenant_id = %s AND at BETWEEN %s::timestamptz - interval '1 second' AND
    %s::timestamptz + interval '1 minute' AND resource_version > 0
    AND api_group = %s AND resource = %s AND namespace = %s AND name = %s
    AND verb IN ('delete', 'deletecollection')
ORDER BY at LIMIT 1
"""
_WITHOUT = """
SELECT name FROM objects space
WHERE tenant_id = %s AND api_group = '' AND resource = 'namespaces' AND NOT deleting
    AND NOT EXISTS (
        SELECT 1 FROM objects WHERE tenant_id = %s AND api_group = %s AND resource = %s
            AND namespace = space.name AND name = %s
    )
LIMIT 1000
"""
_OTHER = """
SELECT space.name FROM objects space JOIN objects o ON o.tenant_id = space.tenant_id
    AND o.api_group = %s AND o.resource = %s
    AND o.namespace = space.name AND o.name = %s
WHERE space.tenant_id = %s AND space.api_group = '' AND space.resource = 'namespaces'
    AND space.namespace = '' AND space.name > %s AND NOT space.deleting
    AND o.data -> 'data' IS DISTINCT FROM %s::jsonb
ORDER BY space.name LIMIT 1000
"""
_WITH = """
SELECT DISTINCT namespace FROM objects WHERE tenant_id = %s AND api_group = %s AND resource = %s
LIMIT 1000
"""
_STATE = """
SELECT count(*), coalesce(max(resource_version), 0) FROM objects
WHERE tenant_id = %s AND api_group = %s AND resource = %s
"""
_PRESENT = """
SELECT name FROM objects WHERE tenant_id = %s AND api_group = %s AND resource = %s
    AND namespace = '' AND name = ANY(%s)
"""

# The keys are few and in the order of the primary key, or of the log's index by keys.
_NAMED = """
SELECT o.api_group, o.resource, o.namespace, o.name, o.uid::text, o.size
FROM unnest(%s::text[], %s::text[], %s::text[], %s::text[]) AS k (g, r, ns, n)
JOIN objects o ON o.tenant_id = %s
    AND o.api_group = k.g AND o.resource = k.r AND o.namespace = k.ns AND o.name = k.n
"""
_WRITTEN = """
SELECT k.g, k.r, k.ns, k.n
FROM unnest(%s::text[], %s::text[], %s::text[], %s::text[]) AS k (g, r, ns, n)
CROSS JOIN LATERAL (
    SELECT at FROM events e WHERE e.tenant_id = %s
        AND e.api_group = k.g AND e.resource = k.r AND e.namespace = k.ns AND e.name = k.n
    ORDER BY e.resource_version DESC LIMIT 1
) AS last
WHERE last.at > now() - make_interval(secs => %s)
"""

_OF_RESOURCE = """
SELECT name FROM objects WHERE tenant_id = %s AND api_group = %s AND resource = %s LIMIT 1000
"""
_UNOBSERVED = """
SELECT name FROM objects WHERE tenant_id = %s AND api_group = %s AND resource = %s
    AND coalesce((data #>> '{status,observedGeneration}')::bigint, 0)
        < coalesce((data #>> '{metadata,generation}')::bigint, 0)
LIMIT 1000
"""


class Found(NamedTuple):
    """One object by its tenant, key and uid."""

    tenant: int
    key: ObjectKey
    uid: str


class Dependent(NamedTuple):
    """An object that refers to an owner. deleting: it is marked for deletion."""

    uid: str
    deleting: bool


class Below(NamedTuple):
    """The dependents of one object. any: there are some; waiting: one of them is being deleted in
    the foreground."""

    any: bool
    waiting: bool


class Owner(NamedTuple):
    """What is stored under a uid. waiting: it is being deleted in the foreground."""

    key: ObjectKey
    waiting: bool


class Relations:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def deleted_by(self, tenant: int, key: ObjectKey, marked: datetime) -> str:
        """Who asked for the deletion of an object that was marked at that time, by the audit log;
        "" where that does not know. Raises Unavailable."""

        parameters = [tenant, marked, marked, *key]
        rows = await self._database.rows_within(tenant, _DELETED_BY, parameters)
        if not rows:
            return ""
        ((user, acting_as),) = rows
        return f"{user} as {acting_as}" if acting_as else str(user)

    async def dependents(self, tenant: int, uids: Sequence[str]) -> Sequence[Dependent]:
        """Objects with an owner reference to one of ``uids``, each once."""
        rows = await self._database.rows(_DEPENDENTS, (tenant, list(uids)))
        return [Dependent(*row) for row in rows]

    async def below(self, tenant: int, uid: str) -> Below:
        """What refers to the object ``uid``."""
        ((waiting,),) = await self._database.rows(_BELOW, (tenant, [uid]))
        return Below(waiting is not None, bool(waiting))

    async def owners(self, tenant: int, uids: Collection[str]) -> Mapping[str, Owner]:
        """Those of ``uids`` (any texts) that objects have, with these objects."""
        asked = [uid for uid in uids if _UUID.fullmatch(uid)]
        owners: dict[str, Owner] = {}
        for start in range(0, len(asked), _OWNERS_AT_ONCE):
            parameters = (tenant, asked[start : start + _OWNERS_AT_ONCE])
            for *key, uid, waiting in await self._database.rows_within(tenant, _OWNERS, parameters):
                owners[uid] = Owner(ObjectKey(*key), waiting)
        return owners

    async def in_namespace(
        self,
        tenant: int,
        namespace: str,
        *,
        resource: GroupResource | None = None,
        after: Found | None = None,
        limit: int = 500,
    ) -> Sequence[Found]:
        """In the order of their keys; ``resource`` None: of all. ``after``: where the last page
        ended."""
        group, name = resource or ("", "")
        after_group, after_resource, _, after_name = after.key if after else ("", "", "", "")
        parameters = {
            "tenant": tenant,
            "namespace": namespace,
            "any": resource is None,
            "group": group,
            "resource": name,
            "after_group": after_group,
            "after_resource": after_resource,
            "after_name": after_name,
            "limit": limit,
        }
        return _founds(await self._database.rows_within(tenant, _IN_NAMESPACE, parameters))

    async def left_in(
        self, tenant: int, namespace: str
    ) -> Sequence[tuple[GroupResource, Sequence[str], int]]:
        """(resource, finalizers, how many objects) of what the namespace holds, a thousand
        rows."""
        rows = await self._database.rows_within(tenant, _LEFT, (tenant, namespace))
        return [(GroupResource(*row[:2]), row[2], row[3]) for row in rows]

    async def namespaces_without(
        self, tenant: int, resource: GroupResource, name: str
    ) -> Sequence[str]:
        """Namespaces, not being deleted, that hold no object of that name; a thousand of them."""
        parameters = (tenant, tenant, *resource, name)
        rows = await self._database.rows_within(tenant, _WITHOUT, parameters)
        return [row[0] for row in rows]

    async def namespaces_with_other(
        self, tenant: int, resource: GroupResource, name: str, data: Mapping[str, str], after: str
    ) -> Sequence[str]:
        """Namespaces behind ``after``, not being deleted, whose object of that name has something
        else in its ``data``; a thousand of them."""
        parameters = (*resource, name, tenant, after, orjson.dumps(data).decode())
        rows = await self._database.rows_within(tenant, _OTHER, parameters)
        return [row[0] for row in rows]

    async def namespaces_with(self, tenant: int, resource: GroupResource) -> Sequence[str]:
        """Namespaces that hold an object of the resource; a thousand of them."""
        rows = await self._database.rows_within(tenant, _WITH, (tenant, *resource))
        return [row[0] for row in rows]

    async def state(self, tenant: int, resource: GroupResource) -> tuple[int, int]:
        """(how many objects there are, the newest resourceVersion among them): the same as long as
        nothing is written, unless one goes that another one comes for."""
        ((count, newest),) = await self._database.rows_within(tenant, _STATE, (tenant, *resource))
        return count, newest

    async def present(
        self, tenant: int, resource: GroupResource, names: Sequence[str]
    ) -> Sequence[str]:
        """Those of ``names`` that objects without a namespace have."""
        parameters = (tenant, *resource, list(names))
        rows = await self._database.rows_within(tenant, _PRESENT, parameters)
        return [row[0] for row in rows]

    async def named(
        self, tenant: int, keys: Sequence[ObjectKey]
    ) -> Mapping[ObjectKey, tuple[str, int]]:
        """Those of ``keys`` that are there, with their uid and their bytes."""
        parameters = (*_columns(keys), tenant)
        rows = await self._database.rows_within(tenant, _NAMED, parameters)
        return {ObjectKey(*row[:4]): (row[4], row[5]) for row in rows}

    async def written(
        self, tenant: int, keys: Sequence[ObjectKey], seconds: float
    ) -> Collection[ObjectKey]:
        """Those of ``keys`` whose objects were written or deleted within the last ``seconds``."""
        parameters = (*_columns(keys), tenant, seconds)
        rows = await self._database.rows_within(tenant, _WRITTEN, parameters)
        return {ObjectKey(*row) for row in rows}

    async def unobserved(self, tenant: int, resource: GroupResource) -> Sequence[str]:
        """Names of objects, without a namespace, whose status is not of their generation; a
        thousand of them."""
        rows = await self._database.rows_within(tenant, _UNOBSERVED, (tenant, *resource))
        return [row[0] for row in rows]

    async def names(self, tenant: int, resource: GroupResource) -> Sequence[str]:
        """Names of the objects of a resource without namespaces; a thousand of them."""
        rows = await self._database.rows_within(tenant, _OF_RESOURCE, (tenant, *resource))
        return [row[0] for row in rows]

    async def heads(self) -> Sequence[tuple[int, int]]:
        """(tenant, last resourceVersion) of all tenants."""
        rows = await self._database.rows_everywhere("SELECT tenant_id, head FROM tenant_heads", ())
        return [(row[0], row[1]) for row in rows]

    async def waiting(self, after: Found | None = None, limit: int = 500) -> Sequence[Found]:
        """In all tenants: terminating namespaces and CustomResourceDefinitions, and objects whose
        deletion waits for the garbage collector. ``after``: where the last page ended; those that
        are stuck keep no others from being found."""
        parameters = (*_place(after), limit)
        return _founds(await self._database.rows_everywhere(_WAITING, parameters))

    async def orphaned(self, after: Found | None = None, limit: int = 5000) -> Sequence[Found]:
        """In all tenants: objects none of whose owners exist (any more), a minute old at least.
        ``after`` as for `waiting`."""

        async def read(connection: Connection) -> Sequence[Found]:
            # With statistics of before the owners came, the planner would compare each reference
            # with all objects, or with all of its tenant (a merge by tenant alone).
            await connection.execute(
                "SELECT set_config('enable_nestloop', 'off', true),"
                " set_config('enable_mergejoin', 'off', true)"
            )
            return _founds(await query(connection, _ORPHANED, (*_place(after), limit)))

        return await self._database.read_everywhere(read)


def _place(after: Found | None) -> tuple[int, str]:
    return (
        (after.tenant, after.uid)
        if after is not None
        else (0, "00000000-0000-0000-0000-000000000000")
    )


def _columns(keys: Sequence[ObjectKey]) -> Sequence[list[str]]:
    """A list for each part of the keys."""
    return [list(column) for column in zip(*keys, strict=True)] or [[], [], [], []]


def _founds(rows: Sequence[Row]) -> Sequence[Found]:
    return [Found(row[0], ObjectKey(*row[1:5]), row[5]) for row in rows]
