"""What is written and not stored yet is not lost: when the session ends, when somebody else logs in
in the same browser, when the server is away, when one goes elsewhere; and who stops an action half
way is told what is done."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from selenium.webdriver.common.by import By

from tests.support.consolebrowser import PASSWORD, Console
from tests.support.consolechanges import Changes, get

MAPS = "/api/v1/namespaces/shop/configmaps"
WRITTEN = 'note: "written by hand"'
_OFFLINE = "Network.emulateNetworkConditions"
_SLOW = {"latency": 300, "downloadThroughput": -1, "uploadThroughput": -1}
_HELD = """
const ask = window.fetch, held = new Promise((resolve) => (window.go = resolve));
let asked = 0;
window.fetch = async (address, options) => {
  if (options?.method === "PATCH" && (asked += 1) > 10) await held;
  return ask(address, options);
};
"""
"""Changes after the tenth wait until somebody calls `go`."""


@pytest.fixture
def writer(somebody: Console) -> Iterator[Changes]:
    """Somebody in a browser of their own."""
    somebody.log_in()
    yield Changes(somebody)


def written(changes: Changes, name: str) -> str:
    """Opens the editor from the object's page and writes; the tab in which that is."""
    console = changes.console
    obj = {"metadata": {"name": name}, "data": {"note": "as it was"}}
    path = f"/clusters/demo{MAPS}?fieldManager=polyplane-console"
    assert console.installation.request("POST", path, obj)[0] == 201
    console.open(f"/t/demo/core/configmaps/shop/{name}")
    console.one("[data-action=edit]").click()
    console.one("#review")
    changes.replace("note: as it was", WRITTEN)
    return str(console.browser.current_window_handle)


def stored(console: Console, name: str) -> Any:
    return get(console, f"{MAPS}/{name}")["data"]["note"]


def press(console: Console, text: str) -> None:
    found = f"//dialog//button[normalize-space()='{text}']"
    console.until(lambda: console.browser.find_elements(By.XPATH, found))[-1].click()


def log_out(console: Console) -> None:
    """In the tab that is shown."""
    console.one(".top .menu button").click()
    button = "//button[normalize-space()='Log out']"
    console.until(lambda: console.browser.find_elements(By.XPATH, button))[0].click()
    console.until(lambda: "/admin/logout/" in console.browser.current_url)


def in_another_tab(console: Console, name: str) -> None:
    """Logs out, and in as somebody, in a tab that is closed again."""
    browser = console.browser
    here = browser.current_window_handle
    browser.switch_to.new_window("tab")
    console.open("/me")
    log_out(console)
    console.log_in(name)
    browser.close()
    browser.switch_to.window(here)


def test_a_session_that_ends_leaves_the_text_and_one_goes_on(writer: Changes) -> None:
    console = writer.console
    browser, here = console.browser, written(writer, "session-over")
    browser.switch_to.new_window("tab")
    console.open("/me")
    log_out(console)
    browser.close()
    browser.switch_to.window(here)
    writer.review()
    console.see("Your session has ended. What you have written is still here.")
    assert WRITTEN in writer.text()
    console.one(".notice a").click()
    browser.switch_to.window(browser.window_handles[-1])
    console.one("[name=username]").send_keys("operator")
    console.one("[name=password]").send_keys(PASSWORD)
    console.one("button[type=submit]").click()
    console.arrive("/admin/console/me")
    browser.close()
    browser.switch_to.window(here)
    writer.review()
    console.one("table.difference")
    console.gone("Your session has ended")
    writer.store()
    assert stored(console, "session-over") == "written by hand"


def test_a_page_writes_for_nobody_but_whose_it_is(writer: Changes) -> None:
    console = writer.console
    written(writer, "two-accounts")
    in_another_tab(console, "viewer")
    writer.review()
    console.see("viewer has logged in in this browser. This page is operator's")
    assert WRITTEN in writer.text() and not console.all("table.difference")
    assert stored(console, "two-accounts") == "as it was"


def test_a_page_without_anything_to_lose_becomes_the_others(writer: Changes) -> None:
    console = writer.console
    console.open("/t/demo/")
    console.see("Quotas, tokens, settings")
    in_another_tab(console, "nobody")
    console.one(".places a").click()
    name = "return document.querySelector('meta[name=account]')?.content"
    console.until(lambda: console.script(name) == "nobody")


def test_leaving_is_asked_about_once_something_is_written(writer: Changes) -> None:
    console = writer.console
    written(writer, "leaving")
    page = console.browser.current_url
    console.one(".places a").click()
    console.see("What you have written is not stored.")
    press(console, "Cancel")
    assert console.browser.current_url == page and WRITTEN in writer.text()
    console.browser.back()
    console.see("What you have written is not stored.")
    assert console.browser.current_url == page and WRITTEN in writer.text()
    press(console, "Leave")
    console.until(lambda: console.browser.current_url == page.removesuffix("/edit"))
    console.one("[data-action=edit]").click()
    console.one("#review")
    console.one(".places a").click()  # nothing is written: nothing is asked
    console.until(lambda: "/edit" not in console.browser.current_url)
    assert not console.all("dialog")


def test_a_server_that_is_away_is_said_where_one_writes(writer: Changes) -> None:
    console = writer.console
    written(writer, "away")
    console.browser.execute_cdp_cmd("Network.enable", {})
    console.browser.execute_cdp_cmd(_OFFLINE, {"offline": True, **_SLOW})
    writer.review()
    console.see("The server has not answered. What you have written is still here")
    console.browser.execute_cdp_cmd(_OFFLINE, {"offline": False, **_SLOW})
    console.gone("No answer from the server")
    writer.review()
    console.one("table.difference")
    assert "Uncaught" not in "".join(console.complaints())


def test_who_stops_half_way_is_told_what_is_done(writer: Changes) -> None:
    console = writer.console
    names = [f"half-way-{number:02}" for number in range(40)]
    for name in names:
        obj = {"metadata": {"name": name}}
        assert console.installation.request("POST", f"/clusters/demo{MAPS}", obj)[0] == 201
    console.open("/t/demo/core/configmaps?namespace=shop&q=half-way-")
    console.see(names[-1])
    console.one("thead input[type=checkbox]").click()
    writer.press("annotate")
    console.one("dialog textarea").send_keys("note=stopped")
    console.script(_HELD)
    writer.perform()
    console.until(lambda: console.all(".results .done"))
    press(console, "Stop")
    console.script("go()")
    said = console.until(lambda: console.all(".notice"))[0].text
    found = get(console, f"{MAPS}")["items"]
    done = sum("note" in one["metadata"].get("annotations", {}) for one in found)
    assert 0 < done < len(names)
    assert f"Annotate was stopped: {done} done, {len(names) - done} not begun" in said
