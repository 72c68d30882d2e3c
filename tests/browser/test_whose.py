"""Who owns a field together with others; who asked for a deletion that somebody else finished."""

from __future__ import annotations

import json
from typing import Any

from selenium.webdriver.common.keys import Keys

from tests.support.consolebrowser import Console
from tests.support.installation import Installation

MAPS = "/clusters/demo/api/v1/namespaces/default/configmaps"
REVISIONS = "/clusters/demo/apis/history.polyplane.dev/v1/namespaces/default/revisions"
QUERY = "fieldSelector=object.resource=configmaps,object.name=held,type=DELETED"
APPLY, JSON = "application/apply-patch+yaml", "application/json"


def wrote(site: Installation, method: str, path: str, body: Any = None, type_: str = JSON) -> None:
    status, answer = site.request(method, path, body, type_)
    assert status in (200, 201), answer


def test_all_owners_of_a_field_are_reached_by_keys(console: Console, site: Installation) -> None:
    data = {"data": {"a": "1", "z": "1"}}
    wrote(site, "POST", f"{MAPS}?fieldManager=one", {"metadata": {"name": "shared"}, **data})
    head = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "shared"}}
    applied = {**head, "data": {"a": "1"}}
    wrote(site, "PATCH", f"{MAPS}/shared?fieldManager=two", applied, APPLY)
    console.open("/t/demo/core/configmaps/default/shared?tab=blame")
    console.see("two (apply)")
    button = console.one(".blame .others")
    assert (button.text, button.get_attribute("aria-expanded")) == ("+1", "false")
    assert button.accessible_name == "1 more owner: two (apply)"
    console.script("arguments[0].focus()", button)
    button.send_keys(Keys.ENTER)
    console.until(lambda: console.all(".blame .also"))
    assert console.one(".line:has(.also) code").text.strip() == 'a: "1"'
    assert console.one(".also").text == "also owned by two (apply)"
    button = console.one(".blame .others")
    assert console.browser.switch_to.active_element == button
    assert button.get_attribute("aria-expanded") == "true"
    button.send_keys(Keys.ENTER)
    console.until(lambda: not console.all(".blame .also"))


def test_who_asked_for_a_deletion_stands_above_who_finished_it(
    console: Console, site: Installation
) -> None:
    held = {"metadata": {"name": "held", "finalizers": ["example.com/hold"]}}
    wrote(site, "POST", MAPS, held)
    wrote(site, "DELETE", f"{MAPS}/held")
    connection = site.connect()
    headers = {
        "Authorization": f"Bearer {site.token}",
        "Content-Type": "application/merge-patch+json",
        "Impersonate-User": "the-controller",
        "Impersonate-Group": "system:masters",
    }
    body = json.dumps({"metadata": {"finalizers": None}})
    connection.request("PATCH", f"{MAPS}/held", body, headers)
    assert connection.getresponse().status == 200
    connection.close()
    console.open("/t/demo/deleted?namespace=default")
    console.see("ConfigMap held")
    rows = console.all("main tbody tr")
    shown = next(row.text for row in rows if "ConfigMap held" in row.text)
    last = site.request("GET", f"{REVISIONS}?{QUERY}")[1]["items"][0]
    asker = last["deletion"]["request"]["username"]
    assert f"{asker}\nfinished by the-controller" in shown and "delete" in shown
    console.open("/t/demo/core/configmaps/default/held?tab=history")
    console.see(f"asked for by {asker} in {last['deletion']['revision']}")
