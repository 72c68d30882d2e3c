"""Sessions of the console say whose they are, and go when they have ended."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from importlib import import_module

import pytest
from django.apps import apps
from django.contrib.auth import SESSION_KEY
from django.contrib.auth.models import User
from django.contrib.sessions.backends.db import SessionStore as DjangosStore
from django.contrib.sessions.models import Session
from django.db import connection
from django.test import Client
from django.utils import timezone

from apiserver.storage.postgres import PostgresStore
from controlplane.console import endedsessions
from controlplane.console.sessionstore import AccountSession, SessionStore
from tests.support.fixtures import store

__all__ = ["store"]

NAME = "sessions-ann"
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
