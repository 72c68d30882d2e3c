"""Logging in to the console at an OpenID provider, in a real Chromium, over TLS: cookies, redirects
between two sites and the Content-Security-Policy are the browser's own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

from tests.browser.test_console import browser, complaints, picture, pytestmark
from tests.support.installation import Installation
from tests.support.oidcprovider import CLIENT, OidcProvider
from tests.support.waiting import PATIENCE

__all__ = ["browser", "pytestmark"]


@pytest.fixture(scope="module")
def provider(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OidcProvider]:
    users = {"s-ann": {"preferred_username": "ann", "groups": ["viewers"]}}
    made = OidcProvider(tmp_path_factory.mktemp("provider"), users)
    made.start()
    yield made
    made.stop()


@pytest.fixture(scope="module")
def installation(
    tmp_path_factory: pytest.TempPathFactory, provider: OidcProvider, prepared: Path
) -> Iterator[Installation]:
    path = tmp_path_factory.mktemp("browser")
    installation = Installation(path, prepared)
    (path / "ca.pem").write_text(provider.ca)
    (path / "secret").write_text("any")
    installation.env |= {
        "POLYPLANE_WORKERS": "1",
        "POLYPLANE_CONSOLE_OIDC_ISSUER": provider.url,
        "POLYPLANE_CONSOLE_OIDC_CLIENT_ID": CLIENT,
        "POLYPLANE_CONSOLE_OIDC_CLIENT_SECRET_FILE": str(path / "secret"),
        "POLYPLANE_CONSOLE_OIDC_CA_FILE": str(path / "ca.pem"),
        "POLYPLANE_CONSOLE_OIDC_ROLES": "viewers=polyplane:viewers",
        "POLYPLANE_CONSOLE_PASSWORD_LOGIN": "false",
    }
    installation.start()
    yield installation
    installation.stop()


def test_there_and_back(
    browser: webdriver.Chrome, installation: Installation, provider: OidcProvider
) -> None:
    wait = WebDriverWait(browser, PATIENCE)
    console = f"https://127.0.0.1:{installation.port}"
    browser.get(f"{console}/admin/console/storedobject/?tenant=demo")
    assert not browser.find_elements(By.NAME, "password")
    picture(browser, "login-oidc")
    browser.find_element(By.PARTIAL_LINK_TEXT, "Log in with").click()
    wait.until(lambda b: b.current_url.startswith(provider.url))
    browser.find_element(By.CSS_SELECTOR, "button[value=s-ann]").click()
    wait.until(lambda b: b.current_url == f"{console}/admin/console/storedobject/?tenant=demo")
    assert "old-bucket" in browser.find_element(By.TAG_NAME, "body").text
    held = {cookie["name"]: cookie for cookie in browser.get_cookies()}
    assert set(held) == {"polyplane_session", "polyplane_csrf"}
    assert held["polyplane_session"]["httpOnly"] and held["polyplane_session"]["secure"]
    ours = [text for text in complaints(browser) if console in text and "favicon" not in text]
    assert ours == []
    browser.get(f"{console}/admin/console/me")
    wait.until(lambda b: b.find_elements(By.CSS_SELECTOR, ".top .menu button"))
    browser.find_element(By.CSS_SELECTOR, ".top .menu button").click()
    browser.find_element(By.XPATH, "//button[text()='Log out']").click()
    wait.until(lambda b: b.current_url.startswith(f"{provider.url}/oauth2/end_session?"))
    browser.find_element(By.CSS_SELECTOR, "button[type=submit]").click()
    wait.until(lambda b: b.current_url.startswith(f"{console}/admin/oidc/loggedout/?state="))
    assert "has been told" in browser.find_element(By.ID, "logged-out").text
    picture(browser, "logged-out-oidc")
    browser.get(f"{console}/admin/console/me")
    wait.until(lambda b: "/admin/login/" in b.current_url)
    browser.delete_all_cookies()
    browser.get(f"{console}/admin/oidc/callback/?code=a&state=b")
    assert "was not begun in this browser" in browser.find_element(By.TAG_NAME, "body").text
    picture(browser, "login-failed")
