"""Logging in to the console by OpenID Connect: who gets in, and who does not, whatever their
browser or their provider says."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client, override_settings

from apiserver.storage.models import AuditEntry
from apiserver.storage.visibility import django_everywhere
from controlplane import authentication
from controlplane.console import oidclogin
from controlplane.console.models import LoginAttempt, OidcIdentity
from tests.support.consolelogins import (
    CALLBACK,
    CLIENT,
    HOST,
    LOGIN,
    SECRET,
    Browser,
    Provider,
    provider,
    settings_for,
)
from tests.support.oidctokens import rsa_key


@pytest.fixture
def idp(postgres: str) -> Iterator[Provider]:
    LoginAttempt.objects.all().delete()
    User.objects.all().delete()
    with provider() as made, override_settings(POLYPLANE_CONSOLE_OIDC=settings_for(made.url)):
        yield made
    LoginAttempt.objects.all().delete()
    User.objects.all().delete()


def log_in(idp: Provider, browser: Browser | None = None, **claims: Any) -> Browser:
    browser = browser or Browser()
    browser.back(**idp.approve(browser.begin(), **claims))
    return browser


def test_somebody_whom_the_provider_knows_gets_in(idp: Provider) -> None:
    browser = Browser()
    asked = browser.begin("/admin/tenancy/tenant/?q=a&p=1")
    assert browser.location.startswith(f"{idp.url}/authorize?theme=dark&")
    assert asked["redirect_uri"] == f"https://{HOST}{CALLBACK}"
    assert asked["response_type"] == "code" and asked["client_id"] == CLIENT
    assert asked["scope"] == "openid profile email" and asked["code_challenge_method"] == "S256"
    assert browser.back(**idp.approve(asked)) == 302
    assert browser.location == "/admin/tenancy/tenant/?q=a&p=1"
    assert browser.inside == "ann"
    account = User.objects.get(username="ann")
    assert account.is_staff and not account.is_superuser and not account.has_usable_password()
    assert [g.name for g in account.groups.all()] == ["polyplane:viewers"]
    assert browser.get("/admin/console/storedobject/") == 200
    assert Client().login(username="ann", password="") is False


def test_leaving_ends_the_session(idp: Provider) -> None:
    browser = log_in(idp)
    session = browser.client.cookies["polyplane_session"].value
    browser.client.post("/admin/logout/", secure=True)
    browser.client.cookies["polyplane_session"] = session
    assert browser.get("/admin/") == 302 and "/admin/login/" in browser.location


def test_no_two_logins_are_known_by_the_same(idp: Provider) -> None:
    first, second = Browser().begin(), Browser().begin()
    for name in ("state", "nonce", "code_challenge"):
        assert first[name] != second[name] and len(first[name]) >= 43


# --- what a browser may bring ---------------------------------------------------------------------
Attack = Callable[[Provider, Browser, dict[str, str]], dict[str, Any]]


def _without(*names: str) -> Attack:
    return lambda idp, browser, good: {k: v for k, v in good.items() if k not in names}


def _with(**more: Any) -> Attack:
    return lambda idp, browser, good: {**good, **more}


def _of_another_browser(idp: Provider, browser: Browser, good: dict[str, str]) -> dict[str, Any]:
    return idp.approve(Browser().begin())


def _state_of_another(idp: Provider, browser: Browser, good: dict[str, str]) -> dict[str, Any]:
    return {**good, "state": Browser().begin()["state"]}


def _another_code(idp: Provider, browser: Browser, good: dict[str, str]) -> dict[str, Any]:
    """Injected: the code of a login that somebody else has made."""
    return {**good, "code": idp.approve(Browser().begin())["code"]}


def _no_cookie(idp: Provider, browser: Browser, good: dict[str, str]) -> dict[str, Any]:
    del browser.client.cookies[oidclogin.COOKIE]
    return good


def _bent_cookie(idp: Provider, browser: Browser, good: dict[str, str]) -> dict[str, Any]:
    """Signed by nobody: what the browser holds, with another beginning."""
    held = browser.client.cookies[oidclogin.COOKIE].value
    browser.client.cookies[oidclogin.COOKIE] = ("A" if held[0] != "A" else "B") + held[1:]
    return good


@pytest.mark.parametrize(
    ("attack", "status", "text"),
    [
        (_without("state"), 400, "no answer to the login that this browser began"),
        (_with(state="wrong"), 400, "no answer to the login that this browser began"),
        (_with(state="wröng"), 400, "no answer to the login that this browser began"),
        (_state_of_another, 400, "no answer to the login that this browser began"),
        (_of_another_browser, 400, "no answer to the login that this browser began"),
        (_with(code=["a", "b"]), 400, "says something twice"),
        (_no_cookie, 400, "was not begun in this browser"),
        (_bent_cookie, 400, "was not begun in this browser"),
        (_without("code"), 400, "has no code"),
        (_with(code="guessed"), 401, "is not accepted"),
        (_another_code, 401, "is not accepted"),
        (_with(iss="https://evil.example.com"), 401, "comes from another identity provider"),
        (_with(error="access_denied"), 401, "has refused the login"),
        (_with(error="<script>alert(1)</script>"), 401, "has refused the login"),
    ],
)
def test_what_is_no_answer_to_this_browsers_login_is_refused(
    idp: Provider, attack: Attack, status: int, text: str
) -> None:
    browser = Browser()
    answer = attack(idp, browser, idp.approve(browser.begin()))
    assert browser.back(**answer) == status
    assert text in browser.page and "Traceback" not in browser.page
    assert "<script>alert" not in browser.page
    assert browser.inside == "" and not User.objects.exists()


def test_an_answer_is_good_once(idp: Provider) -> None:
    browser = Browser()
    good = idp.approve(browser.begin())
    pending = browser.client.cookies[oidclogin.COOKIE].value
    assert browser.back(**good) == 302
    browser.client.post("/admin/logout/", secure=True)
    assert browser.back(**good) == 400, "the browser has forgotten the login"
    browser.client.cookies[oidclogin.COOKIE] = pending
    assert browser.back(**good) == 401, "the provider has taken the code"
    assert browser.inside == ""


def test_a_refused_answer_ends_the_login_too(idp: Provider) -> None:
    browser = Browser()
    good = idp.approve(browser.begin())
    assert browser.back(**{**good, "state": "guess"}) == 400
    assert browser.back(**good) == 400


def test_a_login_that_takes_too_long_is_over(
    idp: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    browser = Browser()
    good = idp.approve(browser.begin())
    moment = time.time() + oidclogin.PATIENCE + 1
    monkeypatch.setattr("django.core.signing.time.time", lambda: moment)
    assert browser.back(**good) == 400


def test_the_cookie_is_of_this_host_alone(idp: Provider) -> None:
    browser = Browser()
    browser.begin()
    cookie = browser.client.cookies[oidclogin.COOKIE]
    assert oidclogin.COOKIE.startswith("__Host-")
    assert cookie["secure"] and cookie["httponly"] and cookie["samesite"] == "Lax"
    assert cookie["path"] == "/" and not cookie["domain"]


@pytest.mark.parametrize(
    "page",
    [
        "https://evil.example.com/",
        "//evil.example.com",
        "/\\evil.example.com",
        "http://console.example.com/admin/",
        "javascript:alert(1)",
        "\thttps://evil.example.com",
        "/admin/" + "a" * 3000,
    ],
)
def test_nobody_is_led_elsewhere(idp: Provider, page: str) -> None:
    browser = Browser()
    browser.back(**idp.approve(browser.begin(page)))
    assert (browser.status, browser.location) == (302, "/admin/")


def test_another_site_begins_no_login(idp: Provider) -> None:
    browser = Browser()
    assert browser.get(LOGIN, sec_fetch_site="cross-site") == 302
    assert browser.location == "/admin/login/" and not idp.asked
    assert oidclogin.COOKIE not in browser.client.cookies
    assert browser.client.post(LOGIN, secure=True).status_code == 405


# --- what a provider may say ----------------------------------------------------------------------
@pytest.mark.parametrize(
    ("claims", "text"),
    [
        ({"nonce": "another"}, "is not accepted"),
        ({"nonce": None}, "is not accepted"),
        ({"iss": "https://evil.example.com"}, "is not accepted"),
        ({"aud": "another"}, "is not accepted"),
        ({"aud": [CLIENT, "another"]}, "is not accepted"),
        ({"aud": [CLIENT, "another"], "azp": "another"}, "is not accepted"),
        ({"azp": "another"}, "is not accepted"),
        ({"exp": int(time.time()) - 60}, "is not accepted"),
        ({"nbf": int(time.time()) + 7200}, "is not accepted"),
        ({"sub": ""}, "is not accepted"),
        ({"sub": "s" * 256}, "is not accepted"),
        ({"preferred_username": None}, "is not accepted"),
        ({"groups": {"viewers": True}}, "is not accepted"),
    ],
)
def test_tokens_of_others_are_refused(idp: Provider, claims: dict[str, Any], text: str) -> None:
    browser = log_in(idp, **claims)
    assert browser.status == 401 and text in browser.page
    assert browser.inside == "" and not User.objects.exists()


def test_a_token_for_several_that_names_the_console_is_good(idp: Provider) -> None:
    assert log_in(idp, aud=[CLIENT, "another"], azp=CLIENT).inside == "ann"


def test_a_token_with_a_key_that_is_not_published_is_refused(idp: Provider) -> None:
    idp.key = rsa_key("somebody else's")
    assert log_in(idp).status == 401


def test_a_provider_that_says_who_answers_must_do_so(idp: Provider) -> None:
    idp.discovery = {"authorization_response_iss_parameter_supported": True}
    assert log_in(idp).status == 401
    browser = Browser()
    assert browser.back(**idp.approve(browser.begin()), iss=idp.url) == 302


@pytest.mark.parametrize("methods", [["client_secret_basic"], ["client_secret_post"]])
def test_the_secret_goes_where_the_provider_wants_it(idp: Provider, methods: list[str]) -> None:
    idp.discovery = {"token_endpoint_auth_methods_supported": methods}
    assert log_in(idp).inside == "ann"


def test_a_wrong_secret_is_the_operators_to_mend(
    idp: Provider, caplog: pytest.LogCaptureFixture
) -> None:
    with override_settings(POLYPLANE_CONSOLE_OIDC=settings_for(idp.url, client_secret="wrong-1")):
        assert log_in(idp).status == 502
    assert "invalid_client" in caplog.text
    assert "wrong-1" not in caplog.text and SECRET not in caplog.text


def hang(idp: Provider) -> tuple[int, bytes]:
    idp.released.wait()
    return 200, b"{}"


DISCOVERY = "/.well-known/openid-configuration"
BROKEN: dict[str, Callable[[Provider], tuple[int, bytes]]] = {
    "is away": lambda idp: (503, b""),
    "hangs": hang,
    "says too much": lambda idp: (200, b" " * 1024 * 1024 + b"{}"),
    "speaks HTML": lambda idp: (200, b"<html>"),
    "lists": lambda idp: (200, b"[]"),
    "says nothing": lambda idp: (200, b"{}"),
    "nests": lambda idp: (200, b"[" * 100_000),
}


@pytest.mark.parametrize("path", [DISCOVERY, "/token", "/keys"])
@pytest.mark.parametrize("how", BROKEN)
def test_a_provider_that_fails_keeps_nobody_waiting(
    idp: Provider,
    how: str,
    path: str,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    browser = Browser()
    idp.answers[path] = lambda: BROKEN[how](idp)
    if path == DISCOVERY:
        if how == "hangs":
            monkeypatch.setattr(authentication, "_FETCH_SECONDS", 0.2)
        assert browser.get(LOGIN) == 502
    else:
        good = idp.approve(browser.begin())
        if how == "hangs":
            monkeypatch.setattr(authentication, "_FETCH_SECONDS", 2.0)
        assert browser.back(**good) == 502
    assert "cannot be asked at present" in browser.page and "Traceback" not in browser.page
    assert "login" in caplog.text and "Traceback" not in caplog.text
    assert browser.inside == ""
    idp.answers.clear()
    monkeypatch.undo()
    assert log_in(idp, browser).inside == "ann", "and it recovers at once"


def test_a_provider_that_is_gone(idp: Provider) -> None:
    with override_settings(POLYPLANE_CONSOLE_OIDC=settings_for("https://127.0.0.1:1")):
        assert Browser().get(LOGIN) == 502


def test_an_issuer_that_calls_itself_otherwise_is_not_asked(idp: Provider) -> None:
    idp.discovery = {"issuer": "https://evil.example.com"}
    assert Browser().get(LOGIN) == 502
    idp.discovery = {"authorization_endpoint": "http://evil.example.com"}
    assert Browser().get(LOGIN) == 502


def test_addresses_that_this_server_does_not_call_are_not_called(idp: Provider) -> None:
    with override_settings(POLYPLANE_BIND="0.0.0.0"):
        assert Browser().get(LOGIN) == 502
    assert idp.asked == []


def test_a_provider_is_asked_what_it_is_once(idp: Provider) -> None:
    for _ in range(3):
        Browser().begin()
    assert idp.asked == [DISCOVERY]


def test_few_wait_for_the_provider_together(idp: Provider) -> None:
    for _ in range(oidclogin.AT_ONCE):
        assert oidclogin._turns.acquire(blocking=False)
    try:
        browser = Browser()
        assert browser.get(LOGIN) == 503 and "Too many people log in" in browser.page
    finally:
        oidclogin._turns.release(oidclogin.AT_ONCE)
    assert log_in(idp).inside == "ann"


# --- what is left behind --------------------------------------------------------------------------
def test_a_login_that_fails_counts_against_the_address(idp: Provider) -> None:
    for _ in range(20):
        Browser().back(code="x", state="y")
    browser = Browser()
    assert browser.back(**idp.approve(browser.begin())) == 429
    assert "Too many failed logins" in browser.page
    assert log_in(idp, Browser("198.51.100.9")).inside == "ann"


def test_one_that_is_right_or_the_providers_fault_does_not(idp: Provider) -> None:
    for _ in range(12):
        assert log_in(idp).status == 302
    idp.answers["/token"] = lambda: (503, b"")
    for _ in range(12):
        assert log_in(idp).status == 502
    assert not LoginAttempt.objects.filter(failures__gt=0).exists()


def test_each_login_is_in_the_log_and_in_the_audit_log(
    idp: Provider, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO, "polyplane.console"):
        log_in(idp, preferred_username="zoë-audited")
        log_in(idp, Browser(), sub="s-2", preferred_username="bob-audited", groups=[])
    lines = [r.getMessage() for r in caplog.records if r.name == "polyplane.console"]
    known = r"login: user='zo\xeb-audited' address='192.0.2.77', by OpenID Connect"
    why = "no group of yours has a role in this console"
    assert lines == [known, f"login failed: user='bob-audited' address='192.0.2.77', '{why}'"]
    with django_everywhere():
        rows = list(AuditEntry.objects.filter(user_name__endswith="-audited", verb="login"))
    assert sorted((row.code, row.data["responseStatus"]["message"]) for row in rows) == [
        (200, ""),
        (401, why),
    ]
    assert {row.data["requestURI"] for row in rows} == {CALLBACK}
    assert "nonce" not in json.dumps([row.data for row in rows])


# --- the login page -------------------------------------------------------------------------------
def test_the_login_page_offers_both(idp: Provider) -> None:
    browser = Browser()
    browser.get("/admin/login/", {"next": "/admin/auth/user/?q=a&p=b"})
    href = "/admin/oidc/login/?next=/admin/auth/user/%3Fq%3Da%26p%3Db"
    assert f'href="{href}"' in browser.page and 'name="password"' in browser.page
    with override_settings(POLYPLANE_CONSOLE_OIDC=None):
        browser.get("/admin/login/")
        assert "oidc" not in browser.page
        assert (browser.get(LOGIN), browser.get(CALLBACK)) == (404, 404)


def test_passwords_can_be_switched_off(idp: Provider) -> None:
    User.objects.create_superuser("with-password", password="right horse battery staple")
    form = {"username": "with-password", "password": "right horse battery staple"}
    with override_settings(POLYPLANE_CONSOLE_PASSWORD_LOGIN=False):
        browser = Browser()
        browser.get("/admin/login/")
        assert 'name="password"' not in browser.page and LOGIN in browser.page
        answer = browser.client.post("/admin/login/", form, secure=True)
        assert answer.status_code == 200 and "Passwords are not accepted" in answer.content.decode()
        assert browser.inside == ""
        assert log_in(idp).inside == "ann"
    assert Browser().client.post("/admin/login/", form, secure=True).status_code == 302


def test_an_account_of_the_provider_has_no_password_to_guess(idp: Provider) -> None:
    log_in(idp)
    for password in ("", "!", User.objects.get(username="ann").password):
        form = {"username": "ann", "password": password}
        assert Client().post("/admin/login/", form, secure=True).status_code == 200
    assert OidcIdentity.objects.get().subject == "s-1"
