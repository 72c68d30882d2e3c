"""Which tenant's rows a transaction sees: the second wall, behind the WHERE clauses.

Row-level security (sql/wall.sql) shows and takes rows of the tenant that `polyplane.tenant`
names, for this transaction only, so that PgBouncer in transaction mode may stand between. Without
it a query sees nothing. The functions that requests call most (`pp_commit`, `pp_heads`, `pp_get`,
`pp_events`, `pp_dependents`) name the tenant themselves, which costs no round trip. What serves no
tenant in particular (sweeps, compaction, the directory, the console) says so by `everywhere`; who
may do that is listed in tests/apiserver/storage/test_wall.py.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager

import psycopg
from django.db import transaction

_SET = "SELECT set_config('polyplane.tenant', %s, true)"
_SWAP = (
    "SELECT coalesce(current_setting('polyplane.tenant', true), ''), "
    "set_config('polyplane.tenant', %s, true)"
)
_EVERYWHERE = "all"


async def see(connection: psycopg.AsyncConnection[tuple[object, ...]], tenant: int) -> None:
    """From here on, the transaction that is open sees the rows of one tenant."""
    await connection.execute(_SET, [str(tenant)])


@asynccontextmanager
async def within(
    connection: psycopg.AsyncConnection[tuple[object, ...]], tenant: int
) -> AsyncIterator[None]:
    """A transaction that sees the rows of one tenant."""
    async with connection.transaction():
        await see(connection, tenant)
        yield


@asynccontextmanager
async def everywhere(
    connection: psycopg.AsyncConnection[tuple[object, ...]],
) -> AsyncIterator[None]:
    """A transaction that sees the rows of all tenants."""
    async with connection.transaction():
        await connection.execute(_SET, [_EVERYWHERE])
        yield


@contextmanager
def django_within(tenant: int, using: str = "default") -> Iterator[None]:
    """`within` on Django's connection; afterwards an outer transaction sees what it saw before."""
    with _django(str(tenant), using):
        yield


@contextmanager
def django_everywhere(using: str = "default") -> Iterator[None]:
    """`everywhere` on Django's connection. QuerySets must be read before the block ends."""
    with _django(_EVERYWHERE, using):
        yield


@contextmanager
def _django(value: str, using: str) -> Iterator[None]:
    with transaction.atomic(using=using), transaction.get_connection(using).cursor() as cursor:
        cursor.execute(_SWAP, [value])
        before = cursor.fetchone()[0]
        yield
        cursor.execute(_SET, [before])
