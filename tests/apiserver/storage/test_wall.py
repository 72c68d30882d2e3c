"""The second wall: a query that names no tenant, or another one, gets nothing, whatever its WHERE
clause; and what the workers' role may not do at all. Tables are taken from the catalog, so that a
new one cannot be forgotten."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg import sql

from apiserver.storage import tenants
from apiserver.storage.postgres import PostgresStore
from tests.support.storage import CONFIGMAPS, create, key, numbers

ROOT = Path(__file__).resolve().parents[3]
KEYED = """
SELECT c.relname FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND NOT a.attisdropped
WHERE c.relkind IN ('r', 'p', 'm', 'v') AND c.relnamespace = 'public'::regnamespace
    AND a.attname = 'tenant_id' AND NOT c.relispartition
ORDER BY 1
"""
PARTITIONS = """
SELECT inhrelid::regclass::text FROM pg_inherits WHERE inhparent = 'audit_entries'::regclass
"""
APPENDED = {"audit_entries"}
"""Tables whose rows nobody changes."""
OPEN = """
SELECT relname FROM pg_class
WHERE relname = ANY(%s) AND NOT (relrowsecurity AND relforcerowsecurity)
"""


@pytest.fixture
def role(postgres: str) -> Iterator[psycopg.Connection[tuple[Any, ...]]]:
    """The workers' role, in autocommit."""
    with psycopg.connect(postgres, autocommit=True) as connection:
        yield connection


@pytest.fixture
def keyed(owner: str) -> list[str]:
    with psycopg.connect(owner) as connection:
        return [row[0] for row in connection.execute(KEYED).fetchall()]


@pytest.fixture
async def two(store: PostgresStore, owner: str) -> tuple[int, int]:
    """Two tenants with a row in every table that has tenants."""
    a, b = next(numbers), next(numbers)
    for number in (a, b):
        await _with_rows(store, owner, number)
    return a, b


async def _with_rows(store: PostgresStore, owner: str, number: int) -> None:
    from tests.support.fixtures import in_thread

    await in_thread(lambda: tenants.create(number))
    await store.write(number, create(key("a")))
    with psycopg.connect(owner, autocommit=True) as connection:
        connection.execute(
            "INSERT INTO tenancy_tenant (id, name, display_name, state, created_at) VALUES (%s, "
            "%s, '', 'active', now())",
            [number, f"w{number}"],
        )
        connection.execute(
            'INSERT INTO tenancy_apitoken (hash, description, "user", uid, groups, created_at, '
            "tenant_id) "
            "VALUES (%s, '', 'u', '', '{}', now(), %s)",
            [str(number).encode(), number],
        )
        connection.execute(
            "INSERT INTO tenancy_accountkey (tenant_id, generation_id, sealed) VALUES (%s, 0, '')",
            [number],
        )
        connection.execute("INSERT INTO search_heads (tenant_id, indexed) VALUES (%s, 0)", [number])
        connection.execute(
            "INSERT INTO search_entries (tenant_id, api_group, resource, namespace, name, terms) "
            "VALUES (%s, '', 'configmaps', 'ns', 'a', '')",
            [number],
        )
        connection.execute(
            "INSERT INTO field_indexes (tenant_id, api_group, resource, path, declared, indexed) "
            "VALUES (%s, '', 'configmaps', 'data.a', 0, 0)",
            [number],
        )
        connection.execute(
            "INSERT INTO field_entries (tenant_id, index_id, place, name, value) "
            "VALUES (%s, 0, 'ns/', 'a', '')",
            [number],
        )
        connection.execute(
            "INSERT INTO bound_subjects (tenant_id, uid, subject) "
            "VALUES (%s, gen_random_uuid(), 'User:u')",
            [number],
        )
        connection.execute("INSERT INTO tally_heads (tenant_id, through) VALUES (%s, 0)", [number])
        connection.execute(
            "INSERT INTO tallies (tenant_id, namespace, api_group, resource, number) "
            "VALUES (%s, '', '', 'configmaps', 1)",
            [number],
        )
        connection.execute(
            "INSERT INTO tenancy_authentication (tenant_id, document) VALUES (%s, '')",
            [number],
        )


def _see(connection: psycopg.Connection[tuple[Any, ...]], tenant: object) -> None:
    connection.execute("SELECT set_config('polyplane.tenant', %s, true)", [str(tenant)])


def test_every_table_with_tenants_is_behind_the_wall(owner: str, keyed: list[str]) -> None:
    assert {"objects", "events", "tenant_heads", "tenancy_apitoken", *APPENDED} <= set(keyed)
    with psycopg.connect(owner) as connection:
        assert connection.execute(OPEN, [keyed]).fetchall() == []


async def test_who_names_no_tenant_sees_nothing(
    two: tuple[int, int], role: psycopg.Connection[tuple[Any, ...]], keyed: list[str]
) -> None:
    assert keyed
    for table in keyed:
        select = sql.SQL("SELECT count(*) FROM {}").format(sql.Identifier(table))
        for value in (None, "", "0", "x"):
            with role.transaction():
                if value is not None:
                    _see(role, value)
                assert role.execute(select).fetchone() == (0,), (table, value)


async def test_a_tenant_sees_its_own_rows_only(
    two: tuple[int, int], role: psycopg.Connection[tuple[Any, ...]], keyed: list[str]
) -> None:
    assert keyed
    for table in keyed:
        select = sql.SQL("SELECT DISTINCT tenant_id FROM {}").format(sql.Identifier(table))
        for tenant in two:
            with role.transaction():
                _see(role, tenant)
                assert role.execute(select).fetchall() == [(tenant,)], table
        assert role.execute(select).fetchall() == [], "nothing is left of it after the transaction"


async def test_a_tenant_changes_its_own_rows_only(
    two: tuple[int, int], role: psycopg.Connection[tuple[Any, ...]], keyed: list[str]
) -> None:
    a, b = two
    for table in set(keyed) - APPENDED:
        name = sql.Identifier(table)
        with role.transaction(force_rollback=True):
            _see(role, a)
            assert (
                role.execute(
                    sql.SQL("DELETE FROM {} WHERE tenant_id = %s").format(name), [b]
                ).rowcount
                == 0
            ), table
            assert (
                role.execute(
                    sql.SQL("UPDATE {} SET tenant_id = tenant_id WHERE tenant_id = %s").format(
                        name
                    ),
                    [b],
                ).rowcount
                == 0
            )
            assert role.execute(sql.SQL("DELETE FROM {}").format(name)).rowcount >= 1, "its own"
        for moved in (a, b):
            with (
                pytest.raises(psycopg.errors.InsufficientPrivilege, match="row-level security"),
                role.transaction(),
            ):
                _see(role, a)
                role.execute(
                    sql.SQL("UPDATE {} SET tenant_id = %s").format(name),
                    [b + 1 if moved == a else b],
                )


@pytest.mark.parametrize("change", ["DELETE FROM {}", "UPDATE {} SET code = 0", "TRUNCATE {}"])
def test_the_workers_role_does_not_change_what_was_done(
    role: psycopg.Connection[tuple[Any, ...]], change: str
) -> None:
    for table in APPENDED:
        with pytest.raises(psycopg.errors.InsufficientPrivilege), role.transaction():
            _see(role, "all")
            role.execute(sql.SQL(change).format(sql.Identifier(table)))  # type: ignore[arg-type]


def test_partitions_are_reached_through_their_table_alone(
    owner: str, role: psycopg.Connection[tuple[Any, ...]]
) -> None:
    with psycopg.connect(owner) as connection:
        partitions = [row[0] for row in connection.execute(PARTITIONS).fetchall()]
        assert len(partitions) > 7
        assert connection.execute(OPEN, [partitions]).fetchall() == []
    for partition in partitions:
        with pytest.raises(psycopg.errors.InsufficientPrivilege), role.transaction():
            _see(role, "all")
            role.execute(sql.SQL("SELECT 1 FROM {}").format(sql.Identifier(partition)))


async def test_a_tenant_cannot_add_rows_to_another(
    two: tuple[int, int], role: psycopg.Connection[tuple[Any, ...]], keyed: list[str]
) -> None:
    a, b = two
    assert keyed
    for table in keyed:
        name = sql.Identifier(table)
        with role.transaction():
            _see(role, b)
            columns = [
                c.name
                for c in role.execute(sql.SQL("SELECT * FROM {} LIMIT 0").format(name)).description
                or ()
                if c.name != "id"
            ]
            row = role.execute(
                sql.SQL("SELECT {} FROM {} LIMIT 1").format(
                    sql.SQL(", ").join(map(sql.Identifier, columns)), name
                )
            ).fetchone()
        assert row is not None
        values = [psycopg.types.json.Jsonb(v) if isinstance(v, dict) else v for v in row]
        insert = sql.SQL("INSERT INTO {} ({}) VALUES ({})").format(
            name,
            sql.SQL(", ").join(map(sql.Identifier, columns)),
            sql.SQL(", ").join([sql.Placeholder()] * len(values)),
        )
        with (
            pytest.raises(psycopg.errors.InsufficientPrivilege, match="row-level security"),
            role.transaction(),
        ):
            _see(role, a)
            role.execute(insert, values)


async def test_the_store_keeps_to_the_tenant_it_is_asked_about(
    store: PostgresStore, two: tuple[int, int]
) -> None:
    a, b = two
    assert len((await store.list(a, CONFIGMAPS)).records) == 1
    async with store.database.connection() as connection:
        for statement in (
            "SELECT * FROM objects",
            "SELECT * FROM pp_get(%s, '', 'configmaps', 'default', 'a') WHERE false",
        ):
            rows = await (
                await connection.execute(statement, [b] if "%s" in statement else None)
            ).fetchall()
            assert rows == []
        state = await (
            await connection.execute(
                "SELECT coalesce(current_setting('polyplane.tenant', true), '')"
            )
        ).fetchone()
        assert state == ("",)


FORBIDDEN = [
    "COPY (SELECT 1) TO PROGRAM 'true'",
    "COPY leases FROM PROGRAM 'echo'",
    "COPY (SELECT 1) TO '/tmp/polyplane-wall'",
    "SELECT pg_read_file('/etc/passwd')",
    "SELECT pg_read_binary_file('postgresql.conf')",
    "SELECT pg_ls_dir('.')",
    "SELECT lo_import('/etc/passwd')",
    "SELECT lo_create(0)",
    "SELECT lo_from_bytea(0, 'x')",
    "CREATE EXTENSION dblink",
    "CREATE ROLE intruder",
    "ALTER ROLE polyplane_app SUPERUSER",
    "ALTER ROLE polyplane_app BYPASSRLS",
    "SET ROLE polyplane",
    "SET SESSION AUTHORIZATION polyplane",
    "GRANT polyplane TO polyplane_app",
    "ALTER TABLE objects DISABLE ROW LEVEL SECURITY",
    "ALTER TABLE objects NO FORCE ROW LEVEL SECURITY",
    "DROP POLICY tenant_wall ON objects",
    "CREATE POLICY other ON objects USING (true)",
    "CREATE TABLE more (n int)",
    "CREATE TEMP TABLE more (n int)",
    "CREATE SCHEMA more",
    "CREATE DATABASE more",
    "CREATE FUNCTION more() RETURNS int LANGUAGE sql AS 'SELECT 1'",
    "TRUNCATE objects",
    "DROP TABLE events",
    "DROP SEQUENCE pp_rv_base",
    "SELECT setval('pp_rv_base', 1)",
    "DELETE FROM django_migrations",
    "ALTER SYSTEM SET fsync = off",
    "SELECT pg_reload_conf()",
    "SELECT pg_terminate_backend(pg_postmaster_start_time()::text::int) WHERE false; SELECT "
    "rolpassword FROM pg_authid",
    "SET session_replication_role = replica",
    "SET row_security = off; SELECT * FROM objects",
]


@pytest.mark.parametrize("statement", FORBIDDEN)
def test_the_workers_role_has_no_privileges(
    role: psycopg.Connection[tuple[Any, ...]], statement: str
) -> None:
    with pytest.raises((psycopg.errors.InsufficientPrivilege, psycopg.errors.FeatureNotSupported)):
        role.execute(statement)


def test_the_workers_role_owns_nothing_and_belongs_to_nobody(
    role: psycopg.Connection[tuple[Any, ...]],
) -> None:
    attributes = "rolsuper, rolcreatedb, rolcreaterole, rolreplication, rolbypassrls, rolinherit"
    assert (
        role.execute(f"SELECT {attributes} FROM pg_roles WHERE rolname = current_user").fetchone()
        == (False,) * 6
    )
    assert role.execute(
        "SELECT count(*) FROM pg_class WHERE pg_get_userbyid(relowner) = current_user"
    ).fetchone() == (0,)
    assert role.execute(
        "SELECT count(*) FROM pg_auth_members WHERE member = current_user::regrole"
    ).fetchone() == (0,)
    timeouts = (
        "current_setting('statement_timeout'), "
        "current_setting('idle_in_transaction_session_timeout')"
    )
    assert role.execute(f"SELECT {timeouts}").fetchone() == ("5min", "1min")


@pytest.mark.parametrize("database", ["postgres", "template1"])
def test_the_workers_role_connects_to_one_database(postgres: str, database: str) -> None:
    with pytest.raises(psycopg.OperationalError):
        psycopg.connect(postgres, dbname=database)


def test_functions_are_not_everybodys_and_those_of_the_owner_have_a_fixed_search_path(
    owner: str,
) -> None:
    with psycopg.connect(owner) as connection:
        rows = connection.execute(
            "SELECT proname, prosecdef, proconfig, has_function_privilege('public', oid, "
            "'EXECUTE') FROM pg_proc "
            "WHERE starts_with(proname, 'pp_') AND pronamespace = 'public'::regnamespace"
        ).fetchall()
    assert len(rows) >= 10
    for name, definer, config, public in rows:
        assert not public, name
        assert not definer or config == ["search_path=public, pg_temp"], name


EVERYWHERE = {
    "apiserver/storage/auditlog.py": {"_is_there"},
    "apiserver/storage/compact.py": {"compact_due", "relieve"},
    "apiserver/storage/expiry.py": {"due"},
    "apiserver/storage/pool.py": {"rows_everywhere", "seeing"},
    "apiserver/storage/reader.py": {"counts"},
    "apiserver/storage/relations.py": {"heads", "orphaned", "waiting"},
    "apiserver/storage/fields.py": {"behind"},
    "apiserver/storage/search.py": {"behind"},
    "apiserver/storage/tally.py": {"behind"},
    "apiserver/storage/tenants.py": {"close", "create", "drop_many"},
    "controlplane/console/accounttokens.py": {"_end"},
    "controlplane/console/facts/asking.py": {"view"},
    "controlplane/console/readonly.py": {"seeing"},
    "controlplane/management/commands/audit.py": {"_seeing"},
    "controlplane/management/commands/compact.py": {"handle"},
    "controlplane/management/commands/tenant.py": {"_list"},
    "controlplane/tenancy/authentication.py": {"documents"},
    "controlplane/tenancy/rows.py": {"drop", "usage", "used"},
    "controlplane/tenancy/service.py": {"apply_default_limits", "delete_tenant"},
    "controlplane/tenancy/tokens.py": {
        "_get",
        "create_token",
        "list_tokens",
        "is_known",
        "revoke_token",
        "tenants_of",
    },
    "controlplane/tenancy/fetching.py": {"fetch"},
}
"""Who may look over the wall, by file and innermost function: sweeps over tenants, the directory,
and the operator's commands and pages."""


def test_only_those_listed_look_over_the_wall() -> None:
    users: dict[str, set[str]] = {}
    for path in (
        p
        for package in ("apiserver", "admission", "controlplane")
        for p in (ROOT / package).rglob("*.py")
    ):
        name = str(path.relative_to(ROOT))
        if name == "apiserver/storage/visibility.py" or "/migrations/" in name:
            continue
        text = path.read_text()
        assert "polyplane.tenant'" not in text, f"{name} sets what visibility.py alone sets"
        _callers(ast.parse(text), "", users.setdefault(name, set()))
    assert {name: callers for name, callers in users.items() if callers} == EVERYWHERE


def _callers(node: ast.AST, function: str, found: set[str]) -> None:
    for child in ast.iter_child_nodes(node):
        inner = (
            child.name if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef) else function
        )
        if isinstance(child, ast.Call):
            called = (
                child.func.attr
                if isinstance(child.func, ast.Attribute)
                else getattr(child.func, "id", "")
            )
            if called.endswith("everywhere"):
                found.add(inner)
        _callers(child, inner, found)
