"""Accounts that a superuser adds in the console, and who is led to where they are."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import User
from django.test import Client

PASSWORD = "correct horse battery"
LIST = "/admin/auth/user/"


def client_of(name: str, **rights: bool) -> Client:
    user, _ = User.objects.get_or_create(username=name, defaults={"is_staff": True, **rights})
    client = Client()
    client.force_login(user)
    return client


@pytest.fixture
def superuser(postgres: str) -> Client:
    return client_of("adds-accounts", is_superuser=True)


def test_whoever_is_added_may_log_in_until_that_is_taken_away(superuser: Client) -> None:
    User.objects.filter(username="added").delete()
    form = {"username": "added", "password1": PASSWORD, "password2": PASSWORD}
    form["usable_password"] = "true"
    answer = superuser.post(f"{LIST}add/", form, secure=True)
    assert answer.status_code == 302, answer.context["errors"]
    added = User.objects.get(username="added")
    assert added.is_staff and not added.is_superuser and not added.groups.exists()
    told = {"username": "added", "date_joined_0": "2026-01-01", "date_joined_1": "00:00:00"}
    answer = superuser.post(f"{LIST}{added.pk}/change/", {**told, "is_active": "on"}, secure=True)
    assert answer.status_code == 302, answer.context["errors"]
    added.refresh_from_db()
    assert added.is_active and not added.is_staff


def test_superusers_alone_are_led_to_the_accounts(superuser: Client) -> None:
    other = client_of("adds-no-accounts")
    meta = f'<meta name="accounts" content="{LIST}">'
    shells = [c.get("/admin/console/", secure=True).content.decode() for c in (superuser, other)]
    assert [meta in shell for shell in shells] == [True, False]
