"""Tenants, tokens, audit, system and oneself in the browser."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import psycopg
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import Select

from controlplane.database import conninfo
from controlplane.datadir import DataDir
from controlplane.embedded.server import database_settings
from tests.support.consolebrowser import Console
from tests.support.installation import eventually

SLOWLY = 2.5
"""Seconds that a request takes which is slow."""
TENANTS = "/apis/tenancy.polyplane.dev/v1/tenants"


def _picture(console: Console, name: str) -> None:
    if where := os.environ.get("CONSOLE_SCREENSHOTS"):
        console.picture(Path(where) / f"{name}.png")


def press(console: Console, text: str) -> None:
    console.until(lambda: [b for b in console.all("main button") if b.text == text])[0].click()


def older(console: Console) -> str:
    """Up to when entries are shown, once they are older than those that were."""
    is_it = lambda b: b.text == "Older entries"  # noqa: E731
    button = console.until(lambda: [b for b in console.all("main button") if is_it(b)])[0]
    button.click()
    console.until(lambda: button not in console.all("main button"))
    return str(console.one("[name=until]").get_attribute("value"))


def test_tenants_show_their_use_and_quotas_can_be_changed(console: Console) -> None:
    console.open("/tenants")
    console.see("demo")
    _picture(console, "tenants")
    console.open("/tenants/demo")
    console.see("Bytes written this hour")
    _picture(console, "tenant")
    console.one(".toolbar button").click()
    field = console.one("dialog input[name=logBytes]")
    assert field.get_attribute("placeholder") == "8.0 GiB", "what holds while it is empty"
    console.one("dialog input[name=objects]").send_keys("4321")
    field.send_keys("two")
    console.one("dialog button[type=submit]").click()
    console.see("Bytes of history: two is no whole number like 500, 20k or 2Gi")
    field.clear()
    field.send_keys("2 GiB")
    console.one("dialog button[type=submit]").click()
    console.see("4,321")
    assert console.installation.request("GET", f"{TENANTS}/demo")[1]["spec"]["quotas"] == {
        "objects": 4321,
        "logBytes": 2**31,
    }


@contextmanager
def kept_from_following(console: Console) -> Iterator[None]:
    """Whoever brings tenant demo to what its object says waits meanwhile."""
    settings = database_settings(DataDir(console.installation.data))
    with psycopg.connect(conninfo(settings)) as connection:
        connection.execute(
            "SELECT 1 FROM tenancy_tenant t JOIN tenant_heads h ON h.tenant_id = t.id"
            " WHERE t.name = 'demo' FOR UPDATE"
        )
        yield


_LOOKS = """
return performance.getEntriesByType("resource").filter(({ name }) =>
  name.endsWith("/tenants/demo")).length;
"""


def test_a_tenants_page_shows_a_change_once_it_counts_however_late(console: Console) -> None:
    console.open("/tenants/demo")
    console.one(".toolbar button").click()
    objects = console.one("dialog input[name=objects]")
    objects.clear()
    objects.send_keys("54321")
    with kept_from_following(console):
        before = console.script(_LOOKS)
        console.one("dialog button[type=submit]").click()
        console.until(lambda: console.script(_LOOKS) > before + 5)
        assert "54,321" not in console.text()
    console.see("54,321")


def test_what_else_a_tenant_is_given_is_written_in_its_object(console: Console) -> None:
    console.open("/tenants/demo")
    press(console, "Owners, expiry, protection")
    console.arrive("/admin/console/t/default/tenancy.polyplane.dev/tenants/-/demo/edit")
    console.see("Edit Tenant demo")


def test_the_tenant_that_keeps_the_others_can_be_neither_suspended_nor_deleted(
    console: Console,
) -> None:
    for name, offered in (("demo", {"Suspend", "Delete"}), ("default", set())):
        console.open(f"/tenants/{name}")
        console.see("Owners, expiry, protection")
        buttons = console.browser.find_elements(By.CSS_SELECTOR, "main .toolbar button")
        assert {button.text for button in buttons} & {"Suspend", "Delete"} == offered


def test_a_token_is_shown_once_and_revoked(console: Console) -> None:
    console.open("/me")
    press(console, "New token")
    tenant = console.one("dialog select[name=tenant]")
    assert tenant == console.browser.switch_to.active_element, "not the button that closes"
    choice = Select(tenant)
    assert choice.options[-1].text == "all tenants"
    assert choice.first_selected_option.text in {"default", "demo"}
    choice.select_by_value("demo")
    console.one("dialog input[name=description]").send_keys("for the build")
    console.one("dialog button[type=submit]").click()
    assert console.one("#secret").text.startswith("pp_")
    assert "good in tenant demo, until 20" in console.one("dialog").text
    console.one("dialog footer .primary").click()
    console.see("for the build")
    listed = console.one("section[aria-label=Tokens] tbody").text
    assert re.search(r"for the build .* \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC", listed)
    console.one("main .button.danger").click()
    assert "of operator (for the build) stops" in console.one("dialog").text
    console.one("dialog button[type=submit]").click()
    console.see("revoked")
    assert "pp_" not in console.text()
    opened, used, came_from, browser, *_ = [
        cell.text for cell in console.all("[aria-label=Sessions] tbody tr:has(.badge) td")
    ]
    assert came_from == "127.0.0.1" and re.fullmatch(r"Chrome \d+ on Linux", browser)
    assert re.fullmatch(r"(\d+[hms])+", opened) and re.fullmatch(r"(\d+[hms])+", used)
    _picture(console, "me")


def test_audit_and_system(console: Console) -> None:
    path = "/clusters/demo/api/v1/namespaces/shop/configmaps"
    obj = {"metadata": {"name": "seen-in-audit"}}
    assert console.installation.request("POST", path, obj)[0] == 201
    console.open("/")
    console.see("Newest changes")
    console.see("configmaps/shop/seen-in-audit")
    assert console.one(".numbers").text.startswith("2 tenants")
    largest = console.one("[aria-label='Largest tenants'] tbody").text
    assert "demo" in largest and "default" in largest
    console.until(lambda: console.all("main .chart canvas"))
    assert console.one("main .chart canvas").size["width"] > 300
    _picture(console, "overview")
    console.open("/audit?tenant=demo&name=seen-in-audit")
    console.see("configmaps/shop/seen-in-audit")
    _picture(console, "audit")
    console.open("/audit?show=all")
    before = older(console)
    assert "until=" in console.browser.current_url
    assert older(console) < before
    console.open("/system")
    console.see("Settings in force")
    (worker,) = console.all("[aria-label=Workers] tbody tr")
    assert int(worker.find_elements(By.TAG_NAME, "td")[1].text.replace(",", "")) > 0
    slowest = console.one("[aria-label='Requests, the slowest kinds first'] tbody").text
    assert "configmaps" in slowest and " ms" in slowest
    assert "/api" in slowest and "(no resource)" not in slowest, "paths stand for themselves"
    logs = console.one("[aria-label='Logs, the largest first'] tbody").text
    assert "demo" in logs and "24h" in logs
    _picture(console, "system")


def send_slowly(console: Console, path: str, body: bytes, audit_id: str) -> None:
    """A request that takes some seconds, because its client does."""
    with closing(console.installation.connect()) as connection:
        connection.putrequest("POST", path)
        connection.putheader("Authorization", f"Bearer {console.installation.token}")
        connection.putheader("Content-Type", "application/json")
        connection.putheader("Content-Length", str(len(body)))
        connection.putheader("Audit-Id", audit_id)
        connection.endheaders()
        time.sleep(SLOWLY)
        connection.send(body)
        assert connection.getresponse().status == 201


def test_a_slow_request_leads_to_what_the_audit_log_has_of_it(console: Console) -> None:
    path = "/clusters/demo/api/v1/namespaces/shop/configmaps"
    body = b'{"metadata": {"name": "slow"}}'
    send_slowly(console, f"{path}?fieldManager=me&password=hunter2", body, "the-slow-one")
    console.open("/system")
    panel = "[aria-label='Slowest requests of the last hour']"
    rows = console.until(lambda: console.all(f"{panel} tbody tr"))
    (row,) = [row for row in rows if row.text.find("fieldManager=me") > 0]
    _, took, verb, shown, user, tenant, code = row.find_elements(By.TAG_NAME, "td")
    assert shown.text == f"{path}?fieldManager=me&…"
    assert (verb.text, tenant.text, code.text) == ("create", "demo", "201") and user.text
    assert took.text.endswith(" s") and float(took.text.removesuffix(" s")) >= SLOWLY
    _picture(console, "slow")
    took.find_element(By.TAG_NAME, "a").send_keys(Keys.ENTER)
    console.arrive("/admin/console/audit")
    console.see("configmaps/shop/slow")
    assert len(console.all("main tbody tr")) == 1
    assert console.one("[name=auditID]").get_attribute("value") == "the-slow-one"


def test_who_has_no_role_is_refused_by_the_server(somebody: Console) -> None:
    somebody.log_in("nobody")
    for page in ("audit", "system"):
        somebody.open(f"/{page}")
        somebody.see("this takes the role polyplane:viewers")
    somebody.open("/")
    somebody.see("You may look into no tenant yet.")
    somebody.see("gives access to user nobody on the tenant's page Access")
    assert not somebody.all("[aria-label='Filter tenants']"), "there is nothing to filter"
    assert not somebody.all("main .chart")
    somebody.open("/t/demo/")
    somebody.see("Nothing that you may list.")
    somebody.browser.find_element(By.LINK_TEXT, "What you may do").click()
    somebody.see("What User nobody may do")
    somebody.open("/tenants")
    somebody.see("No tenant is yours to see.")
    assert somebody.one(".toolbar button").get_property("disabled")
    somebody.one(".toolbar .why").click()
    somebody.see("No rule grants you “create tenants of tenancy.polyplane.dev”")


def test_a_tenants_settings_say_whose_it_is_and_what_it_is_made_from(console: Console) -> None:
    site = console.installation
    root = "/apis/tenancy.polyplane.dev/v1"
    version = "tenancy.polyplane.dev/v1"
    template = {
        "apiVersion": version,
        "kind": "TenantTemplate",
        "metadata": {"name": "starter"},
        "spec": {"objects": []},
    }
    assert site.request("POST", f"{root}/tenanttemplates", template)[0] == 201
    tenant = {
        "apiVersion": version,
        "kind": "Tenant",
        "metadata": {"name": "owned-tenant"},
        "spec": {
            "owners": [{"kind": "User", "name": "alice"}, {"kind": "Group", "name": "dev:ops"}],
            "templates": [{"name": "starter"}],
        },
    }
    assert site.request("POST", f"{root}/tenants", tenant)[0] == 201
    eventually(lambda: site.request("GET", "/clusters/owned-tenant/api/v1/namespaces")[0] == 200)
    console.open("/tenants/owned-tenant")
    console.see("Of whom, and from what")
    shown = [one.text for one in console.all("dl.about dd")]
    assert shown == ["dev:ops (Group), alice (User)", "starter"]
    (owner,) = (a for a in console.all("dl.about a") if a.text == "dev:ops")
    assert str(owner.get_attribute("href")).endswith("/access?kind=Group&subject=dev%3Aops")
