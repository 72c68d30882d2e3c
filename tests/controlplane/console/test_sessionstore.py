"""Sessions of the console say whose they are, and go when they have ended."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from importlib import import_module
from ipaddress import ip_network
from typing import Any

import pytest
from django.apps import apps
from django.contrib.auth import SESSION_KEY
from django.contrib.auth.models import User
from django.contrib.sessions.backends.db import SessionStore as DjangosStore
from django.contrib.sessions.models import Session
from django.db import connection
from django.test import Client, override_settings
from django.utils import timezone

from apiserver.storage.models import AuditEntry
from apiserver.storage.postgres import PostgresStore
from apiserver.storage.visibility import django_everywhere
from controlplane.console import endedsessions
from controlplane.console.sessions import user_of
from controlplane.console.sessionstore import ORIGIN, AccountSession, SessionStore
from tests.support.fixtures import store

__all__ = ["store"]

NAME = "sessions-ann"
PASSWORD = "correct horse battery"
MANY = 6000


@pytest.fixture
def ann(postgres: str) -> Iterator[User]:
    account, _ = User.objects.get_or_create(username=NAME, is_staff=True)
    yield account
    account.delete()
    AccountSession.objects.all().delete()


def owner(key: str) -> int | None:
    return AccountSession.objects.get(session_key=key).account_id


def logged_in(account: User) -> tuple[Client, str]:
    client = Client()
    client.force_login(account)
    return client, str(client.session.session_key)


def test_a_session_is_its_accounts_whatever_becomes_of_it(ann: User) -> None:
    client, key = logged_in(ann)
    assert owner(key) == ann.pk
    session = client.session
    session.cycle_key()
    assert session.session_key != key and owner(str(session.session_key)) == ann.pk
    nobodys = SessionStore()
    nobodys["x"] = 1
    nobodys.save()
    assert owner(str(nobodys.session_key)) is None


FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0"


def opened_from(account: User, address: str, agent: str, **more: Any) -> Client:
    """Somebody's browser, who has logged in with a password."""
    account.set_password(PASSWORD)
    account.save()
    client = Client(REMOTE_ADDR=address, HTTP_USER_AGENT=agent)
    form = {"username": NAME, "password": PASSWORD}
    assert client.post("/admin/login/", form, secure=True, **more).status_code == 302
    return client


def shown(client: Client) -> dict[str, Any]:
    """What the page says of the browser's own session."""
    me = client.get("/admin/console/facts/me", secure=True).json()
    found: dict[str, Any] = next(s for s in me["sessions"] if s["current"])
    return found


def test_a_session_says_where_and_by_what_it_was_opened(ann: User) -> None:
    session = shown(opened_from(ann, "192.0.2.7", FIREFOX))
    assert session["address"] == "192.0.2.7"
    assert session["browser"] == "Firefox 145 on Linux" and session["agent"] == FIREFOX


def test_an_address_is_believed_where_a_login_is(ann: User) -> None:
    """The proxy's word is what the audit log keeps of the login, too."""
    forwarded = {"HTTP_X_FORWARDED_FOR": "203.0.113.9, 198.51.100.4"}
    assert shown(opened_from(ann, "192.0.2.7", "", **forwarded))["address"] == "192.0.2.7"
    with override_settings(POLYPLANE_TRUSTED_PROXIES=[ip_network("192.0.2.0/24")]):
        assert shown(opened_from(ann, "192.0.2.7", "", **forwarded))["address"] == "198.51.100.4"
    with django_everywhere():
        event = AuditEntry.objects.filter(user_name=NAME, verb="login").order_by("at").last()
    assert event is not None and event.event["sourceIPs"] == ["198.51.100.4"]


def test_where_it_was_opened_outlives_its_key_and_its_saving(ann: User) -> None:
    client = opened_from(ann, "192.0.2.7", FIREFOX)
    before = shown(client)
    long_ago = timezone.now() - timedelta(hours=3)
    session = client.session
    session[ORIGIN] = ["192.0.2.7", FIREFOX, long_ago.isoformat()]
    session.cycle_key()
    row = AccountSession.objects.get(session_key=session.session_key)
    assert (row.address, row.agent, row.opened_at) == ("192.0.2.7", FIREFOX, long_ago)
    assert before["begun"] > long_ago.isoformat(), "not when it was saved"


def test_what_somebody_sends_as_his_browser_is_cut_and_harmless(ann: User) -> None:
    session = shown(opened_from(ann, "192.0.2.7", "x\0y" + "z" * 5000))
    assert len(session["agent"]) == 300 and "\0" not in session["agent"]


def test_of_a_session_from_before_nothing_is_known(ann: User) -> None:
    client, key = logged_in(ann)
    store = SessionStore(key)
    del store[ORIGIN]
    store.save()
    row = AccountSession.objects.get(session_key=key)
    session = shown(client)
    assert (session["address"], session["agent"], session["browser"]) == ("", "", "")
    assert datetime.fromisoformat(session["begun"]) == row.expire_date - timedelta(hours=8)


def test_when_a_session_was_last_used_is_kept_to_the_minute(ann: User) -> None:
    client, key = logged_in(ann)
    row = AccountSession.objects.filter(session_key=key)

    def used_after(age: timedelta) -> timedelta:
        """How long ago it was last used, once it is used."""
        row.update(used_at=timezone.now() - age)
        shown(client)
        return timezone.now() - (row.get().used_at or timezone.now())

    assert used_after(timedelta(hours=3)) < timedelta(seconds=30)
    assert used_after(timedelta(seconds=40)) >= timedelta(seconds=40), "not at each request"
    row.update(used_at=None)
    assert user_of(key) is not None and row.get().used_at is not None, "the API's requests, too"


def test_a_database_that_only_reads_ends_no_session(ann: User) -> None:
    client, key = logged_in(ann)
    long_ago = timezone.now() - timedelta(hours=3)
    AccountSession.objects.filter(session_key=key).update(used_at=long_ago)
    with connection.cursor() as cursor:
        cursor.execute("SET default_transaction_read_only = on")
        try:
            assert shown(client)["current"]
        finally:
            cursor.execute("SET default_transaction_read_only = off")
    assert AccountSession.objects.get(session_key=key).used_at == long_ago


def test_however_many_others_have_ones_own_are_found(ann: User) -> None:
    _, first = logged_in(ann)
    later = timezone.now() + timedelta(hours=9)
    AccountSession.objects.bulk_create(
        AccountSession(session_key=f"s{i:031}", expire_date=later, account_id=ann.pk + 1)
        for i in range(MANY)
    )
    client, second = logged_in(ann)
    me = client.get("/admin/console/facts/me", secure=True).json()
    assert [s["current"] for s in me["sessions"]] == [True, False]
    ended = client.delete("/admin/console/facts/sessions/others", secure=True).json()
    assert ended == {"ended": 1}
    assert not AccountSession.objects.filter(session_key=first).exists()
    assert AccountSession.objects.filter(session_key=second).exists()
    assert AccountSession.objects.filter(account_id=ann.pk + 1).count() == MANY


async def test_what_has_ended_goes(store: PostgresStore, ann: User) -> None:
    now = timezone.now()
    for key, ends in (("over", now - timedelta(seconds=5)), ("open", now + timedelta(hours=1))):
        await AccountSession.objects.acreate(session_key=key, expire_date=ends)
    await endedsessions.remove(store.database)
    left = {key async for key in AccountSession.objects.values_list("session_key", flat=True)}
    assert "over" not in left and "open" in left


def test_sessions_from_before_go_on(ann: User) -> None:
    before = DjangosStore()
    before[SESSION_KEY] = str(ann.pk)
    before.save()
    over, nobodys = DjangosStore(), DjangosStore()
    over[SESSION_KEY] = str(ann.pk)
    over.set_expiry(-5)
    over.save()
    nobodys.save()
    migration = import_module("controlplane.console.migrations.0005_account_sessions")
    with connection.schema_editor() as editor:
        migration.carry_over(apps, editor)
    key = str(before.session_key)
    assert owner(key) == ann.pk
    assert SessionStore(key)[SESSION_KEY] == str(ann.pk)
    assert list(AccountSession.objects.values_list("session_key", flat=True)) == [key]
    assert not Session.objects.exists()
