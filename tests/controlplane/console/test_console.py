"""The console: needs a login, lists everything, changes nothing, shows no secret, loads nothing
from elsewhere."""

from __future__ import annotations

import base64
import re
import uuid
from datetime import UTC, datetime, timedelta
from html import unescape
from typing import Any

import pytest
from django.apps import apps
from django.contrib.admin import site
from django.contrib.admin.utils import quote
from django.db import connection
from django.test import Client, RequestFactory
from django.test.utils import CaptureQueriesContext

from apiserver.storage.models import AuditEntry, EventRow, ObjectRow
from apiserver.storage.visibility import django_everywhere
from controlplane.console.readonly import AllowedLookups
from controlplane.console.security import POLICY
from controlplane.console.storedobjects import object_url
from controlplane.tenancy import service, tokens
from controlplane.tenancy.models import Tenant
from tests.support.superusers import superuser

LISTS = [
    "tenancy/tenant",
    "tenancy/apitoken",
    "console/storedobject",
    "console/storedevent",
    "storage/auditentry",
    "auth/user",
]


def store(tenant: Tenant, resource: str, obj: dict[str, Any], version: int) -> ObjectRow:
    metadata = obj["metadata"]
    key = {
        "tenant_id": tenant.pk,
        "api_group": "",
        "resource": resource,
        "namespace": metadata["namespace"],
        "name": metadata["name"],
    }
    now, uid = datetime.now(UTC), uuid.uuid4()
    EventRow.objects.create(
        **key,
        resource_version=version,
        previous=0,
        uid=uid,
        type="A",
        data=obj,
        key_previous=0,
        at=now,
    )
    return ObjectRow.objects.create(
        **key,
        uid=uid,
        resource_version=version,
        data=obj,
        finalizers=metadata.get("finalizers", []),
        deleting="deletionTimestamp" in metadata,
        created_at=now,
        size=1,
    )


@pytest.fixture(scope="module")
def rows(postgres: str) -> tuple[ObjectRow, ObjectRow]:
    """(a Secret, a ConfigMap that waits on a finalizer) in tenant ``console``."""
    tenant = service.create_tenant("console", display_name="For the console")
    tokens.create_token("console-user", tenant=tenant)
    secret = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {
            "name": "login",
            "namespace": "shop",
            "annotations": {"kubectl.kubernetes.io/last-applied-configuration": "hunter2"},
        },
        "data": {"password": base64.b64encode(b"hunter2").decode()},
    }
    stuck = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "name": "st<b>uck",
            "namespace": "shop",
            "finalizers": ["example.com/wait"],
            "deletionTimestamp": "2026-01-01T00:00:00Z",
            "managedFields": [
                {
                    "manager": "helm",
                    "operation": "Apply",
                    "apiVersion": "v1",
                    "fieldsV1": {
                        "f:metadata": {"f:finalizers": {'v:"example.com/wait"': {}}},
                        "f:data": {".": {}, "f:a": {}},
                    },
                }
            ],
        },
        "data": {"a": "1"},
    }
    with django_everywhere():
        return store(tenant, "secrets", secret, 1), store(tenant, "configmaps", stuck, 2)


@pytest.fixture
def client(rows: object) -> Client:
    return superuser("tester")


def get(client: Client, path: str) -> str:
    response = client.get(path, secure=True)
    assert response.status_code == 200, response.status_code
    return response.content.decode()


@pytest.mark.parametrize("page", ["", *(f"{name}/" for name in LISTS)])
def test_pages_open_and_take_every_asset_from_here(client: Client, page: str) -> None:
    html = get(client, f"/admin/{page}")
    for url in re.findall(r'<(?:script|link|img)[^>]*?(?:src|href)="([^"]+)"', html):
        assert url.startswith(("/static/", "/admin/")), url
    assert re.findall(r"<script(?![^>]*\bsrc=)(?![^>]*application/json)[^>]*>", html) == []


@pytest.mark.parametrize("page", ["", *(f"{name}/" for name in LISTS)])
def test_nothing_opens_without_a_login(rows: object, page: str) -> None:
    response = Client().get(f"/admin/{page}", secure=True)
    assert response.status_code == 302 and response["Location"].startswith("/admin/login/")


def test_policy_cookies_and_frames(client: Client) -> None:
    response = Client().get("/admin/login/", secure=True)
    assert (
        response["Content-Security-Policy"] == POLICY
        and "unsafe-eval" not in POLICY
        and "'unsafe-inline'" not in POLICY.split("script-src")[1].split(";")[0]
    )
    assert response["X-Frame-Options"] == "DENY"
    assert (
        response.cookies["polyplane_csrf"]["secure"]
        and response.cookies["polyplane_csrf"]["httponly"]
    )


@pytest.mark.parametrize(
    "path",
    [
        "console/storedobject/add/",
        "console/storedevent/add/",
        "storage/auditentry/add/",
        "tenancy/tenant/add/",
        "tenancy/apitoken/add/",
    ],
)
def test_nothing_can_be_added(client: Client, path: str) -> None:
    assert client.get(f"/admin/{path}", secure=True).status_code in (403, 404)


def stored_data(row: ObjectRow) -> object:
    with django_everywhere():
        return ObjectRow.objects.values_list("data", flat=True).get(
            tenant_id=row.tenant_id, resource=row.resource
        )


def test_object_cannot_be_changed_or_deleted(
    client: Client, rows: tuple[ObjectRow, ObjectRow]
) -> None:
    url = object_url(rows[1])
    before = stored_data(rows[1])
    client.post(url, {"name": "other", "data": "{}"}, secure=True)
    assert (
        client.post(url.replace("/change/", "/delete/"), {"post": "yes"}, secure=True).status_code
        == 403
    )
    assert stored_data(rows[1]) == before


@pytest.mark.parametrize(
    ("query", "shown"),
    [
        ("tenant=console", {"login", "uck"}),
        ("tenant=nobody", set()),
        ("tenant=console&group=core&resource=secrets", {"login"}),
        ("tenant=console&group=apps", set()),
        ("tenant=console&namespace=elsewhere", set()),
        ("tenant=console&deleting=yes", {"uck"}),
        ("tenant=console&deleting=no", {"login"}),
        ("tenant=console&finalizers=yes", {"uck"}),
        ("tenant=console&finalizers=no", {"login"}),
        ("tenant=console&q=logi", {"login"}),
        ("tenant=console&q=login", {"login"}),
        ("tenant=console&q=ogi", {"login"}),
        ("tenant=console&q=LOGI", {"login"}),
        ("tenant=console&q=*ogi", {"login"}),
        ("tenant=console&q=*", {"login", "uck"}),
        ("tenant=console&q=s", {"uck"}),
        ("tenant=console&q=*uc", {"uck"}),
        ("tenant=console&q=nothing-has-this", set()),
        ("tenant=elsewhere&q=logi", set()),
    ],
)
def test_filters(client: Client, query: str, shown: set[str]) -> None:
    html = get(client, f"/admin/console/storedobject/?{query}")
    links = re.findall(r"/admin/console/storedobject/[^\"/]+/change/", html)
    assert {name for name in ("login", "uck") if any(name in link for link in links)} == shown


@pytest.mark.parametrize(
    ("text", "looks_through"), [("logi", False), ("*logi", True), ("ogi", True)]
)
def test_a_names_beginning_is_asked_of_the_index(
    client: Client, rows: object, text: str, looks_through: bool
) -> None:
    with CaptureQueriesContext(connection) as queries:
        get(client, f"/admin/console/storedobject/?tenant=console&q={text}")
    assert any("pp_names(" in q["sql"] for q in queries) is looks_through
    assert not any("LIKE" in q["sql"] for q in queries), "which looks at whole rows"


def test_object_page_shows_finalizers_with_their_owner_and_escapes_names(
    client: Client, rows: tuple[ObjectRow, ObjectRow]
) -> None:
    html = get(client, object_url(rows[1]))
    assert "example.com/wait" in html and "set by helm" in html
    assert ".data.a" in html
    assert "managedFields" not in html
    assert "being deleted" in html
    assert "st<b>uck" not in html and "st&lt;b&gt;uck" in html
    assert "ADDED" in html


def test_secrets_show_their_length_only(client: Client, rows: tuple[ObjectRow, ObjectRow]) -> None:
    html = get(client, object_url(rows[0]))
    assert "(7 bytes, not shown)" in html
    assert "hunter2" not in html and base64.b64encode(b"hunter2").decode() not in html


@pytest.mark.parametrize("page", ["change", "history", "delete"])
def test_events_have_no_page_of_their_own(
    client: Client, rows: tuple[ObjectRow, ObjectRow], page: str
) -> None:
    """Django's would show every column; the object's page shows what may be seen. Versions are a
    tenant's own, so a key may fit several."""
    other = service.create_tenant(f"console-{page}")
    with django_everywhere():
        store(
            other,
            "secrets",
            {"metadata": {"name": "x", "namespace": "y"}, "data": {"a": "hunter2"}},
            rows[0].resource_version,
        )
    for version in (rows[0].resource_version, rows[1].resource_version):
        response = client.get(f"/admin/console/storedevent/{version}/{page}/", secure=True)
        expected = (404,) if page == "change" else (302, 403)
        assert response.status_code in expected, response.content.decode()


def test_unknown_object_is_not_found(client: Client) -> None:
    stored = ('1e400,"","a"', r'1,"","\u0000"', r'1,"","\ud800"', '1,[],"a"', '1,"","pods"')
    keys = ("nonsense", "[1]", "[" * 1000, *(f'[{start},"a","b"]' for start in stored))
    paths = [f"/admin/console/storedobject/{quote(key)}/change/" for key in keys]
    answers = {path: client.get(path, secure=True).status_code for path in paths}
    assert answers == dict.fromkeys(paths, 404)


def test_lists_do_not_ask_per_row(client: Client, rows: object) -> None:
    for name in LISTS:
        with CaptureQueriesContext(connection) as queries:
            get(client, f"/admin/{name}/")
        assert len(queries) <= 15, [q["sql"] for q in queries]


def test_token_list_shows_no_hash(client: Client) -> None:
    html = get(client, "/admin/tenancy/apitoken/?q=console-us")  # others may have made many
    assert "console-user" in html
    known = [t for t in tokens.list_tokens() if t.user == "console-user"]
    assert known and not [t for t in known if bytes(t.hash).hex() in html]


# --- what a list can be narrowed by ---------------------------------------------------------------
def lookups_of(admin_class: Any) -> set[str]:
    """The parameters that the list's own filters put into its links."""
    own: set[str] = set()
    for chosen in admin_class.list_filter:
        if isinstance(chosen, type):
            own.add(chosen.parameter_name)
        elif isinstance(chosen, tuple):
            own.add(f"{chosen[0]}__isempty")
        elif admin_class.model._meta.get_field(chosen).is_relation:
            own |= {f"{chosen}__id__exact", f"{chosen}__isnull"}
        else:
            own.add(f"{chosen}__exact")
    return own


@pytest.mark.parametrize("model", site._registry, ids=lambda model: model._meta.label_lower)
def test_lists_are_narrowed_by_their_own_filters_only(model: Any, rows: object) -> None:
    """The guard: every page of the console, those to come too."""
    registered = site._registry[model]
    request = RequestFactory().get("/")
    assert isinstance(registered, AllowedLookups)
    assert registered.lookups == lookups_of(registered)
    refused = [
        f"{field.name}{end}"
        for field in model._meta.get_fields()
        for end in ("", "__startswith", "__regex", "__isnull", "__a__startswith")
    ]
    assert [
        lookup
        for lookup in {*refused, "pk", "password__startswith"} - registered.lookups
        if registered.lookup_allowed(lookup, "x", request)
    ] == []


@pytest.mark.parametrize(
    "guess",
    [
        "data__data__password__startswith=aH",
        "data__data__has_key=password",
        "data__icontains=hunter2",
        "data=x",
    ],
)
@pytest.mark.parametrize("page", ["storedobject", "storedevent"])
def test_secrets_cannot_be_guessed_by_the_url(client: Client, page: str, guess: str) -> None:
    """The finding: the list was empty or not, letter by letter."""
    assert client.get(f"/admin/console/{page}/?{guess}", secure=True).status_code == 400


def test_each_filter_of_a_list_works(client: Client) -> None:
    asked = [
        (page, lookup)
        for page in LISTS
        for lookup in site._registry[apps.get_model(*page.split("/"))].lookups
    ]
    assert len(asked) > len(LISTS)
    for page, lookup in asked:
        response = client.get(f"/admin/{page}/?{lookup}=1", secure=True)
        assert response.status_code == 200 or "e=1" in response["Location"], (page, lookup)


# --- the audit log --------------------------------------------------------------------------------
@pytest.fixture
def audited(rows: tuple[ObjectRow, ObjectRow]) -> AuditEntry:
    """Who made the ConfigMap."""
    row, pk = rows[1], uuid.uuid4()
    with django_everywhere():
        made = EventRow.objects.get(tenant_id=row.tenant_id, resource_version=row.resource_version)
        return AuditEntry.objects.create(
            id=pk,
            tenant_id=row.tenant_id,
            at=made.at,
            resource_version=row.resource_version,
            user_name="ann@example.com",
            verb="create",
            code=201,
            api_group="",
            resource=row.resource,
            namespace=row.namespace,
            name=row.name,
            data={
                "verb": "create",
                "impersonatedUser": {"username": "jane"},
                "userAgent": "kubectl/9",
                "objectRef": {"name": row.name},
            },
        )


def test_an_objects_page_says_who_made_each_version(
    client: Client, rows: tuple[ObjectRow, ObjectRow], audited: AuditEntry
) -> None:
    html = get(client, object_url(rows[1]))
    assert "ann@example.com as jane (create)" in html
    (link,) = re.findall(r'href="(/admin/storage/auditentry/[^"]+)"', html)
    page = get(client, unescape(link))
    assert "kubectl/9" in page and f"&quot;{audited.resource_version}&quot;" in page


@pytest.mark.parametrize(
    ("query", "shown"),
    [
        ("?user=ann@example.com", True),
        ("?user=ann", False),
        ("?verb=create&code=201&tenant=console", True),
        ("?verb=delete", False),
        ("?code=x", True),
        ("?tenant=default", False),
        ("?since=7", True),
        ("?since=all", True),
    ],
)
def test_entries_can_be_narrowed(
    client: Client, audited: AuditEntry, query: str, shown: bool
) -> None:
    html = get(client, f"/admin/storage/auditentry/{query}")
    assert ("ann@example.com as jane" in html) is shown


def test_a_list_goes_back_for_a_day_unless_more_is_asked_for(
    client: Client, audited: AuditEntry
) -> None:
    with django_everywhere():
        AuditEntry.objects.create(
            **{
                **{f.name: getattr(audited, f.name) for f in AuditEntry._meta.fields},
                "id": uuid.uuid4(),
                "at": audited.at - timedelta(days=8),
                "user_name": "long-ago",
                "name": "of-old",  # the first page may be full of what other tests leave
            }
        )
    found = {
        query: "long-ago" in get(client, f"/admin/storage/auditentry/?q=of-old{query}")
        for query in ("", "&since=7", "&since=30", "&since=all")
    }
    assert found == {"": False, "&since=7": False, "&since=30": True, "&since=all": True}


@pytest.mark.parametrize("key", ["x", "[1]", "[null,1,2]", '[1,"2027-01-01","no"]', "{}", "null"])
def test_an_entry_that_is_none_is_404(client: Client, key: str) -> None:
    url = f"/admin/storage/auditentry/{quote(key)}/change/"
    assert client.get(url, secure=True).status_code == 404
