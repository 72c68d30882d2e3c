"""Logging out of the console: at the provider, too, and by nobody else's doing."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Iterator
from html import unescape
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import jwt
import pytest
from django.contrib.auth.models import User
from django.test import Client, override_settings

from controlplane.console import oidclogout
from controlplane.console.models import LoginAttempt
from controlplane.console.relyingparty import RelyingParty
from controlplane.console.sessionstore import AccountSession
from tests.support.consolelogins import CLIENT, HOST, Browser, Provider, provider, settings_for

LOGOUT, RETURN = "/admin/logout/", "/admin/oidc/loggedout/"
PASSWORD = "right horse battery staple"
PLAIN = "You are logged out</h1>"


@pytest.fixture
def idp(postgres: str) -> Iterator[Provider]:
    _forget()
    with provider() as made, override_settings(POLYPLANE_CONSOLE_OIDC=settings_for(made.url)):
        made.discovery = {"end_session_endpoint": f"{made.url}/leave?theme=dark"}
        yield made
    _forget()


def _forget() -> None:
    LoginAttempt.objects.all().delete()
    User.objects.all().delete()
    AccountSession.objects.all().delete()


def log_in(idp: Provider, **claims: Any) -> Browser:
    browser = Browser()
    assert browser.back(**idp.approve(browser.begin(), **claims)) == 302
    return browser


def log_out(browser: Browser, path: str = LOGOUT) -> str:
    """Where the page leads, "" for nowhere."""
    answer = browser.client.post(path, secure=True)
    browser.status, browser.page = answer.status_code, answer.content.decode()
    found = re.search(r'http-equiv="refresh" content="0; url=([^"]*)"', browser.page)
    return unescape(found[1]) if found else ""


def asked(address: str) -> dict[str, str]:
    return dict(parse_qsl(urlsplit(address).query, strict_parsing=True))


def test_who_logged_in_at_the_provider_logs_out_there_too(idp: Provider) -> None:
    browser = log_in(idp)
    session = browser.client.cookies["polyplane_session"].value
    address = log_out(browser)
    assert browser.status == 200 and browser.inside == ""
    assert not AccountSession.objects.filter(session_key=session).exists()
    assert address.startswith(f"{idp.url}/leave?theme=dark&")
    query = asked(address)
    claims = jwt.decode(query["id_token_hint"], options={"verify_signature": False})
    assert (claims["sub"], claims["aud"], query["client_id"]) == ("s-1", CLIENT, CLIENT)
    assert query["post_logout_redirect_uri"] == f"https://{HOST}{RETURN}"
    assert len(query["state"]) >= 43 and "logout_hint" not in query
    assert browser.get(RETURN, {"state": query["state"]}) == 200
    assert "has been told" in browser.page and "refresh" not in browser.page
    assert oidclogout.COOKIE.startswith("__Host-")
    assert browser.get(RETURN, {"state": query["state"]}) == 302, "once"


def test_no_two_logouts_are_known_by_the_same(idp: Provider) -> None:
    states = {asked(log_out(log_in(idp)))["state"] for _ in range(2)}
    assert len(states) == 2


def test_the_registered_host_is_the_one_to_come_back_to(idp: Provider) -> None:
    registered = "https://console.example.org/admin/oidc/callback/"
    browser = log_in(idp)
    with override_settings(
        POLYPLANE_CONSOLE_OIDC=settings_for(idp.url, redirect_uri=registered),
    ):
        back = asked(log_out(browser))["post_logout_redirect_uri"]
    assert back == f"https://console.example.org{RETURN}"


@pytest.mark.parametrize(
    "endpoint",
    [
        "http://login.example.com/leave",
        "javascript:alert(1)",
        "//login.example.com/leave",
        "https://",
        "https://login.example.com/leave#top",
        "",
        None,
        7,
    ],
)
def test_no_browser_is_sent_to_what_is_no_place(
    idp: Provider, endpoint: Any, caplog: pytest.LogCaptureFixture
) -> None:
    idp.discovery = {"end_session_endpoint": endpoint}
    with caplog.at_level(logging.WARNING, "polyplane.console"):
        browser = log_in(idp)
    assert "does not end the provider's session" in caplog.text
    assert log_out(browser) == "" and PLAIN in browser.page and browser.inside == ""


def test_a_provider_without_the_endpoint_is_left_alone(
    idp: Provider, caplog: pytest.LogCaptureFixture
) -> None:
    idp.discovery = {}
    browser = log_in(idp)
    assert log_out(browser) == "" and PLAIN in browser.page
    assert "WARNING" not in caplog.text


def test_a_provider_that_is_away_keeps_nobody_logged_in(idp: Provider) -> None:
    browser = log_in(idp)
    before = list(idp.asked)
    assert log_out(browser).startswith(idp.url) and browser.inside == ""
    assert idp.asked == before, "nothing is asked"


@pytest.mark.parametrize("now", [None, "https://another.example.com"])
def test_a_provider_that_the_settings_no_longer_name_is_nobodys(
    idp: Provider, now: str | None
) -> None:
    browser = log_in(idp)
    with override_settings(POLYPLANE_CONSOLE_OIDC=settings_for(now) if now else None):
        assert log_out(browser) == "" and PLAIN in browser.page
        assert browser.get(RETURN, {"state": "x"}) == 302
    assert browser.inside == ""


def test_a_login_by_password_logs_out_as_ever(idp: Provider) -> None:
    account = User.objects.create_superuser("logout-password", password=PASSWORD)
    browser = Browser()
    browser.client.force_login(account)
    assert log_out(browser) == "" and PLAIN in browser.page and browser.inside == ""
    assert oidclogout.COOKIE not in browser.client.cookies


def test_another_person_in_the_same_browser_is_not_logged_out_as_the_first(idp: Provider) -> None:
    browser = log_in(idp)
    idp.discovery = {}
    RelyingParty._known = {}
    assert browser.back(**idp.approve(browser.begin())) == 302
    assert log_out(browser) == "", "the provider has since lost the endpoint"


# --- whose idea it was ----------------------------------------------------------------------------
def test_no_link_and_no_form_of_another_site_logs_anybody_out(idp: Provider) -> None:
    browser = log_in(idp)
    strict = Client(enforce_csrf_checks=True, headers={"host": HOST})
    strict.cookies = browser.client.cookies
    for method in ("get", "head", "put"):
        assert getattr(strict, method)(LOGOUT, secure=True).status_code in (403, 405)
    assert strict.options(LOGOUT, secure=True).status_code == 200
    assert strict.post(LOGOUT, secure=True).status_code == 403
    forged = {"csrfmiddlewaretoken": "a" * 64}
    assert strict.post(LOGOUT, forged, secure=True).status_code == 403
    origin = {"origin": "https://evil.example.com"}
    assert strict.post(LOGOUT, secure=True, headers=origin).status_code == 403
    assert strict.get(RETURN, {"state": "a"}, secure=True).status_code == 302
    assert browser.inside == "ann"
    strict.get("/admin/", secure=True)
    token = strict.cookies["polyplane_csrf"].value
    referer = {"referer": f"https://{HOST}/admin/"}
    answer = strict.post(LOGOUT, {"csrfmiddlewaretoken": token}, secure=True, headers=referer)
    assert answer.status_code == 200 and browser.inside == ""


@pytest.mark.parametrize("name", ["next", "post_logout_redirect_uri", "id_token_hint", "state"])
def test_nobody_is_led_elsewhere(idp: Provider, name: str) -> None:
    evil = "https://evil.example.com/"
    browser = log_in(idp)
    address = log_out(browser, f"{LOGOUT}?{name}={evil}")
    assert address.startswith(idp.url) and "evil" not in address + browser.page
    state = asked(address)["state"]
    query = {"state": state, **({} if name == "state" else {name: evil})}
    assert browser.get(RETURN, query) == 200 and "evil" not in browser.page


@pytest.mark.parametrize("state", ["", "guess", "zoë"])
def test_an_answer_to_nothing_shows_the_login(idp: Provider, state: str) -> None:
    browser = Browser()
    assert browser.get(RETURN, {"state": state}) == 302 and browser.location == "/admin/login/"
    log_out(browser := log_in(idp))
    assert browser.get(RETURN, {"state": state}) == 302 and browser.location == "/admin/login/"
    assert browser.client.post(RETURN, secure=True).status_code == 405


# --- what is kept ---------------------------------------------------------------------------------
def test_the_id_token_lies_sealed_in_the_session(idp: Provider) -> None:
    browser = log_in(idp)
    kept = json.dumps(dict(browser.client.session))
    token = asked(log_out(browser))["id_token_hint"]
    assert idp.url in kept
    for part in token.split("."):
        assert part not in kept


def test_what_another_secret_has_sealed_is_no_hint(idp: Provider) -> None:
    browser = log_in(idp, preferred_username="zoë")
    session = browser.client.session
    held = session[oidclogout._HELD]
    session[oidclogout._HELD] = [*held[:3], held[3][:-8] + "AAAAAAA="]
    session.save()
    query = asked(log_out(browser))
    assert query["logout_hint"] == "zoë" and query["client_id"] == CLIENT
    assert "id_token_hint" not in query


def test_a_token_too_long_for_an_address_is_not_kept(idp: Provider) -> None:
    browser = log_in(idp, groups=["viewers", "g" * oidclogout.LONGEST_TOKEN])
    query = asked(log_out(browser))
    assert query["logout_hint"] == "ann" and "id_token_hint" not in query


def test_nothing_of_it_is_cached_or_told_to_others(idp: Provider) -> None:
    browser = log_in(idp)
    answer = browser.client.post(LOGOUT, secure=True)
    assert "no-store" in answer.headers["Cache-Control"]
    assert answer.headers["Referrer-Policy"] == "same-origin"
    cookie = answer.cookies[oidclogout.COOKIE]
    assert cookie["secure"] and cookie["httponly"] and cookie["samesite"] == "Lax"
    assert cookie["path"] == "/" and not cookie["domain"]
