"""Lists and objects that change many times a second: what one is about to click, types into or has
opened stays where it is."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
from selenium.webdriver.common.by import By

from tests.support.consolebrowser import Console
from tests.support.installation import Installation

MAPS = "/clusters/demo/api/v1/namespaces/busy/configmaps"
LIST = "/t/demo/core/configmaps?namespace=busy"
PAGE = "/t/demo/core/configmaps/busy/m00"
MERGE = "application/merge-patch+json"
HELD = 0.15
"""Seconds for which somebody holds a button of the mouse down."""


@pytest.fixture(scope="module")
def busy(site: Installation) -> Iterator[None]:
    """Ten ConfigMaps, of which one is changed as fast as the server takes it."""
    assert site.request("POST", "/clusters/demo/api/v1/namespaces", {"metadata": {"name": "busy"}})
    for number in range(10):
        body = {"metadata": {"name": f"m{number:02}", "labels": {"all": "busy"}}}
        assert site.request("POST", MAPS, body)[0] == 201
    over = threading.Event()

    def change() -> None:
        count = 0
        while not over.wait(0.01):
            count += 1
            site.request("PATCH", f"{MAPS}/m00", {"data": {"n": str(count)}}, MERGE)

    writer = threading.Thread(target=change)
    writer.start()
    yield
    over.set()
    writer.join()


def press(console: Console, selector: str) -> None:
    """With the mouse, as somebody does it: the button is down for a while."""
    where = console.script(
        "const box = document.querySelector(arguments[0]).getBoundingClientRect();"
        "const {x, y, width, height} = box;"
        "return [x + width / 2, y + height / 2]",
        selector,
    )
    for type in ("mousePressed", "mouseReleased"):
        event: dict[str, Any] = {"type": type, "x": where[0], "y": where[1], "button": "left"}
        console.browser.execute_cdp_cmd("Input.dispatchMouseEvent", {**event, "clickCount": 1})
        time.sleep(HELD)


def seen_to_change(console: Console, selector: str) -> None:
    text = console.one(selector).text
    console.until(lambda: console.one(selector).text != text)


def test_a_live_list_is_used_with_the_mouse(busy: None, console: Console) -> None:
    console.open(LIST)
    console.see("m09")
    state = "button[aria-pressed]:has(.live)"
    press(console, state)
    console.see("Paused · ")
    seen_to_change(console, state)
    press(console, state)
    console.until(lambda: console.one(state).text == "Live")
    press(console, "tr[data-key='busy/m00'] input")
    console.see("1 selected")
    press(console, "tr[data-key='busy/m00'] a")
    console.arrive("/admin/console/t/demo/core/configmaps/busy/m00")


def test_the_focus_stays_on_a_row_of_a_live_list(busy: None, console: Console) -> None:
    console.open(LIST)
    console.see("m09")
    console.script("document.querySelector(\"tr[data-key='busy/m05'] a\").focus()")
    console.script("window.mark = document.querySelector(\"tr[data-key='busy/m00']\")")
    console.until(lambda: console.script("return mark.classList.contains('fresh')"))
    assert console.browser.switch_to.active_element.text == "m05"


def test_an_object_that_changes_all_the_time_is_worked_with(busy: None, console: Console) -> None:
    console.open(f"{PAGE}?tab=yaml")
    console.see("resourceVersion")
    console.one("[data-action='edit']")
    press(console, "#copy-as-kubectl")
    console.see("Get as YAML")
    number = "return document.querySelector('.code').innerText"
    before = console.script(number)
    console.until(lambda: console.script(number) != before)
    assert console.script("return document.querySelectorAll(':popover-open').length") == 1
    console.script("document.querySelector(':popover-open').hidePopover()")
    press(console, ".line:has(.y-key) .fold[aria-expanded='true']")
    console.until(lambda: console.all(".fold[aria-expanded='false']"))
    press(console, ".tabs a[href='?tab=events']")
    console.see("There are no events about it.")
    press(console, "[data-action='label']")
    console.see("Overwrite other values")


def test_who_types_in_blame_is_not_interrupted(busy: None, console: Console) -> None:
    console.open(f"{PAGE}?tab=blame")
    console.see("Conflicts of an apply by")
    field = console.one("#applier")
    field.send_keys("some")
    shown = "return document.querySelector('.blame').textContent"
    before = console.script(shown)
    console.until(lambda: console.script(shown) != before)
    console.browser.switch_to.active_element.send_keys("body")
    assert console.one("#applier").get_property("value") == "somebody"
    console.see("would conflict at")


def test_two_versions_that_were_chosen_stay_chosen(busy: None, console: Console) -> None:
    console.open(f"{PAGE}?tab=history")
    console.until(lambda: len(console.all("[data-revision]")) > 5)
    press(console, "tr:nth-child(4) input[name=to]")
    press(console, "tr:nth-child(5) input[name=from]")
    picked = "document.querySelector(`input[name=${name}]:checked`)?.value"
    chosen = f"return ['from', 'to'].map((name) => {picked})"
    first, second = console.script(chosen)
    console.see(f"From {first} to {second}")
    newest = console.one("tr[data-revision]").get_attribute("data-revision")
    console.until(lambda: console.one("tr[data-revision]").get_attribute("data-revision") != newest)
    assert f"From {first} to {second}" in console.text()


def test_the_address_of_a_difference_leads_to_it(console: Console, site: Installation) -> None:
    body = {"metadata": {"name": "told"}, "data": {"n": "0"}}
    versions = [site.request("POST", MAPS.replace("busy", "shop"), body)[1]]
    for number in "123":
        patch = {"data": {"n": number}}
        path = f"{MAPS.replace('busy', 'shop')}/told"
        versions.append(site.request("PATCH", path, patch, MERGE)[1])
    first, _, third, _ = (one["metadata"]["resourceVersion"] for one in versions)
    page = "/t/demo/core/configmaps/shop/told"
    console.open(f"{page}?tab=history&from={first}&to={third}")
    console.see(f"From {first} to {third}")
    heading = console.browser.find_element(By.CSS_SELECTOR, ".difference h2")
    assert heading.text == f"From {first} to {third}"
