"""The frame around all views: policy, palette, keys, colours, the way out and in."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import Select

from controlplane.console.shell import POLICY
from tests.support.consolebrowser import Console
from tests.support.installation import REPOSITORY

SCRIPTS = REPOSITORY / "controlplane/console/static/console"


def press(console: Console, *keys: str) -> None:
    console.browser.find_element(By.TAG_NAME, "body").send_keys(*keys)


def shown(console: Console, selector: str) -> list[str]:
    """The texts of elements that may be replaced at any moment."""
    code = "return [...document.querySelectorAll(arguments[0])].map((e) => e.textContent)"
    texts: list[str] = console.script(code, selector)
    return texts


def test_the_policy_lets_nothing_be_written_inline_or_evaluated(console: Console) -> None:
    console.open("/")
    console.see("Tenants")
    sent = console.script(
        "return fetch('/admin/console/').then((r) => r.headers.get('Content-Security-Policy'))"
    )
    assert sent == POLICY and "unsafe" not in POLICY
    assert console.complaints() == []
    blocked = console.script(
        "try { document.body.innerHTML = '<b>x</b>'; return false; } catch { return true; }"
    )
    assert blocked
    assert any("TrustedHTML" in line for line in console.complaints())


def test_our_scripts_write_no_markup() -> None:
    bad = re.compile(
        r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function"
    )
    ours = [p for p in SCRIPTS.rglob("*.js") if "vendor" not in p.parts]
    assert len(ours) > 20
    for path in [*ours, *SCRIPTS.glob("vendor/*.js")]:
        assert not bad.search(path.read_text()), path
    alpine = SCRIPTS.parent / "unfold/js/alpine/alpine.js"
    assert not re.search(r"\beval\(|new Function|AsyncFunction", alpine.read_text())


def test_every_module_is_loaded_by_another() -> None:
    """Nothing is finished and unused: from main.js every script is reached, but for those that
    pages name (theme.js, and tables.js those of the database)."""
    reached: set[Path] = set()
    ahead = [SCRIPTS / "main.js", SCRIPTS / "theme.js", SCRIPTS / "tables.js"]
    while ahead:
        path = ahead.pop().resolve()
        if path in reached:
            continue
        reached.add(path)
        text = path.read_text() if "vendor" not in path.parts else ""
        named = re.findall(r"(?:from|import)\s*\(?\s*\"(\.[^\"]+)\"", text)
        ahead += [path.parent / name for name in named]
    closed = {p.resolve() for p in SCRIPTS.rglob("*.js")} - reached
    assert not closed


def test_ctrl_k_finds_kinds_tenants_objects_and_places(console: Console) -> None:
    console.open("/t/demo/")
    console.see("What it holds")
    for typed, first in (
        ("cm", "ConfigMap"),
        ("deploy", "Deployment"),
        ("svc", "Service"),
        ("default", "default"),
        ("audit log", "Audit log"),
        ("old-bucket", "old-bucket"),
        ("cm old-b", "old-bucket"),
    ):
        press(console, Keys.CONTROL, "k")
        console.one("dialog.palette input").send_keys(typed)
        chosen = "dialog.palette li[aria-selected=true] .name"
        console.until(lambda chosen=chosen, first=first: shown(console, chosen) == [first])
        console.one("dialog.palette input").send_keys(Keys.ESCAPE)
        console.until(lambda: not console.all("dialog.palette"))
    press(console, Keys.CONTROL, "k")
    console.one("dialog.palette input").send_keys("cm")
    console.until(lambda: "ConfigMap" in "".join(shown(console, "li[aria-selected=true]")))
    console.one("dialog.palette input").send_keys(Keys.ENTER)
    console.until(lambda: console.browser.current_url.endswith("/t/demo/core/configmaps"))


def test_ctrl_k_takes_a_tenants_name_for_the_tenant(console: Console) -> None:
    """And not for the object of that name, which tenant default has."""
    console.open("/t/default/")
    console.see("What it holds")
    press(console, Keys.CONTROL, "k")
    console.one("dialog.palette input").send_keys("demo")
    console.until(lambda: {"Tenant", "tenant"} <= set(shown(console, "dialog.palette li .what")))
    console.one("dialog.palette input").send_keys(Keys.ENTER)
    console.until(lambda: console.browser.current_url.endswith("/t/demo/"))


def test_ctrl_k_finds_objects_by_what_is_in_them_in_all_tenants(console: Console) -> None:
    for tenant in "demo", "default":
        path = f"/clusters/{tenant}/api/v1/namespaces/default/configmaps"
        body = {
            "metadata": {"name": f"sought-{tenant}", "labels": {"sought": "yes"}},
            "data": {"app.conf": "url = quicksilver.internal <b>"},
        }
        status, answer = console.installation.request("POST", path, body)
        assert status == 201, answer
    console.open("/t/demo/")
    press(console, Keys.CONTROL, "k")
    console.one("dialog.palette input").send_keys("quicksilver.int")
    console.until(lambda: len(shown(console, "dialog.palette li")) == 2)
    here, there = shown(console, "dialog.palette li")
    assert "sought-demo" in here and "url = quicksilver.internal <b>" in here
    assert "sought-default" in there and "default · default" in there
    console.one("dialog.palette input").send_keys(Keys.ARROW_DOWN, Keys.ENTER)
    path = "/t/default/core/configmaps/default/sought-default"
    console.until(lambda: console.browser.current_url.endswith(path))


def test_ctrl_k_marks_what_matched_and_says_where_nothing_did(console: Console) -> None:
    before = "a text of some length that stands before what is looked for, "
    body = {"metadata": {"name": "marked"}, "data": {"text": f"{before}Zirconium.example and on"}}
    path = "/clusters/demo/api/v1/namespaces/default/configmaps"
    assert console.installation.request("POST", path, body)[0] == 201
    console.open("/t/demo/")
    press(console, Keys.CONTROL, "k")
    console.one("dialog.palette input").send_keys("zirconium.ex")
    console.until(lambda: shown(console, "dialog.palette mark") == ["Zirconium.ex"])
    inside = """
      const line = document.querySelector("dialog.palette .found").getBoundingClientRect();
      const mark = document.querySelector("dialog.palette mark").getBoundingClientRect();
      return mark.right <= line.right;
    """
    assert console.script(inside)
    console.one("dialog.palette input").send_keys(Keys.CONTROL, "a")
    console.one("dialog.palette input").send_keys("irconium")
    console.see("Nothing begins with “irconium”")


def test_no_two_entries_of_the_side_have_one_name(console: Console) -> None:
    console.open("/t/default/")  # whose questions are no objects: the fixture looks at complaints
    console.see("What it holds")
    console.until(lambda: shown(console, ".kinds summary"))
    names = shown(console, ".kinds summary") + shown(console, ".places a")
    assert len(names) == len(set(names)), names


def test_the_tree_counts_and_leads_to_lists(console: Console) -> None:
    console.open("/t/demo/")
    link = ".kinds a[title^='configmaps']"  # which may be drawn anew at any moment
    console.until(lambda: console.one(f"{link} .count").text.isdigit())
    console.until(lambda: console.one(link).click() or True)
    console.until(lambda: console.browser.current_url.endswith("/t/demo/core/configmaps"))
    console.until(lambda: console.all(".kinds a[aria-current=page][title^='configmaps']"))


_HELD = """
const ask = window.fetch, held = new Promise((resolve) => (window.free = resolve));
window.fetch = async (address, options) => {
  if (String(address).endsWith("/clusters/demo/apis")) {
    window.asked = true;
    await held;
  }
  return ask(address, options);
};
"""
"""What tenant demo serves is answered once somebody calls `free`."""
_ANSWERED = """
free();
return import("/static/console/lib/discovery.js").then(({ resources }) => resources("demo"))
  .then((all) => all.length);
"""


def test_the_side_is_of_the_tenant_that_is_shown_whichever_answer_comes_last(
    somebody: Console,
) -> None:
    somebody.log_in("operator")
    somebody.browser.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": _HELD})
    somebody.open("/t/demo/")
    somebody.until(lambda: somebody.script("return window.asked"))
    somebody.one("[aria-label=Tenant] option[value=default]")
    Select(somebody.one("[aria-label=Tenant]")).select_by_value("default")
    kinds = "return [...document.querySelectorAll('.kinds a')].map((link) => link.pathname)"
    led = lambda: {path.split("/")[4] for path in somebody.script(kinds)}  # noqa: E731
    somebody.until(lambda: led() == {"default"})
    assert somebody.script(_ANSWERED) > 0
    assert led() == {"default"}


@pytest.mark.parametrize(
    ("path", "title"),
    [
        ("/", "Overview"),
        ("/me", "My account"),
        ("/tenants/demo", "Settings of demo"),
        ("/t/demo/", "Tenant · demo"),
        ("/t/demo/core/configmaps", "configmaps · demo"),
        ("/t/demo/core/configmaps/new", "New configmaps · demo"),
        ("/t/demo/core/configmaps/shop/old-bucket", "old-bucket · ConfigMap · demo"),
        ("/t/demo/core/configmaps/shop/old-bucket/edit", "Edit old-bucket · demo"),
        ("/t/demo/core/configmaps/shop/old-bucket/no/such/page", "There is no such page"),
    ],
)
def test_a_page_has_a_title_of_its_own(console: Console, path: str, title: str) -> None:
    console.open(path)
    console.until(lambda: console.browser.title == f"{title} · Polyplane")


@pytest.mark.parametrize("path", ["/t/demo/core/heaps", "/t/demo/core/heaps/shop/one"])
def test_from_a_kind_that_is_not_served_a_link_leads_on(console: Console, path: str) -> None:
    console.open(path)
    console.see("Tenant demo serves no heaps.")
    console.browser.find_element(By.LINK_TEXT, "What it holds").click()
    console.arrive("/admin/console/t/demo/")


def test_from_no_page_a_link_leads_on(console: Console) -> None:
    console.open("/t/demo/core/configmaps/shop/old-bucket/no/such/page")
    console.see("There is no such page")
    console.browser.find_element(By.LINK_TEXT, "To the overview").click()
    console.until(lambda: console.browser.title == "Overview · Polyplane")


@pytest.mark.parametrize(
    ("path", "heading"),
    [
        ("/t/never-was/", "Not found"),
        ("/t/never-was/core/configmaps", "Not found"),
        ("/tenants/never-was", "Not found"),
    ],
)
def test_a_page_that_cannot_be_shown_has_a_heading(
    console: Console, path: str, heading: str
) -> None:
    console.open(path)
    console.until(lambda: console.all("main .failure"))
    assert [h1.text for h1 in console.all("main h1")] == [heading]
    console.complaints()  # that it is not there


def test_the_side_leads_to_the_tenants_page(console: Console) -> None:
    console.open("/t/demo/core/configmaps")
    console.browser.find_element(By.LINK_TEXT, "Tenant demo").click()
    console.see("What it holds")


def test_dark_and_light_are_remembered(console: Console) -> None:
    console.open("/")
    console.script("localStorage.setItem('theme', 'light')")
    console.open("/")
    console.one("[aria-label='Dark or light']").click()
    assert console.script("return document.documentElement.dataset.theme") == "dark"
    console.open("/")
    assert console.script("return document.documentElement.dataset.theme") == "dark"
    console.one("[aria-label='Dark or light']").click()


def test_keys_lead_around_and_are_listed(console: Console) -> None:
    console.open("/t/demo/core/configmaps")
    console.see("old-bucket")
    press(console, "g", "h")
    console.see("What it holds")
    press(console, "?")
    console.see("pause or go on")
    press(console, Keys.ESCAPE)
    console.until(lambda: not console.all("dialog"))


def test_the_root_and_the_favicon_lead_here(console: Console) -> None:
    console.browser.get(console.root + "/")
    console.arrive("/admin/console/")
    kind = console.script("return fetch('/favicon.ico').then((r) => r.headers.get('Content-Type'))")
    assert kind == "image/svg+xml"


def test_whoever_logs_out_is_out(somebody: Console) -> None:
    somebody.log_in("operator")
    somebody.open("/t/demo/core/configmaps")
    somebody.see("old-bucket")
    somebody.one(".top .menu button").click()
    somebody.browser.find_element(By.XPATH, "//button[text()='Log out']").click()
    somebody.arrive("/admin/logout/")
    assert somebody.one("h1").text == "You are logged out"
    assert somebody.one("main a.button").text == "Log in again"
    somebody.open("/t/demo/core/configmaps")
    somebody.arrive("/admin/login/")


CHOSEN = "dialog.palette li[aria-selected=true] .name"


def test_the_palette_does_what_one_tells_it(console: Console) -> None:
    console.open("/t/demo/")
    for typed, name, holds in (
        ("new deploy", "New Deployment", lambda: "/deployments/new" in console.browser.current_url),
        ("create cm", "New ConfigMap", lambda: "/configmaps/new" in console.browser.current_url),
        ("which keys", "Keyboard: which keys there are", lambda: console.all("dialog dl.keys")),
    ):
        console.one(".finder").click()
        console.one("dialog.palette input").send_keys(typed)
        console.until(lambda name=name: shown(console, CHOSEN) == [name])
        console.one("dialog.palette input").send_keys(Keys.ENTER)
        console.until(holds)


def test_the_palette_leads_out(somebody: Console) -> None:
    somebody.log_in("viewer")
    somebody.one(".finder").click()
    somebody.one("dialog.palette input").send_keys("log out")
    somebody.until(lambda: "Log out" in somebody.one("dialog.palette li").text)
    somebody.one("dialog.palette input").send_keys(Keys.ENTER)
    somebody.until(lambda: "/admin/console/" not in somebody.browser.current_url)
