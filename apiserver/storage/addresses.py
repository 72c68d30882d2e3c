"""Which cluster IPs and IPAddresses of a tenant do not go together. What a Service holds stands in
its claims, as ``<tenant>/service-ip/<address>``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from apiserver.storage.pool import Connection, Database

_MOST = 1000
_WITHOUT = f"""
SELECT s.namespace, s.name FROM objects s CROSS JOIN LATERAL unnest(s.claims) AS claim
WHERE s.tenant_id = %(tenant)s AND s.api_group = '' AND s.resource = 'services'
    AND split_part(claim, '/', 2) = 'service-ip' AND NOT EXISTS (
        SELECT 1 FROM objects a
        WHERE a.tenant_id = %(tenant)s AND a.api_group = 'networking.k8s.io'
            AND a.resource = 'ipaddresses' AND a.namespace = ''
            AND a.name = split_part(claim, '/', 3)
    )
LIMIT {_MOST}
"""  # noqa: S608  a constant
_STALE = f"""
SELECT a.name FROM objects a
WHERE a.tenant_id = %(tenant)s AND a.api_group = 'networking.k8s.io' AND a.resource = 'ipaddresses'
    AND a.data #>> '{{metadata,labels,ipaddress.kubernetes.io/managed-by}}' = 'ipallocator.k8s.io'
    AND NOT EXISTS (
        SELECT 1 FROM objects s
        WHERE s.tenant_id = %(tenant)s AND s.api_group = '' AND s.resource = 'services'
            AND s.namespace = a.data #>> '{{spec,parentRef,namespace}}'
            AND s.name = a.data #>> '{{spec,parentRef,name}}'
            AND %(tenant)s::bigint::text || '/service-ip/' || a.name = ANY (s.claims)
    )
LIMIT {_MOST}
"""  # noqa: S608
_OF = """
SELECT name FROM objects
WHERE tenant_id = %(tenant)s AND api_group = 'networking.k8s.io' AND resource = 'ipaddresses'
    AND data #>> '{spec,parentRef,resource}' = 'services'
    AND data #>> '{spec,parentRef,namespace}' = %(namespace)s
    AND data #>> '{spec,parentRef,name}' = %(name)s
LIMIT 100
"""


class Addresses:
    """Raises Unavailable."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def services_without(self, tenant: int) -> Sequence[tuple[str, str]]:
        """(namespace, name) of Services that hold an address without an IPAddress; a thousand."""
        return [(row[0], row[1]) for row in await self._rows(_WITHOUT, {"tenant": tenant})]

    async def without_service(self, tenant: int) -> Sequence[str]:
        """IPAddresses of the allocator whose Service does not hold them; a thousand."""
        return [row[0] for row in await self._rows(_STALE, {"tenant": tenant})]

    async def of(self, tenant: int, namespace: str, name: str) -> Sequence[str]:
        """IPAddresses that name this Service. Looks at all of the tenant's."""
        place = {"tenant": tenant, "namespace": namespace, "name": name}
        return [row[0] for row in await self._rows(_OF, place)]

    async def _rows(self, statement: str, parameters: dict[str, Any]) -> Sequence[tuple[Any, ...]]:
        async def query(connection: Connection) -> Sequence[tuple[Any, ...]]:
            return await (await connection.execute(statement, parameters)).fetchall()

        return await self._database.read_within(parameters["tenant"], query)
