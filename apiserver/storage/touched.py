"""In which namespaces of a tenant something has happened that concerns Services and what they lead
to: a sweep's question, answered by the log, so that what stays as it is costs nothing.

Of a tenant that was not asked about before, its last changes count, and what lacks something
altogether.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from apiserver.meta.gvk import GroupResource
from apiserver.storage.pool import Connection, Database

_MOST = 20_000
"""Changes that one question is about; the next one goes on there."""
_BACK = 1_000
"""Versions that a process which has died may have left to others."""
_TENANTS = 10_000
_LIMIT = 1_000
# The API server's own Service is in every tenant: those in which nobody does anything cost nothing.
_TOUCHED = """
WITH changed AS (
    SELECT resource_version, namespace FROM events
    WHERE tenant_id = %(tenant)s AND resource_version > %(after)s
        AND (api_group, resource) IN (SELECT * FROM unnest(%(groups)s::text[], %(names)s::text[]))
        AND (namespace, name) <> ('default', 'kubernetes')
    ORDER BY resource_version LIMIT %(most)s
)
SELECT count(*), max(resource_version), coalesce(array_agg(DISTINCT namespace), '{}')
FROM changed
"""
_HEAD = "SELECT head FROM tenant_heads WHERE tenant_id = %(tenant)s"
_SELECTING = """
SELECT namespace, name FROM objects
WHERE tenant_id = %(tenant)s AND api_group = '' AND resource = 'services'
    AND data #> '{spec,selector}' IS NOT NULL
    AND data #>> '{spec,type}' IS DISTINCT FROM 'ExternalName'
"""
_SLICES = """
SELECT namespace, data #>> '{metadata,labels,kubernetes.io/service-name}' FROM objects
WHERE tenant_id = %(tenant)s AND api_group = 'discovery.k8s.io' AND resource = 'endpointslices'
    AND data #>> '{metadata,labels,endpointslice.kubernetes.io/managed-by}' = %(controller)s
"""
_ENDPOINTS = """
SELECT namespace, name FROM objects
WHERE tenant_id = %(tenant)s AND api_group = '' AND resource = 'endpoints'
"""
_MIRRORABLE = """
SELECT s.namespace, s.name FROM objects s JOIN objects e ON e.tenant_id = s.tenant_id
    AND e.api_group = '' AND e.resource = 'endpoints' AND e.namespace = s.namespace
    AND e.name = s.name
WHERE s.tenant_id = %(tenant)s AND s.api_group = '' AND s.resource = 'services'
    AND s.data #> '{spec,selector}' IS NULL AND e.data #> '{subsets,0}' IS NOT NULL
    AND e.data #>> '{metadata,labels,endpointslice.kubernetes.io/skip-mirror}'
        IS DISTINCT FROM 'true'
"""
_LACKING = "SELECT DISTINCT namespace FROM ({wanted} EXCEPT {there}) l LIMIT %(limit)s"
UNSLICED = _LACKING.format(wanted=_SELECTING, there=_SLICES)
"""Services that select pods and have no slice of the controller."""
WITHOUT_ENDPOINTS = _LACKING.format(wanted=_SELECTING, there=_ENDPOINTS)
UNMIRRORED = _LACKING.format(wanted=_MIRRORABLE, there=_SLICES)
"""Services that select nothing, whose Endpoints have no slice of the controller."""


class Touched:
    """lacking: one of the statements above; controller: as slices name it."""

    def __init__(
        self,
        database: Database,
        resources: Collection[GroupResource],
        lacking: str,
        controller: str = "",
    ) -> None:
        self._database, self._lacking = database, lacking
        self._groups = [resource.group for resource in resources]
        self._names = [resource.resource for resource in resources]
        self._controller = controller
        self._after: dict[int, int] = {}

    async def since_last(self, tenant: int) -> Sequence[str]:
        """The namespaces, "" for what is in none. Raises Unavailable."""
        after = self._after.get(tenant)

        async def query(connection: Connection) -> Sequence[str]:
            return await self._ask(connection, tenant, after)

        return await self._database.read_within(tenant, query)

    async def _ask(self, connection: Connection, tenant: int, after: int | None) -> Sequence[str]:
        parameters = {"tenant": tenant, "groups": self._groups, "names": self._names, "most": _MOST}
        row = await (await connection.execute(_HEAD, parameters)).fetchone()
        head = row[0] if row is not None else 0
        lacking = [] if after is not None else await self._lacks(connection, tenant)
        parameters["after"] = max(head - _BACK, 0) if after is None else after
        found = await (await connection.execute(_TOUCHED, parameters)).fetchone()
        assert found is not None
        count, last, namespaces = found
        if len(lacking) < _LIMIT:
            if len(self._after) >= _TENANTS:
                self._after.clear()
            self._after[tenant] = last if count == _MOST else head
        return list(dict.fromkeys([*lacking, *namespaces]))

    async def _lacks(self, connection: Connection, tenant: int) -> list[str]:
        parameters = {"tenant": tenant, "controller": self._controller, "limit": _LIMIT}
        return [
            row[0] for row in await (await connection.execute(self._lacking, parameters)).fetchall()
        ]
