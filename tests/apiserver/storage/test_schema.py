"""The database is what apiserver/storage/sql and the models say, and an older one becomes it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from django.core.management import call_command
from django.db import connections
from django.db.migrations.loader import MigrationLoader
from psycopg.sql import SQL, Identifier

from apiserver.storage import sql
from controlplane.database import OWNER
from controlplane.errors import OperatorError

FUNCTIONS = """
SELECT p.proname, replace(pg_get_functiondef(p.oid), p.pronamespace::regnamespace::text, 'public')
FROM pg_proc p WHERE p.pronamespace = %s::regnamespace AND starts_with(p.proname, 'pp_')
"""
POLICIES = """
SELECT c.relname, polname, polpermissive, polcmd, polroles, pg_get_expr(polqual, polrelid),
    pg_get_expr(polwithcheck, polrelid), relrowsecurity, relforcerowsecurity
FROM pg_policy JOIN pg_class c ON c.oid = polrelid WHERE c.relnamespace = %s::regnamespace
"""
TRIGGERS = """
SELECT tgname, replace(pg_get_triggerdef(t.oid), c.relnamespace::regnamespace::text || '.', '')
FROM pg_trigger t JOIN pg_class c ON c.oid = tgrelid
WHERE c.relnamespace = %s::regnamespace AND NOT tgisinternal
"""
STORAGE_PARAMETERS = """
SELECT relname, array(SELECT unnest(reloptions) ORDER BY 1) FROM pg_class
WHERE relnamespace = %s::regnamespace AND relkind IN ('r', 'S')
    AND relname IN ('objects', 'events', 'tenant_heads', 'leases', 'pp_rv_base')
"""
KEYED = (
    "objects",
    "bound_subjects",
    "events",
    "tenant_heads",
    "tenancy_accountkey",
    "tenancy_apitoken",
    "tenancy_authentication",
    "audit_entries",
    "search_entries",
    "search_heads",
    "field_indexes",
    "field_entries",
    "tallies",
    "tally_heads",
)

Rows = list[tuple[Any, ...]]


@pytest.fixture
def scratch(owner: str) -> Iterator[psycopg.Connection[tuple[Any, ...]]]:
    """The owner's connection, within an empty schema that is gone afterwards."""
    with psycopg.connect(owner) as connection, connection.transaction(force_rollback=True):
        connection.execute("CREATE SCHEMA scratch")
        connection.execute("SET LOCAL search_path = scratch, pg_temp")
        for table in (*KEYED, "leases"):
            name = Identifier(table)
            connection.execute(SQL("CREATE TABLE {} (LIKE public.{})").format(name, name))
        yield connection


def _both(connection: psycopg.Connection[tuple[Any, ...]], query: str) -> tuple[Rows, Rows]:
    """What a query finds in the database's schema, and in the scratch one."""
    database, scratch = (
        sorted(connection.execute(query, [schema]).fetchall()) for schema in ("public", "scratch")
    )
    return database, scratch


def test_functions_are_those_of_the_files(
    scratch: psycopg.Connection[tuple[Any, ...]],
) -> None:
    for name in sql.FUNCTIONS:
        scratch.execute(sql.read(name))
    database, files = _both(scratch, FUNCTIONS)
    assert "pp_commit" in dict(database)
    assert database == files


def test_the_wall_is_that_of_its_file(scratch: psycopg.Connection[tuple[Any, ...]]) -> None:
    for table in KEYED:
        scratch.execute(sql.read("wall").replace("{table}", table))
    database, file = _both(scratch, POLICIES)
    assert [row[0] for row in database] == sorted(KEYED)
    assert database == file


def test_triggers_are_those_of_their_file(scratch: psycopg.Connection[tuple[Any, ...]]) -> None:
    scratch.execute(sql.read("bound"))
    scratch.execute(sql.read("bound_triggers"))
    database, file = _both(scratch, TRIGGERS)
    assert [name for name, _ in database] == ["bound_added", "bound_changed", "bound_removed"]
    assert database == file


def test_storage_parameters_are_those_of_their_file(
    scratch: psycopg.Connection[tuple[Any, ...]],
) -> None:
    scratch.execute(sql.read("tables"))
    database, file = _both(scratch, STORAGE_PARAMETERS)
    assert dict(database)["objects"] == ["fillfactor=85"]
    assert database == file


def test_every_file_is_loaded() -> None:
    files = {path.stem for path in sql.FOLDER.glob("*.sql")}
    assert files == {*sql.FUNCTIONS, "audit_tables", "bound_triggers", "tables", "wall"}


def test_changed_functions_come_with_a_migration_that_loads_them() -> None:
    loads = {
        name: migration.functions
        for (app, name), migration in MigrationLoader(None).disk_migrations.items()
        if app == "storage" and hasattr(migration, "functions")
    }
    assert loads[max(loads)] == sql.digest(), (
        "a database that is there keeps its functions until a migration with sql.functions() "
        "defines them anew; write this digest into it"
    )


def test_the_models_are_those_of_the_migrations(postgres: str) -> None:
    call_command("makemigrations", check_changes=True, dry_run=True, verbosity=0)


BEFORE = {
    "storage": (
        "0001_tables",
        "0002_commit",
        "0003_claims",
        "0004_needs",
        "0005_wall",
        "0006_budgets",
        "0007_uid_first",
    ),
    "tenancy": ("0001_initial", "0002_wall", "0003_budgets"),
    "console": ("0001_initial", "0002_loginattempt"),
}
"""The migrations of the first data directories, by app."""
LATER_COLUMNS = (
    "controllers_off",
    "labels",
    "owners",
    "bound_owners",
    "templates",
    "applied_templates",
    "expires_at",
    "deletion_protection",
    "object_uid",
    "declared",
    "revision",
    "synced_revision",
)
"""Of tenancy_tenant; their indexes go with them."""


@pytest.fixture
def older(owner: str) -> Iterator[str]:
    """Django's alias of a database as the migrations of BEFORE left it, without functions."""
    with psycopg.connect(owner, autocommit=True) as connection:
        connection.execute("CREATE DATABASE older")
    connections.databases["older"] = {**connections.databases[OWNER], "NAME": "older"}
    try:
        call_command("migrate", database="older", verbosity=0)
        with connections["older"].cursor() as cursor:
            cursor.execute("DELETE FROM django_migrations WHERE app = ANY(%s)", [list(BEFORE)])
            for later in (
                *(f"ALTER TABLE tenancy_tenant DROP COLUMN {column}" for column in LATER_COLUMNS),
                "DROP INDEX events_of_events",
                "DROP INDEX objects_being_deleted",
                "DROP INDEX objects_with_finalizers",
                "DROP TABLE audit_entries",
                "DROP TABLE tenancy_accountkey, tenancy_authentication, tenancy_keygeneration",
                "DROP TABLE tenancy_departed, console_oidcidentity, console_accountsession",
                "DROP TABLE console_savedview",
                "DROP TABLE search_entries, search_heads, field_indexes, field_entries",
                "DROP TABLE tallies, tally_heads",
                "DROP TRIGGER bound_added ON objects",
                "DROP TRIGGER bound_changed ON objects",
                "DROP TRIGGER bound_removed ON objects",
                "DROP TABLE bound_subjects",
            ):
                cursor.execute(later)
            for app, names in BEFORE.items():
                for name in names:
                    cursor.execute(
                        "INSERT INTO django_migrations (app, name, applied) VALUES (%s, %s, now())",
                        [app, name],
                    )
            cursor.execute(
                "SELECT string_agg(format('DROP FUNCTION %s;', oid::regprocedure), '') "
                "FROM pg_proc WHERE starts_with(proname, 'pp_')"
            )
            cursor.execute(cursor.fetchone()[0])
        yield "older"
    finally:
        connections["older"].close()
        del connections["older"], connections.databases["older"]
        with psycopg.connect(owner, autocommit=True) as connection:
            connection.execute("DROP DATABASE older")


def test_an_older_database_gets_the_functions_and_nothing_else(owner: str, older: str) -> None:
    call_command("migrate", database=older, verbosity=0)
    with connections[older].cursor() as cursor:
        cursor.execute(FUNCTIONS, ["public"])
        functions = sorted(cursor.fetchall())
        cursor.execute("SELECT app || '.' || name FROM django_migrations ORDER BY id")
        applied = {name for (name,) in cursor.fetchall()}
    with psycopg.connect(owner) as connection:
        assert functions == sorted(connection.execute(FUNCTIONS, ["public"]).fetchall())
    assert applied >= {f"{app}.0001_schema" for app in BEFORE} | {"storage.0002_functions"}


def test_a_database_between_two_versions_is_refused(older: str) -> None:
    with connections[older].cursor() as cursor:
        cursor.execute("DELETE FROM django_migrations WHERE name = '0006_budgets'")
        cursor.execute("SELECT count(*) FROM django_migrations")
        before = cursor.fetchone()
    with pytest.raises(OperatorError, match=r"storage\.0006_budgets was never applied"):
        call_command("migrate", database=older, verbosity=0)
    with connections[older].cursor() as cursor:
        cursor.execute("SELECT count(*) FROM django_migrations")
        assert cursor.fetchone() == before
