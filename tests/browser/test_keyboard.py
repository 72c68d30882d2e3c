"""The console without a mouse: from the login to a deletion, by keys alone."""

from __future__ import annotations

from typing import Any

import pytest
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys

from tests.support.consolebrowser import PASSWORD, Console
from tests.support.installation import Installation

MAPS = "/clusters/demo/api/v1/namespaces/keys/configmaps"
FAR = 150
"""Stops of the Tab key that a page may have; one round of it, so that nothing traps the focus."""
_FOCUS = """
let at = document.activeElement;
while (at?.shadowRoot?.activeElement) at = at.shadowRoot.activeElement;
if (!at || at === document.body) return null;
const style = getComputedStyle(at);
const box = at.getBoundingClientRect();
return {
  tag: at.tagName, id: at.id, action: at.dataset.action ?? "", name: at.getAttribute("name") ?? "",
  text: (at.getAttribute("aria-label") ?? at.textContent).trim(),
  seen: at.matches(":focus-visible") && box.width > 0 && box.height > 0 &&
    (style.outlineStyle !== "none" || style.boxShadow !== "none" || at.isContentEditable ||
      at.matches("dialog input, main") ),
  inDialog: Boolean(at.closest("dialog")),
};
"""


class Hands:
    """Somebody at the keyboard."""

    def __init__(self, console: Console) -> None:
        self.console = console

    def press(self, *keys: str) -> None:
        ActionChains(self.console.browser).send_keys(*keys).perform()

    def chord(self, held: str, key: str) -> None:
        chain = ActionChains(self.console.browser)
        chain.key_down(held).send_keys(key).key_up(held).perform()

    @property
    def focus(self) -> dict[str, Any]:
        """What has the focus; empty where nothing has."""
        return self.console.script(_FOCUS) or {}

    def tab_to(self, **wanted: str) -> dict[str, Any]:
        """Tab by tab until what has the focus is so; each stop on the way can be seen."""
        ways = []
        for _ in range(FAR):
            self.press(Keys.TAB)
            at = self.focus
            ways.append(at)
            if not at:
                continue  # the browser's own controls
            assert at["seen"], f"the focus cannot be seen: {at}"
            if all(at[name] == value for name, value in wanted.items()):
                return at
        raise AssertionError(f"Tab does not lead to {wanted}: {[a.get('text') for a in ways]}")


@pytest.fixture(scope="module")
def ground(site: Installation) -> Installation:
    status, _ = site.request(
        "POST", "/clusters/demo/api/v1/namespaces", {"metadata": {"name": "keys"}}
    )
    assert status == 201
    return site


def made(site: Installation, name: str) -> None:
    body = {"metadata": {"name": name}, "data": {"count": "1"}}
    path = f"{MAPS}?fieldManager=polyplane-console"  # what is its own it may change unasked
    assert site.request("POST", path, body)[0] == 201


def test_from_the_login_to_a_deletion(somebody: Console, ground: Installation) -> None:
    made(ground, "walked")
    hands = Hands(somebody)
    log_in(somebody, hands)
    find(somebody, hands, "cm walked", "walked")
    edit(somebody, hands)
    assert ground.request("GET", f"{MAPS}/walked")[1]["data"] == {"count": "12"}
    go_back(somebody, hands)
    delete(somebody, hands)
    somebody.until(lambda: ground.request("GET", f"{MAPS}/walked")[0] == 404)
    # that its own updates are in the way of its apply is how it finds out
    assert [c for c in somebody.complaints() if "status of 409" not in c] == []


def log_in(console: Console, hands: Hands) -> None:
    console.browser.get(f"{console.root}/admin/login/?next=/admin/console/")
    console.one("input[name=username]")
    if hands.focus.get("name") != "username":
        hands.tab_to(name="username")
    hands.press("operator")
    hands.tab_to(name="password")
    hands.press(PASSWORD, Keys.ENTER)
    console.see("Tenants")


def find(console: Console, hands: Hands, typed: str, name: str) -> None:
    console.script("localStorage.setItem('tenant', JSON.stringify('demo'))")
    hands.chord(Keys.CONTROL, "k")
    console.until(lambda: hands.focus.get("inDialog"))
    hands.press(typed)
    chosen = "dialog.palette li[aria-selected=true] .name"
    console.until(lambda: [e.text for e in console.all(chosen)] == [name])
    hands.press(Keys.ENTER)
    console.until(lambda: [e.text for e in console.all("main h1")] == [name])


def edit(console: Console, hands: Hands) -> None:
    console.one("[data-action=edit]")
    hands.tab_to(action="edit")
    hands.press(Keys.ENTER)
    console.one("#review")
    console.until(lambda: hands.focus.get("text") == "YAML")  # the editor takes the focus
    hands.chord(Keys.CONTROL, Keys.HOME)
    hands.chord(Keys.CONTROL, "f")  # the editor's own search
    hands.press('"1', Keys.ENTER, Keys.ESCAPE)
    hands.press(Keys.ARROW_RIGHT, "2")
    hands.chord(Keys.CONTROL, Keys.ENTER)
    console.one("table.difference")
    hands.tab_to(id="store")
    hands.press(Keys.ENTER)
    console.see("is stored")


def go_back(console: Console, hands: Hands) -> None:
    """To the list by the breadcrumbs, and to the object by its row."""
    hands.tab_to(tag="A", text="configmaps")
    hands.press(Keys.ENTER)
    console.see("Save as")
    hands.press("/", "walked")
    console.until(lambda: len(console.all("tr[data-key]")) == 1)
    hands.press(Keys.ESCAPE, "j", Keys.ENTER)
    console.until(lambda: [e.text for e in console.all("main h1")] == ["walked"])


def delete(console: Console, hands: Hands) -> None:
    console.one("[data-action=delete]")
    hands.tab_to(action="delete")
    hands.press(Keys.ENTER)
    console.until(lambda: hands.focus.get("inDialog"))
    hands.press(Keys.ESCAPE)
    console.until(lambda: not console.all("dialog"))
    assert hands.focus["action"] == "delete", "the focus is where it was before the dialog"
    hands.press(Keys.ENTER)
    console.one("#perform")
    hands.tab_to(id="perform")
    hands.press(Keys.ENTER)


def test_the_editor_lets_go_of_the_tab_key(somebody: Console, ground: Installation) -> None:
    made(ground, "held")
    somebody.log_in()
    hands = Hands(somebody)
    somebody.open("/t/demo/core/configmaps/keys/held/edit")
    somebody.one("#review")
    somebody.until(lambda: hands.focus.get("text") == "YAML")
    before = somebody.text()
    hands.press(Keys.ESCAPE, Keys.TAB)
    assert hands.focus.get("text") != "YAML"
    assert somebody.text() == before, "nothing was typed"


@pytest.mark.parametrize(
    ("path", "opener"),
    [
        ("/tenants", "Create tenant"),
        ("/me", "New token"),
        ("/t/demo/core/configmaps?namespace=keys", "Columns"),
        ("/t/demo/core/configmaps?namespace=keys", "Save as"),
    ],
)
def test_what_opens_takes_the_focus_and_gives_it_back(
    console: Console, ground: Installation, path: str, opener: str
) -> None:
    hands = Hands(console)
    console.open(path)
    console.see(opener)
    hands.tab_to(tag="BUTTON", text=opener)
    hands.press(Keys.ENTER)
    console.until(lambda: console.all("dialog, [popover]:popover-open"))
    inside = "return document.activeElement.closest('dialog, [popover]') !== null"
    assert console.script(inside)
    hands.press(Keys.ESCAPE)
    console.until(lambda: not console.all("dialog, [popover]:popover-open"))
    assert hands.focus["text"] == opener


def test_help_lists_the_keys_and_closes(console: Console, ground: Installation) -> None:
    hands = Hands(console)
    console.open("/t/demo/core/configmaps?namespace=keys")
    console.see("Save as")
    hands.tab_to(tag="BUTTON", text="Save as")
    hands.press("?")
    console.see("pause or go on")
    assert hands.focus["inDialog"]
    hands.press(Keys.ESCAPE)
    console.until(lambda: not console.all("dialog"))
    assert hands.focus["text"] == "Save as"


def test_rows_are_chosen_and_opened_by_keys(console: Console, ground: Installation) -> None:
    made(ground, "row-a")
    made(ground, "row-b")
    hands = Hands(console)
    console.open("/t/demo/core/configmaps?namespace=keys&q=row-")
    console.see("row-b")
    hands.press("j", "x", "j", "x")
    console.see("2 selected")
    hands.press(Keys.ESCAPE)
    console.gone("2 selected")
    hands.press(Keys.ENTER)
    console.until(lambda: [e.text for e in console.all("main h1")] == ["row-b"])


def test_the_skip_link_leads_past_the_side(console: Console, ground: Installation) -> None:
    hands = Hands(console)
    console.open("/t/demo/core/configmaps?namespace=keys")
    console.see("Save as")
    hands.press(Keys.TAB)
    assert hands.focus["text"] == "Skip to content" and hands.focus["seen"]
    hands.press(Keys.ENTER, Keys.TAB)
    assert console.script("return document.activeElement.closest('main') !== null")
