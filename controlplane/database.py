"""DATABASE_URL in, Django settings and psycopg connection strings out; and a first connection whose
failures say what to do."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

import psycopg
from psycopg.conninfo import make_conninfo

from controlplane.errors import OperatorError

MINIMUM_VERSION = 16
OWNER = "owner"
"""The alias in DATABASES under which migrations run; "default" is the workers' role."""
_SCHEMES = frozenset({"postgres", "postgresql"})


def parse_database_url(url: str) -> dict[str, Any]:
    """Django's DATABASES entry of ``postgresql://user:password@host:port/name?option=value``
    (libpq's URI; ``?host=/dir`` is a Unix socket). Options that are no connection setting of Django
    go to OPTIONS. Raises OperatorError without repeating the password."""
    parts = urlsplit(url)
    form = "use the form postgresql://USER:PASSWORD@HOST:PORT/NAME."
    if parts.scheme not in _SCHEMES:
        raise OperatorError(
            f"DATABASE_URL has scheme {parts.scheme!r}; only PostgreSQL works.", form
        )
    try:
        port = parts.port
    except ValueError as e:
        raise OperatorError("DATABASE_URL has a port that is not a number.", form) from e
    options = dict(parse_qsl(parts.query))
    name = unquote(parts.path.lstrip("/")) or options.pop("dbname", "")
    if not name:
        raise OperatorError("DATABASE_URL names no database.", form)
    return {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": name,
        "USER": unquote(parts.username or "") or options.pop("user", ""),
        "PASSWORD": unquote(parts.password or "") or options.pop("password", ""),
        "HOST": unquote(parts.hostname or "") or options.pop("host", ""),
        "PORT": str(port or options.pop("port", "")),
        "OPTIONS": options,
    }


def conninfo(settings: dict[str, Any], **extra: Any) -> str:
    """The libpq connection string of a DATABASES entry, for psycopg outside Django; ``extra`` are
    more libpq parameters."""
    names = {
        "NAME": "dbname",
        "USER": "user",
        "PASSWORD": "password",
        "HOST": "host",
        "PORT": "port",
    }
    parameters = {theirs: settings[ours] for ours, theirs in names.items() if settings.get(ours)}
    options = {
        k: v
        for k, v in settings.get("OPTIONS", {}).items()
        if isinstance(v, str | int) and k != "pool"
    }
    return make_conninfo(**{**parameters, **options, **extra})


def where(settings: dict[str, Any]) -> str:
    """The database as a message may show it: no password."""
    user, host = settings.get("USER") or "-", settings.get("HOST") or "local socket"
    return f"{user}@{host}:{settings.get('PORT') or 5432}/{settings['NAME']}"


def reason(error: Exception) -> str:
    """Why a connection failed, on one line, without libpq's questions behind it."""
    lines = [line for line in str(error).splitlines() if line.strip() and not line[0].isspace()]
    text = lines[-1] if lines else "no reason given"
    return text.removeprefix("connection failed: ").removeprefix("connection is bad: ")


def unreachable(settings: dict[str, Any], error: Exception) -> OperatorError:
    """What an operator is told of a connection that failed. ``settings``: a DATABASES entry."""
    return OperatorError(
        f"PostgreSQL at {where(settings)} (DATABASE_URL) cannot be reached: {reason(error)}",
        "start that server or correct DATABASE_URL; without DATABASE_URL, Polyplane runs its own "
        "PostgreSQL.",
    )


def verify(settings: dict[str, Any]) -> int:
    """Connects once. Returns the server's major version; OperatorError when it is unreachable or
    too old."""
    try:
        with psycopg.connect(conninfo(settings, connect_timeout=10)) as connection:
            version = connection.info.server_version // 10000
    except psycopg.OperationalError as e:
        raise unreachable(settings, e) from e
    if version < MINIMUM_VERSION:
        raise OperatorError(
            f"PostgreSQL at {where(settings)} has version {version}; Polyplane needs "
            f"{MINIMUM_VERSION} or newer.",
            "upgrade that server, or unset DATABASE_URL to use the embedded PostgreSQL 18.",
        )
    return version
