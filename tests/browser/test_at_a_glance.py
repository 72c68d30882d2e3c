"""What somebody sees who has just been woken: what is urgent first and whole, whose things are
whose, and a way on from everything that went wrong. In the world of `make demo`."""

from __future__ import annotations

import re
from typing import Any

import pytest
from selenium.webdriver.common.by import By

from tests.support.consolebrowser import HEIGHT, WIDTH, Console
from tests.support.installation import eventually
from tools import demo

ACME = "/clusters/acme"
_SCREEN = "Emulation.setDeviceMetricsOverride"
_DRAWN = """
const canvas = document.querySelector(".chart canvas");
const wanted = getComputedStyle(canvas).getPropertyValue("--accent").trim();
const paper = new OffscreenCanvas(canvas.width, canvas.height);
const copy = paper.getContext("2d", { willReadFrequently: true });
copy.drawImage(canvas, 0, 0);
const { data } = copy.getImageData(0, 0, canvas.width, canvas.height);
for (let at = 0; at < data.length; at += 4) {
  const parts = [...data.subarray(at, at + 3)].map((part) => part.toString(16).padStart(2, "0"));
  if (`#${parts.join("")}` === wanted && data[at + 3] === 255) return true;
}
return false;
"""
"""Whether the line of writes has the theme's colour."""
_LEFT = """
const [place, canvas] = [".chart", ".chart canvas"].map((one) => document.querySelector(one));
return place.getBoundingClientRect().width - canvas.getBoundingClientRect().width;
"""
"""Pixels beside the chart."""


@pytest.fixture(scope="module")
def world(console_pages: Console) -> Console:
    site = console_pages.installation
    demo.fill(site.data / "admin.kubeconfig")
    legacy = f"{ACME}/api/v1/namespaces/legacy"

    def told() -> bool:
        conditions = site.request("GET", legacy)[1]["status"].get("conditions", [])
        return any("finalizers remaining" in c["message"] for c in conditions)

    eventually(told)
    return console_pages


def texts(console: Console, selector: str) -> list[str]:
    code = "return [...document.querySelectorAll(arguments[0])].map((e) => e.textContent)"
    found: list[str] = console.script(code, selector)
    return found


def cut_off(console: Console, selector: str) -> list[str]:
    """What is wider than the place that it has."""
    code = (
        "return [...document.querySelectorAll(arguments[0])]"
        ".filter((e) => e.scrollWidth > e.clientWidth).map((e) => e.textContent)"
    )
    found: list[str] = console.script(code, selector)
    return found


def column(console: Console, number: int) -> list[str]:
    return texts(console, f"main tbody td:nth-child({number})")


# --- the first page -------------------------------------------------------------------------------
def test_what_is_urgent_comes_before_what_is_new(world: Console, console: Console) -> None:
    console.open("/?stuck=0")
    console.see("configmaps/legacy/invoices-2019")
    panels = texts(console, "main section > h2")
    order = [next(i for i, p in enumerate(panels) if p.startswith(s)) for s in FIRST]
    assert order == sorted(order), panels


FIRST = (
    "Failing webhooks",
    "Near their quota",
    "Last hour",
    "Stuck deletions",
    "Newest changes",
    "Largest",
    "Tenants",
)


def test_lines_of_nought_are_not_drawn_as_failures(world: Console, console: Console) -> None:
    """Of a chart's lines the last is on top: that of failures lies below the others."""
    console.open("/")
    console.until(lambda: len(texts(console, ".u-legend .u-label")) == 4)
    assert texts(console, ".u-legend .u-label") == ["at", "failed", "refused", "writes"]


def test_a_chart_has_the_width_of_its_place_and_the_colours_of_the_theme(
    world: Console, console: Console
) -> None:
    console.open("/t/acme/")
    console.one(".chart canvas")
    size = {"height": HEIGHT, "deviceScaleFactor": 1, "mobile": False}
    for screen in (700, WIDTH):
        console.browser.execute_cdp_cmd(_SCREEN, {"width": screen, **size})
        console.until(lambda: abs(console.script(_LEFT)) < 1)
    console.until(lambda: console.script(_DRAWN))
    for _ in range(2):
        console.one("button[aria-label='Dark or light']").click()
        console.until(lambda: console.script(_DRAWN))


def test_below_a_chart_stand_the_sums_of_the_hour(world: Console, console: Console) -> None:
    console.open("/t/acme/")
    values = "main .u-legend .u-value"
    console.until(lambda: len(texts(console, values)) == 4)
    at, failed, _, writes = texts(console, values)
    assert (at, failed) == ("last hour", "0")
    assert f"Last hour: {writes} writes" in console.text()


@pytest.mark.parametrize("path", ["/", "/system"])
def test_a_page_of_the_moment_says_of_which_and_looks_again(
    world: Console, console: Console, path: str
) -> None:
    console.open(path)
    console.until(lambda: "as of" in "".join(texts(console, ".refreshed")))
    mark = "document.querySelector('main section').dataset.before = '1'"
    console.script(mark)
    console.one(".refreshed button").click()
    console.until(lambda: not console.all("main section[data-before]"))
    assert console.script("return document.activeElement.textContent") == "Refresh"


# --- whose things are whose -----------------------------------------------------------------------
def test_the_side_tells_the_tenants_places_from_the_installations(
    world: Console, console: Console
) -> None:
    console.open("/t/acme/")
    console.see("What it holds")
    own, all_ = (one.find_elements(By.TAG_NAME, "a") for one in console.all(".places"))
    assert texts(console, ".places p") == ["Tenant acme", "Installation"]
    paths = [[(a.get_attribute("href") or "") for a in links] for links in (own, all_)]
    assert all("/console/t/acme/" in path for path in paths[0])
    assert not any("/t/" in path for path in paths[1])


def test_a_tenants_settings_are_told_from_what_it_holds(world: Console, console: Console) -> None:
    console.open("/tenants/acme")
    console.see("Bytes of history")
    assert texts(console, ".trail > :not(.slash)") == ["Tenants", "acme"]
    console.browser.find_element(By.LINK_TEXT, "What it holds").click()
    console.arrive("/admin/console/t/acme/")
    assert texts(console, ".trail > :not(.slash)") == ["acme"]


def test_tenants_are_found_and_put_in_order(world: Console, console: Console) -> None:
    console.open("/tenants")
    console.until(lambda: "initech" in column(console, 1))
    heads = {e.text: e for e in console.all("main thead th button")}
    heads["of quota"] = console.all("main thead th")[4].find_element(By.TAG_NAME, "button")
    heads["of quota"].click()
    console.until(lambda: column(console, 1)[0] == "globex")
    assert console.all("main thead th")[4].get_attribute("aria-sort") == "descending"
    console.browser.find_element(By.XPATH, "//th/button[text()='Name']").click()
    console.until(lambda: column(console, 1) == sorted(column(console, 1)))
    field = console.one("[aria-label='Filter tenants']")
    field.send_keys("ALICE active")
    console.until(lambda: column(console, 1) == ["acme"])
    field.send_keys(" nobody")
    console.see("Nothing fits the filter.")


# --- whole, and in sight --------------------------------------------------------------------------
def test_what_is_wrong_with_a_definition_is_in_sight(world: Console, console: Console) -> None:
    console.open("/t/acme/crds")
    console.see("not all names are accepted")
    assert cut_off(console, "main .rows, main td") == []


def test_what_holds_a_namespace_is_told_to_its_end(world: Console, console: Console) -> None:
    console.open("/t/acme/core/namespaces/-/legacy?tab=stuck")
    console.see("example.com/empty-the-bucket in")
    assert cut_off(console, "main td") == []


@pytest.mark.parametrize("path", ["/system", "/tenants", "/t/acme/admission", "/"])
def test_headings_stand_above_what_they_head(world: Console, console: Console, path: str) -> None:
    console.open(path)
    left = "return document.querySelector(arguments[0])?.getBoundingClientRect().left"
    console.until(lambda: console.script(left, "main .panel, main table") is not None)
    assert console.script(left, "main h1") == console.script(left, "main .panel, main table")


def test_an_empty_list_says_so_where_its_rows_would_be(world: Console, console: Console) -> None:
    console.open("/t/acme/batch/jobs")
    console.until(lambda: texts(console, ".rows .empty-note") == ["There are none here."])
    console.open("/t/acme/core/pods?q=nothing-of-the-kind")
    console.until(lambda: texts(console, ".rows .empty-note") == ["Nothing fits the filters."])
    console.open("/t/acme/core/pods")
    console.see("web-7d9c-a")
    assert not console.one(".rows .empty-note").is_displayed()


def test_an_event_is_opened_by_a_click(world: Console, console: Console) -> None:
    console.open("/t/acme/core/events")
    console.see("FailedScheduling")
    row = console.one("tr[data-key^='shop/web-7d9c-c.']")
    assert texts(console, "tbody td .warn") == ["Warning"]
    row.find_element(By.TAG_NAME, "a").click()
    console.arrive("/admin/console/t/acme/core/events/shop/web-7d9c-c.")


def test_the_audit_log_tells_times_as_other_logs_do(world: Console, console: Console) -> None:
    console.open("/audit?tenant=acme")
    times = console.until(lambda: column(console, 1))
    assert times
    assert all(re.match(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC", text) for text in times)


# --- ways on --------------------------------------------------------------------------------------
def test_a_tenant_that_is_not_there_leads_to_those_that_are(
    world: Console, console: Console
) -> None:
    console.open("/t/nowhere/")
    console.until(lambda: console.all("main .failure"))
    assert console.script("return localStorage.getItem('tenant')") is None, "nobody goes back to it"
    console.browser.find_element(By.LINK_TEXT, "All tenants").click()
    console.arrive("/admin/console/tenants")
    assert all("404" in complaint for complaint in console.complaints())


def test_a_suspended_tenant_leads_to_where_it_is_resumed(world: Console, console: Console) -> None:
    console.open("/t/initech/")
    console.see("is suspended")
    console.browser.find_element(By.LINK_TEXT, "Settings of initech").click()
    console.see("Resume")
    others = [complaint for complaint in console.complaints() if "403" not in complaint]
    assert others == []


def test_what_never_was_is_not_called_deleted(world: Console, console: Console) -> None:
    def badges() -> Any:
        return texts(console, ".object-head .badge.bad")

    console.open("/t/acme/core/configmaps/shop/never-was")
    console.see("Nothing of it is retained.")
    assert badges() == ["not there"]
