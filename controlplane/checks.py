"""System checks of an installation. Ids are stable: documentation and alerts may name them.

E001 data directory open to others    E002 secret readable by others    E003 PostgreSQL older than
16 E004 PostgreSQL with fsync off         E005 PostgreSQL unreachable       W001 console debugging
on W002 serving certificate expires soon   W003 short secret key          W004 workers connect as
superuser
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, Tags, Warning, register
from django.db import DEFAULT_DB_ALIAS, OperationalError, connections

from controlplane.database import MINIMUM_VERSION, reason
from controlplane.datadir import DataDir

SHORTEST_SECRET = 32
UNBOUND = (
    'Workers connect to PostgreSQL as "{}", a superuser or one whom row-level security '
    "does not bind."
)
TWO_ROLES = (
    "give DATABASE_URL a role without privileges and POLYPLANE_MIGRATION_DATABASE_URL "
    "the owner's; docs/operations.md, Two roles."
)
SECRETS = ("secret.key", "ca.key", "tls.key", "admin.kubeconfig")


@register(Tags.security)
def check_data_directory(**_: Any) -> list[CheckMessage]:
    """Nobody else may look into the data directory."""
    data = DataDir(settings.POLYPLANE_DATA_DIR)
    messages: list[CheckMessage] = []
    if data.path.exists() and data.path.stat().st_mode & 0o077:
        messages.append(
            Error(
                f"{data.path} is open to other users.",
                hint=f"chmod 700 {data.path}",
                id="polyplane.E001",
            )
        )
    for name in SECRETS:
        path = data.file(name)
        if path.exists() and path.stat().st_mode & 0o077:
            messages.append(
                Error(
                    f"{path} is readable by other users.",
                    hint=f"chmod 600 {path}",
                    id="polyplane.E002",
                )
            )
    return messages


@register(Tags.security)
def check_debug(**_: Any) -> list[CheckMessage]:
    if not settings.DEBUG:
        return []
    return [
        Warning(
            "POLYPLANE_DEBUG shows stack traces and settings to clients of the console.",
            hint="unset it.",
            id="polyplane.W001",
        )
    ]


@register(Tags.security)
def check_secret_key(**_: Any) -> list[CheckMessage]:
    """The keys of service accounts' tokens come from it, and their public halves are published:
    whoever reads them may try secrets."""
    if len(settings.SECRET_KEY) >= SHORTEST_SECRET:
        return []
    hint = (
        "set 50 random characters or more on all machines; tokens and sessions of the old key end."
    )
    return [
        Warning(
            f"POLYPLANE_SECRET_KEY has {len(settings.SECRET_KEY)} characters and can be guessed.",
            hint=hint,
            id="polyplane.W003",
        )
    ]


@register(Tags.security)
def check_certificate(**_: Any) -> list[CheckMessage]:
    path = DataDir(settings.POLYPLANE_DATA_DIR).file("tls.crt")
    if not path.exists():
        return []
    from cryptography import x509  # takes a moment

    ends = x509.load_pem_x509_certificate(path.read_bytes()).not_valid_after_utc
    if ends - datetime.now(UTC) > timedelta(days=14):
        return []
    return [
        Warning(
            f"The serving certificate ends at {ends:%Y-%m-%d}.",
            hint="restart: `up` renews it.",
            id="polyplane.W002",
        )
    ]


# Django passes databases as a keyword; the stubs do not say so
@register(Tags.database)  # type: ignore[type-var]
def check_database(databases: list[str] | None = None, **_: Any) -> list[CheckMessage]:
    """Runs where Django runs database checks (migrate, check --database)."""
    messages: list[CheckMessage] = []
    for alias in databases or []:
        try:
            with connections[alias].cursor() as cursor:
                cursor.execute(
                    "SELECT current_setting('server_version_num')::int / 10000, "
                    "current_setting('fsync'), rolsuper OR rolbypassrls, rolname "
                    "FROM pg_roles WHERE rolname = current_user"
                )
                version, fsync, unbound, role = cursor.fetchone()
        except OperationalError as e:
            hint = "start it, or correct DATABASE_URL."
            messages.append(
                Error(
                    f"PostgreSQL cannot be reached: {reason(e)}",
                    hint=hint,
                    id="polyplane.E005",
                )
            )
            continue
        if version < MINIMUM_VERSION:
            hint = f"upgrade to {MINIMUM_VERSION} or newer."
            messages.append(
                Error(f"PostgreSQL {version} is too old.", hint=hint, id="polyplane.E003")
            )
        if unbound and alias == DEFAULT_DB_ALIAS:
            messages.append(Warning(UNBOUND.format(role), hint=TWO_ROLES, id="polyplane.W004"))
        if fsync == "off" and not settings.POLYPLANE_ALLOW_UNSAFE_DATABASE:
            messages.append(
                Error(
                    "PostgreSQL runs with fsync=off: a crash loses acknowledged writes.",
                    hint="set fsync=on.",
                    id="polyplane.E004",
                )
            )
    return messages
