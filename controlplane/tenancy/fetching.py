"""What the rows of tenants say, read on the event loop, without Django's ORM."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any

from apiserver.registry.scope import Tenant
from apiserver.request import DEFAULT_TENANT
from apiserver.storage.postgres import PostgresStore

if TYPE_CHECKING:  # all kinds, and a second with them: commands come by here
    from apiserver.controllers.manager import TenantOf
    from apiserver.controllers.upkeep import TurnedOff
    from apiserver.registry.customcatalog import TenantCatalog

Fetch = Callable[[str, Sequence[Any]], Awaitable[Sequence[tuple[Any, ...]]]]
"""Runs one SQL statement with ``%s`` parameters and returns all rows."""


def fetcher(store: PostgresStore) -> Fetch:
    async def fetch(statement: str, parameters: Sequence[Any]) -> Sequence[tuple[Any, ...]]:
        return await store.database.rows_everywhere(statement, parameters)

    return fetch


async def home_of(store: PostgresStore) -> int:
    """The number of tenant default, 0 where nobody has set the installation up yet."""
    rows = await fetcher(store)("SELECT id FROM tenancy_tenant WHERE name = %s", [DEFAULT_TENANT])
    return int(rows[0][0]) if rows else 0


def tenant_reader(store: PostgresStore, catalog: TenantCatalog) -> TenantOf:
    """Tenants by number, for controllers, with the definitions of their custom resources at hand;
    None for those that are being deleted."""
    fetch = fetcher(store)

    async def tenant_of(number: int) -> Tenant | None:
        rows = await fetch(
            "SELECT id, name FROM tenancy_tenant WHERE id = %s AND state <> 'deleting'", [number]
        )
        if not rows:
            return None
        tenant = Tenant(*rows[0])
        await catalog.ready(tenant)  # this process may never have had a request for it
        return tenant

    return tenant_of


def controllers_off(store: PostgresStore) -> TurnedOff:
    """What the rows of tenants say about controllers."""
    fetch = fetcher(store)

    async def off(number: int) -> Sequence[str]:
        rows = await fetch("SELECT controllers_off FROM tenancy_tenant WHERE id = %s", [number])
        return rows[0][0] if rows else ()

    return off
