"""Sessions of all accounts: who sees them, who ends which, and what the audit log has of it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import DatabaseError, connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from apiserver.storage.models import AuditEntry
from apiserver.storage.visibility import django_everywhere
from controlplane.console.facts import sessionpages
from controlplane.console.sessionstore import AccountSession

from .conftest import Ask

EVERYBODY = ["root", "ann", "looker", "keeper", "owner"]
MASTERED = "root"


@pytest.fixture(autouse=True)
def no_sessions(people: dict[str, User]) -> Iterator[None]:
    AccountSession.objects.all().delete()
    yield
    AccountSession.objects.all().delete()


def opened(account: User) -> str:
    """A browser in which the account has logged in: the session's key."""
    client = Client()
    client.force_login(account)
    return str(client.session.session_key)


def name_of(ask: Ask, key: str) -> str:
    """As the page names it."""
    before = AccountSession.objects.get(pk=key)
    named = {row["id"]: row for row in ask(MASTERED, "GET", "sessions")[1]["items"]}
    mine = [n for n, row in named.items() if row["account"] == before.account_id]
    (name,) = [n for n in mine if n == name_as_made(key)]
    return name


def name_as_made(key: str) -> str:
    return sessionpages._name(AccountSession.objects.get(pk=key))


def is_open(key: str) -> bool:
    return AccountSession.objects.filter(pk=key).exists()


@pytest.mark.parametrize("who", EVERYBODY)
def test_who_sees_the_sessions_of_others(ask: Ask, people: dict[str, User], who: str) -> None:
    key = opened(people["ann"])
    status, found = ask(who, "GET", "sessions")
    if who not in {"root", "looker"}:
        assert status == 403
        return
    assert status == 200 and key not in str(found)
    own = {row["user"]: row["endable"] for row in found["items"]}
    assert own == {"ann": who == "root", who: True}
    assert [row["user"] for row in found["items"] if row["current"]] == [who]


@pytest.mark.parametrize("whose", ["ann", "owner", "root"])
@pytest.mark.parametrize("who", EVERYBODY)
def test_who_ends_whose_session(ask: Ask, people: dict[str, User], who: str, whose: str) -> None:
    one, other = opened(people[whose]), opened(people[whose])
    may = who in ("root", whose)
    assert ask(who, "DELETE", f"sessions/{name_of(ask, one)}")[0] == (200 if may else 404)
    assert is_open(one) is not may and is_open(other)
    number = people[whose].pk
    assert ask(who, "DELETE", f"accounts/{number}/sessions")[0] == (200 if may else 403)
    assert is_open(other) is not may


def test_one_is_looked_for_among_those_of_its_account(ask: Ask, people: dict[str, User]) -> None:
    """However many others there are."""
    name = name_of(ask, opened(people["ann"]))
    others = {opened(people["owner"]) for _ in range(3)}
    with CaptureQueriesContext(connection) as captured:
        assert ask("root", "DELETE", f"sessions/{name}")[0] == 200
    keys = [q["sql"] for q in captured if '."session_key" AS "' in q["sql"]]
    assert keys and all(f'"account_id" = {people["ann"].pk}' in sql for sql in keys), captured
    assert all(map(is_open, others))


@pytest.mark.parametrize("name", ["-", "{digest}", "x-{digest}", "{other}-{digest}", "9" * 30])
def test_what_names_no_session_ends_none(ask: Ask, people: dict[str, User], name: str) -> None:
    key = opened(people["ann"])
    _, _, digest = name_of(ask, key).partition("-")
    named = name.format(digest=digest, other=people["owner"].pk)
    assert ask("root", "DELETE", f"sessions/{named}")[0] == 404
    assert is_open(key)


def test_nobody_is_asked_for_a_session(ask: Ask, people: dict[str, User]) -> None:
    key = opened(people["ann"])
    assert ask("", "GET", "sessions")[0] == 401
    assert ask("", "DELETE", f"sessions/{name_as_made(key)}")[0] == 401
    assert ask("", "DELETE", f"accounts/{people['ann'].pk}/sessions")[0] == 401
    assert is_open(key)


def test_who_ends_all_of_an_account_keeps_the_session_that_asks(
    ask: Ask, people: dict[str, User]
) -> None:
    ask("root", "GET", "me")
    opened(people["root"])
    number = people["root"].pk
    assert ask("root", "DELETE", f"accounts/{number}/sessions")[1] == {"ended": 1}
    assert ask("root", "GET", "me")[0] == 200


def entries() -> list[AuditEntry]:
    with django_everywhere():
        return list(AuditEntry.objects.filter(resource="sessions", verb="delete"))


def test_each_end_has_an_entry_of_its_own(ask: Ask, people: dict[str, User]) -> None:
    keys = [opened(people["ann"]) for _ in range(3)]
    names = {name_of(ask, key) for key in keys}
    before = {row.pk for row in entries()}
    ask("root", "DELETE", f"sessions/{name_of(ask, keys[0])}")
    ask("root", "DELETE", f"accounts/{people['ann'].pk}/sessions")
    made = [row for row in entries() if row.pk not in before]
    assert {row.name for row in made} == names and len(made) == 3
    assert {(row.user_name, row.tenant_id, row.code) for row in made} == {("root", None, 200)}
    said: dict[str, Any] = made[0].data
    assert said["annotations"] == {"tenancy.polyplane.dev/session-user": "ann"}
    assert said["sourceIPs"] == ["127.0.0.1"]
    assert not any(key in str(row.data) for row in made for key in keys), "it would open it"


def test_without_an_entry_nothing_is_ended(
    ask: Ask, people: dict[str, User], monkeypatch: pytest.MonkeyPatch
) -> None:
    key = opened(people["ann"])

    def fails(*_: Any) -> None:
        raise DatabaseError("full")

    monkeypatch.setattr(sessionpages, "record_session", fails)
    assert ask("root", "DELETE", f"sessions/{name_as_made(key)}")[0] == 503
    assert is_open(key)


def test_a_part_of_a_name_finds_accounts(ask: Ask, people: dict[str, User]) -> None:
    opened(people["ann"])
    opened(people["owner"])
    found = ask("looker", "GET", "sessions?user=NN")[1]
    assert [row["user"] for row in found["items"]] == ["ann"] and found["more"] is False
    assert ask("looker", "GET", "sessions?user=no-such-account")[1]["items"] == []


def test_what_was_used_last_comes_first_and_the_rest_is_told(
    ask: Ask, people: dict[str, User], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sessionpages, "_MOST", 2)
    first, second, third = (opened(people["ann"]) for _ in range(3))
    AccountSession.objects.filter(pk=first).update(used_at=None)
    found = ask("looker", "GET", "sessions?user=ann")[1]
    assert [row["id"] for row in found["items"]] == [
        name_as_made(third),
        name_as_made(second),
    ]
    assert found["more"] is True


def test_sessions_cost_no_query_each(ask: Ask, people: dict[str, User]) -> None:
    def queries() -> int:
        with CaptureQueriesContext(connection) as captured:
            ask("looker", "GET", "sessions")
        return len(captured)

    queries()  # logs in
    before = queries()
    for account in ("ann", "owner", "keeper"):
        opened(people[account])
    assert queries() == before


def test_tokens_by_a_part_of_a_name_and_those_that_are_good(ask: Ask) -> None:
    made = [
        ask("ann", "POST", "tokens", {"tenant": "pages-other", "days": 1})[1]["id"]
        for _ in range(2)
    ]
    ask("ann", "DELETE", f"tokens/{made[0]}")

    def found(query: str) -> set[int]:
        return {row["id"] for row in ask("root", "GET", f"tokens?{query}")[1]["items"]}

    assert set(made) <= found("user=AN")
    assert found("user=ann&valid=1") & set(made) == {made[1]}
    assert not found("user=nobody-at-all")
