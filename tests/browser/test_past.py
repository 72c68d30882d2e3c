"""The past of a tenant: what there was as of a moment, what was deleted, and the way back; in a
real Chromium, and with the rights of an ordinary user."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any
from urllib.parse import quote

import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.webelement import WebElement

from tests.support.consolebrowser import Account, Console, make_accounts
from tests.support.installation import Installation, eventually

CORE = "/clusters/demo/api/v1"
SPACE = f"{CORE}/namespaces/past"
MAPS, SECRETS = f"{SPACE}/configmaps", f"{SPACE}/secrets"
RBAC = "/clusters/demo/apis/rbac.authorization.k8s.io/v1/namespaces/past"
HISTORY = "history.polyplane.dev"
REVISIONS = f"/clusters/demo/apis/{HISTORY}/v1/namespaces/past/revisions"
PAST, DELETED = "/t/demo/past?namespace=past", "/t/demo/deleted?namespace=past"
MINUTES = 60_000
HOSTILE = "<img src=x onerror=alert(1)>"
READ = {"apiGroups": [HISTORY], "resources": ["revisions"], "verbs": ["get", "list"]}
UNDO = {"apiGroups": [HISTORY], "resources": ["revisions/undelete"], "verbs": ["create"]}
MAKE = {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "list", "create"]}
LOOK = {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "list"]}
WHO = {"apiGroups": [HISTORY], "resources": ["revisions/audit"], "verbs": ["get"]}
_FREEZE = "const at = arguments[0]; Date.now = () => at;"
_ROWS = "return [...document.querySelectorAll('main tbody tr')].map((row) => row.innerText)"


@pytest.fixture(scope="module", autouse=True)
def space(site: Installation) -> None:
    """Namespace ``past`` of tenant demo; there ``nobody`` may undelete ConfigMaps, and ``onlooker``
    may look at their past and is not told whose it is. Neither has a right to Secrets."""
    make_accounts(site, Account("onlooker"))
    made(site, f"{CORE}/namespaces", "past")
    for user, rules in ("nobody", [READ, MAKE, UNDO, WHO]), ("onlooker", [READ, LOOK]):
        group = "rbac.authorization.k8s.io"
        made(site, f"{RBAC}/roles", user, rules=rules)
        made(
            site,
            f"{RBAC}/rolebindings",
            user,
            roleRef={"apiGroup": group, "kind": "Role", "name": user},
            subjects=[{"apiGroup": group, "kind": "User", "name": user}],
        )


def made(site: Installation, path: str, name: str, manager: str = "tests", **more: Any) -> Any:
    body = {"metadata": {"name": name}, **more}
    status, answer = site.request("POST", f"{path}?fieldManager={quote(manager)}", body)
    assert status == 201, answer
    return answer


def gone(site: Installation, path: str, name: str) -> None:
    status, answer = site.request("DELETE", f"{path}/{name}")
    assert status == 200, answer


def rows(console: Console) -> list[str]:
    found: list[str] = console.script(_ROWS)
    return found


def shows(console: Console, text: str) -> bool:
    """Whether one of the rows, of which there are some, has the text."""
    found = rows(console)
    assert found
    return any(text in one for one in found)


def row(console: Console, text: str) -> WebElement:
    """The first with this text, once there is one."""
    path = f"//main//tbody/tr[contains(., '{text}')]"
    console.until(lambda: console.browser.find_elements(By.XPATH, path))
    return console.browser.find_element(By.XPATH, path)


def way_back(console: Console, text: str) -> WebElement:
    """The button of the first row with this text, once it is known who may press it."""
    buttons = lambda: row(console, text).find_elements(By.CSS_SELECTOR, ".restore")  # noqa: E731
    found: WebElement = console.until(lambda: (buttons() or [None])[0])
    return found


def addresses(console: Console) -> list[str]:
    """Where the rows lead to."""
    links = "return [...document.querySelectorAll('main tbody a')].map((link) => link.href)"
    found: list[str] = console.script(links)
    return found


def press(console: Console, words: str) -> None:
    path = f"//main//*[self::a or self::button][normalize-space()='{words}']"
    console.until(lambda: console.browser.find_elements(By.XPATH, path))
    console.browser.find_element(By.XPATH, path).click()


def pressed(console: Console) -> list[str]:
    return [e.text for e in console.all("[role=group] [aria-pressed=true]")]


def freeze(console: Console, at: float) -> None:
    """The clock of the page that is shown, at so many milliseconds."""
    console.script(_FREEZE, at)


# --- what there was -------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def fresh(site: Installation) -> str:
    """A tenant that was made a moment ago."""
    done = site.manage("tenant", "create", "past-fresh")
    assert done.returncode == 0, done.stderr
    return "past-fresh"


def test_the_present_of_a_fresh_tenant_is_shown_at_once(console: Console, fresh: str) -> None:
    console.open(f"/t/{fresh}/past")
    console.see("objects as of now (resourceVersion")
    assert shows(console, "Service kubernetes")
    assert shows(console, "Namespace default"), "what is in no namespace, too"
    before = addresses(console)
    press(console, "More")
    console.until(lambda: len(addresses(console)) > len(before))
    after = addresses(console)
    assert after[: len(before)] == before and len(set(after)) == len(after)
    assert pressed(console) == ["now"]
    assert "at=" not in console.browser.current_url


def test_the_present_is_shown_where_nothing_of_the_log_is_left(
    console: Console, site: Installation
) -> None:
    """Its newest entry, a deletion, is gone with the others: the server knows no times of it."""
    assert site.manage("tenant", "create", "past-emptied").returncode == 0
    maps = "/clusters/past-emptied/api/v1/namespaces/default/configmaps"
    kept = made(site, maps, "kept")
    eventually(lambda: emptied(site, maps))
    console.open("/t/past-emptied/past?namespace=default&resource=configmaps")
    console.see("ConfigMap kept")
    assert not shows(console, "last")
    version = kept["metadata"]["resourceVersion"]
    assert version in row(console, "ConfigMap kept").text
    console.open(f"/t/past-emptied/past?namespace=default&at={version}")
    console.see(f"Nothing can be shown as of resourceVersion {version}:")
    assert "it reaches back to none but now" in console.text()
    assert console.complaints(), "410s, which the page has told in words"


def emptied(site: Installation, maps: str) -> bool:
    """Whether the log ends with a deletion that is compacted away: nobody else wrote meanwhile."""
    made(site, maps, "last")
    gone(site, maps, "last")
    done = site.manage("compact", "--tenant", "past-emptied", "--retain", "0s")
    assert done.returncode == 0, done.stderr
    at = f"asOf={datetime.now(UTC):%Y-%m-%dT%H:%M:%S.%fZ}"
    path = f"/clusters/past-emptied/apis/{HISTORY}/v1/namespaces/default/revisions"
    return site.request("GET", f"{path}?fieldSelector={quote(at)}")[0] == 410


def test_a_moment_before_the_log_is_said_to_be_one(console: Console, fresh: str) -> None:
    console.open(f"/t/{fresh}/past")
    console.see("objects as of now")
    press(console, "1 hour ago")
    console.see("Nothing can be shown as of 6")
    assert f"the log that is kept of tenant {fresh} begins later" in console.text()
    assert "reaches back to none but now" in console.one(".banner").text
    exact = console.one(".banner time").get_attribute("title")
    assert exact and exact.startswith(str(datetime.now(UTC).year)), "the time, on hover"
    assert all("status of 410" in complaint for complaint in console.complaints())
    press(console, "now")
    console.see("objects as of now")


def test_a_span_is_chosen_and_shows_what_there_was_then(
    console: Console, site: Installation
) -> None:
    made(site, MAPS, "span-early")
    then = between(site)
    gone(site, MAPS, "span-early")
    made(site, MAPS, "span-late")
    console.open(f"{PAST}&resource=configmaps")
    console.see("ConfigMap span-late")
    assert not shows(console, "span-early")
    freeze(console, then + 5 * MINUTES)
    press(console, "1 week ago")
    console.see("It reaches back to what there was")
    assert pressed(console) == ["1 week ago"]
    assert console.complaints(), "410s, which the page has told in words"
    console.one(".banner button").click()
    console.see("ConfigMap span-early")
    assert not shows(console, "span-late")
    assert pressed(console) == ["5 minutes ago"]
    address = console.browser.current_url
    console.browser.get(address)
    console.see("ConfigMap span-early")
    assert "at=" in address and pressed(console) == []


def now() -> float:
    return datetime.now(UTC).timestamp()


def between(site: Installation) -> float:
    """A moment (milliseconds) after all that was written, before all that will be: the pages count
    in seconds, so a whole one of them passes."""
    written = site.request("GET", f"{REVISIONS}?limit=1")[1]["items"][0]["time"]
    last = datetime.fromisoformat(written.replace("Z", "+00:00")).timestamp()
    eventually(lambda: now() > last + 2)
    then = now()
    eventually(lambda: now() > then + 2)
    return (then + 1) * 1000


def test_it_says_how_far_back_the_log_reaches(console: Console, site: Installation) -> None:
    log = site.request("GET", f"/clusters/demo/apis/{HISTORY}/v1/retainedlogs/log")[1]
    console.open("/t/demo/past")
    console.see("The log reaches back to ")
    begins = console.one("#reach time").get_attribute("datetime")
    assert begins == log["begins"]
    press(console, "As far as it reaches")
    console.until(lambda: console.one("[name=at]").get_attribute("value") == begins)
    then = r" as of \d+[smh]\w* ago \(resourceVersion (\d+)\)"
    shown = console.until(lambda: re.search(then, console.text()))
    assert int(log["oldest"]) <= int(shown[1]) < int(log["newest"])


def test_the_choices_are_reached_by_keys(console: Console) -> None:
    console.open(PAST)
    console.see("as of now")
    console.script("document.querySelector('main nav a[aria-current]').focus()")
    body = console.browser.switch_to.active_element
    assert body.text == "Past"
    body.send_keys(Keys.TAB)
    console.browser.switch_to.active_element.send_keys(Keys.TAB)
    first = console.browser.switch_to.active_element
    assert first.text == "now"
    first.send_keys(Keys.TAB)
    second = console.browser.switch_to.active_element
    assert second.text == "5 minutes ago"
    second.send_keys(Keys.ENTER)
    console.until(lambda: pressed(console) == ["5 minutes ago"])
    console.until(lambda: "Asking…" not in console.text())
    console.complaints()  # whether that is before the log is not the question here


def test_no_value_of_a_secret_comes_with_a_past_state(console: Console, site: Installation) -> None:
    """Each that does is kept in the audit log."""
    made(site, SECRETS, "past-hidden", stringData={"key": "word"})
    console.open(PAST)
    console.see("Secret past-hidden")
    looks = "/audit?tenant=demo&resource=revisions&verb=list"
    assert audited(console, looks) == []
    version = site.request("GET", SECRETS)[1]["metadata"]["resourceVersion"]
    whole = f"/admin/api{REVISIONS}?fieldSelector=asOf%3D{version}"
    console.script("return fetch(arguments[0]).then((answer) => answer.status)", whole)
    entries = console.until(lambda: audited(console, looks))
    assert len(entries) == 1, "the one with values, not those of the page before it"


def audited(console: Console, path: str) -> list[Any]:
    items: list[Any] = console.script(
        "return fetch(arguments[0]).then((r) => r.json()).then((found) => found.items)",
        f"/admin/console/facts{path}",
    )
    return items


def test_a_moment_is_typed_as_people_write_it(console: Console, site: Installation) -> None:
    made(site, MAPS, "typed")
    console.open(PAST)
    console.see("ConfigMap typed")
    field = console.one("[name=at]")
    field.send_keys("1s", Keys.ENTER)
    console.until(lambda: str(field.get_attribute("value")).endswith("Z"))
    assert "at=20" in console.browser.current_url, "the address means the same tomorrow"


def test_what_cannot_be_asked_is_said(console: Console) -> None:
    console.open(f"{PAST}&at=noonish")
    console.see("noonish is no time: write 14:05, yesterday, 2h")
    console.open(f"{PAST}&resource=unheardof")
    console.see("the server doesn't have a resource type")
    console.complaints()  # 400s


# --- the ways there -------------------------------------------------------------------------------
def test_the_tenants_page_and_ctrl_k_lead_there(console: Console) -> None:
    console.open("/t/demo/")
    press(console, "Past")
    console.see("objects as of now")
    press(console, "Deleted objects")
    console.until(lambda: console.all("section[aria-label='What was deleted']"))
    for typed, page in ("what there was", "past"), ("who deleted them", "deleted"):
        console.one(".finder").click()
        console.one("dialog.palette input").send_keys(typed)
        console.until(lambda: len(console.all("dialog.palette li")) == 1)
        console.one("dialog.palette input").send_keys(Keys.ENTER)
        console.until(lambda page=page: f"/t/demo/{page}" in console.browser.current_url)


# --- what was deleted -----------------------------------------------------------------------------
def test_what_was_deleted_comes_back_from_the_list(console: Console, site: Installation) -> None:
    for name in "lost-first", "lost-last":
        made(site, MAPS, name, data={"kept": name})
        gone(site, MAPS, name)
    console.open("/t/demo/deleted?namespace=")
    console.see("ConfigMap lost-last")
    order = [text for text in rows(console) if "ConfigMap lost-" in text]
    assert ["lost-last" in order[0], "lost-first" in order[1]] == [True, True]
    last = site.request("GET", f"{REVISIONS}?limit=1")[1]["items"][0]
    shown = row(console, "lost-last").text
    assert last["request"]["username"] in shown and "past" in shown and "delete" in shown
    way_back(console, "lost-last").click()
    console.see("kept: lost-last")
    assert site.request("GET", f"{MAPS}/lost-last")[0] == 404, "a dry run"
    console.one("dialog button[type=submit]").click()
    eventually(lambda: site.request("GET", f"{MAPS}/lost-last")[0] == 200)
    console.until(lambda: "is back" in row(console, "lost-last").text)
    console.browser.refresh()
    console.see("ConfigMap lost-first")
    console.until(lambda: "is back" in row(console, "lost-last").text)
    console.until(lambda: "Undelete" in row(console, "lost-first").text)
    row(console, "lost-first").find_element(By.CSS_SELECTOR, "a").click()
    console.see("DELETED")
    assert "/configmaps/past/lost-first?tab=history" in console.browser.current_url


def test_a_kind_and_a_namespace_narrow_it(console: Console, site: Installation) -> None:
    made(site, MAPS, "narrow-map")
    made(site, SECRETS, "narrow-secret")
    made(site, f"{CORE}/namespaces/default/configmaps", "narrow-elsewhere")
    gone(site, MAPS, "narrow-map")
    gone(site, SECRETS, "narrow-secret")
    gone(site, f"{CORE}/namespaces/default/configmaps", "narrow-elsewhere")
    console.open(DELETED)
    console.see("Secret narrow-secret")
    assert shows(console, "narrow-map")
    assert not shows(console, "narrow-elsewhere")
    console.one("[name=kind]").send_keys("cm", Keys.ENTER)
    console.until(lambda: rows(console) and "narrow-secret" not in console.text())
    assert shows(console, "narrow-map")
    console.one("[name=namespace]").clear()
    console.one("[name=namespace]").send_keys(Keys.ENTER)
    console.see("ConfigMap narrow-elsewhere")
    address = console.browser.current_url
    console.browser.get(address)
    console.see("ConfigMap narrow-elsewhere")
    assert "resource=cm" in address


def test_what_is_in_no_namespace_is_there_too(console: Console, site: Installation) -> None:
    path = "/clusters/demo/apis/scheduling.k8s.io/v1/priorityclasses"
    made(site, path, "lost-class", value=7)
    gone(site, path, "lost-class")
    console.open("/t/demo/deleted?namespace=")
    way_back(console, "PriorityClass lost-class").click()
    console.one("dialog button[type=submit]").click()
    eventually(lambda: site.request("GET", f"{path}/lost-class")[0] == 200)


def test_events_that_end_are_left_out_unless_asked_for(
    console: Console, site: Installation
) -> None:
    about = {"kind": "ConfigMap", "namespace": "past", "name": "some"}
    made(site, f"{SPACE}/events", "ended.1", involvedObject=about)
    gone(site, f"{SPACE}/events", "ended.1")
    made(site, MAPS, "ended-map")
    gone(site, MAPS, "ended-map")
    console.open(DELETED)
    console.see("ConfigMap ended-map")
    console.see("without 1 Event that ended")
    assert not shows(console, "ended.1")
    console.open(f"{DELETED}&resource=events")
    console.see("Event ended.1")


def test_no_string_of_others_becomes_markup(console: Console, site: Installation) -> None:
    made(site, MAPS, "hostile", manager=HOSTILE)
    console.open(PAST)
    console.see(HOSTILE)
    agent = f"{MAPS}/hostile?fieldManager={quote(HOSTILE)}"
    body = {"metadata": {"finalizers": ["example.com/wait"]}}
    merge = "application/merge-patch+json"
    assert site.request("PATCH", agent, body, merge)[0] == 200
    gone(site, MAPS, "hostile")
    assert site.request("PATCH", agent, {"metadata": {"finalizers": None}}, merge)[0] == 200
    console.open(f"{DELETED}&resource=configmaps")
    console.until(lambda: HOSTILE in row(console, "ConfigMap hostile").text)
    assert not console.script("return document.querySelector('main img')")


# --- an ordinary user -----------------------------------------------------------------------------
@pytest.fixture
def secret(site: Installation) -> Iterator[str]:
    """A Secret that is there, beside one that is deleted, and the same of ConfigMaps."""
    for path in MAPS, SECRETS:
        made(site, path, "user-there")
        made(site, path, "user-gone")
        gone(site, path, "user-gone")
    yield "Secret user-"
    for path in MAPS, SECRETS:
        gone(site, path, "user-there")


def test_who_may_not_list_secrets_sees_none(
    console: Console, somebody: Console, site: Installation, secret: str
) -> None:
    console.open(PAST)
    console.see(f"{secret}there")
    console.open(DELETED)
    console.see(f"{secret}gone")
    somebody.log_in("nobody")
    somebody.open(PAST)
    somebody.see("ConfigMap user-there")
    assert not shows(somebody, "Secret")
    somebody.open(f"{PAST}&resource=secrets")
    somebody.see('cannot list resource "secrets"')
    somebody.open(DELETED)
    somebody.see("ConfigMap user-gone")
    assert not shows(somebody, "Secret")
    way_back(somebody, "user-gone").click()
    somebody.one("dialog button[type=submit]").click()
    eventually(lambda: site.request("GET", f"{MAPS}/user-gone")[0] == 200)
    gone(site, MAPS, "user-gone")


def test_who_may_only_look_is_told_why(somebody: Console, site: Installation, secret: str) -> None:
    somebody.log_in("onlooker")
    somebody.open(DELETED)
    assert not way_back(somebody, "user-gone").is_enabled()
    assert "shown to those who may get revisions/audit" in somebody.text()
    name = site.request("GET", f"{REVISIONS}?limit=1")[1]["items"][0]["request"]["username"]
    assert name not in row(somebody, "user-gone").text.split()
    row(somebody, "user-gone").find_element(By.CSS_SELECTOR, ".why").click()
    somebody.see("No rule grants you “create revisions/undelete")
    somebody.open("/t/demo/deleted?namespace=")
    somebody.see("Name a namespace in which you may")
    somebody.open("/t/demo/past?namespace=")
    somebody.see("Not shown: objects that are in no namespace")
