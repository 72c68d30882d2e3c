"""Who is connected to the database at this moment. Synchronous, for commands, on a Django
connection."""

from __future__ import annotations

from django.db import connections

from apiserver.storage.pool import HINTS, STORE

_CONNECTED = """
SELECT count(*) FROM pg_stat_activity
WHERE datname = current_database() AND application_name = ANY(%s) AND pid <> pg_backend_pid()
"""


def stores(using: str = "default") -> int:
    """Connections of stores that are open, in any process on any machine: those of servers, and of
    commands that read and write as servers do. Behind a PgBouncer also those that it keeps for the
    next client. Everybody may see the names of others' sessions."""
    with connections[using].cursor() as cursor:
        cursor.execute(_CONNECTED, [[STORE, HINTS]])
        return int(cursor.fetchone()[0])
