"""A tenant's place in storage: its sequence and its head. Synchronous, for commands and the console, on a Django connection.

Versions never rewind, not even for a name that is deleted and made again: each drop raises the base that later tenants start above, so
that a client which still holds a version of the old tenant finds itself below the new one's floor (410).
"""

from __future__ import annotations

from datetime import timedelta

from django.db import connections, transaction
from django.db.backends.utils import CursorWrapper

from apiserver.storage.models import TenantHead

_BUMP = 1_000_000  # more versions than one backup's age plausibly saw


def create(tenant_id: int, *, using: str = "default") -> None:
    """Makes the sequence and the head; harmless when they are there."""
    with transaction.atomic(using=using), connections[using].cursor() as cursor:
        _lock(cursor, tenant_id)
        cursor.execute("SELECT 1 FROM tenant_heads WHERE tenant_id = %s", [tenant_id])
        if cursor.fetchone():
            return
        cursor.execute("SELECT last_value FROM pp_rv_base")
        start = cursor.fetchone()[0]
        cursor.execute(f"CREATE SEQUENCE IF NOT EXISTS {_sequence(tenant_id)} START WITH {int(start) + 1}")
        cursor.execute(
            "INSERT INTO tenant_heads (tenant_id, head, floor, compacted, object_count, bytes) VALUES (%s, %s, %s, %s, 0, 0)",
            [tenant_id, start, start, start],
        )


def drop(tenant_id: int, *, using: str = "default") -> None:
    """Removes all that the tenant stores. Writers that wait for it get TenantGone."""
    with transaction.atomic(using=using), connections[using].cursor() as cursor:
        _lock(cursor, tenant_id)
        cursor.execute("DELETE FROM tenant_heads WHERE tenant_id = %s RETURNING head", [tenant_id])
        row = cursor.fetchone()
        if row:
            cursor.execute("SELECT setval('pp_rv_base', greatest(last_value, %s)) FROM pp_rv_base", [row[0] + 1])
        cursor.execute("DELETE FROM objects WHERE tenant_id = %s", [tenant_id])
        cursor.execute("DELETE FROM events WHERE tenant_id = %s", [tenant_id])
        cursor.execute(f"DROP SEQUENCE IF EXISTS {_sequence(tenant_id)}")


def bump(tenant_id: int, *, above: int = 0, using: str = "default") -> int:
    """After a restore or promotion: moves head and floor far up (and above ``above``), so that whoever saw a version that is lost gets 410
    and never a silent rewind. Returns the new head."""
    with transaction.atomic(using=using), connections[using].cursor() as cursor:
        _lock(cursor, tenant_id)
        sequence = _sequence(tenant_id)
        cursor.execute(
            f"SELECT setval('{sequence}', greatest(h.head, s.last_value, %s) + %s) "  # noqa: S608
            f"FROM tenant_heads h, {sequence} s WHERE h.tenant_id = %s",
            [above, _BUMP, tenant_id],
        )
        head = int(cursor.fetchone()[0])
        cursor.execute("UPDATE tenant_heads SET head = %s, floor = %s WHERE tenant_id = %s", [head, head, tenant_id])
    return head


def set_limits(
    tenant_id: int, *, max_objects: int | None, max_bytes: int | None, retention: timedelta | None = None, using: str = "default"
) -> None:
    """The limits that the write transaction enforces, and how long compaction keeps superseded events; None does not bind."""
    heads = TenantHead.objects.using(using).filter(tenant_id=tenant_id)
    heads.update(max_objects=max_objects, max_bytes=max_bytes, retention=retention)


def _lock(cursor: CursorWrapper, tenant_id: int) -> None:
    """The lock that pp_commit takes."""
    cursor.execute("SELECT pg_advisory_xact_lock(5786, hashint8(%s))", [tenant_id])


def _sequence(tenant_id: int) -> str:
    return f"pp_rv_{int(tenant_id)}"
