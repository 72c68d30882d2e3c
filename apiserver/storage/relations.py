"""Questions across resources that controllers ask: who depends on an object, what a namespace holds, what waits for deletion.

SQL over the columns that `Write` fills (owner_uids, finalizers, deleting); everything is keyed by tenant.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from apiserver.storage.interface import ObjectKey
from apiserver.storage.pool import Connection, Database

_COLUMNS = "tenant_id, api_group, resource, namespace, name, uid::text"
_DEPENDENTS = f"SELECT {_COLUMNS} FROM objects WHERE tenant_id = %s AND owner_uids && %s::text[] AND NOT (owner_uids = '{{}}')"  # noqa: S608  constant columns
_IN_NAMESPACE = f"SELECT {_COLUMNS} FROM objects WHERE tenant_id = %s AND namespace = %s ORDER BY deleting LIMIT %s"  # noqa: S608
_EXISTING = "SELECT uid::text FROM objects WHERE tenant_id = %s AND uid = ANY(%s::uuid[])"
_WAITING = f"""
SELECT {_COLUMNS} FROM objects WHERE deleting AND (
    (api_group = '' AND resource = 'namespaces') OR (api_group = 'apiextensions.k8s.io' AND resource = 'customresourcedefinitions')
    OR finalizers && ARRAY['orphan', 'foregroundDeletion']::text[]
) AND (tenant_id, uid) > (%s, %s::uuid) ORDER BY tenant_id, uid LIMIT %s
"""  # noqa: S608
# Objects with a living owner first, found by hashing: to compare each object with each list of owners takes minutes where there are many.
_ORPHANED = f"""
WITH reference AS MATERIALIZED (
    SELECT tenant_id AS tenant, uid AS dependent, unnest(owner_uids) AS owner FROM objects WHERE owner_uids <> '{{}}'
), held AS MATERIALIZED (
    SELECT DISTINCT tenant, dependent FROM reference JOIN objects ON tenant_id = tenant AND uid::text = owner
)
SELECT {_COLUMNS} FROM objects WHERE owner_uids <> '{{}}' AND NOT deleting AND created_at < now() - interval '1 minute'
    AND NOT EXISTS (SELECT 1 FROM held WHERE tenant = tenant_id AND dependent = uid)
    AND (tenant_id, uid) > (%s, %s::uuid) ORDER BY tenant_id, uid LIMIT %s
"""  # noqa: S608


class Found(NamedTuple):
    """One object by its tenant, key and uid."""

    tenant: int
    key: ObjectKey
    uid: str


class Relations:
    def __init__(self, database: Database) -> None:
        self._database = database

    async def dependents(self, tenant: int, *uids: str) -> Sequence[Found]:
        """Objects with an owner reference to one of ``uids``, each once."""
        return await self._found(_DEPENDENTS, (tenant, list(uids)))

    async def in_namespace(self, tenant: int, namespace: str, limit: int = 500) -> Sequence[Found]:
        """Those that are not being deleted yet come first."""
        return await self._found(_IN_NAMESPACE, (tenant, namespace, limit))

    async def waiting(self, after: Found | None = None, limit: int = 500) -> Sequence[Found]:
        """In all tenants: terminating namespaces and CustomResourceDefinitions, and objects whose deletion waits for the garbage
        collector. ``after``: where the last page ended; those that are stuck keep no others from being found."""
        return await self._found(_WAITING, (*_place(after), limit))

    async def orphaned(self, after: Found | None = None, limit: int = 500) -> Sequence[Found]:
        """In all tenants: objects none of whose owners exist (any more), a minute old at least. ``after`` as for `waiting`."""

        async def query(connection: Connection) -> Sequence[Found]:
            async with connection.transaction():
                # before the table has been analyzed, the planner would look through all objects again for each reference
                await connection.execute("SET LOCAL enable_nestloop = off")
                return _rows(await (await connection.execute(_ORPHANED, (*_place(after), limit))).fetchall())

        return await self._database.read(query)

    async def existing(self, tenant: int, uids: Sequence[str]) -> set[str]:
        """Which of ``uids`` are those of objects."""

        async def query(connection: Connection) -> set[str]:
            rows = await (await connection.execute(_EXISTING, (tenant, list(uids)))).fetchall()
            return {row[0] for row in rows}

        return await self._database.read(query)

    async def _found(self, statement: str, parameters: tuple[object, ...]) -> Sequence[Found]:
        async def query(connection: Connection) -> Sequence[Found]:
            return _rows(await (await connection.execute(statement, parameters)).fetchall())

        return await self._database.read(query)


def _place(after: Found | None) -> tuple[int, str]:
    return (after.tenant, after.uid) if after is not None else (0, "00000000-0000-0000-0000-000000000000")


def _rows(rows: Sequence[tuple[Any, ...]]) -> Sequence[Found]:
    return [Found(row[0], ObjectKey(*row[1:5]), row[5]) for row in rows]
