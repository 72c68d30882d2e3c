"""The page of definitions: versions, what is stored in old ones, conditions, objects and users."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import quote

from tests.support.consolebrowser import Console
from tests.support.consolechanges import Changes, get

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
MIGRATIONS = "/apis/storagemigration.k8s.io/v1beta1/storageversionmigrations"
PAGE = "/t/demo/crds"
SETTINGS = {
    "POLYPLANE_RUNTIME_CONFIG": "storagemigration.k8s.io/v1beta1=true",
    "POLYPLANE_FEATURE_GATES": "StorageVersionMigrator=true",
}
GROUP = "defs.example.com"
HOSTILE = "<img src=x onerror=window.hacked=1>"


def version(name: str, **more: Any) -> dict[str, Any]:
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    return {
        "name": name,
        "served": True,
        "storage": False,
        "schema": {"openAPIV3Schema": schema},
        **more,
    }


def define(
    console: Console, plural: str, kind: str, *versions: dict[str, Any], manager: str = "tests"
) -> None:
    names = {"plural": plural, "singular": kind.lower(), "kind": kind}
    spec = {"group": GROUP, "scope": "Namespaced", "names": names, "versions": list(versions)}
    obj = {"metadata": {"name": f"{plural}.{GROUP}"}, "spec": spec}
    path = f"/clusters/demo{DEFINITIONS}?fieldManager={quote(manager)}"
    status, answer = console.installation.request("POST", path, obj)
    assert status == 201, answer


def change(console: Console, plural: str, *versions: dict[str, Any]) -> None:
    path = f"/clusters/demo{DEFINITIONS}/{plural}.{GROUP}?fieldManager=later"
    body = {"spec": {"versions": list(versions)}}
    status, answer = console.installation.request(
        "PATCH", path, body, "application/merge-patch+json"
    )
    assert status == 200, answer


def make(console: Console, plural: str, kind: str, version: str, name: str) -> None:
    path = f"/clusters/demo/apis/{GROUP}/{version}/namespaces/shop/{plural}?fieldManager=writer"
    obj = {"apiVersion": f"{GROUP}/{version}", "kind": kind, "metadata": {"name": name}, "a": "b"}
    console.until(lambda: console.installation.request("POST", path, obj)[0] in (201, 409))


def row(console: Console, plural: str) -> str:
    """What its line says; "" as long as there is none."""
    name = f"{plural}.{GROUP}"
    lines = console.script(
        "return [...document.querySelectorAll('main tbody tr')].map((row) => row.innerText)"
    )
    return next((line for line in lines if line.startswith(name)), "")


def old_and_new(console: Console, plural: str, kind: str) -> None:
    """An object is stored in v1alpha1, which is not the storage version any more."""
    define(console, plural, kind, version("v1alpha1", storage=True))
    make(console, plural, kind, "v1alpha1", "one")
    warning = {"deprecated": True, "deprecationWarning": HOSTILE}
    change(console, plural, version("v1alpha1", **warning), version("v1", storage=True))


def test_versions_objects_and_the_way_out_of_old_ones(console: Console) -> None:
    old_and_new(console, "movers", "Mover")
    console.open(PAGE)
    console.until(lambda: "v1 · storage" in row(console, "movers"))
    line = row(console, "movers")
    assert "v1alpha1 · deprecated" in line and "later, tests" in line
    assert "in no namespace" not in line
    console.until(lambda: row(console, "movers").split("\t")[2] == "1")
    console.one(".migrate").click()
    console.one("dialog button[type=submit]").click()
    console.until(lambda: console.all(".migrate") == [])
    path = f"{DEFINITIONS}/movers.{GROUP}"
    console.until(lambda: get(console, path)["status"]["storedVersions"] == ["v1"])
    console.until(lambda: row(console, "movers").split("\t")[4].strip() == "v1")
    assert get(console, MIGRATIONS)["items"][0]["spec"]["resource"]["resource"] == "movers"


def test_what_is_not_good_is_red_and_new_ones_come_by_themselves(console: Console) -> None:
    define(console, "firsts", "First", version("v1", storage=True))
    console.open(PAGE)
    console.until(lambda: "good" in row(console, "firsts"))
    define(console, "seconds", "First", version("v1", storage=True), manager=HOSTILE)
    console.until(lambda: "NamesAccepted=False" in row(console, "seconds"))
    red = [element.text for element in console.all("main td .bad")]
    assert any("NamesAccepted=False" in text for text in red)
    assert HOSTILE in row(console, "seconds")
    assert console.script("return window.hacked ?? null") is None


_HELD = """
const ask = window.fetch, held = new Promise((resolve) => (window.go = resolve));
window.fetch = async (address, options) => {
  if (/customresourcedefinitions[?].*limit=1(&|$)/.test(String(address)) && !window.asked) {
    window.asked = true;
    await held;
  }
  return ask(address, options);
};
"""
"""The first question for the tenant's version waits until somebody calls `go`."""


def test_what_comes_while_the_page_is_opened_is_not_missed(somebody: Console) -> None:
    """The change is one write: a later one would show it all the same."""
    define(somebody, "meanwhiles", "Meanwhile", version("v1", storage=True))
    somebody.log_in("operator")
    somebody.open(PAGE)
    somebody.until(lambda: "good" in row(somebody, "meanwhiles"))
    somebody.browser.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": _HELD})
    somebody.open(PAGE)
    somebody.until(lambda: somebody.script("return window.asked"))
    path = f"/clusters/demo{DEFINITIONS}/meanwhiles.{GROUP}?fieldManager=late-comer"
    label = {"metadata": {"labels": {"late": "yes"}}}
    merge = "application/merge-patch+json"
    assert somebody.installation.request("PATCH", path, label, merge)[0] == 200
    somebody.script("go()")
    somebody.until(lambda: "late-comer" in row(somebody, "meanwhiles"))


def test_who_writes_them_and_who_may(console: Console) -> None:
    define(console, "useds", "Used", version("v1", storage=True))
    make(console, "useds", "Used", "v1", "one")
    console.open(PAGE)
    console.until(lambda: row(console, "useds"))
    buttons = console.script(
        "return [...document.querySelectorAll('main tbody tr')]"
        ".find((row) => row.innerText.startsWith(arguments[0]))"
        ".querySelectorAll('button, a.button')",
        f"useds.{GROUP}",
    )
    buttons[0].click()
    console.see("Of 1 object.")
    assert "writer" in console.one("dialog").text
    console.one("dialog button[aria-label=Close]").click()
    buttons[1].click()
    console.see(f"Who may create useds.{GROUP}")


def test_a_viewer_sees_them_and_migrates_nothing(console: Console, somebody: Console) -> None:
    old_and_new(console, "lookeds", "Looked")
    somebody.log_in("viewer")
    somebody.open(PAGE)
    somebody.until(lambda: "v1 · storage" in row(somebody, "lookeds"))
    somebody.one('[aria-label="Why not: Migrate"]')
    assert somebody.all(".migrate:not([disabled])") == []
    wanted = {"group": GROUP, "resource": "lookeds"}
    body = json.dumps({"metadata": {"name": "forced"}, "spec": {"resource": wanted}})
    changes = Changes(somebody)
    assert changes.force("POST", f"/clusters/demo{MIGRATIONS}", body) == 403
    changes.expect(403)


def test_who_may_not_list_them_is_told(somebody: Console) -> None:
    somebody.log_in("nobody")
    somebody.open(PAGE)
    somebody.see('cannot list resource "customresourcedefinitions"')


def test_each_condition_that_is_not_good_has_a_line_of_its_own(console: Console) -> None:
    define(console, "ones", "Twin", version("v1", storage=True))
    define(console, "others", "Twin", version("v1", storage=True))
    console.open(PAGE)
    console.until(lambda: "NamesAccepted=False" in row(console, "others"))
    told = [line for line in row(console, "others").split("\n") if "=False " in line]
    assert len(told) == 2 and all(line.count("=False ") == 1 for line in told)
