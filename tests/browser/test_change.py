"""Editing: completion, the server's dry run, the difference, the store; and what is in the way."""

from __future__ import annotations

import json
from typing import Any

import pytest
from selenium.webdriver.common.keys import Keys

from tests.support.consolebrowser import Console
from tests.support.consolechanges import Changes, apply, get, manager_of

MAPS = "/api/v1/namespaces/shop/configmaps"
ADMIN = "/clusters/demo/apis/admissionregistration.k8s.io/v1"
SCRIPT = "<img src=x onerror=window.hacked=1><script>window.hacked=1</script>"


@pytest.fixture
def changes(console: Console) -> Changes:
    return Changes(console)


def config_map(name: str, data: dict[str, str], **metadata: Any) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, **metadata},
        "data": data,
    }


def test_an_edit_is_applied_by_its_manager_and_takes_no_other_field(changes: Changes) -> None:
    console = changes.console
    apply(console, f"{MAPS}/one", "git", config_map("one", {"a": "1", "b": "2"}))
    changes.edit("core", "configmaps", "shop", "one")
    changes.replace("data:\n", 'data:\n  c: "3"\n')
    changes.review()
    assert changes.lines("added") == ['c: "3"'] and changes.lines("removed") == []
    assert "data" in get(console, f"{MAPS}/one") and "c" not in get(console, f"{MAPS}/one")["data"]
    changes.store()
    stored = get(console, f"{MAPS}/one")
    assert stored["data"] == {"a": "1", "b": "2", "c": "3"}
    assert manager_of(stored, "data", "c") == {("polyplane-console", "Apply")}
    assert manager_of(stored, "data", "a") == {("git", "Apply")}


def test_a_second_edit_keeps_what_the_first_one_applied(changes: Changes) -> None:
    console = changes.console
    apply(console, f"{MAPS}/two", "git", config_map("two", {"a": "1"}))
    for name in ("b", "c"):
        changes.edit("core", "configmaps", "shop", "two")
        changes.replace("data:\n", f'data:\n  {name}: "x"\n')
        changes.review()
        changes.store()
    assert get(console, f"{MAPS}/two")["data"] == {"a": "1", "b": "x", "c": "x"}
    changes.edit("core", "configmaps", "shop", "two")
    changes.replace("  b: x\n", "")
    changes.review()
    assert changes.lines("removed") == ["b: x"]
    assert "it would be applied" in console.text()
    changes.store()
    assert get(console, f"{MAPS}/two")["data"] == {"a": "1", "c": "x"}


def test_one_field_is_put_back_from_the_history(changes: Changes) -> None:
    console = changes.console
    for value in "before", "after":
        apply(console, f"{MAPS}/back", "git", config_map("back", {"a": value, "b": value}))
    console.open("/t/demo/core/configmaps/shop/back?tab=history")
    console.one("details.put-back[open] li")
    (row,) = [r for r in console.all("details.put-back li") if ".data.a" in r.text]
    assert '"before"' in row.text
    row.find_element("css selector", "a").click()
    console.see(".data.a has its value of revision")
    assert "git (applied)" in changes.refusal("conflict"), "it is reviewed at once"
    assert console.one(".field-panel h2").text == "data.a", "where the cursor is"
    changes.choose("take")
    console.complaints()  # of the 409
    assert changes.lines("added") == ["a: before"]
    assert changes.lines("removed") == ["a: after"]
    assert "nothing is stored yet" in console.text()


def test_a_field_that_nobody_else_owns_is_put_back_in_two_clicks(changes: Changes) -> None:
    console = changes.console
    for value in "before", "after":
        apply(console, f"{MAPS}/mine", "polyplane-console", config_map("mine", {"a": value}))
    console.open("/t/demo/core/configmaps/shop/mine?tab=history")
    console.one("details.put-back[open] li a").click()
    console.one("#store").click()
    console.see("ConfigMap mine is stored")
    assert get(console, f"{MAPS}/mine")["data"] == {"a": "before"}


def test_what_apply_cannot_take_away_goes_by_an_update(changes: Changes) -> None:
    console = changes.console
    apply(console, f"{MAPS}/three", "git", config_map("three", {"a": "1", "b": "2"}))
    changes.edit("core", "configmaps", "shop", "three")
    changes.replace('  b: "2"\n', "")
    changes.review()
    assert "git" in changes.refusal("conflict") and "data.b" in changes.refusal("conflict")
    changes.choose("take")
    console.see("sent as an update")
    changes.store()
    assert get(console, f"{MAPS}/three")["data"] == {"a": "1"}


def test_fields_are_completed_and_described(changes: Changes) -> None:
    console = changes.console
    console.open("/t/demo/apps/deployments/new?namespace=shop")
    console.one("#review")
    changes.replace("spec:\n  replicas: 1", "spec:\n  rep\n  minReadySeconds: 0")
    changes.type_after("  rep", "l")
    tooltip = "return document.querySelector('.editor').shadowRoot.querySelector('{}')?.innerText"
    listed = tooltip.format(".cm-tooltip-autocomplete")
    console.until(lambda: "replicas" in (console.script(listed) or ""))
    console.until(lambda: "Number of desired pods" in (console.script(listed) or ""))
    changes.keys(Keys.ENTER)
    console.until(lambda: "  replicas: \n" in changes.text())
    console.until(lambda: "Number of desired pods" in console.one(".field-panel").text)


def test_what_the_server_puts_in_is_marked(changes: Changes) -> None:
    console = changes.console
    service = {"metadata": {"name": "web"}, "spec": {"ports": [{"port": 80}]}}
    path = "/clusters/demo/api/v1/namespaces/shop/services"
    assert console.installation.request("POST", path, service)[0] == 201
    changes.edit("core", "services", "shop", "web")
    changes.replace("  ports:\n", "  ports:\n  - name: more\n    port: 81\n")
    changes.replace("  - port: 80\n", "  - name: first\n    port: 80\n")
    changes.review()
    assert changes.lines("server") == ["targetPort: 81"]
    assert "put in or changed by the server" in console.text()


def test_strict_validation_leads_to_the_line(changes: Changes) -> None:
    console = changes.console
    apply(console, f"{MAPS}/four", "git", config_map("four", {"a": "1"}))
    changes.edit("core", "configmaps", "shop", "four")
    changes.replace("metadata:", "dada: {}\nmetadata:")
    changes.review()
    assert "dada" in changes.refusal("invalid")
    changes.replace("dada: {}\n", "")
    changes.replace("data:\n", "data:\n  n: 5\n")
    changes.review()
    console.until(lambda: "data.n" in changes.refusal("invalid"))
    assert get(console, f"{MAPS}/four")["data"] == {"a": "1"}
    changes.expect(400, 500, 422)


def test_a_later_version_is_merged(changes: Changes) -> None:
    console = changes.console
    apply(console, f"{MAPS}/five", "git", config_map("five", {"a": "1", "b": "1", "c": "1"}))
    changes.edit("core", "configmaps", "shop", "five")
    changes.replace('b: "1"', 'b: "mine"')
    changes.replace("data:\n", 'data:\n  mine: "x"\n')
    apply(console, f"{MAPS}/five", "git", config_map("five", {"a": "2", "b": "theirs", "d": "1"}))
    changes.review()
    changes.refusal("stale")
    console.one("#rebase").click()
    assert "data.b" in changes.refusal("rebased")
    changes.choose("mine")
    changes.refusal("conflict")
    changes.choose("take")
    changes.store()
    assert get(console, f"{MAPS}/five")["data"] == {"a": "2", "b": "mine", "d": "1", "mine": "x"}
    changes.expect(409)


def test_what_changes_between_review_and_store_is_not_overwritten(changes: Changes) -> None:
    console = changes.console
    apply(console, f"{MAPS}/six", "git", config_map("six", {"a": "1"}))
    changes.edit("core", "configmaps", "shop", "six")
    changes.replace("data:\n", 'data:\n  b: "1"\n')
    changes.review()
    console.one("#store")
    apply(console, f"{MAPS}/six", "git", config_map("six", {"a": "2"}))
    console.one("#store").click()
    changes.refusal("stale")
    console.one("#rebase").click()
    console.see("Nothing was in the way")
    changes.review()
    changes.store()
    assert get(console, f"{MAPS}/six")["data"] == {"a": "2", "b": "1"}
    changes.expect(409)


@pytest.mark.parametrize(
    ("choice", "value", "owners"),
    [
        ("take", "mine", {("polyplane-console", "Apply")}),
        ("leave", "git's", {("git", "Apply")}),
    ],
)
def test_a_field_of_others_is_taken_over_or_left(
    changes: Changes, choice: str, value: str, owners: set[tuple[str, str]]
) -> None:
    console, name = changes.console, f"seven-{choice}"
    apply(console, f"{MAPS}/{name}", "git", config_map(name, {"a": "git's"}))
    changes.edit("core", "configmaps", "shop", name)
    changes.replace("a: git's", "a: mine\n  own: x")
    changes.review()
    said = changes.refusal("conflict")
    assert "data.a" in said and "git" in said
    changes.choose(choice)
    changes.store()
    stored = get(console, f"{MAPS}/{name}")
    assert stored["data"] == {"a": value, "own": "x"}
    assert manager_of(stored, "data", "a") == owners
    changes.expect(409)


def test_an_object_that_has_gone_is_not_made_anew(changes: Changes) -> None:
    console = changes.console
    apply(console, f"{MAPS}/eight", "git", config_map("eight", {"a": "1"}))
    changes.edit("core", "configmaps", "shop", "eight")
    changes.replace("data:\n", 'data:\n  b: "1"\n')
    assert console.installation.request("DELETE", f"/clusters/demo{MAPS}/eight")[0] == 200
    changes.review()
    changes.refusal("gone")
    assert console.installation.request("GET", f"/clusters/demo{MAPS}/eight")[0] == 404
    changes.expect(404, 409)


def test_numbers_quantities_and_empty_values_survive(changes: Changes) -> None:
    console = changes.console
    free = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": free}}},
    }
    names = {"kind": "Count", "plural": "counts", "singular": "count", "listKind": "CountList"}
    definition = {
        "metadata": {"name": "counts.numbers.dev"},
        "spec": {
            "group": "numbers.dev",
            "scope": "Namespaced",
            "names": names,
            "versions": [version],
        },
    }
    crds = "/clusters/demo/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    assert console.installation.request("POST", crds, definition)[0] == 201
    spec: dict[str, Any] = {
        "large": 9007199254740993,
        "larger": -9223372036854775808,
        "memory": "1Gi",
        "half": 0.5,
        "none": [],
        "nothing": {},
        "text": "0644",
        "yes": "yes",
        "nested": {"large": [9007199254740993, {"n": 9007199254740995}]},
    }
    path = "/apis/numbers.dev/v1/namespaces/shop/counts"
    obj = {"apiVersion": "numbers.dev/v1", "kind": "Count", "metadata": {"name": "n"}, "spec": spec}
    console.until(
        lambda: console.installation.request("POST", f"/clusters/demo{path}", obj)[0] in {201, 409}
    )
    console.until(lambda: "numbers.dev" in json.dumps(get(console, "/apis")))
    changes.edit("numbers.dev", "counts", "shop", "n")
    assert "large: 9007199254740993" in changes.text()
    changes.replace("half: 0.5", "half: 0.5\n  more: 9007199254740997\n  nil: null")
    changes.review()
    changes.store()
    stored = get(console, f"{path}/n")["spec"]
    assert stored == {**spec, "more": 9007199254740997, "nil": None}
    changes.edit("numbers.dev", "counts", "shop", "n")
    changes.replace("  half: 0.5\n", "")
    changes.review()
    console.see("sent as an update")
    changes.store()
    after = get(console, f"{path}/n")["spec"]
    assert after == {k: v for k, v in stored.items() if k != "half"}


def test_values_of_secrets_are_out_of_sight_and_kept(changes: Changes) -> None:
    console = changes.console
    path = "/api/v1/namespaces/shop/secrets"
    secret = {"metadata": {"name": "key"}, "data": {"a": "c2VjcmV0LWE=", "b": "c2VjcmV0LWI="}}
    assert console.installation.request("POST", f"/clusters/demo{path}", secret)[0] == 201
    changes.edit("core", "secrets", "shop", "key")
    assert "c2VjcmV0" not in changes.text()
    changes.replace("b: (hidden, keeps its value)", "b: bmV3\n  c: bW9yZQ==")
    changes.review()
    assert "hidden" in changes.refusal("conflict")
    assert "bmV3" not in console.text() and "c2VjcmV0" not in console.text()
    changes.choose("take")
    console.one("table.difference")
    assert "bmV3" not in console.text() and "bW9yZQ" not in console.text()
    changes.store()
    assert get(console, f"{path}/key")["data"] == {
        "a": "c2VjcmV0LWE=",
        "b": "bmV3",
        "c": "bW9yZQ==",
    }
    changes.expect(409)


def test_a_new_object_begins_with_a_template(changes: Changes) -> None:
    console = changes.console
    console.open("/t/demo/apps/deployments/new?namespace=shop")
    console.one("#review")
    changes.replace("  name: example\n", "  name: fresh\n")
    changes.review()
    assert "imagePullPolicy: IfNotPresent" in changes.lines("server")
    changes.store()
    stored = get(console, "/apis/apps/v1/namespaces/shop/deployments/fresh")
    assert manager_of(stored, "spec", "replicas") == {("polyplane-console", "Update")}
    changes.edit("apps", "deployments", "shop", "fresh")
    changes.replace("  replicas: 1", "  replicas: 3")
    changes.review()
    changes.store()
    stored = get(console, "/apis/apps/v1/namespaces/shop/deployments/fresh")
    assert stored["spec"]["replicas"] == 3
    assert ("polyplane-console", "Apply") in manager_of(stored, "spec", "replicas")
    changes.expect(409)


def test_strings_of_others_are_text_and_nothing_else(changes: Changes) -> None:
    console = changes.console
    apply(
        console,
        f"{MAPS}/nine",
        SCRIPT.replace(" ", "%20").replace("<", "%3C").replace(">", "%3E"),
        config_map("nine", {"a": SCRIPT}, annotations={"note": SCRIPT}),
    )
    changes.edit("core", "configmaps", "shop", "nine")
    changes.replace("  a: ", "  b: ")
    changes.replace("data:\n", f"data:\n  a: x{SCRIPT}\n")
    changes.review()
    assert SCRIPT in changes.refusal("conflict")
    changes.choose("take")
    assert any(SCRIPT in line for line in changes.lines("removed"))
    console.open("/t/demo/core/configmaps/new?namespace=shop")
    console.one("#review")
    changes.replace("name: example", f"name: '{SCRIPT}'")
    changes.review()
    assert SCRIPT in changes.refusal("invalid")
    assert console.script("return window.hacked ?? null") is None
    assert console.all(".refusal img, .refusal script") == []
    changes.expect(409, 422)
