"""The SQL of the database itself, one file per subject; the migrations load it.

A function is defined in one place, whole, by CREATE OR REPLACE. To change one: edit its file, and
add a migration with `functions()` so that databases that are there get the change, too;
tests/apiserver/storage/test_schema.py holds both to it. A changed list of parameters makes another
function for PostgreSQL: that migration drops the old one first.
"""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.state import StateApps

FOLDER = Path(__file__).parent

FUNCTIONS = (
    "audit",
    "bound",
    "claims",
    "limits",
    "commit",
    "fields",
    "reads",
    "search",
    "tally",
    "tenants",
)
"""The files that define functions; claims and limits before those that call what they define."""

OURS = """
SELECT p.oid::regprocedure::text FROM pg_proc p
WHERE p.pronamespace = current_schema()::regnamespace AND starts_with(p.proname, 'pp_')
"""
"""All functions that the files define, as they are in the database."""


def read(name: str) -> str:
    """The text of ``<name>.sql``."""
    return (FOLDER / f"{name}.sql").read_text()


def digest() -> str:
    """Tells one state of all functions from another: 16 hexadecimal digits."""
    return sha256("".join(map(read, FUNCTIONS)).encode()).hexdigest()[:16]


def wall(table: str) -> migrations.RunSQL:
    """Puts a table with a column tenant_id behind the wall (wall.sql)."""
    return migrations.RunSQL(
        read("wall").replace("{table}", table),
        f"DROP POLICY tenant_wall ON {table};"
        f"ALTER TABLE {table} NO FORCE ROW LEVEL SECURITY, DISABLE ROW LEVEL SECURITY;",
    )


def functions() -> migrations.RunPython:
    """Defines all functions as the files say now."""
    return migrations.RunPython(_create, _drop)


def _create(apps: StateApps, editor: BaseDatabaseSchemaEditor) -> None:
    """In the tables' schema, which those that run with the owner's rights keep as their path."""
    with editor.connection.cursor() as cursor:
        cursor.execute("SELECT current_setting('search_path'), quote_ident(current_schema())")
        path, schema = cursor.fetchone()
        cursor.execute(f"SET LOCAL search_path = {schema}, pg_temp")
        for name in FUNCTIONS:
            cursor.execute(read(name))
        cursor.execute(f"SET LOCAL search_path = {path}")


def _drop(apps: StateApps, editor: BaseDatabaseSchemaEditor) -> None:
    with editor.connection.cursor() as cursor:
        cursor.execute(OURS)
        for (function,) in cursor.fetchall():
            cursor.execute(f"DROP FUNCTION {function}")
