"""The console on a telephone: 390 pixels wide."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys

from tests.browser.test_barriers import settled
from tests.support.barriers import barriers, bring_axe
from tests.support.consolebrowser import HEIGHT, WIDTH, Console
from tools import demo

_SCREEN = "Emulation.setDeviceMetricsOverride"
_WIDER = "return document.documentElement.scrollWidth - innerWidth"
_SEEN = "return document.querySelector(arguments[0]).checkVisibility()"
"""Pages whose parts stand side by side where there is room."""
PAGES = (
    *("/?stuck=0", "/t/acme/", "/t/acme/core/pods", "/t/acme/access", "/t/acme/admission"),
    *("/t/acme/crds", "/t/acme/past", "/tenants", "/tenants/acme", "/audit", "/system", "/me"),
    *(f"/t/acme/apps/deployments/shop/web?tab={tab}" for tab in ("yaml", "blame", "owners")),
    *(f"/t/acme/apps/deployments/shop/web?tab={tab}" for tab in ("history", "events")),
    "/t/acme/apps/deployments/shop/web/edit",
    "/t/demo/core/configmaps/shop/old-bucket?tab=stuck",
)


@pytest.fixture(scope="module")
def world(console_pages: Console) -> Iterator[Console]:
    demo.fill(console_pages.installation.data / "admin.kubeconfig")
    bring_axe(console_pages)
    size = {"deviceScaleFactor": 1, "mobile": False}
    browser = console_pages.browser
    browser.execute_cdp_cmd(_SCREEN, {"width": 390, "height": 800, **size})
    yield console_pages
    browser.execute_cdp_cmd(_SCREEN, {"width": WIDTH, "height": HEIGHT, **size})


def press(console: Console, *keys: str) -> None:
    ActionChains(console.browser).send_keys(*keys).perform()


@pytest.mark.parametrize("path", PAGES)
def test_a_page_is_as_wide_as_the_screen(world: Console, console: Console, path: str) -> None:
    console.open(path)
    settled(console)
    assert console.script(_WIDER) == 0
    assert not console.script(_SEEN, ".side")
    room = "return document.querySelector('main').getBoundingClientRect().width"
    assert console.script(room) == 390, "the view has all of it"
    tabs = "[...document.querySelectorAll('.tabs a')].map((e) => e.getBoundingClientRect().right)"
    assert console.script(f"return Math.max(0, ...{tabs})") <= 390, "all tabs are in sight"
    console.until(
        lambda: barriers(console) == []
    )  # what scrolls has the focus once it is looked at


@pytest.mark.parametrize("path", ["apps/deployments/shop/web/edit", "core/configmaps/new"])
def test_there_is_room_to_write(world: Console, console: Console, path: str) -> None:
    console.open(f"/t/acme/{path}")
    assert console.one(".stage .editor").rect["width"] > 340
    title = (
        "const h = document.querySelector('.change-head h1'); return h.scrollWidth - h.clientWidth"
    )
    assert console.script(title) <= 0, "and to read what is written"


def test_the_side_is_a_button_away_and_goes_by_itself(world: Console, console: Console) -> None:
    console.open("/t/acme/core/pods")
    console.see("web-7d9c-a")
    console.one(".drawer").click()
    console.until(lambda: console.script(_SEEN, ".side"))
    assert console.one(".drawer").get_attribute("aria-expanded") == "true"
    assert console.script("return document.activeElement.closest('.side') !== null")
    assert console.script(_WIDER) == 0
    assert barriers(console) == []
    press(console, Keys.ESCAPE)
    assert not console.script(_SEEN, ".side")
    assert console.script("return document.activeElement.matches('.drawer')")
    press(console, Keys.ENTER)
    console.until(lambda: console.script(_SEEN, ".side"))
    console.one(".kinds a[title^='configmaps']").click()
    console.see("price")
    assert not console.script(_SEEN, ".side"), "where it led to is what is shown"
    assert console.one(".drawer").get_attribute("aria-expanded") == "false"


def test_a_wide_screen_has_the_side_and_no_button(somebody: Console, world: Console) -> None:
    somebody.log_in()
    somebody.see("Tenants")
    assert somebody.script(_SEEN, ".side") and not somebody.script(_SEEN, ".drawer")
