"""The table of objects, by a part of their names: in as many names as a page may look through."""

from __future__ import annotations

import re
import uuid
from datetime import UTC, datetime

import pytest
from django.db import connection, transaction
from django.test import Client
from django.test.utils import CaptureQueriesContext

from apiserver.storage.models import ObjectRow, TenantHead
from apiserver.storage.visibility import django_everywhere
from controlplane.console import partsofnames
from controlplane.tenancy import service
from tests.support.superusers import superuser

TENANT = "parts-of-names"
STORED = {"configmaps": "stuck", "secrets": "login"}
"""In the order of their keys."""


@pytest.fixture(scope="module")
def tenant(postgres: str) -> int:
    """Its number. Its head counts its objects, as if they had been written by the API."""
    number = service.create_tenant(TENANT).pk
    with django_everywhere():
        for version, (resource, name) in enumerate(STORED.items(), 1):
            ObjectRow.objects.create(
                tenant_id=number,
                api_group="",
                resource=resource,
                namespace="shop",
                name=name,
                uid=uuid.uuid4(),
                resource_version=version,
                data={"metadata": {"name": name}},
                created_at=datetime.now(UTC),
                size=1,
            )
        TenantHead.objects.filter(tenant_id=number).update(object_count=len(STORED))
    return int(number)


@pytest.fixture
def client(tenant: int) -> Client:
    return superuser("looks-through")


def ask(client: Client, query: str) -> tuple[set[str], str]:
    """(names, the page)."""
    path = f"/admin/console/storedobject/?tenant={TENANT}&{query}"
    html = client.get(path, secure=True).content.decode()
    links = re.findall(r"/admin/console/storedobject/[^\"/]+/change/", html)
    return {name for name in STORED.values() if any(name in link for link in links)}, html


@pytest.mark.parametrize(
    ("looked_at", "query", "found", "said"),
    [
        (1, "q=*ogi", set(), True),
        (1, "q=*OGI", set(), True),
        (1, "q=*c", {"stuck"}, True),
        (1, "q=*c&o=-1", {"stuck"}, True),
        (2, "q=*ogi", {"login"}, False),
        (2, "q=OGI", {"login"}, False),
        (2, "q=*_", set(), False),
        (1, "q=*ogi&group=core&resource=secrets&namespace=shop", {"login"}, False),
        (1, "q=*ogi&group=apps", set(), False),
        (1, "q=*ogi&deleting=no", {"login"}, False),
        (1, "q=*ogi&finalizers=no", {"login"}, False),
    ],
)
def test_a_part_of_a_name_is_looked_for_in_so_many_names(
    client: Client,
    monkeypatch: pytest.MonkeyPatch,
    looked_at: int,
    query: str,
    found: set[str],
    said: bool,
) -> None:
    monkeypatch.setattr(partsofnames, "LOOKED_AT", looked_at)
    names, html = ask(client, query)
    assert names == found
    assert (f"among the first {looked_at} names" in html) is said


@pytest.mark.parametrize(("order", "all_rows"), [("", False), ("&o=-1", True)])
def test_what_many_names_have_is_listed_in_the_order_that_is_asked_for(
    client: Client, monkeypatch: pytest.MonkeyPatch, order: str, all_rows: bool
) -> None:
    """Where more are found than a list counts, they are its first in the order of keys only."""
    monkeypatch.setattr(partsofnames, "MOST", 0)
    with CaptureQueriesContext(connection) as queries:
        assert ask(client, f"q=*ogi{order}")[0] == {"login"}
    assert any("LIKE" in q["sql"] for q in queries) is all_rows


def test_names_are_behind_the_wall(tenant: int) -> None:
    ask = "SELECT count(*) FROM pp_names(%s, NULL, NULL, 'shop', 'logi', 1000000, 1000)"
    with transaction.atomic(), connection.cursor() as cursor:
        for seen, asked, count in [
            *((tenant, tenant, 1), ("all", tenant, 1), ("", None, 0)),
            *((tenant, None, 0), (tenant + 1, tenant, 0), ("", tenant, 0)),
        ]:
            cursor.execute("SELECT set_config('polyplane.tenant', %s, true)", [str(seen)])
            cursor.execute(ask, [asked])
            assert cursor.fetchone() == (count,), (seen, asked)
        cursor.execute("SELECT set_config('polyplane.tenant', 'all', true)")
        cursor.execute(ask, [None])
        assert cursor.fetchone()[0] >= 1
