"""Logging in to the console: guesses are slowed down and logged, whichever worker they come to."""

from __future__ import annotations

import json
import logging
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command
from django.db import connections
from django.db.models import F
from django.test import Client, override_settings

from apiserver.flow.buckets import Buckets
from apiserver.storage.models import AuditEntry
from apiserver.storage.visibility import django_everywhere
from controlplane import environment
from controlplane.console import attempts, trail
from controlplane.console.models import LoginAttempt
from controlplane.errors import OperatorError

PASSWORD = "right horse battery staple"
FAST = override_settings(
    PASSWORD_HASHERS=["django.contrib.auth.hashers.MD5PasswordHasher"]
)  # what is measured is not the hash
WAIT = "Too many failed logins. Try again in"


@pytest.fixture(autouse=True)
def accounts(postgres: str) -> object:
    LoginAttempt.objects.all().delete()
    with FAST:
        for name in ("ann", "admin"):
            user, _ = User.objects.get_or_create(username=name, defaults={"is_staff": True})
            user.set_password(PASSWORD)
            user.save()
        yield
    LoginAttempt.objects.all().delete()


def login(user: str, password: str, address: str = "192.0.2.1", **headers: str) -> tuple[bool, str]:
    """Whether it worked, and the page."""
    response = Client().post(
        "/admin/login/?next=/admin/",
        {"username": user, "password": password},
        secure=True,
        REMOTE_ADDR=address,
        headers=headers,
    )
    return response.status_code == 302, response.content.decode()


def later(by: timedelta) -> None:
    """All that was counted happened so much earlier."""
    LoginAttempt.objects.update(last=F("last") - by, until=F("until") - by)


def addresses() -> list[str]:
    return [f"198.51.100.{i}" for i in range(1, 200)]


def test_an_account_is_closed_after_failures_even_to_the_right_password() -> None:
    for address in addresses()[:5]:
        worked, page = login("ann", "wrong", address)
        assert not worked and WAIT not in page
    worked, page = login("ann", PASSWORD, "203.0.113.9")
    assert not worked
    assert f"{WAIT} 15 seconds" in page and "reset_admin_password" in page
    assert login("admin", PASSWORD, "203.0.113.9")[0], "another account is open"
    later(timedelta(seconds=16))
    assert login("ann", PASSWORD, "203.0.113.9")[0]
    assert login("ann", "wrong")[1].count(WAIT) == 0, "a right login ends it"


def test_the_delay_doubles_and_is_never_longer_than_a_quarter_of_an_hour() -> None:
    waits = []
    for address in addresses()[:40]:
        assert attempts.begin("ann", address) is None
        wait = attempts.begin("ann", "203.0.113.250")
        if wait is not None:
            waits.append(round(wait.total_seconds()))
            LoginAttempt.objects.filter(key="account:ann").update(
                until=F("until") - attempts.LONGEST_DELAY
            )
        LoginAttempt.objects.filter(key__startswith="address:").delete()
    assert waits[:7] == sorted(set(waits[:7])) and waits[0] == 15
    assert max(waits) == 900


def test_an_address_is_closed_that_tries_many_accounts() -> None:
    for i in range(20):
        assert WAIT not in login(f"user-{i}", "wrong")[1]
    assert WAIT in login("ann", PASSWORD)[1]
    assert not LoginAttempt.objects.filter(key="account:ann").exists(), (
        "what a closed address tries does not close accounts"
    )
    assert login("ann", PASSWORD, "192.0.2.2")[0]


def test_a_right_login_of_ones_own_does_not_open_the_address() -> None:
    for i in range(19):
        login(f"user-{i}", "wrong")
    assert login("ann", PASSWORD)[0]
    login("user-19", "wrong")
    assert WAIT in login("user-20", "wrong")[1]


def test_guesses_at_the_same_moment_do_not_pass_together() -> None:
    """Ten workers at once: each has its own connection."""

    def guess(address: str) -> bool:
        try:
            return attempts.begin("ann", address) is None
        finally:
            connections.close_all()

    with ThreadPoolExecutor(10) as pool:
        assert sum(pool.map(guess, addresses()[:60])) == 5


def test_unknown_accounts_are_treated_alike() -> None:
    pages = {}
    for name in ("ann", "nobody"):
        for address in addresses()[:5]:
            login(name, "wrong", address)
        pages[name] = WAIT in login(name, "wrong", "203.0.113.9")[1]
    assert pages == {"ann": True, "nobody": True}


def test_an_operator_opens_the_account_again(capsys: pytest.CaptureFixture[str]) -> None:
    for address in [*addresses()[:5], *["192.0.2.1"] * 30]:
        login("admin", "wrong", address)
    assert WAIT in login("admin", PASSWORD)[1]
    call_command("reset_admin_password")
    assert login("admin", capsys.readouterr().out.split(" / ")[1].strip())[0]


def test_what_is_old_is_forgotten_and_takes_no_room() -> None:
    for i in range(20):
        login(f"user-{i}", "wrong")
    later(timedelta(hours=25))
    assert login("ann", PASSWORD)[0]
    assert set(LoginAttempt.objects.values_list("key", flat=True)) == {"address:192.0.2.1"}


def test_every_login_is_logged_on_one_line_without_its_password(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.INFO, "polyplane.console"):
        login("ann", PASSWORD)
        login("ann\n2026 INFO forged", "guessed-password")
        for address in addresses()[:6]:
            login("zoë", "guessed-password", address)
    lines = [record.getMessage() for record in caplog.records if record.name == "polyplane.console"]
    assert lines[0] == "login: user='ann' address='192.0.2.1'"
    assert lines[1] == r"login failed: user='ann\n2026 INFO forged' address='192.0.2.1'"
    assert lines[2] == r"login failed: user='zo\xeb' address='198.51.100.1'"
    assert lines[-1].startswith(r"login refused unseen: user='zo\xeb' address='198.51.100.6', ")
    assert not [line for line in lines if "guessed-password" in line or PASSWORD in line]


# --- whose address counts -------------------------------------------------------------------------
def test_nobody_says_where_they_come_from() -> None:
    for i in range(20):
        login(f"user-{i}", "wrong", X_Forwarded_For=f"198.51.100.{i}")
    assert WAIT in login("ann", PASSWORD, X_Forwarded_For="203.0.113.1")[1]


def test_a_trusted_proxy_does_and_only_its_own_word_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POLYPLANE_TRUSTED_PROXIES", "192.0.2.0/24")
    with override_settings(POLYPLANE_TRUSTED_PROXIES=environment.networks("TRUSTED_PROXIES")):
        for i in range(20):
            login(f"user-{i}", "wrong", X_Forwarded_For=f"203.0.113.{i}, 198.51.100.1")
        assert WAIT in login("ann", PASSWORD, X_Forwarded_For="203.0.113.1, 198.51.100.1")[1]
        assert login("ann", PASSWORD, X_Forwarded_For="198.51.100.2")[0]
        assert login("ann", PASSWORD, X_Forwarded_For="not an address")[0]
    monkeypatch.setenv("POLYPLANE_TRUSTED_PROXIES", "everybody")
    with pytest.raises(OperatorError, match="POLYPLANE_TRUSTED_PROXIES"):
        environment.networks("TRUSTED_PROXIES")


@pytest.mark.parametrize(
    ("address", "counted"),
    [
        ("192.0.2.1", "192.0.2.1"),
        ("::ffff:192.0.2.1", "192.0.2.1"),
        ("2001:db8::1", "2001:db8::/64"),
        ("2001:db8::ffff:1", "2001:db8::/64"),
        ("", ""),
    ],
)
def test_a_network_that_one_machine_has_counts_as_one_address(address: str, counted: str) -> None:
    assert attempts.network_of(address) == counted


def test_the_root_leads_to_the_console() -> None:
    response = Client().get("/", secure=True)
    assert (response.status_code, response["Location"]) == (302, "/admin/console/")


@pytest.mark.parametrize("page", ["//evil.example/", "https://evil.example/", "javascript:x", ""])
def test_who_asks_for_no_page_of_ours_gets_to_the_console(page: str) -> None:
    sent = {"username": "ann", "password": PASSWORD, "next": page}
    response = Client().post("/admin/login/", sent, secure=True)
    assert (response.status_code, response["Location"]) == (302, "/admin/console/")


def test_each_try_to_log_in_is_in_the_audit_log() -> None:
    address, agent = "192.0.2.44", {"user_agent": "browser/1"}
    assert not login("ann", "no-such-secret", address, **agent)[0]
    assert login("ann", PASSWORD, address, **agent)[0]
    with django_everywhere():
        rows = list(AuditEntry.objects.filter(user_name="ann", verb="login").order_by("at"))
    found = [row for row in rows if row.data["sourceIPs"] == [address]]
    assert [(row.code, row.tenant_id) for row in found] == [(401, None), (200, None)]
    text = json.dumps([row.data for row in found])
    assert "browser/1" in text and "secret" not in text and PASSWORD not in text


def test_what_is_refused_unseen_is_in_the_audit_log_too() -> None:
    for address in addresses()[: attempts.FREE["account"] + 1]:
        login("admin", "guess", address)
    with django_everywhere():
        rows = AuditEntry.objects.filter(user_name="admin", verb="login", code=401)
        reasons = {row.data["responseStatus"]["message"] for row in rows}
    assert reasons == {"wrong name or password", "refused unseen: too many failures"}


def test_of_a_flood_that_is_refused_unseen_a_part_is_in_the_audit_log(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(trail, "_UNSEEN_AT_ONCE", 2)
    monkeypatch.setattr(trail, "_UNSEEN_PER_SECOND", 1e-9)
    monkeypatch.setattr(trail, "_unseen", Buckets())
    address, user = "192.0.2.45", "flooded"
    for _ in range(attempts.FREE["account"] + 5):
        login(user, "guess", address)
    with django_everywhere():
        rows = AuditEntry.objects.filter(user_name=user, verb="login", code=401)
        reasons = [row.data["responseStatus"]["message"] for row in rows]
    assert len([r for r in reasons if "unseen" in r]) == 2
    assert len(reasons) == 2 + attempts.FREE["account"]
