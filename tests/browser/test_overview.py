"""The first page's stuck deletions, a tenant's page as it changes, the tables of the database."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import Select

from tests.support.consolebrowser import HEIGHT, WIDTH, Console
from tests.support.installation import Installation
from tests.support.tlssecrets import certificate, secret

ROOT = "/clusters/demo/api/v1"
MAPS = f"{ROOT}/namespaces/overview/configmaps"
BINDINGS = "/clusters/demo/apis/rbac.authorization.k8s.io/v1/clusterrolebindings"


@pytest.fixture(scope="module")
def world(site: Installation) -> Installation:
    """Namespace ``overview`` with an object that waits for its finalizer, and 30 others."""
    assert site.request("POST", f"{ROOT}/namespaces", {"metadata": {"name": "overview"}})[0] == 201
    # who asks for it makes it at once, and it is not counted in the midst of a test
    assert site.request("GET", f"{MAPS}/kube-root-ca.crt")[0] == 200
    held = {"name": "waiting", "finalizers": ["example.com/wait"]}
    assert site.request("POST", MAPS, {"metadata": held})[0] == 201
    assert site.request("DELETE", f"{MAPS}/waiting")[0] == 200
    for number in range(30):
        status, _ = site.request("POST", MAPS, {"metadata": {"name": f"one-of-many-{number}"}})
        assert status == 201
    return site


def test_what_waits_for_its_end_is_shown_and_leads_to_why(
    console: Console, world: Installation
) -> None:
    young = {"name": "young", "finalizers": ["example.com/wait"]}  # the other may be old by now
    assert world.request("POST", MAPS, {"metadata": young})[0] == 201
    assert world.request("DELETE", f"{MAPS}/young")[0] == 200
    console.open("/")
    console.see("Stuck deletions")
    console.see("For less:")
    assert "configmaps/overview/young" in console.text(), "it is told all the same"
    Select(console.one("[aria-label='Being deleted']")).select_by_visible_text("for any time")
    console.gone("For less:")
    console.see("configmaps/overview/waiting")
    console.see("example.com/wait")
    assert console.browser.current_url.endswith("?stuck=0")
    link = lambda: console.browser.find_element(By.LINK_TEXT, "configmaps/overview/waiting")  # noqa: E731
    console.until(lambda: link().click() or True)  # it may just be drawn anew
    console.see("What holds it")
    assert console.browser.current_url.endswith("/overview/waiting?tab=stuck")


def test_an_owner_of_nothing_is_shown_none_of_it(somebody: Console, world: Installation) -> None:
    somebody.log_in("nobody")
    somebody.open("/?stuck=0")
    somebody.see("Nothing is being deleted.")
    assert "overview/waiting" not in somebody.text()


def test_ones_tenants_say_by_which_way_they_are_ones_own(
    somebody: Console, world: Installation
) -> None:
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view"}
    named = {"apiGroup": role["apiGroup"], "kind": "User", "name": "nobody"}
    body = {"metadata": {"name": "nobody-looks"}, "roleRef": role, "subjects": [named]}
    assert world.request("POST", BINDINGS, body)[0] == 201
    somebody.log_in("nobody")
    somebody.open("/")
    row = somebody.one("[aria-label=Tenants] tbody tr")
    assert [cell.text for cell in row.find_elements(By.TAG_NAME, "td")] == [
        "demo",
        "a binding names you or a group of yours",
    ]
    row.find_element(By.LINK_TEXT, "demo").click()
    somebody.arrive("/admin/console/t/demo")


def test_a_certificate_that_ends_soon_leads_to_its_secret(
    console: Console, somebody: Console, world: Installation
) -> None:
    pem = certificate(datetime.now(UTC) + timedelta(days=3))
    body = secret("ends-soon", pem)
    assert world.request("POST", f"{ROOT}/namespaces/overview/secrets", body)[0] == 201
    panel = "[aria-label='Ends within two weeks']"

    def shown() -> bool:
        """It is indexed a moment after it was written."""
        console.open("/")
        console.see("Newest changes")
        return any("secrets/overview/ends-soon" in one.text for one in console.all(panel))

    console.until(shown)
    assert "tenant demo" in console.one(panel).text
    console.browser.find_element(By.LINK_TEXT, "secrets/overview/ends-soon").click()
    console.arrive("/admin/console/t/demo/core/secrets/overview/ends-soon")
    somebody.log_in("viewer")
    somebody.open("/")
    somebody.see("Newest changes")
    assert not [one for one in somebody.all(panel) if "ends-soon" in one.text]


# --- what was done --------------------------------------------------------------------------------
SERVER = "system:apiserver"
QUOTA = f"{ROOT}/namespaces/overview/resourcequotas"
SEARCHES = "/clusters/demo/apis/search.polyplane.dev/v1/objectsearches"


def rows(console: Console, within: str) -> list[tuple[str, str]]:
    """(user, what) of a table of changes or entries."""
    code = """
      return [...document.querySelectorAll(`${arguments[0]} tbody tr`)].map((row) =>
        [row.children[1].textContent, row.children[3].textContent]);
    """
    return [(user, what) for user, what in console.script(code, within)]


def test_the_newest_changes_are_those_of_people_unless_all_are_chosen(
    console: Console, world: Installation
) -> None:
    """The server writes the status of a quota at each object that it counts."""
    quota = {"metadata": {"name": "charged"}, "spec": {"hard": {"configmaps": "100"}}}
    assert world.request("POST", QUOTA, quota)[0] == 201
    assert world.request("POST", MAPS, {"metadata": {"name": "charges"}})[0] == 201
    section, own = "section[aria-label='Newest changes']", "resourcequotas/overview/charged"
    console.open("/")
    console.see("configmaps/overview/charges")
    assert ("admin", own) in rows(console, section)
    assert (SERVER, own) not in rows(console, section)
    Select(console.one("[aria-label='Which changes']")).select_by_visible_text("all")
    console.until(lambda: (SERVER, own) in rows(console, section))
    assert console.browser.current_url.endswith("?changes=all")
    console.browser.refresh()
    console.until(lambda: (SERVER, own) in rows(console, section))
    Select(console.one("[aria-label='Which changes']")).select_by_index(0)
    console.until(lambda: (SERVER, own) not in rows(console, section))
    assert "changes" not in console.browser.current_url


def test_the_audit_page_leaves_questions_out_unless_all_entries_are_chosen(
    console: Console, world: Installation
) -> None:
    assert world.request("POST", SEARCHES, {"spec": {"text": "charges"}})[0] == 201
    assert world.request("POST", SEARCHES, {"spec": {"text": ""}})[0] == 422
    asked = ("admin", "objectsearches.search.polyplane.dev")

    def found(number: int) -> bool:
        """Entries are written a moment after the answer."""
        console.one("form button[type=submit]").click()
        return rows(console, "main").count(asked) == number

    console.open("/audit?tenant=demo&resource=objectsearches")
    console.until(lambda: found(1))
    assert "422" in console.text(), "what was refused is not left out"
    Select(console.one("[aria-label='Which entries']")).select_by_visible_text("all entries")
    console.until(lambda: found(2))
    assert "show=all" in console.browser.current_url
    console.browser.refresh()
    console.until(lambda: rows(console, "main").count(asked) == 2)
    console.open("/audit?tenant=demo&resource=objectsearches&code=201")
    console.see("Questions, dry runs and the server's own status writes and leases are left out.")


# --- a tenant's page ------------------------------------------------------------------------------
def count_of(console: Console, plural: str) -> str:
    """What the tenant's page says there are of a kind."""
    found = console.script(
        "return document.querySelector(`dl.counts a[title='${arguments[0]}']`)"
        "?.closest('dt').nextElementSibling.textContent ?? ''",
        plural,
    )
    return str(found)


def test_a_tenants_page_follows_what_is_written(console: Console, world: Installation) -> None:
    console.open("/t/demo/")
    before = int(console.until(lambda: count_of(console, "configmaps")))
    link = console.browser.find_element(By.CSS_SELECTOR, "dl.counts a[title=configmaps]")
    console.script("arguments[0].focus()", link)
    assert world.request("POST", MAPS, {"metadata": {"name": "seen-live"}})[0] == 201
    console.until(lambda: count_of(console, "configmaps") == str(before + 1))
    ranges = f"{ROOT}/namespaces/overview/limitranges"
    assert count_of(console, "limitranges") == ""
    assert world.request("POST", ranges, {"metadata": {"name": "first"}})[0] == 201

    def next_round() -> bool:
        name = {"metadata": {"generateName": "next-"}}
        assert world.request("POST", MAPS, name)[0] == 201
        return count_of(console, "limitranges") == "1"

    console.until(next_round)
    focused = "return document.activeElement?.title ?? ''"
    assert console.script(focused) == "configmaps", "what is drawn anew takes no focus away"


def test_a_tenants_page_says_what_it_uses(console: Console, world: Installation) -> None:
    console.open("/t/demo/")
    uses = console.one("[aria-label=Use]")
    assert "Bytes written this hour" in uses.text and "%" in uses.text
    console.until(lambda: console.all("main .chart canvas"))
    console.browser.find_element(By.LINK_TEXT, "Quotas, tokens, settings").click()
    console.see("Objects by resource")
    assert console.browser.current_url.endswith("/tenants/demo")


# --- the tables of the database -------------------------------------------------------------------
_ROWS = """
const bar = document.querySelector("[class*=pagination], .lg\\\\:sticky");
const floor = Math.min(innerHeight, bar?.getBoundingClientRect().top ?? innerHeight);
const rows = [...document.querySelectorAll("#result_list tbody tr")].map((r) =>
  r.getBoundingClientRect());
return {
  whole: rows.filter((r) => r.top >= 0 && r.bottom <= floor).length,
  widest: Math.max(...rows.map((r) => r.right)),
  wide: document.documentElement.scrollWidth,
  height: innerHeight,
};
"""


@pytest.mark.parametrize(
    "path",
    [
        "console/storedobject/?tenant=demo&namespace=overview",
        "console/storedevent/?tenant=demo",
        "storage/auditentry/?tenant=demo",
    ],
)
def test_twenty_rows_are_in_sight_and_none_is_wider_than_the_window(
    console: Console, world: Installation, path: str
) -> None:
    console.browser.get(f"{console.root}/admin/{path}")
    console.one("#result_list tbody tr")
    console.until(lambda: console.script("return document.fonts.status") == "loaded")
    seen = console.script(_ROWS)
    assert seen["height"] == HEIGHT
    assert seen["whole"] >= 20, seen
    assert max(seen["widest"], seen["wide"]) <= WIDTH, seen


def test_the_tables_and_the_console_lead_to_each_other(
    console: Console, world: Installation
) -> None:
    console.open("/")
    console.one(".top .menu button").click()
    console.browser.find_element(
        By.XPATH, "//button[normalize-space()='Tables of the database']"
    ).click()
    console.until(lambda: console.browser.current_url.endswith("/admin/"))
    console.browser.find_element(By.CSS_SELECTOR, "#nav-sidebar a[href='/admin/console/']").click()
    console.see("Stuck deletions")


def test_a_deleted_row_of_the_change_log_opens(console: Console, world: Installation) -> None:
    assert world.request("POST", MAPS, {"metadata": {"name": "fleeting"}})[0] == 201
    assert world.request("DELETE", f"{MAPS}/fleeting")[0] == 200
    console.browser.get(f"{console.root}/admin/console/storedevent/?tenant=demo&namespace=overview")
    rows = console.all("#result_list tbody tr")
    row = next(r for r in rows if "DELETED" in r.text and "fleeting" in r.text)
    row.find_element(By.CSS_SELECTOR, "th a").click()
    console.see("deleted at")
    console.see("name: fleeting")
    console.browser.find_element(By.LINK_TEXT, "In the console").click()
    console.see("DELETED")
