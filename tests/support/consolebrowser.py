"""The console in a real Chromium: an installation, somebody who has logged in, and what the browser
itself says is wrong.

A test file takes the fixtures of tests/browser/conftest.py; each has an installation of its own.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from selenium import webdriver
from selenium.common.exceptions import StaleElementReferenceException, TimeoutException
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.ui import WebDriverWait

from tests.support.installation import Installation
from tests.support.waiting import PATIENCE

WIDTH, HEIGHT = 1500, 857
"""Of what the browser shows, in pixels."""
PASSWORD = "correct horse battery"
_IN_A_SHELL = """
from django.contrib.auth.models import Group, User
user, _ = User.objects.get_or_create(username={name!r})
user.is_staff, user.is_superuser = True, {superuser!r}
user.set_password({password!r})
user.save()
user.groups.set([Group.objects.get_or_create(name=g)[0] for g in {groups!r}])
"""


def chromium() -> webdriver.Chrome:
    """A new browser, with nothing in it."""
    options = Options()
    for argument in (
        "--headless=new",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-quic",
        "--no-first-run",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
        "--disable-dev-shm-usage",
        "--ignore-certificate-errors",
    ):
        options.add_argument(argument)
    options.binary_location = shutil.which("chromium") or ""
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    browser = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))
    size = {"width": WIDTH, "height": HEIGHT, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    return browser


class Account(NamedTuple):
    """groups: platform roles among them."""

    name: str
    superuser: bool = False
    groups: tuple[str, ...] = ()


def make_accounts(installation: Installation, *accounts: Account) -> None:
    """Console accounts with `PASSWORD`."""
    code = "".join(
        _IN_A_SHELL.format(name=name, superuser=superuser, password=PASSWORD, groups=groups)
        for name, superuser, groups in accounts
    )
    done = installation.manage("shell", "-c", code)
    assert done.returncode == 0, done.stderr


@dataclass
class Console:
    """Somebody's browser at an installation."""

    browser: webdriver.Chrome
    installation: Installation

    @property
    def root(self) -> str:
        return f"https://127.0.0.1:{self.installation.port}"

    def log_in(self, name: str = "operator") -> None:
        self.browser.get(f"{self.root}/admin/login/?next=/admin/console/")
        self.browser.find_element(By.NAME, "username").send_keys(name)
        self.browser.find_element(By.NAME, "password").send_keys(PASSWORD)
        self.browser.find_element(By.CSS_SELECTOR, "button[type=submit]").click()
        self.arrive("/admin/console/")

    def arrive(self, path: str) -> None:
        """Waits for an address below this path."""
        self.until(lambda: urlsplit(self.browser.current_url).path.startswith(path))

    def open(self, path: str) -> None:
        """path: below /admin/console."""
        self.browser.get(f"{self.root}/admin/console{path}")

    def until(self, holds: Callable[[], Any]) -> Any:
        """What ``holds`` returns, once it is true. It is asked again where what it looked at was
        drawn anew meanwhile."""
        redrawn = [StaleElementReferenceException]
        wait = WebDriverWait(self.browser, PATIENCE, ignored_exceptions=redrawn)
        return wait.until(lambda _: holds())

    def see(self, text: str) -> None:
        try:
            self.until(lambda: text in self.text())
        except TimeoutException:
            where = self.browser.current_url
            raise AssertionError(f"no {text!r} at {where}: {self.text()}") from None

    def gone(self, text: str) -> None:
        self.until(lambda: text not in self.text())

    def text(self) -> str:
        return str(self.browser.execute_script("return document.body.innerText"))

    def all(self, selector: str) -> list[WebElement]:
        return self.browser.find_elements(By.CSS_SELECTOR, selector)

    def one(self, selector: str) -> WebElement:
        """The first that there is, once there is one."""
        found: WebElement = self.until(lambda: (self.all(selector) or [None])[0])
        return found

    def script(self, code: str, *arguments: Any) -> Any:
        """What the code returns in the page, a promise's value if it is one."""
        return self.browser.execute_script(code, *arguments)

    def complaints(self) -> list[str]:
        """What the browser's own console says is wrong since the last call: violations of the
        Content-Security-Policy, uncaught errors, what could not be loaded. Not that nobody was
        asked about unsaved text: a browser asks those who have clicked, and the driver has not."""
        entries = self.browser.get_log("browser")
        told = [e["message"] for e in entries if e["level"] in {"SEVERE", "WARNING"}]
        return [text for text in told if "'beforeunload' confirmation panel" not in text]

    def picture(self, path: Path) -> None:
        self.until(lambda: self.script("return document.fonts.status") == "loaded")
        self.browser.save_screenshot(str(path))
