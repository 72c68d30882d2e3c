"""Operators' tasks in the world of `make demo`, done by clicks that are counted:
docs/console-tasks.md says how many each takes, and says the truth. Typing is no click; choosing
from a select is one."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from tests.support.consolebrowser import Console
from tests.support.installation import REPOSITORY, eventually
from tools import demo

ACME = "/clusters/acme"
DEPLOYMENT = f"{ACME}/apis/apps/v1/namespaces/shop/deployments/web"

_REFUSED = """
const row = [...document.querySelectorAll("main tr")].find((r) =>
  r.cells[0].textContent.trim() === arguments[0]);
const heads = [...(row?.closest("table").tHead.rows[0].cells ?? [])];
return Number(row?.cells[heads.findIndex((h) => h.textContent === "Refused")]?.textContent ?? 0);
"""


class Mouse:
    """It counts."""

    def __init__(self, console: Console) -> None:
        self.console, self.clicks = console, 0
        console.open("/t/acme/")
        console.see("What it holds")

    def click(self, selector: str) -> None:
        """On what is there at that moment: a page that follows what is written draws anew."""
        self.console.until(lambda: self.console.one(selector).click() or True)
        self.clicks += 1

    def on(self, text: str, within: str = "body") -> None:
        """A button or link by its text."""
        path = f'//{within}//*[self::a or self::button][normalize-space()="{text}"]'
        find = self.console.browser.find_elements
        seen = lambda: [e for e in find(By.XPATH, path) if e.is_displayed()]  # noqa: E731
        self.console.until(lambda: [e.click() or e for e in seen()[:1]])
        self.clicks += 1

    def find(self, typed: str, name: str) -> None:
        """By the palette: one click opens it, one chooses."""
        self.click(".finder")
        self.console.one("dialog.palette input").send_keys(typed)
        chosen = "dialog.palette li[aria-selected=true]"
        texts = lambda: [e.text for e in self.console.all(f"{chosen} .name")]  # noqa: E731
        self.console.until(lambda: texts() == [name])
        self.click(chosen)


def owner(mouse: Mouse) -> None:
    mouse.find("deploy web", "web")
    mouse.click("a[href='?tab=blame']")
    mouse.console.see("horizontal-pod-autoscaler (apply)")


def put_back(mouse: Mouse) -> None:
    change = {"spec": {"replicas": 9}}
    site = mouse.console.installation
    path = f"{DEPLOYMENT}?fieldManager=somebody"
    assert site.request("PATCH", path, change, "application/merge-patch+json")[0] == 200
    mouse.find("deploy web", "web")
    mouse.click("a[href='?tab=history']")
    mouse.console.see("somebody")
    mouse.click("tr[data-revision] .restore")
    mouse.click("dialog button[type=submit]")
    eventually(lambda: site.request("GET", DEPLOYMENT)[1]["spec"]["replicas"] == 3)


def put_one_back(mouse: Mouse) -> None:
    """An earlier change, by a manager that applies the field; another field has changed since."""
    site = mouse.console.installation
    before = site.request("GET", DEPLOYMENT)[1]["spec"]["replicas"]
    path = f"{DEPLOYMENT}?fieldManager=early&force=true"
    wanted = {"apiVersion": "apps/v1", "kind": "Deployment", "spec": {"replicas": 7}}
    assert site.request("PATCH", path, wanted, "application/apply-patch+yaml")[0] == 200
    later = {"metadata": {"annotations": {"example.com/later": "yes"}}}
    assert site.request("PATCH", DEPLOYMENT, later, "application/merge-patch+json")[0] == 200
    mouse.find("deploy web", "web")
    mouse.click("a[href='?tab=blame']")
    row = "//div[contains(@class, 'line')][contains(., 'replicas: 7')]"
    revision = f"{row}//button[contains(@class, 'revision')]"
    find = mouse.console.browser.find_elements
    mouse.console.until(lambda: find(By.XPATH, revision))[0].click()
    mouse.clicks += 1
    mouse.click("details.put-back li a")
    mouse.click("table.conflicts button[value=take]")
    mouse.click("#store")
    eventually(lambda: site.request("GET", DEPLOYMENT)[1]["spec"]["replicas"] == before)
    kept = site.request("GET", DEPLOYMENT)[1]["metadata"]["annotations"]
    assert kept["example.com/later"] == "yes"


def free(mouse: Mouse) -> None:
    mouse.click("a.brand")
    mouse.on("configmaps/legacy/invoices-2019", "section[@aria-label='Stuck deletions']")
    mouse.click(".remove-finalizer")
    mouse.console.one("dialog input").send_keys("invoices-2019")
    mouse.click("dialog button[type=submit]")
    site = mouse.console.installation
    eventually(lambda: site.request("GET", f"{ACME}/api/v1/namespaces/legacy")[0] == 404)


def quotas(mouse: Mouse) -> None:
    mouse.on("Tenants")
    row = mouse.console.until(
        lambda: [r.text for r in mouse.console.all("main tbody tr") if "globex" in r.text]
    )
    assert "%" in row[0]


def colleague(mouse: Mouse) -> None:
    mouse.on("Access", "aside")
    mouse.click("#give")
    mouse.console.one("dialog form [name=subject]").send_keys("colleague")
    mouse.click("dialog form button[type=submit]")
    mouse.console.see("colleague has view")


def undelete(mouse: Mouse) -> None:
    mouse.on("Deleted", "aside")
    row = "tr[contains(., 'price-list')]"
    mouse.console.until(
        lambda: mouse.console.browser.find_elements(By.XPATH, f"//main//{row}//button")
    )
    mouse.on("Undelete", row)
    mouse.click("dialog button[type=submit]")
    path = f"{ACME}/api/v1/namespaces/shop/configmaps/price-list"
    eventually(lambda: mouse.console.installation.request("GET", path)[0] == 200)


def refusals(mouse: Mouse) -> None:
    mouse.on("Admission", "aside")
    mouse.console.until(lambda: mouse.console.script(_REFUSED, "no-latest-images") > 0)


def readers(mouse: Mouse) -> None:
    mouse.find("secret database-login", "database-login")
    mouse.on("Who has access?")
    mouse.console.see("Who may get secrets")


def labelled(mouse: Mouse) -> None:
    mouse.click(".finder")
    mouse.console.one("dialog.palette input").send_keys("app=web")
    found = "//dialog//li[span[@class='what'][text()='Deployment']]"
    find = mouse.console.browser.find_elements
    mouse.console.until(lambda: find(By.XPATH, found))
    assert find(By.XPATH, found.replace("Deployment", "Pod")), "and of other kinds"
    find(By.XPATH, found)[0].click()
    mouse.clicks += 1
    mouse.console.until(lambda: mouse.console.one("main h1").text == "web")


def scale(mouse: Mouse) -> None:
    mouse.find("deploy web", "web")
    mouse.click("[data-action=scale]")
    # as it is typed over: what the dialog learns meanwhile stays selected, and is typed over, too
    mouse.console.one("dialog input[type=number]").send_keys(Keys.CONTROL, "a", Keys.NULL, "5")
    mouse.click("#perform")
    site = mouse.console.installation
    eventually(lambda: site.request("GET", DEPLOYMENT)[1]["spec"]["replicas"] == 5)


def revoke(mouse: Mouse) -> None:
    made = mouse.console.installation.manage("token", "create", "tasks-robot", "--tenant", "acme")
    assert made.returncode == 0, made.stderr
    mouse.on("Quotas, tokens, settings")
    mouse.console.see("tasks-robot")
    row = "//tr[contains(., 'tasks-robot')]"
    mouse.console.browser.find_element(By.XPATH, f"{row}//button[text()='Revoke']").click()
    mouse.clicks += 1
    mouse.click("dialog button[type=submit]")
    mouse.console.until(lambda: "revoked" in mouse.console.browser.find_element(By.XPATH, row).text)


def slow(mouse: Mouse) -> None:
    mouse.on("System")
    mouse.console.see("Longest statement")


TASKS: dict[str, Callable[[Mouse], None]] = {
    "what owns this field": owner,
    "who changed replicas, and put it back": put_back,
    "free a stuck namespace": free,
    "which tenants are near their quota": quotas,
    "give a colleague read access to one tenant": colleague,
    "restore a deleted ConfigMap": undelete,
    "which policies refuse": refusals,
    "who may read this Secret": readers,
    "scale a Deployment": scale,
    "find an object by a label across kinds": labelled,
    "revoke a token": revoke,
    "why the server is slow": slow,
}


def told() -> dict[str, str]:
    """What the page says of each task: clicks here."""
    text = (REPOSITORY / "docs/console-tasks.md").read_text()
    return dict(re.findall(r"^\| ([^|]+?) \| ([^|]+?) \|", text, re.M))


@pytest.fixture(scope="module")
def world(console_pages: Console) -> Console:
    site = console_pages.installation
    demo.fill(site.data / "admin.kubeconfig")
    held = f"{ACME}/api/v1/namespaces/legacy/configmaps/invoices-2019"
    # the namespace controller has come by
    eventually(lambda: "deletionTimestamp" in site.request("GET", held)[1]["metadata"])
    return console_pages


@pytest.mark.parametrize("task", TASKS)
def test_a_task_takes_as_many_clicks_as_the_page_says(
    world: Console, console: Console, task: str
) -> None:
    mouse = Mouse(console)
    TASKS[task](mouse)
    assert told()[task] == str(mouse.clicks)
    console.complaints()  # refusals of the API, which some tasks meet


def test_one_field_of_an_earlier_change_takes_as_many_clicks_as_the_page_says(
    world: Console, console: Console
) -> None:
    mouse = Mouse(console)
    put_one_back(mouse)
    text = (REPOSITORY / "docs/console-tasks.md").read_text()
    assert re.findall(r"another manager applies takes (\d+)", text) == [str(mouse.clicks)]
    console.complaints()  # the 409 of the dry run


def test_the_page_has_these_twelve_tasks() -> None:
    assert {name for name, clicks in told().items() if clicks.isdigit()} == set(TASKS)
    assert len(TASKS) == 12
