"""One installation and one browser for each file of tests."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.consolebrowser import Account, Console, chromium, make_accounts
from tests.support.installation import Installation


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests that take ``console`` need a Chromium."""
    missing = not (shutil.which("chromedriver") and shutil.which("chromium"))
    for item in items:
        if "console_pages" not in getattr(item, "fixturenames", ()):
            continue
        item.add_marker(pytest.mark.browser)
        item.add_marker(pytest.mark.slow)
        if missing:
            why = "chromedriver is not installed: apt-get install chromium chromium-driver"
            item.add_marker(pytest.mark.skip(reason=why))


@pytest.fixture(scope="module")
def site(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, prepared: Path
) -> Iterator[Installation]:
    """It runs, with the accounts ``operator`` (superuser), ``viewer`` (polyplane:viewers) and
    ``nobody`` (may log in, and no more). A file may have SETTINGS of its own."""
    installation = Installation(tmp_path_factory.mktemp("site"), prepared)
    installation.env["POLYPLANE_WORKERS"] = "1"
    installation.env |= getattr(request.module, "SETTINGS", {})
    installation.start()
    try:
        make_accounts(
            installation,
            Account("operator", superuser=True),
            Account("viewer", groups=("polyplane:viewers",)),
            Account("nobody"),
        )
        yield installation
    finally:
        installation.stop()


@pytest.fixture(scope="module")
def console_pages(site: Installation) -> Iterator[Console]:
    """The operator's browser."""
    browser = chromium()
    try:
        console = Console(browser, site)
        console.log_in()
        yield console
    finally:
        browser.quit()


@pytest.fixture
def console(console_pages: Console) -> Iterator[Console]:
    """The operator's browser; whatever the test did, the browser had nothing to complain of."""
    console_pages.complaints()
    yield console_pages
    assert console_pages.complaints() == []


@pytest.fixture
def somebody(site: Installation) -> Iterator[Console]:
    """Another browser, in which nobody has logged in yet."""
    browser = chromium()
    try:
        yield Console(browser, site)
    finally:
        browser.quit()
