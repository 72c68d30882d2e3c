"""The tables of the database work under a policy that lets nothing be evaluated: what unfold's
scripts do there, and what it is kept by."""

from __future__ import annotations

import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.webelement import WebElement

from tests.support.consolebrowser import Console

OBJECTS = "console/storedobject/?tenant=demo"
_EXPRESSION = r"""[x-on\:click*="{text}"]"""


def table(console: Console, path: str) -> None:
    console.browser.get(f"{console.root}/admin/{path}")
    console.until(lambda: not console.all("[x-cloak]"))


def pressed(console: Console, text: str) -> WebElement:
    """What is to be pressed for an expression that has the text."""
    found: WebElement = console.until(
        lambda: next((e for e in console.all(_EXPRESSION.format(text=text)) if shown(e)), None)
    )
    return found


def shown(element: WebElement) -> bool:
    return bool(element.is_displayed())


def test_filters_open_and_close(console: Console) -> None:
    table(console, OBJECTS)
    sheet = console.one("#changelist-filter")
    assert not shown(sheet)
    pressed(console, "filterOpen = true").click()
    console.until(lambda: shown(sheet))
    console.one("#changelist-filter input[name=namespace]").send_keys("shop", Keys.ENTER)
    console.until(lambda: "namespace=shop" in console.browser.current_url)
    pressed(console, "filterOpen = true").click()
    console.one("body").send_keys(Keys.ESCAPE)
    console.until(lambda: not shown(console.one("#changelist-filter")))


def test_the_side_bar_stays_as_it_was_left(console: Console) -> None:
    table(console, OBJECTS)
    assert shown(console.one("#nav-sidebar"))
    pressed(console, "sidebarDesktopOpen").click()
    console.until(lambda: not shown(console.one("#nav-sidebar")))
    table(console, "tenancy/tenant/")
    assert not shown(console.one("#nav-sidebar"))
    pressed(console, "sidebarDesktopOpen").click()
    console.until(lambda: shown(console.one("#nav-sidebar")))


def test_pages_are_found_by_a_word_of_theirs(console: Console) -> None:
    table(console, OBJECTS)
    field = console.one("#nav-filter")
    field.send_keys("tok")
    results = console.one("#search-results")
    console.until(lambda: "tokens" in results.text)
    field.send_keys(Keys.ESCAPE)
    console.until(lambda: not shown(results) and field.get_attribute("value") == "")
    field.send_keys(Keys.ESCAPE)
    console.until(lambda: console.browser.switch_to.active_element != field)


def test_dark_and_light_and_the_way_out(console: Console) -> None:
    table(console, OBJECTS)
    pressed(console, "openUserLinks").click()
    for theme in ("dark", "light"):
        pressed(console, f"switchTheme('{theme}')").click()
        console.until(lambda theme=theme: console.one("html").get_attribute("class") == theme)
    assert any(shown(e) for e in console.all("form[action*=logout] button"))


@pytest.mark.parametrize(
    "path",
    [
        "",
        "auth/user/",
        "auth/user/add/",
        "tenancy/tenant/",
        "tenancy/apitoken/",
        "console/storedevent/",
        "storage/auditentry/",
    ],
)
def test_no_page_complains(console: Console, path: str) -> None:
    table(console, path)
    assert console.one("main, #main, #content")


def test_a_form_is_sent_to_its_own_address(console: Console) -> None:
    table(console, "auth/user/?q=viewer")
    console.browser.find_element(By.LINK_TEXT, "viewer").click()
    form = console.one("#user_form")
    console.until(lambda: "/change/" in str(form.get_attribute("action")))
    console.one("[name=first_name]").send_keys("Vera")
    console.one("[name=_save]").click()
    console.see("was changed successfully")
