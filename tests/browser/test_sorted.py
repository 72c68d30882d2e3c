"""Lists of more objects than a page: the server sorts and filters all of them."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import closing
from typing import Any

import pytest
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from tests.support.barriers import barriers, bring_axe
from tests.support.consolebrowser import Console
from tests.support.installation import Installation

COUNT = 620
"""More than a page."""
LATER = "later"
"""A namespace after the one that most are in; its own come before them by their names."""
GROUP = "meters.example.com"
GAUGES = f"/clusters/demo/apis/{GROUP}/v1/namespaces/default/gauges"
DEFINITION = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": f"gauges.{GROUP}"},
    "spec": {
        "group": GROUP,
        "scope": "Namespaced",
        "names": {"plural": "gauges", "singular": "gauge", "kind": "Gauge"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "additionalPrinterColumns": [
                    {"name": "Level", "type": "integer", "jsonPath": ".spec.level"}
                ],
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "properties": {
                            "spec": {
                                "type": "object",
                                "properties": {"level": {"type": "integer"}},
                            }
                        },
                    }
                },
            }
        ],
    },
}


def level(number: int) -> int:
    """Another order than that of names: of 0, 1 and 2 only 0 is on the first page."""
    return (number * 7 + 200) % COUNT


def fill(installation: Installation, path: str, made: Callable[[int], Any]) -> None:
    headers = {"Authorization": f"Bearer {installation.token}"}
    with closing(installation.connect()) as connection:
        for number in range(COUNT):
            connection.request("POST", path, json.dumps(made(number)), headers)
            answer = connection.getresponse()
            text = answer.read()
            assert answer.status == 201, text


@pytest.fixture(scope="module")
def gauges(console_pages: Console) -> Console:
    installation = console_pages.installation
    crds = "/clusters/demo/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    installation.request("POST", crds, DEFINITION)
    console_pages.until(lambda: installation.request("GET", GAUGES)[0] == 200)
    fill(
        installation,
        GAUGES,
        lambda number: {
            "apiVersion": f"{GROUP}/v1",
            "kind": "Gauge",
            "metadata": {"name": f"g-{number:04}"},
            "spec": {"level": level(number)},
        },
    )
    later = "/clusters/demo/api/v1/namespaces"
    installation.request("POST", later, {"metadata": {"name": LATER}})
    for name in ("a-1", "a-2"):
        gauge = {"metadata": {"name": name}, "spec": {"level": 1}}
        body = {"apiVersion": f"{GROUP}/v1", "kind": "Gauge", **gauge}
        path = GAUGES.replace("/default/", f"/{LATER}/")
        assert installation.request("POST", path, body)[0] == 201
    return console_pages


def levels(console: Console) -> list[int]:
    """Of the rows that are shown, from the top."""
    found: list[int] = console.script(
        "const heads = [...document.querySelectorAll('thead th')].map((th) => th.textContent);"
        "const at = heads.findIndex((text) => text.startsWith('Level'));"
        "return [...document.querySelectorAll('tbody tr[data-key]')]"
        ".map((row) => Number(row.children[at].textContent))"
    )
    return found


def head(console: Console, name: str) -> None:
    console.browser.find_element(By.XPATH, f"//th/button[starts-with(text(),'{name}')]").click()


def test_a_built_in_kinds_column_sorts_what_is_not_here_yet(console: Console) -> None:
    fill(
        console.installation,
        "/clusters/demo/apis/coordination.k8s.io/v1/namespaces/default/leases",
        lambda number: {
            "metadata": {"name": f"lease-{number:04}"},
            "spec": {"holderIdentity": f"h-{level(number):04}"},
        },
    )
    console.open("/t/demo/coordination.k8s.io/leases?namespace=default")
    console.see("lease-0000")
    assert "h-0000" not in console.text(), "it is not on the first page"
    head(console, "Holder")
    console.see("h-0000")
    console.see("by Holder")
    rows = console.all("tbody tr[data-key]")
    assert [row.text.split()[1] for row in rows[:3]] == ["h-0000", "h-0001", "h-0002"]


def test_a_column_sorts_what_is_not_here_yet(gauges: Console, console: Console) -> None:
    console.open(f"/t/demo/{GROUP}/gauges?namespace=default")
    console.until(lambda: levels(console)[:2] == [level(0), level(1)])
    head(console, "Level")
    console.until(lambda: levels(console)[:3] == [0, 1, 2])
    console.see("the first 500 by Level")
    head(console, "Level")
    console.until(lambda: levels(console)[:3] == [COUNT - 1, COUNT - 2, COUNT - 3])
    assert "sort=-Level" in console.browser.current_url
    heads = [e.get_attribute("aria-sort") for e in console.all("thead th")]
    assert "descending" in heads
    console.browser.find_element(By.XPATH, "//button[text()='Load 500 more']").click()
    console.see(f"{COUNT} objects")
    console.open(f"/t/demo/{GROUP}/gauges?namespace=default&sort=Level")
    console.until(lambda: levels(console)[:3] == [0, 1, 2])


def test_names_from_their_end(gauges: Console, console: Console) -> None:
    console.open(f"/t/demo/{GROUP}/gauges?namespace=default&sort=-Name")
    console.until(lambda: levels(console)[:2] == [level(COUNT - 1), level(COUNT - 2)])


def test_an_expression_chooses_on_the_server(gauges: Console, console: Console) -> None:
    console.open(f"/t/demo/{GROUP}/gauges?namespace=default&sort=Level")
    console.one("input.filter").send_keys(f"cel:self.spec.level > {COUNT - 4}", Keys.ENTER)
    console.until(lambda: levels(console) == [COUNT - 3, COUNT - 2, COUNT - 1])
    [chip] = console.all(".chip")
    assert chip.text.startswith(f"cel self.spec.level > {COUNT - 4}")
    path = f"{GAUGES}/g-0000"
    merge = "application/merge-patch+json"
    change = {"spec": {"level": COUNT + 5}}
    status, _ = console.installation.request("PATCH", path, change, merge)
    assert status == 200
    console.until(lambda: COUNT + 5 in levels(console))


def test_an_expression_that_is_wrong_is_said(gauges: Console, console: Console) -> None:
    console.open(f"/t/demo/{GROUP}/gauges?namespace=default")
    console.until(lambda: levels(console))
    console.one("input.filter").send_keys("cel:self.spec.depth > 1", Keys.ENTER)
    console.see("undefined field 'depth'")
    complaints = console.complaints()
    assert complaints and all("422" in complaint for complaint in complaints)
    console.one("[aria-label='Remove cel self.spec.depth > 1']").click()
    console.until(lambda: len(levels(console)) > 3)


def names(console: Console) -> list[str]:
    """Of the rows in sight and around it, from the top."""
    found: list[str] = console.script(
        "return [...document.querySelectorAll('tbody tr[data-key] a')].map((a) => a.textContent)"
    )
    return found


def gauges_to(last: int, rows: int) -> list[str]:
    return [f"g-{number:04}" for number in range(last - rows + 1, last + 1)]


def offered(console: Console) -> list[str]:
    """The ways at the foot of the list."""
    return [button.text for button in console.all(".footer button") if button.is_displayed()]


def press(console: Console, *keys: str) -> None:
    ActionChains(console.browser).send_keys(*keys).perform()


def focused(console: Console) -> str:
    return str(console.script("return document.activeElement.textContent"))


def back_to(console: Console, text: str) -> None:
    """Shift-Tab by Shift-Tab, from the end of the page."""
    console.script("document.activeElement.blur()")
    for _ in range(8):
        chain = ActionChains(console.browser)
        chain.key_down(Keys.SHIFT).send_keys(Keys.TAB).key_up(Keys.SHIFT).perform()
        if focused(console) == text:
            return
    raise AssertionError(f"the keyboard does not lead to {text!r}")


def test_both_ends_of_a_list_by_keys(gauges: Console, console: Console) -> None:
    console.open(f"/t/demo/{GROUP}/gauges?namespace=default")
    console.until(lambda: names(console)[:2] == ["g-0000", "g-0001"])
    assert offered(console) == ["First", "Load 500 more", "Last"]
    back_to(console, "Last")
    press(console, Keys.ENTER)
    console.until(lambda: names(console)[-1:] == [f"g-{COUNT - 1:04}"])
    shown = names(console)
    assert shown == gauges_to(COUNT - 1, len(shown)), "in the order of the list"
    assert offered(console) == ["First", "Previous 500", "Last"]
    assert focused(console) == "Last", "it is not lost by what is drawn anew"
    console.see(f"500 of {COUNT} objects · sorted and filtered among the last 500")
    assert "from=end" in console.browser.current_url
    top = console.script("return document.querySelector('.rows').scrollTop")
    back_to(console, "Previous 500")
    press(console, Keys.ENTER)
    console.until(lambda: "Previous 500" not in offered(console))
    assert names(console)[-1] == f"g-{COUNT - 1:04}", "what was in sight stays there"
    assert console.script("return document.querySelector('.rows').scrollTop") > top
    press(console, Keys.HOME)
    console.until(lambda: names(console)[:2] == ["g-0000", "g-0001"])
    press(console, ">")
    console.until(lambda: "Previous 500" in offered(console))
    press(console, "<")
    console.until(lambda: "Load 500 more" in offered(console))
    assert names(console)[:2] == ["g-0000", "g-0001"]
    assert "from=" not in console.browser.current_url


def test_the_last_page_is_followed_and_its_address_leads_there(
    gauges: Console, console: Console
) -> None:
    console.open(f"/t/demo/{GROUP}/gauges?namespace=default&from=end")
    console.until(lambda: names(console)[-1:] == [f"g-{COUNT - 1:04}"])
    merge = "application/merge-patch+json"
    change = {"spec": {"level": 4711}}
    path = f"{GAUGES}/g-{COUNT - 1:04}"
    assert console.installation.request("PATCH", path, change, merge)[0] == 200
    console.until(lambda: levels(console)[-1] == 4711)
    change = {"spec": {"level": level(COUNT - 1)}}
    assert console.installation.request("PATCH", path, change, merge)[0] == 200


def test_the_end_of_all_namespaces(gauges: Console, console: Console) -> None:
    console.open(f"/t/demo/{GROUP}/gauges")
    console.until(lambda: "Last" in offered(console))
    press(console, ">")
    console.until(lambda: names(console)[-2:] == ["a-1", "a-2"])
    assert names(console)[-3] == f"g-{COUNT - 1:04}"


def test_the_end_of_a_sorted_list(gauges: Console, console: Console) -> None:
    console.open(f"/t/demo/{GROUP}/gauges?namespace=default&sort=-Name")
    console.until(lambda: "Last" in offered(console))
    next(b for b in console.all(".footer button") if b.text == "Last").click()
    console.until(lambda: names(console)[-2:] == ["g-0001", "g-0000"])
    assert names(console) == sorted(names(console), reverse=True)
    console.see("the last 500 by Name")
    head(console, "Level")
    console.until(lambda: levels(console)[:3] == [0, 1, 2])
    assert offered(console) == ["First", "Load 500 more", "Last"]
    assert "from=" not in console.browser.current_url


def test_the_end_of_a_list_by_a_member_is_what_has_none(gauges: Console, console: Console) -> None:
    for name in ("none-a", "none-b"):
        body = {"apiVersion": f"{GROUP}/v1", "kind": "Gauge", "metadata": {"name": name}}
        assert console.installation.request("POST", GAUGES, body)[0] == 201
    console.open(f"/t/demo/{GROUP}/gauges?namespace=default&sort=Level")
    console.until(lambda: levels(console)[:3] == [0, 1, 2])
    press(console, ">")
    console.until(lambda: names(console)[-2:] == ["none-a", "none-b"])
    shown = levels(console)[:-2]
    gauges_there = console.installation.request("GET", GAUGES)[1]["items"]
    highest = sorted(g["spec"]["level"] for g in gauges_there if "spec" in g)
    assert shown == highest[-len(shown) :], "and before it the highest"
    console.see("the last 500 by Level")
    press(console, "<")
    console.until(lambda: levels(console)[:3] == [0, 1, 2])
    for name in ("none-a", "none-b"):
        assert console.installation.request("DELETE", f"{GAUGES}/{name}")[0] == 200


@pytest.mark.parametrize("end", ["", "&from=end"])
def test_the_foot_keeps_nobody_out(gauges: Console, console: Console, end: str) -> None:
    bring_axe(console)
    console.open(f"/t/demo/{GROUP}/gauges?namespace=default{end}")
    console.until(lambda: len(offered(console)) == 3)
    assert barriers(console) == []
