"""A tenant's place in storage: its sequence and its head. Synchronous, for commands and the
console, on a Django connection.

Versions never rewind, not even for a name that is deleted and made again: each drop raises the base
that later tenants start above, so that a client which still holds a version of the old tenant finds
itself below the new one's floor (410).
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import NamedTuple

from django.db import connection

from apiserver.storage.models import TenantHead
from apiserver.storage.visibility import django_everywhere, django_within

_BUMP = 1_000_000  # more versions than one backup's age plausibly saw


def create(*tenant_ids: int) -> None:
    """Makes the sequences and the heads, in the caller's transaction; harmless when they are
    there."""
    with django_everywhere(), connection.cursor() as cursor:
        cursor.execute("SELECT pp_create_tenant(t) FROM unnest(%s::bigint[]) t", [list(tenant_ids)])


def close(*tenant_ids: int) -> None:
    """The first step of a deletion, in the caller's transaction: once it is committed, readers and
    writers get TenantGone, and nobody sees half of what was there. Harmless when it is done."""
    with django_everywhere(), connection.cursor() as cursor:
        cursor.execute("SELECT pp_close_tenant(t) FROM unnest(%s::bigint[]) t", [list(tenant_ids)])


def drop_some(tenant_id: int, most: int) -> bool:
    """Removes up to ``most`` objects and events of a tenant that is closed, or entries of its
    indexes; whether any were there."""
    with django_within(tenant_id), connection.cursor() as cursor:
        for table in ("bound_subjects", "objects", "events", "search_entries", "field_entries"):
            cursor.execute(
                f"DELETE FROM {table} WHERE ctid = ANY(ARRAY("  # noqa: S608  constant names
                f"SELECT ctid FROM {table} WHERE tenant_id = %s LIMIT %s))",
                [tenant_id, most],
            )
            if cursor.rowcount:
                return True
    return False


def drop(tenant_id: int) -> None:
    """Removes all that the tenant stores. Writers that wait for it get TenantGone."""
    with django_within(tenant_id), connection.cursor() as cursor:
        cursor.execute(
            "SET LOCAL statement_timeout = 0"
        )  # millions of rows take longer than a request may
        cursor.execute("SELECT pp_drop_tenant(%s)", [tenant_id])


def drop_many(tenant_ids: Sequence[int]) -> None:
    """`drop` of each, in the caller's transaction."""
    with django_everywhere(), connection.cursor() as cursor:
        cursor.execute("SET LOCAL statement_timeout = 0")
        cursor.execute("SELECT pp_drop_tenant(t) FROM unnest(%s::bigint[]) t", [list(tenant_ids)])


def bump(tenant_id: int, *, above: int = 0) -> int:
    """After a restore or promotion: moves head and floor far up (and above ``above``), so that
    whoever saw a version that is lost gets 410 and never a silent rewind. Returns the new head."""
    with django_within(tenant_id), connection.cursor() as cursor:
        cursor.execute("SELECT pp_bump_tenant(%s, %s, %s)", [tenant_id, above, _BUMP])
        return int(cursor.fetchone()[0])


MOST_ROWS = 5_000
"""Rows that one transaction of a deletion takes."""


class Limits(NamedTuple):
    """What the write transaction enforces; None does not bind. bytes: of stored objects; log_bytes:
    of retained events; hour_bytes: written within an hour of the clock; definitions:
    CustomResourceDefinitions."""

    objects: int | None = None
    bytes: int | None = None
    log_bytes: int | None = None
    hour_bytes: int | None = None
    definitions: int | None = None


def set_limits(tenant_id: int, limits: Limits, *, retention: timedelta | None = None) -> None:
    """Binds from the next write on. retention: how long compaction keeps superseded events."""
    values = {f"max_{name}": value for name, value in limits._asdict().items()}
    with django_within(tenant_id):
        TenantHead.objects.filter(tenant_id=tenant_id).update(**values, retention=retention)
