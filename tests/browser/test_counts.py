"""Counts of kinds at the side and on a tenant's page: right, and by one question."""

from __future__ import annotations

import json
from urllib.parse import urlsplit

import pytest

from tests.support.consolebrowser import Console
from tests.support.installation import Installation

ROOT = "/clusters/demo/api/v1"
MAPS = f"{ROOT}/namespaces/counted/configmaps"
COUNTS = "/apis/search.polyplane.dev/v1/objectcounts"
OPENED = ("Workloads", "Configuration", "Network", "Storage", "Cluster")


@pytest.fixture(scope="module")
def world(site: Installation) -> Installation:
    """Namespace ``counted`` with some ConfigMaps, and a LimitRange."""
    assert site.request("POST", f"{ROOT}/namespaces", {"metadata": {"name": "counted"}})[0] == 201
    for number in range(4):
        assert site.request("POST", MAPS, {"metadata": {"name": f"m-{number}"}})[0] == 201
    # who asks for it makes it at once, and it is not counted in the midst of a test
    assert site.request("GET", f"{MAPS}/kube-root-ca.crt")[0] == 200
    ranges = f"{ROOT}/namespaces/counted/limitranges"
    assert site.request("POST", ranges, {"metadata": {"name": "one"}})[0] == 201
    return site


def requests_of(console: Console) -> list[tuple[str, str]]:
    """(method, path below the tenant) of what the browser has asked the API since the last call, as
    its performance log says."""
    found = []
    for entry in console.browser.get_log("performance"):
        message = json.loads(entry["message"])["message"]
        if message["method"] != "Network.requestWillBeSent":
            continue
        request = message["params"]["request"]
        path = urlsplit(request["url"]).path
        if path.startswith("/admin/api/"):
            below = path.removeprefix("/admin/api").removeprefix("/clusters/demo")
            found.append((request["method"], below))
    return found


def shown_at_the_side(console: Console) -> dict[str, str]:
    """Full name of a kind -> the count beside it, of sections that are open."""
    code = """
      return Object.fromEntries([...document.querySelectorAll("nav.kinds a")].map((a) =>
        [a.title.split(",")[0], a.querySelector(".count").title]));
    """
    found: dict[str, str] = console.script(code)
    return found


def open_sections(console: Console) -> None:
    code = """
      for (const section of document.querySelectorAll("nav.kinds details"))
        if (arguments[0].includes(section.querySelector("summary").textContent))
          section.open = true;
    """
    console.script(code, OPENED)


def listed(site: Installation, path: str) -> str:
    status, answer = site.request("GET", path)
    assert status == 200
    return str(len(answer["items"]))


def test_the_frame_asks_one_question_for_all_kinds(console: Console, world: Installation) -> None:
    console.open("/me")
    console.see("Last used")
    requests_of(console)
    console.open("/t/demo/core/limitranges?namespace=counted")
    console.until(lambda: shown_at_the_side(console).get("configmaps"))
    open_sections(console)
    console.until(lambda: shown_at_the_side(console).get("nodes"))
    console.until(lambda: shown_at_the_side(console).get("componentstatuses"))
    asked = requests_of(console)
    shown = shown_at_the_side(console)
    assert len(shown) > 30, "kinds have their numbers"
    assert [path for method, path in asked if path == COUNTS] == [COUNTS]
    lists = {path.rpartition("/")[2] for method, path in asked if method == "GET"}
    counted = {name.split(".")[0] for name in shown} - {"limitranges", "namespaces", "events"}
    # what is no stored object has to be listed: of these there is one kind
    assert lists & counted == {"componentstatuses"}


def test_numbers_are_those_of_lists(console: Console, world: Installation) -> None:
    console.open("/t/demo/core/limitranges?namespace=counted")
    console.until(lambda: shown_at_the_side(console).get("configmaps"))
    open_sections(console)
    console.until(lambda: shown_at_the_side(console).get("nodes"))
    shown = shown_at_the_side(console)
    assert shown["configmaps"] == listed(world, MAPS)
    assert shown["secrets"] == "0"
    assert shown["namespaces"] == listed(world, f"{ROOT}/namespaces"), "which are in none"
    console.open("/t/demo/core/limitranges")
    console.until(lambda: shown_at_the_side(console).get("configmaps"))
    assert shown_at_the_side(console)["configmaps"] == listed(world, f"{ROOT}/configmaps")


def test_a_recount_of_a_tenants_page_is_one_question(console: Console, world: Installation) -> None:
    def on_the_page(plural: str) -> str:
        found = console.script(
            "return document.querySelector(`dl.counts a[title='${arguments[0]}']`)"
            "?.closest('dt').nextElementSibling.textContent ?? ''",
            plural,
        )
        return str(found)

    console.open("/t/demo/")
    before = int(console.until(lambda: on_the_page("configmaps")))
    requests_of(console)
    assert world.request("POST", MAPS, {"metadata": {"name": "later"}})[0] == 201
    console.until(lambda: on_the_page("configmaps") == str(before + 1))
    asked = [path for _, path in requests_of(console)]
    assert COUNTS in asked
    lists = {path.rpartition("/")[2] for path in asked if path != COUNTS}
    # the first says whether anything was written; the second are no stored objects
    assert lists <= {"namespaces", "componentstatuses"}


HELD = """
const ask = window.fetch;
window.fetch = async (address, options) => {
  const answer = await ask(address, options);
  if (!String(address).includes("/objectcounts") || window.held) return answer;
  await new Promise((resolve) => (window.held = resolve));
  return answer;
};
"""
"""The first answer with counts waits until somebody calls `held`."""


def test_what_is_written_while_a_tenants_page_counts_is_shown(
    somebody: Console, world: Installation
) -> None:
    somebody.log_in("operator")
    somebody.browser.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": HELD})
    somebody.open("/t/demo/")
    somebody.until(lambda: somebody.script("return Boolean(window.held)"))
    assert world.request("POST", MAPS, {"metadata": {"name": "meanwhile"}})[0] == 201
    somebody.script("held()")
    number = listed(world, f"{ROOT}/configmaps")
    shown = "return document.querySelector(`dl.counts a[title=configmaps]`)"
    shown += "?.closest('dt').nextElementSibling.textContent"
    somebody.until(lambda: somebody.script(shown) == number)


def test_who_may_list_some_is_told_of_those_and_asks_no_more(
    somebody: Console, world: Installation
) -> None:
    rbac = "/clusters/demo/apis/rbac.authorization.k8s.io/v1"
    rule = {"apiGroups": [""], "resources": ["configmaps", "namespaces"], "verbs": ["list", "get"]}
    role = {"metadata": {"name": "counts"}, "rules": [rule]}
    assert world.request("POST", f"{rbac}/clusterroles", role)[0] == 201
    bound = {
        "metadata": {"name": "counts"},
        "roleRef": {
            "apiGroup": "rbac.authorization.k8s.io",
            "kind": "ClusterRole",
            "name": "counts",
        },
        "subjects": [{"kind": "User", "name": "nobody"}],
    }
    assert world.request("POST", f"{rbac}/clusterrolebindings", bound)[0] == 201
    somebody.log_in("nobody")
    requests_of(somebody)
    somebody.open("/t/demo/core/configmaps?namespace=counted")
    somebody.until(lambda: shown_at_the_side(somebody).get("configmaps"))
    open_sections(somebody)
    somebody.until(lambda: shown_at_the_side(somebody).get("namespaces"))
    shown = shown_at_the_side(somebody)
    assert {name for name, number in shown.items() if number} == {"configmaps", "namespaces"}
    asked = [path for _, path in requests_of(somebody)]
    assert asked.count(COUNTS) == 1
    assert not [path for path in asked if path.endswith("/secrets")], "nothing that is refused"
