"""Which cluster IPs and IPAddresses of a tenant do not go together. What a Service holds stands in
its claims, as ``<tenant>/service-ip/<address>``."""

from __future__ import annotations

from collections.abc import Sequence

from apiserver.storage.pool import Database

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
_HELD = """
SELECT DISTINCT split_part(claim, '/', 3)
FROM objects s CROSS JOIN LATERAL unnest(s.claims) AS claim
WHERE s.tenant_id = %(tenant)s AND s.api_group = '' AND s.resource = 'services'
    AND split_part(claim, '/', 2) = 'service-ip'
"""
_BEFORE = """
WITH RECURSIVE past AS (
    SELECT e.data, e.key_previous, 0 AS back FROM objects o
    JOIN events e ON e.tenant_id = o.tenant_id AND e.resource_version = o.resource_version
    WHERE o.tenant_id = %(tenant)s AND o.api_group = '' AND o.resource = 'services'
        AND o.namespace = %(namespace)s AND o.name = %(name)s
    UNION ALL
    SELECT e.data, e.key_previous, past.back + 1 FROM past
    JOIN events e ON e.tenant_id = %(tenant)s AND e.resource_version = past.key_previous
    WHERE past.key_previous > 0 AND past.back < %(most)s
)
SELECT DISTINCT json_array_elements_text(data #> '{spec,clusterIPs}') FROM past
WHERE json_typeof(data #> '{spec,clusterIPs}') = 'array'
"""
_BACK = 8
"""Versions of a Service that are looked at."""


class Addresses:
    """Raises Unavailable."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def services_without(self, tenant: int) -> Sequence[tuple[str, str]]:
        """(namespace, name) of Services that hold an address without an IPAddress; a thousand."""
        rows = await self._database.rows_within(tenant, _WITHOUT, {"tenant": tenant})
        return [(namespace, name) for namespace, name in rows]

    async def without_service(self, tenant: int) -> Sequence[str]:
        """IPAddresses of the allocator whose Service does not hold them; a thousand."""
        rows = await self._database.rows_within(tenant, _STALE, {"tenant": tenant})
        return [row[0] for row in rows]

    async def held(self, tenant: int) -> Sequence[str]:
        """All addresses that Services hold."""
        rows = await self._database.rows_within(tenant, _HELD, {"tenant": tenant})
        return [row[0] for row in rows]

    async def before(self, tenant: int, namespace: str, name: str) -> Sequence[str]:
        """Addresses that the last versions of a Service had, by the log."""
        place = {"tenant": tenant, "namespace": namespace, "name": name, "most": _BACK}
        rows = await self._database.rows_within(tenant, _BEFORE, place)
        return [row[0] for row in rows]
