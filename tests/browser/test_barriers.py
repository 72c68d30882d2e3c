"""Every page and dialog of the console, in both themes, without what keeps people out: axe-core
finds nothing serious or critical."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from tests.support.barriers import barriers, bring_axe
from tests.support.consolebrowser import HEIGHT, WIDTH, Console
from tests.support.consolechanges import Changes
from tests.support.installation import REPOSITORY, Installation

VIEWS = REPOSITORY / "controlplane/console/static/console/views/index.js"
ROOT = "/clusters/demo/api/v1"
MAPS = f"{ROOT}/namespaces/barriers/configmaps"
MAP = "/t/demo/core/configmaps/barriers/seen"
SECRET = "/t/demo/core/secrets/barriers/hidden"
PARTS = {"tenant": "demo", "group": "core", "resource": "configmaps", "namespace": "barriers"}
MERGE = "application/merge-patch+json"


@pytest.fixture(scope="module")
def world(console_pages: Console, site: Installation) -> Console:
    """Namespace ``barriers``: a ConfigMap with three managers, one that is stuck, a Secret, an
    Event, a Deployment."""
    bring_axe(console_pages)
    about = {"kind": "ConfigMap", "apiVersion": "v1", "namespace": "barriers", "name": "seen"}
    labels = {"matchLabels": {"app": "x"}}
    pod = {"metadata": {"labels": {"app": "x"}}, "spec": {"containers": [{"name": "c"}]}}
    pod["spec"]["containers"][0]["image"] = "nginx"  # type: ignore[index]
    for path, obj in (
        (f"{ROOT}/namespaces", {"metadata": {"name": "barriers"}}),
        (MAPS, {"metadata": {"name": "seen", "labels": {"app": "x"}}, "data": {"a": "1"}}),
        (MAPS, {"metadata": {"name": "held", "finalizers": ["example.com/wait"]}}),
        (
            f"{ROOT}/namespaces/barriers/secrets",
            {"metadata": {"name": "hidden"}, "data": {"a": ""}},
        ),
        (
            f"{ROOT}/namespaces/barriers/events",
            {
                "metadata": {"name": "e"},
                "involvedObject": about,
                "type": "Warning",
                "reason": "Odd",
            },
        ),
        (
            "/clusters/demo/apis/apps/v1/namespaces/barriers/deployments",
            {"metadata": {"name": "moving"}, "spec": {"selector": labels, "template": pod}},
        ),
    ):
        status, answer = site.request("POST", path, obj)
        assert status == 201, answer
    for manager in ("two", "three"):
        path = f"{MAPS}/seen?fieldManager={manager}"
        assert site.request("PATCH", path, {"data": {manager: "1"}}, MERGE)[0] == 200
    assert site.request("DELETE", f"{MAPS}/held")[0] == 200
    return console_pages


def patterns() -> list[str]:
    """The addresses that views/index.js announces."""
    return re.findall(r'^  \["(/[^"]*)"', VIEWS.read_text(), re.M)


def example(pattern: str) -> str:
    """An address of that pattern: `/tenants/:name` is a tenant's, other names are the object's."""
    name = "demo" if pattern.startswith("/tenants/") else "seen"
    return re.sub(r":(\w+)", lambda part: PARTS.get(part[1], name), pattern)


def settled(console: Console) -> None:
    """The view shows something, and asks for nothing more for the moment."""
    console.until(lambda: console.script("return document.querySelector('main .view *') !== null"))
    console.until(
        lambda: console.browser.execute_async_script(
            """
            const done = arguments[0];
            const seen = () => document.querySelector("main").innerText;
            const before = seen();
            setTimeout(() => done(before.trim() !== "" && before === seen()), 300);
            """
        )
    )


@pytest.mark.parametrize("pattern", patterns())
def test_every_view(world: Console, console: Console, pattern: str) -> None:
    console.open(example(pattern))
    settled(console)
    assert "There is no such page" not in console.text()
    assert barriers(console) == []


@pytest.mark.parametrize(
    "path",
    [
        *(f"{MAP}?tab={tab}" for tab in ("yaml", "blame", "history", "events", "owners")),
        "/t/demo/core/configmaps/barriers/held?tab=stuck",
        SECRET,
        f"{SECRET}/edit",
        "/t/demo/apps/deployments/barriers/moving",
        "/t/demo/apps/deployments?q=Name:moving&label=app",
        "/t/demo/rbac.authorization.k8s.io/clusterroles",
        "/t/demo/core/events?namespace=barriers",
        "/t/demo/core/configmaps/barriers/never-was",
        "/t/demo/no.such.group/things",
        "/?stuck=0",
        "/audit?user=nobody-at-all",
    ],
)
def test_every_tab_and_what_is_not_there(world: Console, console: Console, path: str) -> None:
    console.open(path)
    settled(console)
    assert barriers(console) == []
    console.complaints()  # what is not there is said by the browser, too


@pytest.mark.parametrize("tab", ["yaml", "blame"])
def test_text_that_is_still_to_come_has_its_name(
    world: Console, console: Console, tab: str
) -> None:
    console.open(f"{MAP}?tab={tab}")
    settled(console)
    console.until(lambda: console.script("return document.querySelector('.code') !== null"))
    console.script("for (const code of document.querySelectorAll('.code')) code.replaceChildren()")
    assert barriers(console) == []


def press(console: Console, text: str) -> None:
    """The first button or link of the page with that text."""
    found = f"//main//*[self::button or self::a][normalize-space()='{text}']"
    console.until(lambda: console.browser.find_elements(By.XPATH, found))
    console.browser.find_element(By.XPATH, found).click()


def palette(console: Console) -> None:
    console.one(".finder").click()
    console.one("dialog.palette input").send_keys("conf")
    console.until(lambda: len(console.all("dialog.palette li")) > 1)


def selection(console: Console) -> None:
    Changes(console).select("seen")
    console.one("[data-action=label]")


def review(console: Console) -> None:
    changes = Changes(console)
    console.one("#review")
    changes.replace("metadata:\n", "metadata:\n  annotations:\n    note: new\n")
    changes.review()
    console.one("table.difference")


def conflict(console: Console) -> None:
    changes = Changes(console)
    console.one("#review")
    changes.replace('three: "1"', 'three: "2"')
    changes.review()
    console.one(".refusal")


def wrong(console: Console) -> None:
    changes = Changes(console)
    console.one("#review")
    changes.replace("data:\n", "data:\n  wrong: [1]\n")
    changes.review()
    console.until(lambda: console.all(".refusal, .failure"))


def action(name: str) -> Callable[[Console], None]:
    return lambda console: Changes(console).press(name)


def pressing(text: str) -> Callable[[Console], None]:
    def pressed(console: Console) -> None:
        press(console, text)
        console.until(lambda: console.all("dialog, [popover]:popover-open"))

    return pressed


def account(console: Console) -> None:
    console.one(".top .menu button").click()
    console.one(".items:popover-open")


def keys(console: Console) -> None:
    console.browser.find_element(By.TAG_NAME, "body").send_keys("?")
    console.see("pause or go on")


def restore(console: Console) -> None:
    console.until(lambda: len(console.all(".restore")) > 1)
    console.all(".restore")[-1].click()
    console.one("dialog .diff")


LIST = "/t/demo/core/configmaps?namespace=barriers"
DIALOGS: dict[str, tuple[str, Callable[[Console], None]]] = {
    "palette": ("/", palette),
    "keyboard": ("/", keys),
    "account": ("/", account),
    "columns": (LIST, pressing("Columns")),
    "views": (LIST, pressing("Views")),
    "save as": (LIST, pressing("Save as")),
    "selection": (LIST, selection),
    "label": (MAP, action("label")),
    "delete": (MAP, action("delete")),
    "scale": ("/t/demo/apps/deployments/barriers/moving", action("scale")),
    "delete namespace": ("/t/demo/core/namespaces/-/barriers", action("delete")),
    "kubectl": (MAP, pressing("Copy as kubectl")),
    "restore": (f"{MAP}?tab=history", restore),
    "free": ("/t/demo/core/configmaps/barriers/held?tab=stuck", pressing("Remove this finalizer")),
    "review": (f"{MAP}/edit", review),
    "conflict": (f"{MAP}/edit", conflict),
    "refused": (f"{MAP}/edit", wrong),
    "new tenant": ("/tenants", pressing("Create tenant")),
    "quotas": ("/tenants/demo", pressing("Quotas")),
    "suspend": ("/tenants/demo", pressing("Suspend")),
    "delete tenant": ("/tenants/demo", pressing("Delete")),
    "kubeconfig": ("/tenants/demo", pressing("Kubeconfig")),
    "token": ("/me", pressing("New token")),
    "audit entry": ("/audit", pressing("Entry")),
}


@pytest.mark.parametrize("name", DIALOGS)
def test_every_dialog_and_menu(world: Console, console: Console, name: str) -> None:
    path, act = DIALOGS[name]
    console.open(path)
    settled(console)
    act(console)
    assert barriers(console) == []
    console.browser.find_element(By.TAG_NAME, "body").send_keys(Keys.ESCAPE)
    console.complaints()  # a refusal of the API is one


def test_the_login(somebody: Console) -> None:
    bring_axe(somebody)
    somebody.browser.get(f"{somebody.root}/admin/login/")
    somebody.one("input[name=username]")
    assert barriers(somebody) == []


@pytest.mark.parametrize(
    "path",
    [
        *("", "auth/user/", "auth/user/add/", "auth/user/1/change/", "password_change/"),
        *("tenancy/tenant/", "console/storedobject/", "console/storedevent/", "nosuch/", "logout/"),
    ],
)
@pytest.mark.parametrize("width", [WIDTH, 390])
def test_the_tables_of_the_database(
    world: Console, console: Console, path: str, width: int
) -> None:
    browser = console.browser
    size = {"height": HEIGHT, "deviceScaleFactor": 1, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {"width": width, **size})
    try:
        browser.get(f"{console.root}/admin/{path}")
        console.one("h1, #content")
        assert barriers(console) == []
        rows = console.all("#result_list tbody th a")
        if rows and path.startswith("console/"):
            browser.get(str(rows[0].get_attribute("href")))
            console.one("#stored-object")
            assert barriers(console) == []
    finally:
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {"width": WIDTH, **size})
    console.complaints()  # that nothing is there


def test_findings_are_found(console: Console) -> None:
    """The test of the tests: a picture without a name, a text that cannot be read."""
    console.open("/me")
    settled(console)
    console.script(
        """
        const poor = document.createElement("p");
        poor.style.color = "#ccc"; poor.style.background = "#fff"; poor.textContent = "unreadable";
        document.querySelector("main").append(poor, document.createElement("button"));
        """
    )
    found = "".join(barriers(console))
    assert "color-contrast" in found and "button-name" in found
