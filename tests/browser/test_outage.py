"""Pages while the server is away, and more pages than a browser has connections."""

from __future__ import annotations

from selenium.webdriver.common.by import By

from tests.support.consolebrowser import Console
from tests.support.waiting import PATIENCE

MAPS = "/clusters/demo/api/v1/namespaces/shop/configmaps"
CONNECTIONS = 6
"""That a browser has for one server, in all of its tabs (HTTP/1.1)."""


def test_every_tab_of_many_is_served(console: Console) -> None:
    """Each of them follows a list; those that nobody looks at leave their connections to others."""
    browser = console.browser
    browser.set_page_load_timeout(PATIENCE)
    first = browser.current_window_handle
    for _ in range(CONNECTIONS + 2):
        browser.switch_to.new_window("tab")
        console.open("/t/demo/core/configmaps?namespace=shop")
        console.see("old-bucket")
    body = {"metadata": {"name": "seen-in-the-last"}}
    assert console.installation.request("POST", MAPS, body)[0] == 201
    console.see("seen-in-the-last")
    for handle in browser.window_handles:
        if handle == first:
            continue
        browser.switch_to.window(handle)
        console.see("seen-in-the-last")  # taken up where it was left
        browser.close()
    browser.switch_to.window(first)


def test_a_page_says_that_the_server_is_away_and_goes_on_when_it_is_back(
    console: Console,
) -> None:
    site = console.installation
    console.open("/t/demo/core/configmaps?namespace=shop")
    console.see("old-bucket")
    assert "Not live" not in console.text()
    site.stop()
    console.see("No answer from the server for")
    console.see("Not live")
    assert "old-bucket" in console.text(), "what was there stays in sight"
    console.browser.find_element(By.CSS_SELECTOR, ".kinds a[title^='secrets']").click()
    console.until(lambda: console.all("main .failure, main .rows"))
    site.start()
    console.gone("No answer from the server for")
    console.until(lambda: not console.all("main .failure"))
    console.until(lambda: console.all("main thead th button"))
    console.open("/t/demo/core/configmaps?namespace=shop")
    console.see("old-bucket")
    console.complaints()  # that nothing answered
