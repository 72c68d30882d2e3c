"""The events of an object, and numbers that no double holds, in a real Chromium."""

from __future__ import annotations

from typing import Any

from tests.support.consolebrowser import Console
from tests.support.installation import Installation, eventually

CORE = "/clusters/demo/api/v1"
WIDGETS = "/clusters/demo/apis/{}.odd.example.com/v1/namespaces/shop/widgets"


def made(site: Installation, path: str, obj: dict[str, Any]) -> bool:
    status, found = site.request("POST", path, obj)
    assert status == 201, found
    return True


def test_kinds_of_one_name_have_their_own_events_and_numbers_all_their_digits(
    console: Console, site: Installation
) -> None:
    """Events say the group of what they are about; a whole number of 64 bits is no double."""
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {"name": "v1", "served": True, "storage": True}
    definitions = "/clusters/demo/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    for group in "ab":
        names = {"kind": "Widget", "plural": "widgets"}
        spec = {"group": f"{group}.odd.example.com", "scope": "Namespaced", "names": names}
        spec["versions"] = [{**version, "schema": {"openAPIV3Schema": schema}}]
        made(site, definitions, {"metadata": {"name": f"widgets.{spec['group']}"}, "spec": spec})
        about = {"apiVersion": f"{group}.odd.example.com/v1", "kind": "Widget"}
        path, body = WIDGETS.format(group), {**about, "metadata": {"name": "one"}}
        body["spec"] = {"count": 2**53 + 1}
        eventually(lambda p=path, b=body: site.request("POST", p, b)[0] == 201)
        event = {"metadata": {"name": f"of-{group}"}, "message": f"about {group}"}
        event["involvedObject"] = {**about, "name": "one", "namespace": "shop"}
        made(site, f"{CORE}/namespaces/shop/events", event)
    console.open("/t/demo/b.odd.example.com/widgets/shop/one")
    console.see("count: 9007199254740993")
    change = {"spec": {"count": 2**53 + 2}}
    path = f"{WIDGETS.format('b')}/one"
    assert site.request("PATCH", path, change, "application/merge-patch+json")[0] == 200
    console.see("count: 9007199254740994")
    console.one(".tabs a[href='?tab=history']").click()
    console.see("-   count: 9007199254740993")
    console.one(".tabs a[href='?tab=events']").click()
    console.see("about b")
    assert "about a" not in console.text()


def test_of_many_events_the_newest_are_shown(console: Console, site: Installation) -> None:
    made(site, f"{CORE}/namespaces/shop/configmaps", {"metadata": {"name": "noisy"}})
    about = {"apiVersion": "v1", "kind": "ConfigMap", "name": "noisy", "namespace": "shop"}
    for number in range(505):
        event = {"metadata": {"name": f"noise-{number:03}"}, "involvedObject": about}
        made(site, f"{CORE}/namespaces/shop/events", event | {"message": f"noise {number:03}"})
    last = {"metadata": {"name": "aaa"}, "involvedObject": about, "message": "the last one"}
    eventually(lambda: made(site, f"{CORE}/namespaces/shop/events", last))
    console.open("/t/demo/core/configmaps/shop/noisy?tab=events")
    console.see("the last one")
    console.see("The newest 500; there are 6 older ones.")
