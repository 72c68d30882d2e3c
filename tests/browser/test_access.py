"""The access page: who may do what, what somebody may do and why, giving somebody a role."""

from __future__ import annotations

import json
from typing import Any

from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.ui import Select

from tests.support.consolebrowser import Console
from tests.support.consolechanges import Changes, get

RBAC = "/apis/rbac.authorization.k8s.io/v1"
IN_SHOP = f"{RBAC}/namespaces/shop"
GROUP = "rbac.authorization.k8s.io"
HOSTILE = "<img src=x onerror=window.hacked=1>"
PAGE = "/t/demo/access"


def make(console: Console, path: str, obj: dict[str, Any]) -> None:
    status, answer = console.installation.request("POST", f"/clusters/demo{path}", obj)
    assert status == 201, answer


def bind(console: Console, name: str, role: str, *subjects: dict[str, str], kind: str) -> None:
    """In namespace shop, by a role of the kind."""
    ref = {"apiGroup": GROUP, "kind": kind, "name": role}
    obj = {"metadata": {"name": name}, "roleRef": ref, "subjects": list(subjects)}
    make(console, f"{IN_SHOP}/rolebindings", obj)


def user(name: str) -> dict[str, str]:
    return {"apiGroup": GROUP, "kind": "User", "name": name}


def role(console: Console, name: str, *rules: dict[str, Any]) -> None:
    make(console, f"{IN_SHOP}/roles", {"metadata": {"name": name}, "rules": list(rules)})


def maps(*verbs: str, **more: Any) -> dict[str, Any]:
    return {"apiGroups": [""], "resources": ["configmaps"], "verbs": list(verbs), **more}


def fill(form: WebElement, **values: str) -> None:
    """Types into the inputs of a form, and sends it."""
    for name, value in values.items():
        given = form.find_element(By.NAME, name)
        if given.tag_name == "select":
            Select(given).select_by_value(value)
            continue
        given.clear()
        given.send_keys(value)
    form.find_element(By.CSS_SELECTOR, "button[type=submit]").click()


def forms(console: Console, count: int) -> list[WebElement]:
    console.until(lambda: len(console.all("main form")) == count)
    return console.all("main form")


def granted(console: Console) -> str:
    return str(console.one("#granted").text)


# --- who may --------------------------------------------------------------------------------------
def test_who_may_is_answered_and_follows_what_changes(console: Console) -> None:
    role(console, "acc-reader", maps("get", "list"))
    bind(console, "acc-readers", "acc-reader", user("acc-ann"), kind="Role")
    console.open(PAGE)
    who, _ = forms(console, 2)
    fill(who, verb="get", what="cm", namespace="shop")
    console.see("acc-ann")
    assert "Who may get configmaps in shop" in granted(console)
    assert "what=configmaps" in console.browser.current_url
    bind(console, "acc-later", "view", user("acc-later-user"), kind="ClusterRole")
    console.until(lambda: "acc-later-user" in granted(console))
    status, _ = console.installation.request(
        "DELETE", f"/clusters/demo{IN_SHOP}/rolebindings/acc-readers"
    )
    assert status == 200
    console.until(lambda: "acc-ann" not in granted(console))


def test_links_lead_from_objects_to_subjects_to_bindings_and_roles(console: Console) -> None:
    role(console, "acc-linked", maps("update", resourceNames=["acc-linked"]))
    subject = {"kind": "ServiceAccount", "name": "acc-robot", "namespace": "shop"}
    bind(console, "acc-linking", "acc-linked", subject, kind="Role")
    make(console, "/api/v1/namespaces/shop/configmaps", {"metadata": {"name": "acc-linked"}})
    console.open("/t/demo/core/configmaps/shop/acc-linked")
    console.one(".access-links a").click()
    console.see("Who may get configmaps acc-linked in shop")
    fill(forms(console, 2)[0], verb="update")
    console.see("shop/acc-robot")
    console.browser.find_element(By.LINK_TEXT, "shop/acc-robot").click()
    console.see("What ServiceAccount shop/acc-robot may do")
    assert "configmaps named acc-linked" in granted(console)
    console.browser.find_element(By.LINK_TEXT, "acc-linked").click()
    console.until(lambda: console.one("h1").text == "acc-linked")
    console.open(f"/t/demo/{GROUP}/rolebindings/shop/acc-linking")
    console.see("What may shop/acc-robot do?")
    console.browser.find_element(By.PARTIAL_LINK_TEXT, "What may shop/acc-robot do?").click()
    console.see("What ServiceAccount shop/acc-robot may do")


def test_the_question_begins_in_the_namespace_of_the_side(console: Console) -> None:
    console.open("/t/demo/core/configmaps?namespace=shop")
    console.see("Save as")
    console.open(PAGE)
    who, _ = forms(console, 2)
    assert who.find_element(By.NAME, "namespace").get_property("value") == "shop"
    fill(who, verb="get", what="nodes")
    console.see("Who may get nodes")
    assert "namespace" not in console.browser.current_url, "nodes are of none"
    assert "members of the group system:masters may do everything" in granted(console)
    console.open("/t/demo/core/configmaps")  # for the tests that come after
    console.see("Save as")


def test_the_answer_keeps_inside_its_panel(console: Console) -> None:
    long = [f"acc-a-very-long-name-of-an-object-{number}" for number in range(8)]
    role(console, "acc-long", maps("get", resourceNames=long))
    bind(console, "acc-long", "acc-long", user("acc-long-user"), kind="Role")
    console.open(f"{PAGE}?verb=get&what=configmaps&namespace=shop&name={long[-1]}")
    console.see("acc-long-user")
    outside = """
      const panel = document.querySelector("#granted .panel").getBoundingClientRect();
      const cells = [...document.querySelectorAll("#granted td, #granted th")];
      return cells.filter((cell) => cell.getBoundingClientRect().right > panel.right)
        .map((cell) => cell.innerText);
    """
    assert console.script(outside) == []


# --- what somebody may ----------------------------------------------------------------------------
def test_what_somebody_may_do_namespace_by_namespace_and_why(console: Console) -> None:
    role(console, "acc-two", maps("patch"))
    bind(console, "acc-two", "acc-two", user("acc-bob"), kind="Role")
    everywhere = {
        "metadata": {"name": "acc-everywhere"},
        "roleRef": {"apiGroup": GROUP, "kind": "ClusterRole", "name": "view"},
        "subjects": [{"apiGroup": GROUP, "kind": "Group", "name": "acc-team"}],
    }
    make(console, f"{RBAC}/clusterrolebindings", everywhere)
    console.open(PAGE)
    fill(forms(console, 2)[1], kind="User", subject="acc-bob", groups="acc-team")
    console.see("Namespace shop")
    text = granted(console)
    assert text.index("The whole tenant") < text.index("acc-everywhere") < text.index("acc-two")
    fill(forms(console, 3)[1], kind="Group", subject="acc-team", groups="")
    console.see("What Group acc-team may do")
    first = console.one("#granted tbody tr").text
    assert "acc-everywhere" in first, "what names it, before what everybody has"
    fill(forms(console, 3)[1], kind="User", subject="acc-bob", groups="acc-team")
    console.see("What User acc-bob may do")
    assert "Group acc-team" in text and "User acc-bob" in text
    trying = forms(console, 3)[2]
    fill(trying, verb="patch", what="configmaps", namespace="shop")
    console.see('RBAC: allowed by RoleBinding "acc-two/shop" of Role "acc-two" to User "acc-bob"')
    fill(trying, verb="delete", what="configmaps", namespace="shop")
    console.see("Rules that come near")
    assert "it lacks verbs" in console.one("#tried").text


def test_each_kind_of_subject_is_asked_for_what_it_has(console: Console) -> None:
    console.open(PAGE)
    what = forms(console, 2)[1]
    assert names_of(what) == ["subject", "groups"]
    Select(what.find_element(By.NAME, "kind")).select_by_visible_text("ServiceAccount")
    assert names_of(what) == ["subject", "in"]
    hidden = what.find_element(By.NAME, "groups")
    assert not hidden.is_displayed()


def names_of(form: WebElement) -> list[str | None]:
    fields = form.find_elements(By.CSS_SELECTOR, "input:enabled")
    return [field.get_attribute("name") for field in fields]


# --- giving somebody a role -----------------------------------------------------------------------
def test_a_colleague_is_given_a_role_after_a_dry_run(console: Console) -> None:
    console.open(PAGE)
    console.one("#give").click()
    form = console.one("dialog form")
    assert console.one("dialog h2").text == "Give access in tenant demo"
    Select(form.find_element(By.NAME, "where")).select_by_value("shop")
    form.find_element(By.NAME, "subject").send_keys("acc-colleague")
    console.one("#try-give").click()
    console.see("RoleBinding view-acc-colleague would be created.")
    path = f"/clusters/demo{IN_SHOP}/rolebindings/view-acc-colleague"
    assert console.installation.request("GET", path)[0] == 404
    form.find_element(By.CSS_SELECTOR, "button[type=submit]").click()
    console.see("acc-colleague has view in namespace shop of tenant demo.")
    console.arrive("/admin/console/t/demo/access")
    console.see("What User acc-colleague may do")
    assert "view-acc-colleague" in console.one("#granted").text
    made = get(console, f"{IN_SHOP}/rolebindings/view-acc-colleague")
    assert (made["roleRef"]["name"], made["subjects"]) == ("view", [user("acc-colleague")])
    console.until(lambda: "view-acc-colleague" in granted(console))
    console.one("#give").click()
    form = console.one("dialog form")
    Select(form.find_element(By.NAME, "where")).select_by_value("shop")
    form.find_element(By.NAME, "subject").send_keys("acc-colleague")
    form.find_element(By.CSS_SELECTOR, "button[type=submit]").click()
    console.see('"view-acc-colleague" already exists')
    Changes(console).expect(409)


def test_a_viewer_may_look_and_give_nothing(console: Console, somebody: Console) -> None:
    role(console, "acc-seen", maps("get"))
    bind(console, "acc-seen", "acc-seen", user("acc-seen-user"), kind="Role")
    somebody.log_in("viewer")
    somebody.open(f"{PAGE}?verb=get&what=configmaps&namespace=shop")
    somebody.see("acc-seen-user")
    somebody.one('[aria-label="Why not: Give access"]')
    assert somebody.all("#give") == []
    binding = {
        "metadata": {"name": "acc-forced"},
        "roleRef": {"apiGroup": GROUP, "kind": "ClusterRole", "name": "admin"},
        "subjects": [user("viewer")],
    }
    changes, text = Changes(somebody), json.dumps(binding)
    assert changes.force("POST", f"/clusters/demo{RBAC}/clusterrolebindings", text) == 403
    assert changes.force("POST", f"/clusters/demo{IN_SHOP}/rolebindings", text) == 403
    changes.expect(403)


def test_somebody_without_rights_is_told_that_much_is_hidden(
    console: Console, somebody: Console
) -> None:
    role(console, "acc-hidden", maps("get"))
    bind(console, "acc-hidden", "acc-hidden", user("acc-hidden-user"), kind="Role")
    somebody.log_in("nobody")
    somebody.open(f"{PAGE}?verb=get&what=configmaps&namespace=shop")
    somebody.see("You may not read all clusterrolebindings, rolebindings: there may be more.")
    assert "acc-hidden" not in somebody.text()


def test_names_are_shown_as_they_are(console: Console) -> None:
    bind(console, "acc-hostile", "view", user(HOSTILE), kind="ClusterRole")
    console.open(f"{PAGE}?verb=get&what=configmaps&namespace=shop")
    console.see(HOSTILE)
    console.browser.find_element(By.LINK_TEXT, HOSTILE).click()
    console.see(f"What User {HOSTILE} may do")
    assert console.script("return window.hacked ?? null") is None
