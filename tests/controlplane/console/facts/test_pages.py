"""What the console asks beside the API: who is answered, and with how few queries."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from apiserver.storage.models import EventRow, ObjectRow, TenantHead
from apiserver.storage.visibility import django_everywhere
from controlplane.console.facts import counted
from controlplane.console.sessionstore import AccountSession
from controlplane.tenancy import service
from controlplane.tenancy.models import Tenant

from .conftest import Ask

ROLE_ONLY = ["audit", "audit?code=4xx&user=x&tenant=pages-owned", "system", "overview"]


@pytest.mark.parametrize("path", [*ROLE_ONLY, "tenants/pages-other"])
def test_the_installation_is_for_those_with_the_role(ask: Ask, path: str) -> None:
    assert ask("looker", "GET", path)[0] == 200
    assert ask("root", "GET", path)[0] == 200
    assert ask("ann", "GET", path)[0] in {403, 404}
    assert ask("owner", "GET", path)[0] in {403, 404}
    assert ask("", "GET", path)[0] == 401
    assert ask("root", "POST", path, {})[0] == 405


def test_a_page_speaks_for_nobody_but_its_own_account(people: dict[str, User]) -> None:
    client = Client()
    client.force_login(people["ann"])

    def code(whose: str) -> int:
        headers = {"X-Console-Account": whose}
        return client.get("/admin/console/facts/me", headers=headers, secure=True).status_code

    assert code(f"console:{people['ann'].pk}") == code("") == 200
    assert code(f"console:{people['root'].pk}") == code("ann") == 401


SENSELESS = ["code=4x", "limit=-1", "limit=501", "since=yesterday", "until=0001-01-01T00:00:00Z"]
SENSELESS += [f"limit={'0' * 12}9999999", f"limit={'0' * 12}{'9' * 5000}", "tenant=%00"]


@pytest.mark.parametrize("query", SENSELESS)
def test_a_search_that_makes_no_sense_is_a_bad_request(ask: Ask, query: str) -> None:
    assert ask("looker", "GET", f"audit?{query}")[0] == 400


def test_tenants_are_those_that_one_may_see(ask: Ask) -> None:
    def names(who: str) -> set[str]:
        return {row["name"] for row in ask(who, "GET", "tenants")[1]["items"]}

    assert names("owner") == {"pages-owned"}
    assert names("ann") == set()
    assert names("looker") >= {"pages-owned", "pages-other"} <= names("keeper")
    assert ask("owner", "GET", "tenants/pages-owned")[1]["administers"] is True


def test_tenants_cost_no_query_each(ask: Ask) -> None:
    def queries() -> int:
        with CaptureQueriesContext(connection) as captured:
            ask("looker", "GET", "tenants")
        return len(captured)

    queries()  # logs in
    before = queries()
    for number in range(5):
        service.ensure_tenant(f"more-{number}")
    assert queries() == before


def test_sessions_are_ones_own_and_end(ask: Ask, people: dict[str, User]) -> None:
    for _ in range(2):
        Client().force_login(people["ann"])
    _, me = ask("ann", "GET", "me")
    assert [s["current"] for s in me["sessions"]].count(True) == 1
    assert not {s["id"] for s in me["sessions"]} & set(
        AccountSession.objects.values_list("session_key", flat=True)
    )
    other = next(s for s in me["sessions"] if not s["current"])
    assert ask("looker", "DELETE", f"sessions/{other['id']}")[0] == 404
    assert ask("ann", "DELETE", f"sessions/{other['id']}")[0] == 200
    assert other["id"] not in {s["id"] for s in ask("ann", "GET", "me")[1]["sessions"]}
    ask("ann", "DELETE", "sessions/others")
    assert [s["current"] for s in ask("ann", "GET", "me")[1]["sessions"]] == [True]


def test_settings_show_no_secret(ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POLYPLANE_CONSOLE_OIDC_CLIENT_SECRET", "hunter2")
    assert "hunter2" not in str(ask("looker", "GET", "system")[1])


@pytest.fixture
def heads(people: dict[str, User]) -> Iterator[None]:
    """Tenant ``pages-owned`` uses 9 of 10 objects, ``pages-other`` has no limit."""
    numbers = dict(Tenant.objects.values_list("name", "pk"))
    with django_everywhere():
        heads = TenantHead.objects
        before = list(heads.filter(tenant_id=numbers["pages-owned"]))
        heads.filter(tenant_id=numbers["pages-owned"]).update(object_count=9, head=12, floor=3)
        Tenant.objects.filter(name="pages-owned").update(max_objects=10)
    yield
    with django_everywhere():
        Tenant.objects.filter(name="pages-owned").update(max_objects=None)
        for head in before:
            head.save()


def test_the_overview_says_who_is_near_a_quota(ask: Ask, heads: None) -> None:
    status, found = ask("looker", "GET", "overview")
    assert status == 200
    full = {row["name"]: row for row in found["full"]}
    assert full["pages-owned"] == {"name": "pages-owned", "quota": "objects", "share": 0.9}
    assert "pages-other" not in full
    assert found["totals"]["tenants"] == Tenant.objects.count()
    assert found["totals"]["objects"] >= 9
    sizes = [row["bytes"] for row in found["largest"]]
    assert sizes == sorted(sizes, reverse=True) and len(sizes) <= 5


def test_the_system_page_tells_of_the_largest_logs(ask: Ask, heads: None) -> None:
    with django_everywhere():
        TenantHead.objects.filter(head=12, floor=3).update(log_bytes=10**12)
    logs = {row["tenant"]: row for row in ask("looker", "GET", "system")[1]["logs"]}
    assert logs["pages-owned"]["newest"] == "12" and logs["pages-owned"]["oldest"] == "3"
    assert logs["pages-owned"]["begins"] is None, "there is nothing in it"
    assert logs["pages-owned"]["retentionSeconds"] == 86400
    behind = ("searchBehind", "countsBehind")
    assert [logs["pages-owned"][name] for name in behind] == [0, 0], "there is nothing to follow"
    owned = Tenant.objects.get(name="pages-owned").pk
    with django_everywhere():
        for version in (8, 12):
            EventRow.objects.create(
                tenant_id=owned,
                resource_version=version,
                previous=version - 4,
                api_group="",
                resource="configmaps",
                namespace="default",
                name="a",
                uid=uuid.uuid4(),
                type="A" if version == 8 else "M",
                data={},
                key_previous=version - 8 and 8,
                at=timezone.now(),
                size=2,
            )
    logs = {row["tenant"]: row for row in ask("looker", "GET", "system")[1]["logs"]}
    with django_everywhere():
        EventRow.objects.filter(tenant_id=owned).delete()
    assert [logs["pages-owned"][name] for name in behind] == [8, 8]


GROUP, POLICIES = "admissionregistration.k8s.io", "validatingadmissionpolicies"
HOOKS = "validatingwebhookconfigurations"


def configured(tenant: str, resource: str, name: str, data: dict[str, Any]) -> ObjectRow:
    return ObjectRow.objects.create(
        tenant_id=Tenant.objects.get(name=tenant).pk,
        api_group=GROUP,
        resource=resource,
        namespace="",
        name=name,
        uid=uuid.uuid4(),
        resource_version=1,
        data=data,
        created_at=timezone.now(),
        size=2,
    )


@pytest.fixture
def configurations(people: dict[str, User]) -> Iterator[None]:
    """A policy in both tenants, a webhook in one, and another kind of each name in the other."""
    hook = {"webhooks": [{"name": "x.y.z"}, {"name": "hook.pages.dev"}]}
    with django_everywhere():
        made = [
            configured("pages-owned", POLICIES, "pages-policy", {}),
            configured("pages-other", POLICIES, "pages-policy", {}),
            configured("pages-owned", HOOKS, "pages-policy", {"webhooks": [{"name": "a.b.c"}]}),
            configured("pages-other", HOOKS, "pages-hooks", hook),
            configured("pages-owned", POLICIES, "hook.pages.dev", {}),
        ]
    yield
    with django_everywhere():
        for row in made:
            row.delete()


def fail(monkeypatch: pytest.MonkeyPatch, *rows: tuple[str, str]) -> None:
    """(resource, name) of what fails."""
    told = [{"resource": resource, "name": name, "failures": 3} for resource, name in rows]
    monkeypatch.setattr(counted, "failing", lambda found: told)


def test_what_fails_leads_to_the_tenants_that_have_it(
    ask: Ask, configurations: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    fail(monkeypatch, (POLICIES, "pages-policy"), (HOOKS, "hook.pages.dev"), (HOOKS, "nobodys"))
    failing = ask("looker", "GET", "overview")[1]["failing"]
    assert [(row["name"], row["failures"], row["tenants"]) for row in failing] == [
        ("pages-policy", 3, ["pages-other", "pages-owned"]),
        ("hook.pages.dev", 3, ["pages-other"]),
        ("nobodys", 3, []),
    ]


def test_what_fails_costs_one_query_in_all(
    ask: Ask, people: dict[str, User], monkeypatch: pytest.MonkeyPatch
) -> None:
    def queries() -> int:
        with CaptureQueriesContext(connection) as captured:
            ask("looker", "GET", "overview")
        return len(captured)

    fail(monkeypatch)
    queries()  # logs in
    none = queries()
    fail(monkeypatch, *((POLICIES, f"policy-{number}") for number in range(20)))
    assert queries() == none + 1


def test_an_owner_sees_what_goes_on_in_the_tenant(ask: Ask) -> None:
    with CaptureQueriesContext(connection) as queries:
        status, found = ask("owner", "GET", "tenants/pages-owned/use")
    assert status == 200 and found["watches"] == 0 and isinstance(found["minutes"], list)
    assert not [q["sql"] for q in queries if " objects " in q["sql"]], "not all are looked through"
    assert ask("owner", "GET", "tenants/pages-other/use")[0] == 404
    assert ask("ann", "GET", "tenants/pages-owned/use")[0] == 404
