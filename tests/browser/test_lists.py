"""Lists: what the server prints, kept up to date, narrowed, sorted, taken along."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from tests.support.consolebrowser import Console
from tests.support.installation import eventually
from tools import demo

CONFIGMAPS = "/clusters/demo/api/v1/namespaces/shop/configmaps"
ACME = "/clusters/acme/api/v1/namespaces/shop/configmaps"


@pytest.fixture(scope="module")
def world(console_pages: Console) -> Console:
    """The world of `make demo`, made twice: that changes nothing."""
    for _ in range(2):
        demo.fill(console_pages.installation.data / "admin.kubeconfig")
    return console_pages


@pytest.fixture
def acme(world: Console, console: Console) -> Iterator[Console]:
    console.open("/")
    console.script("localStorage.clear()")
    yield console


def names(console: Console) -> list[str]:
    found: list[str] = console.script(
        "return [...document.querySelectorAll('tbody tr[data-key] a')].map((a) => a.textContent)"
    )
    return found


def filter_by(console: Console, text: str) -> None:
    console.one("input.filter").send_keys(text, Keys.ENTER)


def change(console: Console, method: str, path: str, body: object = None) -> None:
    status, answer = console.installation.request(method, path, body)
    assert status < 300, answer


def test_a_list_shows_the_kinds_own_columns_and_what_comes_later(console: Console) -> None:
    console.open("/t/demo/core/configmaps?namespace=shop")
    console.see("kube-root-ca.crt")
    heads = [e.text for e in console.all("thead th button")]
    assert heads == ["Name", "Data", "Age"]
    change(console, "POST", CONFIGMAPS, {"metadata": {"name": "fresh"}, "data": {"a": "1"}})
    console.see("fresh")
    change(console, "DELETE", f"{CONFIGMAPS}/fresh")
    console.gone("fresh")


def test_a_custom_kind_has_the_columns_of_its_definition(acme: Console) -> None:
    acme.open("/t/acme/example.com/databases")
    acme.until(lambda: len(names(acme)) == 3)
    heads = [e.text for e in acme.all("thead th button")]
    assert heads == ["Namespace", "Name", "Engine", "Size", "Phase", "Age"]
    acme.one("button[title='GiB of storage']").click()
    acme.until(lambda: names(acme) == ["sessions", "orders", "ledger"])
    acme.one("button[title='GiB of storage']").click()
    acme.until(lambda: names(acme) == ["ledger", "orders", "sessions"])
    assert "sort=-Size" in acme.browser.current_url


def test_columns_are_chosen_and_the_choice_is_kept(acme: Console) -> None:
    acme.open("/t/acme/example.com/databases")
    acme.see("postgres")
    assert "orders.db.example.com:5432" not in acme.text()
    acme.browser.find_element(By.XPATH, "//button[text()='Columns']").click()
    acme.browser.find_element(By.XPATH, "//button[contains(text(),'Endpoint')]").click()
    acme.see("orders.db.example.com:5432")
    acme.open("/t/acme/example.com/databases")
    acme.see("orders.db.example.com:5432")


def test_filters_are_chips_in_the_address(acme: Console) -> None:
    acme.open("/t/acme/core/pods")
    acme.until(lambda: len(names(acme)) == 3)
    filter_by(acme, "Status:Pending")
    acme.until(lambda: names(acme) == ["web-7d9c-c"])
    assert [e.text.split("\n")[0] for e in acme.all(".chip")] == ["Status: Pending"]
    filter_by(acme, "pod-template-hash=nothing")
    acme.see("There are none here.")
    acme.open(acme.browser.current_url.partition("/admin/console")[2])
    acme.until(lambda: len(acme.all(".chip")) == 2)
    acme.one("[aria-label='Remove label pod-template-hash=nothing']").click()
    acme.until(lambda: names(acme) == ["web-7d9c-c"])
    acme.one("[aria-label='Remove Status: Pending']").click()
    acme.until(lambda: len(names(acme)) == 3)


def test_a_paused_list_counts_what_changed_meanwhile(acme: Console) -> None:
    acme.open("/t/acme/core/configmaps?namespace=shop")
    acme.see("settings")
    acme.browser.find_element(By.TAG_NAME, "body").send_keys("p")
    acme.see("Paused · 0 changes")
    change(acme, "POST", ACME, {"metadata": {"name": "meanwhile"}})
    acme.see("Paused · 1 change")
    assert "meanwhile" not in names(acme)
    acme.browser.find_element(By.TAG_NAME, "body").send_keys("p")
    acme.until(lambda: "meanwhile" in names(acme))
    change(acme, "DELETE", f"{ACME}/meanwhile")
    acme.until(lambda: "meanwhile" not in names(acme))


def test_what_is_shown_is_taken_along_without_secrets(acme: Console) -> None:
    acme.open("/t/acme/core/secrets")
    acme.see("database-login")
    acme.script(
        "window.answers = []; const asked = fetch; window.fetch = async (...request) => {"
        "const answer = await asked(...request);"
        "if (!String(request[0]).includes('watch=')) answers.push(answer.clone().text());"
        "return answer; };"
        "window.saved = []; URL.createObjectURL = (blob) => (saved.push(blob), 'blob:none');"
        "HTMLAnchorElement.prototype.click = () => {}"
    )
    for label in ("CSV", "YAML"):
        acme.browser.find_element(By.XPATH, "//button[text()='Save as']").click()
        acme.browser.find_element(By.XPATH, f"//button[starts-with(text(),'{label}')]").click()
    acme.until(lambda: acme.script("return saved.length") == 2)
    csv, yaml = acme.script("return Promise.all(saved.map((blob) => blob.text()))")
    assert csv.splitlines()[0] == "Namespace,Name,Type,Data,Age"
    assert csv.splitlines()[1].startswith("shop,database-login,Opaque,2,20")
    assert "kind: Secret" in yaml and yaml.count("'***'") == 2
    assert "bm90LWEtcmVhbC1wYXNzd29yZA" not in yaml and "managedFields" not in yaml
    sent = acme.script("return Promise.all(answers)")
    assert sent and not any("bm90LWEtcmVhbC1wYXNzd29yZA" in answer for answer in sent)


def test_twenty_rows_are_seen_at_once_and_none_is_off_the_screen(acme: Console) -> None:
    acme.open("/t/acme/rbac.authorization.k8s.io/clusterroles")
    acme.until(lambda: len(names(acme)) >= 20)
    inside = acme.script(
        "const box = document.querySelector('.rows').getBoundingClientRect();"
        "const rows = [...document.querySelectorAll('tbody tr[data-key]')]"
        ".map((row) => row.getBoundingClientRect());"
        "return [rows.filter((r) => r.top >= box.top && r.bottom <= box.bottom).length,"
        " Math.max(...rows.map((r) => r.right)) <= box.right, innerWidth, innerHeight]"
    )
    assert inside[0] >= 20 and inside[1:] == [True, 1500, 857]


def test_a_list_is_walked_through_by_keys(acme: Console) -> None:
    acme.open("/t/acme/core/pods")
    acme.until(lambda: len(names(acme)) == 3)
    body = acme.browser.find_element(By.TAG_NAME, "body")
    body.send_keys("j", "j", "x")
    acme.see("1 selected")
    assert acme.one("tr.selected").get_attribute("data-key") == "shop/web-7d9c-b"
    body.send_keys("k", Keys.ENTER)
    acme.until(lambda: acme.browser.current_url.endswith("/core/pods/shop/web-7d9c-a"))


def test_markup_in_names_and_values_is_text(acme: Console) -> None:
    attack = "<img src=x onerror=alert(1)>"
    obj = {
        "metadata": {
            "name": "attack",
            "labels": {"x": "y"},
            "annotations": {"a": attack},
        },
        "data": {"a": attack},
    }
    change(acme, "POST", ACME, obj)
    status, _ = acme.installation.request(
        "POST",
        "/clusters/acme/api/v1/namespaces/shop/events",
        {
            "metadata": {"name": "attack"},
            "involvedObject": {"kind": attack, "name": attack, "namespace": "shop"},
            "reason": attack,
            "message": attack,
            "type": "Warning",
        },
    )
    assert status == 201
    acme.open("/t/acme/core/events?namespace=shop&q=" + attack)
    acme.until(lambda: attack in acme.text())
    assert acme.script("return document.querySelectorAll('main img').length") == 0


def test_a_viewer_sees_objects_but_no_secret_and_changes_nothing(
    world: Console, somebody: Console
) -> None:
    somebody.log_in("viewer")
    somebody.open("/t/acme/core/configmaps")
    somebody.see("feature-flags")
    somebody.open("/t/acme/core/secrets")
    somebody.see('User "viewer" cannot list resource "secrets"')
    forced = somebody.script(
        "return fetch('/admin/api/clusters/acme/api/v1/namespaces/shop/configmaps/settings', {"
        "method: 'DELETE', headers: {'X-CSRFToken':"
        " document.querySelector('meta[name=csrf-token]').content}}).then((r) => r.status)"
    )
    assert forced == 403


def test_rights_in_one_tenant_are_none_in_another(world: Console, somebody: Console) -> None:
    binding = {
        "metadata": {"name": "nobody-views"},
        "roleRef": {
            "apiGroup": "rbac.authorization.k8s.io",
            "kind": "ClusterRole",
            "name": "view",
        },
        "subjects": [{"kind": "User", "name": "nobody", "apiGroup": "rbac.authorization.k8s.io"}],
    }
    path = "/clusters/acme/apis/rbac.authorization.k8s.io/v1/clusterrolebindings"
    change(world, "POST", path, binding)
    somebody.log_in("nobody")
    somebody.open("/t/acme/core/configmaps")
    somebody.see("feature-flags")
    somebody.open("/t/globex/core/configmaps")
    somebody.see('User "nobody" cannot list resource "configmaps"')
    assert "feature-flags" not in somebody.text()


def test_saved_views_are_the_servers_and_what_a_browser_kept_is_carried_over(acme: Console) -> None:
    hostile = "<img src=x onerror='window.ran=1'>"
    views = (
        "return (await (await fetch('/admin/console/facts/views/acme/configmaps')).json()).views"
    )
    kept = {hostile: "?q=a", "constructor": "?q=b"}
    refused = {"x" * 101: "?q=c"}
    acme.script(
        "localStorage.setItem('views:configmaps', JSON.stringify(arguments[0]))",
        refused | kept,
    )
    acme.open("/t/acme/core/configmaps")
    assert hostile in _opened(acme)
    assert acme.script(views) == kept
    stays = "return localStorage.getItem('views:configmaps')"
    assert json.loads(acme.script(stays)) == refused, "what the server does not take is not lost"
    acme.script("localStorage.setItem('views:configmaps', '{}')")
    acme.complaints()
    acme.open("/t/acme/core/configmaps")
    _opened(acme)
    assert acme.script(stays) is None
    acme.open("/t/acme/core/configmaps")
    assert {hostile, f"Forget “{hostile}”"} <= set(_opened(acme))
    assert acme.script("return window.ran ?? 0") == 0
    _choose(acme, "Rename “constructor”…")
    given = acme.one("dialog[open] input")
    assert given.get_attribute("value") == "constructor"
    given.clear()
    given.send_keys("builder\n")
    acme.until(lambda: acme.script(views) == {hostile: "?q=a", "builder": "?q=b"})
    for title in (hostile, "builder"):
        _choose(acme, f"Forget “{title}”")
        acme.until(lambda title=title: title not in acme.script(views))


def _choose(console: Console, text: str) -> None:
    _opened(console)
    console.script(
        _VIEWS + "[...menu.querySelectorAll('button')]"
        ".find((b) => b.textContent === arguments[0]).click()",
        text,
    )


def _opened(console: Console) -> list[str]:
    """What the menu of views has, once it is open."""
    console.until(lambda: console.script(_VIEWS + "return Boolean(menu)"))
    if not console.script(_VIEWS + _OPEN):
        console.script(_VIEWS + "button.click()")
    console.until(lambda: console.script(_VIEWS + _OPEN))
    found: list[str] = console.script(
        _VIEWS + "return [...menu.querySelectorAll('button')].map((b) => b.textContent)"
    )
    return found


_OPEN = "return menu.matches('[popover]:popover-open')"

_VIEWS = """
    const button = [...document.querySelectorAll("button[aria-haspopup=menu]")]
        .find((b) => b.textContent === "Views");
    const menu = button?.parentElement.querySelector("[role=menu]");
"""


def test_cells_say_what_they_are_whatever_their_column_is_called(acme: Console) -> None:
    """A definition may call a number Age, and a version Version."""
    columns = [
        {"name": "Age", "type": "integer", "jsonPath": ".spec.age"},
        {"name": "Version", "type": "string", "jsonPath": ".spec.version"},
        {"name": "Seen", "type": "date", "jsonPath": ".spec.seen"},
    ]
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {"name": "v1", "served": True, "storage": True, "additionalPrinterColumns": columns}
    definition = {
        "metadata": {"name": "people.odd.example.com"},
        "spec": {
            "group": "odd.example.com",
            "scope": "Namespaced",
            "names": {"kind": "Person", "plural": "people"},
            "versions": [{**version, "schema": {"openAPIV3Schema": schema}}],
        },
    }
    root = "/clusters/acme/apis"
    change(acme, "POST", f"{root}/apiextensions.k8s.io/v1/customresourcedefinitions", definition)
    people = f"{root}/odd.example.com/v1/namespaces/shop/people"
    spec = {"age": 42, "version": "1.18", "seen": "2020-01-01T00:00:00Z"}
    body = {"apiVersion": "odd.example.com/v1", "kind": "Person", "metadata": {"name": "ann"}}
    eventually(lambda: acme.installation.request("POST", people, body | {"spec": spec})[0] == 201)
    acme.open("/t/acme/odd.example.com/people?namespace=shop")
    acme.see("1.18")
    cells = [e.text for e in acme.all("tbody tr[data-key] td")]
    assert cells[1:4] == ["ann", "42", "1.18"]
    seen = acme.one("tbody tr[data-key] td:last-child time")
    assert seen.get_attribute("title").startswith("about 20")
    acme.browser.find_element(By.XPATH, "//button[text()='Columns']").click()
    acme.browser.find_element(By.XPATH, "//button[text()='\u2003 Version (metadata)']").click()
    acme.until(lambda: [e.text for e in acme.all("thead th button")][-1] == "Version (metadata)")
    change(acme, "DELETE", f"{people}/ann")
