"""What newcomers have tripped over, in the world of `make demo`: rows that move under the pointer,
numbers that lead nowhere, times that had to be typed as the API takes them, counts that stay."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.ui import Select

from tests.support.consolebrowser import Console
from tests.support.consolechanges import Changes
from tools import demo

ACME = "/clusters/acme"
MAPS = f"{ACME}/api/v1/namespaces/shop/configmaps"
STUCK = "/t/acme/core/configmaps/legacy/invoices-2019?tab=stuck"
SECRET = "/t/acme/core/secrets/shop/database-login"
RFC_3339 = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")
_TOP = "return document.querySelector(arguments[0]).getBoundingClientRect().top"
_BESIDE = """
const links = [...document.querySelectorAll("nav.kinds a")];
const link = links.find((a) => a.title.startsWith("configmaps"));
return link?.querySelector(".count").textContent ?? "";
"""
_HELD = """
const asked = window.fetch;
window.fetch = async (what, ...more) => {
  const url = new URL(what?.url ?? what, location.href);
  if (url.pathname.endsWith("/configmaps") && url.searchParams.get("limit") === "500")
    await new Promise((go) => { window.go = go; });
  return asked(what, ...more);
};
"""
"""A list is asked for when somebody calls window.go()."""
_CLIPBOARD = "navigator.clipboard.writeText = async (text) => { window.copied = text; };"


@pytest.fixture(scope="module")
def world(console_pages: Console) -> Console:
    demo.fill(console_pages.installation.data / "admin.kubeconfig")
    return console_pages


@pytest.fixture
def acme(world: Console, console: Console) -> Console:
    """The operator's browser in that world."""
    return console


def linked(console: Console, text: str, within: str = "main") -> WebElement:
    path = f'//{within}//*[self::a or self::button][normalize-space()="{text}"]'
    find = console.browser.find_elements
    found: list[WebElement] = console.until(lambda: find(By.XPATH, path))
    return found[0]


def query(console: Console) -> dict[str, list[str]]:
    return parse_qs(urlsplit(console.browser.current_url).query)


def send(console: Console, method: str, path: str, body: Any = None) -> None:
    status, answer = console.installation.request(method, path, body)
    assert status < 300, answer


# --- lists ----------------------------------------------------------------------------------------
def test_a_row_that_is_ticked_moves_no_other(acme: Console) -> None:
    acme.open("/t/acme/core/configmaps?namespace=payments")
    rows = [f"tr[data-key='payments/rates-{n}']" for n in range(3)]
    acme.one(rows[2])
    before = [acme.script(_TOP, row) for row in rows]
    acme.one(f"{rows[0]} input").click()
    acme.see("1 selected")
    acme.one("[data-action=delete]")
    assert [acme.script(_TOP, row) for row in rows] == before
    acme.one("main").send_keys(Keys.ESCAPE)
    acme.gone("1 selected")
    assert [acme.script(_TOP, row) for row in rows] == before and linked(acme, "Save as")


def test_counts_at_the_side_follow_the_list(acme: Console) -> None:
    acme.open("/t/acme/core/configmaps?namespace=shop")
    before = int(acme.until(lambda: acme.script(_BESIDE)))
    send(acme, "POST", MAPS, {"metadata": {"name": "beside"}})
    acme.until(lambda: acme.script(_BESIDE) == str(before + 1))
    send(acme, "DELETE", f"{MAPS}/beside")
    acme.until(lambda: acme.script(_BESIDE) == str(before))


def test_a_count_at_the_side_from_before_the_list_is_corrected(acme: Console) -> None:
    held = {"source": _HELD}
    script = acme.browser.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", held)
    try:
        acme.open("/t/acme/core/configmaps?namespace=shop")
        before = int(acme.until(lambda: acme.script(_BESIDE)))
        send(acme, "POST", MAPS, {"metadata": {"name": "between"}})
        acme.until(lambda: acme.script("return Boolean(window.go)"))
        acme.script("window.go()")
        acme.see("between")
        acme.until(lambda: acme.script(_BESIDE) == str(before + 1))
    finally:
        acme.browser.execute_cdp_cmd("Page.removeScriptToEvaluateOnNewDocument", script)
        send(acme, "DELETE", f"{MAPS}/between")


def test_a_label_of_a_list_leads_to_all_kinds(acme: Console) -> None:
    acme.open("/t/acme/core/secrets?label=app%3Dweb")
    linked(acme, "all kinds").click()
    acme.see("Deployment web")
    acme.see("Secret database-login")
    assert "rates-0" not in acme.text()


def test_the_finder_lists_all_that_have_a_label_and_says_where_it_has_not(acme: Console) -> None:
    acme.open("/t/acme/")
    acme.one(".finder").click()
    acme.one("dialog.palette input").send_keys("app=web")
    acme.see("There are more than these")
    acme.one("dialog.palette input").send_keys(Keys.ENTER)
    acme.see("objects as of now")
    assert query(acme)["labels"] == ["app=web"]
    acme.see("Deployment web")


def test_who_may_make_nothing_is_told_why(somebody: Console, world: Console) -> None:
    somebody.log_in("viewer")
    somebody.open("/t/acme/core/configmaps")
    somebody.one("[aria-label='Why not: New ConfigMap']").click()
    somebody.see("No rule grants you “create configmaps”.")
    somebody.open("/t/acme/core/secrets")
    somebody.see('cannot list resource "secrets"')
    linked(somebody, "Who may list secrets").click()
    somebody.see("Who may list secrets")
    somebody.see("system:masters")


# --- who was refused, who may ---------------------------------------------------------------------
def test_refusals_lead_to_who_was_refused_and_why(acme: Console) -> None:
    acme.open("/t/acme/admission")
    row = "//tr[td[1][normalize-space()='no-latest-images']]"
    count = acme.until(lambda: acme.browser.find_elements(By.XPATH, f"{row}//a[@class='bad']"))[0]
    number = int(count.text)
    count.click()
    acme.see("images must name a version, not latest")
    rows = acme.all("main tbody tr")
    assert len(rows) == number and all("deployments.apps/shop/web" in row.text for row in rows)
    acme.open("/t/acme/admission")
    linked(acme, "all that they have refused in the last day").click()
    acme.see("images must name a version, not latest")


def test_the_first_page_leads_to_what_was_refused(acme: Console) -> None:
    acme.open("/")
    linked(acme, "What was refused, and why").click()
    acme.see("images must name a version, not latest")
    assert query(acme)["code"] == ["4xx"]
    labels = [label.text for label in acme.all("form .field")]
    assert "code" in labels and "since" in labels, "what is filled in keeps its name"


def test_who_reads_a_secret_may_also_list_it(acme: Console) -> None:
    acme.open(SECRET)
    linked(acme, "Who has access?").click()
    acme.see("Who may get secrets database-login in shop")
    linked(acme, "list them").click()
    acme.see("Who may list secrets database-login in shop")
    acme.gone("Whoever may list or watch")


# --- times ----------------------------------------------------------------------------------------
def test_a_moment_of_the_past_is_typed_as_people_say_it(acme: Console) -> None:
    acme.open("/t/acme/past?namespace=shop")
    acme.see("objects as of now")
    acme.one("[name=at]").send_keys("1 second ago", Keys.ENTER)
    acme.until(lambda: "at" in query(acme))
    assert RFC_3339.fullmatch(query(acme)["at"][0])
    acme.see("objects as of")
    acme.one("[name=at]").clear()
    acme.one("[name=at]").send_keys("some day", Keys.ENTER)
    acme.see("some day is no time: write 14:05, yesterday, 2h")


def test_the_audit_log_takes_times_as_it_shows_them(acme: Console) -> None:
    acme.open("/audit?tenant=acme&since=1h")
    acme.see("configmaps/shop/settings")
    assert RFC_3339.fullmatch(query(acme)["since"][0])
    shown = acme.one("main tbody td").text.split(" UTC")[0]
    until = acme.one("[name=until]")
    until.send_keys(f"{shown} UTC", Keys.ENTER)
    acme.until(lambda: query(acme).get("until") == [f"{shown.replace(' ', 'T')}Z"])
    until.clear()
    until.send_keys("soon", Keys.ENTER)
    acme.see("until: soon is no time: write 14:05")


# --- tenants and accounts -------------------------------------------------------------------------
def test_the_side_is_about_the_tenant_whose_settings_are_shown(acme: Console) -> None:
    acme.open("/t/acme/")
    acme.see("What it holds")
    acme.open("/tenants/globex")
    side = "aside [aria-label='Of the tenant']"
    acme.until(lambda: acme.one(f"{side} p").text == "Tenant globex")
    chosen = lambda: Select(acme.one("aside [aria-label=Tenant]")).first_selected_option  # noqa: E731
    acme.until(lambda: chosen().text == "globex")
    linked(acme, "Access", "aside").click()
    acme.arrive("/admin/console/t/globex/access")


def test_the_side_leaves_a_tenant_that_is_deleted(acme: Console) -> None:
    tenants = "/apis/tenancy.polyplane.dev/v1/tenants"
    about = {"apiVersion": "tenancy.polyplane.dev/v1", "kind": "Tenant"}
    send(acme, "POST", tenants, {**about, "metadata": {"name": "short-lived"}})
    acme.open("/tenants/short-lived")
    side = "aside [aria-label='Of the tenant'] p"
    acme.until(lambda: acme.one(side).text == "Tenant short-lived")
    linked(acme, "Delete").click()
    acme.one("dialog input").send_keys("short-lived", Keys.ENTER)
    acme.see("Tenant short-lived is being deleted.")
    acme.until(lambda: acme.one(side).text == "Tenant default")
    acme.complaints()  # what was still asked of it


def test_a_new_tenant_is_told_where_templates_come_from(acme: Console) -> None:
    acme.open("/tenants")
    linked(acme, "Create tenant").click()
    acme.see("There is none yet")
    acme.one("dialog [name=name]").send_keys("My tenant", Keys.ENTER)
    acme.see("lowercase RFC 1123")
    assert acme.text().count("lowercase RFC 1123") == 1 and "<nil>" not in acme.text()
    linked(acme, "templates", "dialog").click()
    acme.arrive("/admin/console/t/default/tenancy.polyplane.dev/tenanttemplates")
    acme.until(lambda: not acme.all("dialog"))
    acme.complaints()  # the refusal


def test_who_manages_accounts_is_led_to_them(acme: Console, somebody: Console) -> None:
    somebody.log_in("viewer")
    for console, may in (acme, True), (somebody, False):
        console.open("/")
        console.one(".top .menu > button").click()
        console.see("Log out")
        assert ("Accounts of the console" in console.text()) == may
    linked(acme, "Accounts of the console", "header").click()
    acme.arrive("/admin/auth/user/")


# --- what is taken along, what is warned of -------------------------------------------------------
def test_the_command_that_frees_is_copied(acme: Console) -> None:
    acme.open(STUCK)
    command = acme.one(".finalizer code.command").text
    acme.script(_CLIPBOARD)
    linked(acme, "Copy", "article").click()
    linked(acme, "Copied", "article")
    assert acme.script("return window.copied") == command and "kubectl patch" in command


def test_what_the_server_warns_of_is_no_success(acme: Console) -> None:
    changes = Changes(acme)
    acme.open("/t/acme/core/configmaps/shop/feature-flags/edit")
    acme.one("#review")
    changes.replace("data:\n", "data:\n  currency: pounds\n")
    changes.review()
    changes.store()
    notice = acme.one(".notice.warning")
    assert notice.text.startswith("Warning: Validation failed for ValidatingAdmissionPolicy")
