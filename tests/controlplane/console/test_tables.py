"""The tables of the database as operators go through them: what a list costs where there are many
tenants, rows of what is gone, and the ways back."""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime
from html import unescape
from typing import Any
from urllib.parse import unquote

import pytest
from django.contrib.admin.views.main import ChangeList
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from apiserver.storage.models import AuditEntry, EventRow, ObjectRow
from apiserver.storage.visibility import django_everywhere
from controlplane.console import paginator
from controlplane.console.models import StoredEvent, StoredObject
from controlplane.console.readonly import BoundedList
from controlplane.tenancy import service, tokens
from controlplane.tenancy.models import ApiToken, Tenant
from tests.support.superusers import superuser

LISTS = (
    "tenancy/tenant",
    "tenancy/apitoken",
    "console/storedobject",
    "console/storedevent",
    "storage/auditentry",
    "auth/user",
)
MANY = 60  # tenants, more than a page of them has
NOW = datetime.now(UTC)


def event(tenant: Tenant, resource: str, name: str, obj: dict[str, Any], **more: Any) -> EventRow:
    values = {"resource_version": 7, "previous": 0, "key_previous": 0, "at": NOW, "type": "A"}
    return EventRow.objects.create(
        tenant_id=tenant.pk,
        api_group="",
        resource=resource,
        namespace="shop",
        name=name,
        uid=uuid.uuid4(),
        data=obj,
        size=1,
        **(values | more),
    )


def config_map(name: str) -> dict[str, Any]:
    metadata = {"name": name, "namespace": "shop", "creationTimestamp": "2026-01-01T00:00:00Z"}
    return {"kind": "ConfigMap", "apiVersion": "v1", "metadata": metadata, "data": {"a": "kept"}}


@pytest.fixture(scope="module")
def many(postgres: str) -> Iterator[Tenant]:
    """Tenants ``tables-0`` and on, each with an object, a change, an audit entry and a token; the
    first one also has what is deleted: ConfigMap ``gone`` and Secret ``gone``."""
    made = [service.create_tenant(f"tables-{number}") for number in range(MANY)]
    with django_everywhere():
        for tenant in made:
            tokens.create_token(f"tables-user-{tenant.name}", tenant=tenant)
            _fill(tenant)
        event(made[0], "configmaps", "gone", config_map("gone"), resource_version=8)
        event(made[0], "configmaps", "gone", config_map("gone"), resource_version=9, type="D")
        secret = config_map("gone") | {"kind": "Secret", "data": {"key": "aHVudGVyMg=="}}
        event(made[0], "secrets", "gone", secret, resource_version=10, type="D")
    yield made[0]
    numbers = [tenant.pk for tenant in made]
    with django_everywhere():
        for model in (EventRow, ObjectRow):  # audit entries stay: nobody may delete one
            model.objects.filter(tenant_id__in=numbers).delete()
        ApiToken.objects.filter(tenant_id__in=numbers).delete()
        Tenant.objects.filter(pk__in=numbers).delete()


def _fill(tenant: Tenant) -> None:
    event(tenant, "configmaps", "one", config_map("one"))
    ObjectRow.objects.create(
        tenant_id=tenant.pk,
        api_group="",
        resource="configmaps",
        namespace="shop",
        name="one",
        uid=uuid.uuid4(),
        resource_version=7,
        data=config_map("one"),
        created_at=NOW,
        size=1,
    )
    AuditEntry.objects.create(
        id=uuid.uuid4(),
        tenant_id=tenant.pk,
        at=NOW,
        resource_version=7,
        user_name="tables-user",
        verb="create",
        code=201,
        api_group="",
        resource="configmaps",
        namespace="shop",
        name="one",
        data={"verb": "create"},
    )


@pytest.fixture
def client(many: Tenant) -> Client:
    return superuser("tables-tester")


def get(client: Client, path: str) -> str:
    response = client.get(path, secure=True)
    assert response.status_code == 200, (path, response.status_code)
    return response.content.decode()


@pytest.mark.parametrize("name", LISTS)
def test_a_list_costs_the_same_however_many_tenants_there_are(client: Client, name: str) -> None:
    """The finding: 217 queries, one for each tenant."""
    with CaptureQueriesContext(connection) as queries:
        get(client, f"/admin/{name}/")
    assert len(queries) <= 12, [q["sql"][:120] for q in queries]


@pytest.mark.parametrize("resource", ["configmaps", "secrets"])
def test_a_deleted_row_opens_with_what_it_was(client: Client, resource: str) -> None:
    html = get(client, f"/admin/console/storedevent/?tenant=tables-0&resource={resource}")
    links = {
        unescape(link) for link in re.findall(r'href="(/admin/console/storedobject/[^"]+)"', html)
    }
    gone = next(link for link in links if "gone" in unquote(link))
    page = get(client, gone)
    assert "deleted at" in page and "DELETED" in page
    assert ("kept" in page) is (resource == "configmaps")
    assert "aHVudGVyMg" not in page and "hunter2" not in page


@pytest.mark.parametrize("name", ["console/storedobject", "console/storedevent"])
def test_nobody_waits_for_a_count_of_all_rows(
    client: Client, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """It looks no further than the bound, and says that there is more."""
    monkeypatch.setattr(paginator, "MOST", 51)
    with CaptureQueriesContext(connection) as queries:
        html = get(client, f"/admin/{name}/")
    table = StoredEvent if name.endswith("event") else StoredObject
    counts = [
        q["sql"] for q in queries if "COUNT(" in q["sql"] and table._meta.db_table in q["sql"]
    ]
    assert counts and all("LIMIT 52" in sql for sql in counts)
    counted = re.sub(r"\s+", " ", html.split('id="counted">')[1].split("</div>")[0])
    assert "the first 51 of more rows" in counted
    assert "52 results" not in html and "51 results" not in html
    assert "?p=2" in html and "?p=3" not in html
    assert client.get(f"/admin/{name}/?p=3", secure=True).status_code == 302, "beyond the bound"


def test_a_count_below_the_bound_is_exact(client: Client) -> None:
    html = get(client, "/admin/console/storedobject/?tenant=tables-0")
    assert "1 row\n" in html.split('id="counted">')[1].split("</div>")[0]


def test_an_object_that_never_was_is_not_found(client: Client, many: Tenant) -> None:
    key = f"_5B{many.pk}_2C_22_22_2C_22configmaps_22_2C_22shop_22_2C_22never_22_5D"
    path = f"/admin/console/storedobject/{key}/change/"
    assert client.get(path, secure=True).status_code == 404


@pytest.mark.parametrize(
    "path",
    [
        "console/storedobject/?namespace=shop&tenant=tables-0",
        "storage/auditentry/?tenant=tables-0&verb=create",
        "tenancy/tenant/?q=tables-0",
    ],
)
def test_the_way_back_to_a_list_keeps_its_filters(client: Client, path: str) -> None:
    name, _, filters = path.partition("?")
    html = get(client, f"/admin/{path}")
    link = next(
        unescape(link)
        for link in re.findall(rf'href="(/admin/{name}[^"]+/change/[^"]*)"', html)
        if "_changelist_filters" in link
    )
    backs = re.findall(rf'href="(/admin/{name}\?[^"]+)"', get(client, link))
    assert f"/admin/{name}?{filters}" in {unescape(back) for back in backs}


def test_the_way_back_is_never_markup(client: Client, many: Tenant) -> None:
    odd = "%22%3E%3Cimg%20src%3Dx%20onerror%3Dalert(1)%3E"
    html = get(client, f"/admin/tenancy/tenant/{many.pk}/change/?_changelist_filters={odd}")
    assert "<img src=x" not in html and "&lt;img src=x" in html


def test_a_tenants_name_is_shown_as_it_is(client: Client, many: Tenant) -> None:
    html = get(client, f"/admin/tenancy/tenant/{many.pk}/change/")
    assert ">tables-0</" in html and "Tables-0" not in html


def test_the_tables_lead_to_the_console_and_the_object_to_its_page(client: Client) -> None:
    html = get(client, "/admin/console/storedobject/?tenant=tables-0")
    assert 'href="/admin/console/"' in html and "Change log" in html
    link = unescape(re.findall(r'href="(/admin/console/storedobject/[^"]+)"', html)[0])
    live = "/admin/console/t/tables-0/core/configmaps/shop/one"
    assert f'href="{live}"' in get(client, link)
    assert client.get(live, secure=True).status_code == 200


def test_the_side_bar_marks_the_table_that_is_shown_and_no_other(client: Client) -> None:
    html = get(client, "/admin/console/storedevent/?tenant=tables-0")
    marked = re.findall(r'<a href="(/admin/[^"]*)"[^>]*class="[^"]*\bactive\b', html)
    assert marked == ["/admin/console/storedevent/"]


@pytest.mark.parametrize("query", ["?o=-2.1", "?state__exact=active&o=1"])
def test_links_of_headings_are_djangos_and_not_made_for_each_row(
    client: Client, monkeypatch: pytest.MonkeyPatch, query: str
) -> None:
    made = []
    plain = ChangeList.get_query_string

    def counted(self: ChangeList, *asked: Any, **more: Any) -> str:
        made.append(asked)
        return plain(self, *asked, **more)

    monkeypatch.setattr(ChangeList, "get_query_string", counted)
    page = get(client, f"/admin/tenancy/tenant/{query}")
    rows = page.count("<tr")
    assert "o=" in page and rows > 40 and len(made) < rows
    monkeypatch.setattr(BoundedList, "get_query_string", plain)
    assert _FRESH.sub("", get(client, f"/admin/tenancy/tenant/{query}")) == _FRESH.sub("", page)


_FRESH = re.compile(r'(?<=name="csrfmiddlewaretoken" value=")\w+|(?<=nonce=")[^"]+')
"""What is different each time."""


def test_words_for_scripts_are_kept_by_the_browser_and_ask_for_nobody(postgres: str) -> None:
    assert reverse("admin:jsi18n") == "/admin/jsi18n/"
    with CaptureQueriesContext(connection) as queries:
        answer = Client().get("/admin/jsi18n/", secure=True)
    assert answer.status_code == 200 and b"gettext" in answer.content
    assert answer["Cache-Control"] == "max-age=3600" and not answer.has_header("Vary")
    assert len(queries) == 0
