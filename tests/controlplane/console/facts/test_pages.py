"""What the console asks beside the API: who is answered, and with how few queries."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from controlplane.console.sessionstore import AccountSession
from controlplane.tenancy import service

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
