"""What ends soon: who is told of which tokens and certificates.

| who | tokens, the server's | certificates in Secrets of |
|---|---|---|
| a superuser | yes | all tenants |
| polyplane:viewers | yes | none: they read no Secret |
| polyplane:tenant-admins | no | none, unless they make themselves owners |
| an owner of a tenant | no | that tenant |
| anybody else who has logged in | no | none |
| nobody | 401 | 401 |
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from apiserver.storage.models import ObjectRow, SearchEntry
from apiserver.storage.visibility import django_everywhere
from controlplane.console.facts import endingpages
from controlplane.tenancy.models import ApiToken, Tenant

from .conftest import Ask

OWNED, OTHER = "pages-owned", "pages-other"
PLACE = "ends-here"


def secret(tenant: str, name: str, ends: datetime, *, there: bool = True) -> None:
    """A Secret of which the index knows when its certificate ends; there: it is not deleted."""
    number = Tenant.objects.get(name=tenant).pk
    key = {"tenant_id": number, "api_group": "", "resource": "secrets"}
    key |= {"namespace": PLACE, "name": name}
    SearchEntry.objects.create(**key, terms="", ends=ends)
    if there:
        more: dict[str, Any] = {"data": {"data": {"tls.key": "hunter2"}}, "size": 1}
        more |= {"uid": uuid.uuid4(), "resource_version": 1, "created_at": timezone.now()}
        ObjectRow.objects.create(**key, **more)


@pytest.fixture(autouse=True)
def world(people: dict[str, User]) -> Iterator[None]:
    now, day = timezone.now(), timedelta(days=1)
    with django_everywhere():
        secret(OWNED, "soon", now + 3 * day)
        secret(OWNED, "ended", now - day)
        secret(OWNED, "gone", now + day, there=False)
        secret(OWNED, "later", now + 15 * day)
        secret(OWNED, "long-ago", now - 15 * day)
        secret(OTHER, "foreign", now + 2 * day)
        ApiToken.objects.create(
            user="ends-here", hash=b"ends-here", uid="", expires_at=now + day, description=""
        )
    yield
    with django_everywhere():
        for rows in (ObjectRow, SearchEntry):
            rows.objects.filter(namespace=PLACE).delete()
        ApiToken.objects.filter(user="ends-here").delete()


def told(ask: Ask, who: str) -> list[tuple[str, str, bool]]:
    status, found = ask(who, "GET", "ending")
    assert status == 200 and "hunter2" not in str(found)
    rows = [row for row in found["secrets"] if row["namespace"] == PLACE]
    return [(row["tenant"], row["name"], row["ended"]) for row in rows]


MINE = [(OWNED, "ended", True), (OWNED, "soon", False)]


def test_certificates_are_for_those_who_read_the_secrets_of_the_tenant(ask: Ask) -> None:
    assert told(ask, "owner") == MINE
    assert told(ask, "root") == [MINE[0], (OTHER, "foreign", False), MINE[1]]
    for who in ("looker", "keeper", "ann"):
        assert told(ask, who) == []
    assert ask("", "GET", "ending")[0] == 401


def test_who_is_named_an_owner_and_not_yet_bound_is_told_nothing(ask: Ask) -> None:
    Tenant.objects.filter(name=OWNED).update(bound_owners=[])
    assert told(ask, "owner") == []


def test_tokens_and_the_servers_certificates_are_for_those_with_the_role(
    ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = {"name": "serving certificate", "subject": "CN=x", "expires": "2030-01-01T00:00:00Z"}
    ending, lasting = {**one, "soon": True}, {**one, "soon": False}
    monkeypatch.setattr(endingpages, "server_certificates", lambda: [ending, lasting])
    for who, looks in {"root": 1, "looker": 1, "keeper": 0, "owner": 0, "ann": 0}.items():
        found = ask(who, "GET", "ending")[1]
        assert found["certificates"] == [ending] * looks
        assert [t["user"] for t in found["tokens"] if t["user"] == PLACE] == [PLACE] * looks


def test_there_are_more_than_are_told(ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(endingpages, "_MOST", 1)
    found = ask("owner", "GET", "ending")[1]
    assert [row["name"] for row in found["secrets"]] == ["ended"] and found["more"] is True
    monkeypatch.setattr(endingpages, "_MOST", 2)
    assert ask("owner", "GET", "ending")[1]["more"] is False


def test_no_secret_is_looked_through(ask: Ask) -> None:
    ask("root", "GET", "ending")
    with CaptureQueriesContext(connection) as captured:
        ask("root", "GET", "ending")
    (query,) = [q["sql"] for q in captured if " search_entries " in q["sql"]]
    assert len(captured) <= 12
    with django_everywhere(), connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_seqscan = off")
        cursor.execute(f"EXPLAIN {query}")
        plan = "\n".join(line for (line,) in cursor.fetchall())
    assert "search_entries_ending" in plan
