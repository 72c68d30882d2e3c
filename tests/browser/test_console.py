"""The console in a real Chromium, over TLS: it works under its own Content-Security-Policy and
loads nothing from elsewhere.

With CONSOLE_SCREENSHOTS=DIR the pages are also saved there as pictures.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from selenium import webdriver
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import WebDriverWait

from tests.support.installation import Installation
from tests.support.waiting import PATIENCE

SCREENSHOTS = os.environ.get("CONSOLE_SCREENSHOTS", "")

pytestmark = [
    pytest.mark.browser,
    pytest.mark.slow,
    pytest.mark.skipif(
        not shutil.which("chromedriver"),
        reason="chromedriver is not installed: apt-get install chromium chromium-driver",
    ),
]


@pytest.fixture(scope="module")
def installation(
    tmp_path_factory: pytest.TempPathFactory, prepared: Path
) -> Iterator[Installation]:
    installation = Installation(tmp_path_factory.mktemp("browser"), prepared)
    installation.env["POLYPLANE_WORKERS"] = "1"
    installation.start()
    yield installation
    installation.stop()


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[webdriver.Chrome]:
    options = Options()
    for argument in (
        "--headless=new",
        "--no-sandbox",
        "--disable-dev-shm-usage",
        "--ignore-certificate-errors",
        "--window-size=1440,900",
    ):
        options.add_argument(argument)
    options.binary_location = shutil.which("chromium") or ""
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    browser = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))
    yield browser
    browser.quit()


@pytest.fixture(scope="module")
def console(installation: Installation, browser: webdriver.Chrome) -> webdriver.Chrome:
    """Logged in."""
    password = installation.manage("reset_admin_password").stdout.split(" / ")[1].strip()
    browser.get(f"https://127.0.0.1:{installation.port}/admin/")
    picture(browser, "login")
    browser.find_element(By.NAME, "username").send_keys("admin")
    browser.find_element(By.NAME, "password").send_keys(password)
    browser.find_element(By.CSS_SELECTOR, "button[type=submit]").click()
    WebDriverWait(browser, PATIENCE).until(lambda b: "Tenants" in b.page_source)
    return browser


def picture(browser: webdriver.Chrome, name: str) -> None:
    if SCREENSHOTS:
        WebDriverWait(browser, PATIENCE).until(
            lambda b: b.execute_script("return document.fonts.status") == "loaded"
        )
        browser.save_screenshot(str(Path(SCREENSHOTS) / f"{name}.png"))


def complaints(browser: webdriver.Chrome) -> list[str]:
    """What the browser's own console says is wrong, Content-Security-Policy violations among it."""
    return [entry["message"] for entry in browser.get_log("browser") if entry["level"] == "SEVERE"]


def hosts(browser: webdriver.Chrome) -> set[str]:
    """The hosts that were asked for anything."""
    messages = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    urls = [
        m["params"]["request"]["url"]
        for m in messages
        if m["method"] == "Network.requestWillBeSent"
    ]
    return {urlsplit(u).netloc for u in urls if u.startswith("http")}


@pytest.mark.parametrize(
    ("path", "name", "text"),
    [
        ("tenancy/tenant/", "tenants", "demo"),
        ("tenancy/apitoken/", "tokens", "system:masters"),
        ("console/storedobject/?tenant=demo&namespace=shop", "objects", "old-bucket"),
        ("console/storedevent/?tenant=demo", "events", "ADDED"),
        ("auth/user/", "users", "admin"),
    ],
)
def test_list_works_under_the_policy(
    console: webdriver.Chrome, installation: Installation, path: str, name: str, text: str
) -> None:
    complaints(console), hosts(console)
    console.get(f"https://127.0.0.1:{installation.port}/admin/{path}")
    WebDriverWait(console, PATIENCE).until(
        lambda b: text in b.find_element(By.TAG_NAME, "body").text
    )
    picture(console, name)
    assert complaints(console) == []
    assert hosts(console) == {f"127.0.0.1:{installation.port}"}


def test_object_page_shows_what_holds_it(
    console: webdriver.Chrome, installation: Installation
) -> None:
    console.get(
        f"https://127.0.0.1:{installation.port}/admin/console/storedobject/?tenant=demo&deleting=yes"
    )
    console.find_element(By.LINK_TEXT, "old-bucket").click()
    WebDriverWait(console, PATIENCE).until(lambda b: b.find_elements(By.ID, "stored-object"))
    text = console.find_element(By.TAG_NAME, "body").text
    assert (
        "example.com/empty-the-bucket" in text
        and "being deleted" in text
        and "bucket: shop-archive" in text
    )
    picture(console, "object")
    assert complaints(console) == []
