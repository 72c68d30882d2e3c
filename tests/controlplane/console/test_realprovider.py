"""Logging in to the console at an OpenID provider that really runs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

import pytest
from django.contrib.auth.models import User
from django.test import override_settings

from controlplane.console.models import LoginAttempt
from controlplane.console.relyingparty import RelyingParty
from tests.support.consolelogins import CALLBACK, HOST, LOGIN, Browser, settings_for
from tests.support.oidcprovider import OidcProvider

RETURN = "/admin/oidc/loggedout/"


@pytest.fixture(scope="module")
def provider(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OidcProvider]:
    users = {
        "s-ann": {"preferred_username": "ann", "groups": ["viewers"], "email": "ann@example.com"},
        "s-eve": {"preferred_username": "eve", "groups": ["others"]},
    }
    path: Path = tmp_path_factory.mktemp("console")
    made = OidcProvider(path, users)
    made.start()
    yield made
    made.stop()


@pytest.fixture(autouse=True)
def settled(postgres: str, provider: OidcProvider) -> Iterator[None]:
    LoginAttempt.objects.all().delete()
    User.objects.all().delete()
    RelyingParty._known = {}
    with override_settings(POLYPLANE_CONSOLE_OIDC=settings_for(provider.url, ca=provider.ca)):
        yield
    User.objects.all().delete()
    RelyingParty._known = {}


def come_back(browser: Browser, provider: OidcProvider, subject: str) -> dict[str, str]:
    """What the provider sends the browser back with."""
    browser.begin()
    parts = urlsplit(provider.approve(browser.location, subject))
    assert f"{parts.scheme}://{parts.netloc}{parts.path}" == f"https://{HOST}{CALLBACK}"
    return dict(parse_qsl(parts.query))


def test_whom_it_knows_and_the_settings_want_gets_in(provider: OidcProvider) -> None:
    browser = Browser()
    good = come_back(browser, provider, "s-ann")
    assert browser.back(**good) == 302, browser.page
    assert browser.inside == "ann"
    stranger = Browser()
    assert stranger.back(**come_back(stranger, provider, "s-eve")) == 403
    assert "no group of yours has a role" in stranger.page and stranger.inside == ""


def test_a_code_is_good_once(provider: OidcProvider) -> None:
    browser, other = Browser(), Browser()
    good = come_back(browser, provider, "s-ann")
    assert browser.back(**good) == 302
    state = come_back(other, provider, "s-ann")["state"]
    assert other.back(code=good["code"], state=state) == 401
    assert other.inside == ""


def test_a_name_can_be_the_mail_address(provider: OidcProvider) -> None:
    mail = settings_for(provider.url, ca=provider.ca, username_claim="email")
    with override_settings(POLYPLANE_CONSOLE_OIDC=mail):
        browser = Browser()
        assert browser.back(**come_back(browser, provider, "s-ann")) == 302, browser.page
        assert browser.inside == "ann@example.com"


def test_logging_out_goes_there_and_back(provider: OidcProvider) -> None:
    browser = Browser()
    assert browser.back(**come_back(browser, provider, "s-ann")) == 302
    page = browser.client.post("/admin/logout/", secure=True).content.decode()
    found = re.search(r'http-equiv="refresh" content="0; url=([^"]*)"', page)
    assert found and browser.inside == ""
    parts = urlsplit(provider.end_session(unescape(found[1])))
    assert f"{parts.scheme}://{parts.netloc}{parts.path}" == f"https://{HOST}{RETURN}"
    assert browser.get(RETURN, dict(parse_qsl(parts.query))) == 200
    assert "has been told" in browser.page


def test_while_it_is_gone_nobody_gets_in_and_afterwards_with_its_new_key(
    provider: OidcProvider,
) -> None:
    browser = Browser()
    good = come_back(browser, provider, "s-ann")
    provider.stop()
    try:
        assert browser.back(**good) == 502 and browser.inside == ""
        assert browser.get(LOGIN) == 502
    finally:
        provider.start()
    assert browser.back(**come_back(browser, provider, "s-ann")) == 302, browser.page
