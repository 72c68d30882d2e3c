"""DATABASE_URL becomes settings and connection strings; failures carry the fix and no password."""

from __future__ import annotations

from typing import Any

import pytest
from psycopg.conninfo import conninfo_to_dict

from controlplane import database
from controlplane.database import conninfo, parse_database_url, verify
from controlplane.errors import OperatorError


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        (
            "postgresql://ann:p%40ss@db.example:5433/poly?sslmode=require",
            {
                "host": "db.example",
                "port": "5433",
                "user": "ann",
                "password": "p@ss",
                "dbname": "poly",
                "sslmode": "require",
            },
        ),
        (
            "postgres:///poly?host=/run/pg&port=6000&user=ann",
            {"host": "/run/pg", "port": "6000", "user": "ann", "dbname": "poly"},
        ),
        ("postgresql://[::1]/poly", {"host": "::1", "dbname": "poly"}),
    ],
)
def test_url_round_trips_to_libpq(url: str, expected: dict[str, str]) -> None:
    assert conninfo_to_dict(conninfo(parse_database_url(url))) == expected


@pytest.mark.parametrize(
    "url",
    [
        "mysql://u:hunter2@h/d",
        "postgresql://u:hunter2@h:port/d",
        "postgresql://u:hunter2@h",
        "u:hunter2@h",
    ],
)
def test_bad_url_is_refused_without_its_password(url: str) -> None:
    with pytest.raises(OperatorError) as e:
        parse_database_url(url)
    assert "hunter2" not in str(e.value) and "postgresql://USER:PASSWORD@HOST:PORT/NAME" in str(
        e.value
    )


def test_old_server_is_refused(postgres: str, monkeypatch: pytest.MonkeyPatch) -> None:
    settings: dict[str, Any] = _settings()
    assert verify(settings) == 18
    monkeypatch.setattr(database, "MINIMUM_VERSION", 19)
    with pytest.raises(OperatorError, match="has version 18; Polyplane needs 19"):
        verify(settings)


def _settings() -> dict[str, Any]:
    from django.conf import settings

    return dict(settings.DATABASES["default"])
