"""manage.py audit: who did what, of one tenant or of all."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from io import StringIO
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connection

from apiserver.storage.visibility import django_everywhere
from controlplane.errors import OperatorError
from controlplane.tenancy import service
from controlplane.tenancy.models import Tenant


def put(tenant: Tenant | None, user: str, verb: str, name: str, code: int = 200) -> None:
    event = {
        "kind": "Event",
        "verb": verb,
        "user": {"username": user},
        "sourceIPs": ["192.0.2.7"],
        "impersonatedUser": {"username": "jane"} if verb == "patch" else None,
        "objectRef": {"name": name},
    }
    with django_everywhere(), connection.cursor() as cursor:
        cursor.execute(
            "SELECT pp_audit(%s, %s, %s, %s, %s::bigint[], %s, %s, %s, %s, %s)",
            [
                [tenant.pk if tenant else None],
                [datetime.now(UTC)],
                [user],
                [verb],
                [code],
                ["apps"],
                ["deployments"],
                ["shop"],
                [name],
                [json.dumps(event)],
            ],
        )


@pytest.fixture(scope="module")
def tenants(postgres: str) -> Iterator[tuple[Tenant, Tenant]]:
    a, b = service.create_tenant("audited-a"), service.create_tenant("audited-b")
    put(a, "ann", "create", "web")
    put(a, "ann", "patch", "web")
    put(a, "bob", "delete", "web", 403)
    put(a, "bob", "delete", "db")
    put(b, "eve", "create", "web")
    put(None, "nobody-knows", "login", "", 401)
    yield a, b


def run(*arguments: str) -> list[dict[str, Any]]:
    out = StringIO()
    call_command("audit", *arguments, "-o", "json", stdout=out)
    found: list[dict[str, Any]] = json.loads(out.getvalue())
    return found


def whats(*arguments: str) -> list[tuple[str, str, str]]:
    return [
        (e["user"]["username"], e["verb"], e["objectRef"]["name"])
        for e in run("--tenant", "audited-a", *arguments)
    ]


@pytest.mark.parametrize(
    ("arguments", "found"),
    [
        ("", 4),
        ("--user ann", 2),
        ("--verb delete", 2),
        ("--code 403", 1),
        ("--object deployments.apps/shop/web", 3),
        ("--object deployments.apps/shop", 4),
        ("--object deployments", 0),
        ("--user bob --object deployments.apps/shop/db", 1),
        ("--since 1h", 4),
        ("--until 1h", 0),
        ("--since 2020-01-01T00:00Z --until 2020-01-02", 0),
        ("--limit 1", 1),
    ],
)
def test_what_is_asked_for(tenants: tuple[Tenant, Tenant], arguments: str, found: int) -> None:
    assert len(whats(*arguments.split())) == found


def test_the_newest_comes_first(tenants: tuple[Tenant, Tenant]) -> None:
    assert whats()[0] == ("bob", "delete", "db")
    assert whats()[-1] == ("ann", "create", "web")


def test_a_tenant_does_not_see_another(tenants: tuple[Tenant, Tenant]) -> None:
    _, b = tenants
    assert [e["user"]["username"] for e in run("--tenant", "audited-b")] == ["eve"]
    assert run("--tenant", str(b.pk)) == run("--tenant", "audited-b"), "also by its number"
    everything = run("--since", "1h", "--limit", "100000")
    users = {e.get("user", {}).get("username") for e in everything}
    assert users >= {"ann", "bob", "eve", "nobody-knows"}, "all, for an operator"


def test_a_table_for_people(tenants: tuple[Tenant, Tenant]) -> None:
    out = StringIO()
    call_command("audit", "--tenant", "audited-a", "--verb", "patch", stdout=out)
    head, line = out.getvalue().splitlines()
    assert head.split() == ["TIME", "TENANT", "CODE", "VERB", "USER", "FROM", "VERSION", "WHAT"]
    assert "ann as jane" in line and "192.0.2.7" in line
    assert line.endswith("deployments.apps/shop/web")


def test_names_that_anybody_chose_do_nothing_to_a_terminal(
    tenants: tuple[Tenant, Tenant],
) -> None:
    put(None, "x\n2027-01-01 forged", "get", "\x1b[2J\u202eweb\x9b", 401)
    out = StringIO()
    call_command("audit", "--verb", "get", "--code", "401", stdout=out)
    _, *lines = out.getvalue().splitlines()
    (line,) = (line for line in lines if "forged" in line)
    assert line.isprintable()
    assert r"x\n2027-01-01 forged" in line and r"\x1b[2J\u202eweb\x9b" in line


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--since", "yesterday"], "is no time"),
        (["--since", "2027-13-45T00:00Z"], "is no time"),
        (["--tenant", "no-such"], "There is no tenant"),
        (["--drop-older-than", "0"], "0 days are none"),
    ],
)
def test_what_cannot_be(postgres: str, arguments: list[str], complaint: str) -> None:
    with pytest.raises(OperatorError, match=complaint):
        run(*arguments)


def test_days_that_are_over_are_dropped(tenants: tuple[Tenant, Tenant]) -> None:
    assert run("--drop-older-than", "30") == []
    assert len(whats()) == 4
