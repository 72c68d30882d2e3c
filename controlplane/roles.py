"""The workers' role in PostgreSQL: what it may do, granted anew after each migration.

Two roles share the work. The owner makes and changes tables (`manage.py migrate`). The workers'
role owns nothing: it reads and writes rows behind the wall of `apiserver.storage.visibility`, and
calls our functions. It is made with the embedded cluster (embedded/roles.py); for a DATABASE_URL
the operator makes both (docs/operations.md), or gives one for all, which is then the owner.
"""

from __future__ import annotations

from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.utils import CursorWrapper

from apiserver.storage import sql

_SEQUENCES = """
SELECT c.oid::regclass::text FROM pg_class c
WHERE c.relnamespace = current_schema()::regnamespace AND CASE
    WHEN c.relkind = 'S' AND starts_with(c.relname, 'pp_rv_') AND c.relname <> 'pp_rv_base'
    THEN NOT has_sequence_privilege(%s, c.oid, 'USAGE') END
"""


def grant(owner: BaseDatabaseWrapper, role: str) -> None:
    """Gives the role exactly what workers need, on the owner's connection. Nothing to do when the
    owner is that role itself."""
    with owner.cursor() as cursor:
        cursor.execute("SELECT current_user = %s, current_schema()", [role])
        same, schema = cursor.fetchone()
        if not same:
            _grant(owner, cursor, owner.ops.quote_name(role), owner.ops.quote_name(schema), role)


def _grant(
    owner: BaseDatabaseWrapper, cursor: CursorWrapper, role: str, schema: str, name: str
) -> None:
    cursor.execute(f"GRANT USAGE ON SCHEMA {schema} TO {role}")
    for table in owner.introspection.django_table_names(only_existing=True):
        cursor.execute(
            f"GRANT SELECT, INSERT, UPDATE, DELETE ON {owner.ops.quote_name(table)} TO {role}"
        )
    cursor.execute(f"GRANT SELECT ON django_migrations TO {role}")
    # what is written there stays: not even workers change who did what
    cursor.execute(f"GRANT SELECT, INSERT ON audit_entries TO {role}")
    cursor.execute(sql.OURS)
    for (function,) in cursor.fetchall():
        cursor.execute(f"REVOKE EXECUTE ON FUNCTION {function} FROM PUBLIC")
        cursor.execute(f"GRANT EXECUTE ON FUNCTION {function} TO {role}")
    cursor.execute(_SEQUENCES, [name])
    for (sequence,) in cursor.fetchall():
        cursor.execute(f"GRANT USAGE ON SEQUENCE {sequence} TO {role}")
    # sequences of tenants to come, which pp_create_tenant makes as the owner
    cursor.execute(
        f"ALTER DEFAULT PRIVILEGES IN SCHEMA {schema} GRANT USAGE ON SEQUENCES TO {role}"
    )
