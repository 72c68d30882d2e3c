"""Who may connect to the embedded cluster, and as whom.

There is no password: PostgreSQL asks the kernel who is at the other end of the socket (``peer``).
Only root and the account that starts Polyplane get in, as one of two roles: the owner, which made
the cluster and is its superuser (migrations, psql), and the workers' role, which may connect to one
database and owns nothing.
"""

from __future__ import annotations

import os
import pwd
from pathlib import Path

import psycopg
from psycopg import sql

from controlplane import files

OWNER = DATABASE = "polyplane"
WORKER = "polyplane_app"

_STATEMENT_TIMEOUT = "300s"  # the sweeps over all tenants take longest
_IDLE_TIMEOUT = "60s"  # of a transaction that is open
# Whoever may make large objects may fill the disk past every budget.
_LARGE_OBJECTS = (
    "lo_creat(integer)",
    "lo_create(oid)",
    "lo_from_bytea(oid, bytea)",
    "lo_put(oid, bigint, bytea)",
    "lowrite(integer, bytea)",
)


def write_access(cluster: Path) -> None:
    """pg_hba.conf and pg_ident.conf, anew at every start."""
    hba = [f"local all {OWNER} peer map=polyplane", f"local {DATABASE} {WORKER} peer map=polyplane"]
    ident = [f'polyplane "{name}" {role}' for name in _accounts() for role in (OWNER, WORKER)]
    head = "# written by Polyplane at every start"
    for name, lines in (("pg_hba.conf", hba), ("pg_ident.conf", ident)):
        files.replace_file(
            cluster / name, "\n".join([head, *lines, ""]).encode(), 0o644
        )  # PostgreSQL's account reads it


def _accounts() -> list[str]:
    """root and the account that starts the server, which are also those that run commands."""
    return list(dict.fromkeys(pwd.getpwuid(uid).pw_name for uid in (0, os.geteuid())))


def prepare_database(connection: psycopg.Connection[tuple[object, ...]]) -> None:
    """Makes the database and the workers' role, and takes from both what nobody needs. Harmless to
    repeat. ``connection``: the owner's to the database postgres, in autocommit."""
    if connection.execute("SELECT 1 FROM pg_roles WHERE rolname = %s", [WORKER]).fetchone() is None:
        connection.execute(_statement("CREATE ROLE {} LOGIN", WORKER))
    connection.execute(
        _statement(
            "ALTER ROLE {} LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOINHERIT NOREPLICATION "
            "NOBYPASSRLS",
            WORKER,
        )
    )
    for setting, value in (
        ("statement_timeout", _STATEMENT_TIMEOUT),
        ("idle_in_transaction_session_timeout", _IDLE_TIMEOUT),
    ):
        connection.execute(
            sql.SQL("ALTER ROLE {} SET {} = {}").format(
                sql.Identifier(WORKER), sql.Identifier(setting), value
            )
        )
    if (
        connection.execute("SELECT 1 FROM pg_database WHERE datname = %s", [DATABASE]).fetchone()
        is None
    ):
        connection.execute(_statement("CREATE DATABASE {}", DATABASE))
    connection.execute(_statement("REVOKE ALL ON DATABASE {} FROM PUBLIC", DATABASE))
    connection.execute(_statement("GRANT CONNECT ON DATABASE {} TO {}", DATABASE, WORKER))


def harden(connection: psycopg.Connection[tuple[object, ...]]) -> None:
    """Takes from the workers' role what PostgreSQL gives everybody in a database: making tables and
    large objects. Harmless to repeat. ``connection``: the owner's to Polyplane's database, in
    autocommit."""
    connection.execute("REVOKE CREATE ON SCHEMA public FROM PUBLIC")
    for function in _LARGE_OBJECTS:
        connection.execute(
            sql.SQL("REVOKE EXECUTE ON FUNCTION {} FROM PUBLIC").format(sql.SQL(function))
        )


def _statement(text: str, *names: str) -> sql.Composed:
    return sql.SQL(text).format(*map(sql.Identifier, names))
