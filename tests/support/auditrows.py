"""Entries of a tenant's audit log, for tests."""

from __future__ import annotations

from typing import Any

import orjson

from apiserver.storage.postgres import PostgresStore

_NAMES = ("version", "user", "verb", "code", "group", "resource", "namespace", "name", "data")


async def rows(store: PostgresStore, tenant: int, **columns: Any) -> list[dict[str, Any]]:
    """In their order; ``data`` decoded."""
    where = " AND ".join(f"{name} = %s" for name in columns) or "true"

    async def query(connection: Any) -> Any:
        return await (
            await connection.execute(
                "SELECT resource_version, user_name, verb, code, api_group, resource, namespace, "
                "name, data::text FROM audit_entries "
                f"WHERE {where} ORDER BY at, resource_version",
                list(columns.values()),
            )
        ).fetchall()

    found = await store.database.read_within(tenant, query)
    return [dict(zip(_NAMES, row, strict=True)) | {"data": orjson.loads(row[-1])} for row in found]
