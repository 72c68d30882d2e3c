"""The page of one object: YAML, blame, history, owners, and what holds it, in a real Chromium."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from selenium.webdriver.common.by import By

from tests.support.consolebrowser import Console
from tests.support.installation import Installation, eventually

CORE = "/clusters/demo/api/v1"
MAPS = f"{CORE}/namespaces/shop/configmaps"
SECRETS = f"{CORE}/namespaces/shop/secrets"
RBAC = "/clusters/demo/apis/rbac.authorization.k8s.io/v1/namespaces/shop"
PAGE = "/t/demo/core/configmaps/shop"
_HEADS = "return [...document.querySelectorAll('.panel h2')].map((e) => e.innerText)"
MERGE = "application/merge-patch+json"
APPLY = "application/apply-patch+yaml"
HOSTILE = "<img src=x onerror=alert(1)>"


def made(site: Installation, path: str, obj: dict[str, Any], manager: str = "one") -> Any:
    status, found = site.request("POST", f"{path}?fieldManager={manager}", obj)
    assert status == 201, found
    return found


def changed(site: Installation, path: str, change: Any, manager: str, type: str = MERGE) -> Any:
    status, found = site.request("PATCH", f"{path}?fieldManager={manager}", change, type)
    assert status < 300, found
    return found


def config_map(name: str, **data: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


def lines(console: Console) -> list[str]:
    """The YAML on the page."""
    return [e.get_property("textContent") for e in console.all(".code .line > code")]


def press(console: Console, selector: str) -> None:
    console.one(selector).click()


def confirm(console: Console, typed: str = "") -> None:
    """In the dialog: types, where that is asked for, and agrees."""
    if typed:
        console.one("dialog input").send_keys(typed)
    press(console, "dialog button[type=submit]")


# --- YAML -----------------------------------------------------------------------------------------
def test_yaml_is_kubectls_and_a_change_is_seen(console: Console, site: Installation) -> None:
    made(site, MAPS, config_map("plain", on="yes", text="a\nb\n", port="8080"))
    console.open(f"{PAGE}/plain")
    console.see("apiVersion: v1")
    found = lines(console)
    begin = found.index("data:")
    assert found[begin + 1 : begin + 6] == [
        '  "on": "yes"',
        '  port: "8080"',
        "  text: |",
        "    a",
        "    b",
    ]
    assert not any("managedFields" in line for line in found)
    press(console, "#managed-fields")
    console.see("managedFields:")
    changed(site, f"{MAPS}/plain", {"data": {"late": "came"}}, "two")
    console.see("late: came")
    assert [e.get_property("textContent") for e in console.all(".line.fresh > code")]


def test_a_label_leads_to_all_that_have_it(console: Console, site: Installation) -> None:
    for name, labels in ("chip-a", {"chip": "x", "bare": ""}), ("chip-b", {"chip": "y"}):
        made(site, MAPS, {"metadata": {"name": name, "labels": labels}})
    for text in "chip=x", "bare=":
        console.open(f"{PAGE}/chip-a")
        console.see("chip=x")
        next(e for e in console.all(".chips .chip") if e.text == text).click()
        console.until(lambda: console.all("tr[data-key='shop/chip-a']"))
        console.until(lambda: "1 object" in console.one(".footer").text)
        assert not console.all("tr[data-key='shop/chip-b']")


def test_parts_fold(console: Console, site: Installation) -> None:
    made(site, MAPS, config_map("folded", first="1", second="2"))
    console.open(f"{PAGE}/folded")
    console.see("second:")
    console.until(lambda: console.all("button.fold[aria-label=Fold]"))
    next(
        b for b in console.all("button.fold") if "data:" in b.find_element(By.XPATH, "..").text
    ).click()
    console.gone("second:")
    assert "data: … 2 lines" in lines(console)


def test_a_secret_shows_its_values_when_asked(console: Console, site: Installation) -> None:
    value = "czNjcmV0LXZhbHVl"  # s3cret-value
    body = {"metadata": {"name": "token"}, "type": "Opaque", "data": {"key": value}}
    made(site, SECRETS, body)
    console.open("/t/demo/core/secrets/shop/token")
    console.see("key: ••••••")
    console.see("type: Opaque")
    page = console.script("return document.documentElement.outerHTML")
    assert value not in page and "s3cret-value" not in page
    assert value not in responses(console), "it has not even come to the browser"
    press(console, "#reveal")
    console.see("s3cret-value")
    assert f"  key: {value}" in lines(console)
    press(console, "#reveal")
    console.gone("s3cret-value")
    console.see("key: ••••••")
    version = site.request("GET", f"{SECRETS}/token")[1]["metadata"]["resourceVersion"]
    console.open(f"/t/demo/core/secrets/shop/token?revision={version}")
    console.see("values of a Secret as they were")
    assert not lines(console)
    press(console, "#reveal-revision")
    console.see(f"key: {value}")


def responses(console: Console) -> str:
    """The bodies of what the page has asked for, asked for again by the same requests."""
    return str(
        console.browser.execute_async_script(
            """
            const done = arguments[0];
            const urls = performance.getEntriesByType("resource").map((entry) => entry.name)
              .filter((url) => url.includes("/secrets?") && !url.includes("watch="));
            const accept = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";
            const text = (url) => fetch(url, {headers: {Accept: accept}}).then((r) => r.text());
            Promise.all(urls.map(text)).then((texts) => done(texts.join()));
            """
        )
    )


# --- blame ----------------------------------------------------------------------------------------
def test_blame_tells_three_managers_apart(console: Console, site: Installation) -> None:
    made(site, MAPS, config_map("blamed", a="1", z="1"), "one")
    changed(site, f"{MAPS}/blamed", {"data": {"b": "2"}}, "two")
    applied = json.dumps(config_map("blamed", c="3", b="2"))
    last = changed(site, f"{MAPS}/blamed", json.loads(applied), "three", APPLY)
    console.open(f"{PAGE}/blamed?tab=blame")
    console.see("three (apply)")
    heads = console.one(".blame .heads").text.split("\n")
    assert heads == ["Manager", "User", "Age", "Revision"]
    told = {name: gutter(console, f"  {name}:") for name in "abcz"}
    assert told["a"].startswith("one (update)")
    assert told["b"].startswith("two (update)"), "it gave the value; three only shares it"
    assert (
        told["c"].startswith("three (apply)") and last["metadata"]["resourceVersion"] in told["c"]
    )
    assert told["z"].startswith("one (update)")
    select = console.one("#manager")
    select.send_keys("three (apply)")
    console.until(lambda: console.all(".line.faint"))
    bright = [e.text for e in console.all(".line:not(.faint) > code")]
    assert 'b: "2"' in " ".join(bright) and 'a: "1"' not in " ".join(bright)
    console.one("#applier").send_keys("three")
    console.see("would conflict at 3 of 4 fields")
    met = [e.text.strip() for e in console.all(".line.conflicts > code")]
    assert met == ['a: "1"', 'b: "2"', 'z: "1"']


def gutter(console: Console, begin: str) -> str:
    """What stands beside a line, or beside the line above that it shares its blame with."""
    told = ""
    for line in console.all(".blame .line"):
        own = line.find_element(By.CSS_SELECTOR, ".gutter").text
        told = own or told
        if str(line.find_element(By.CSS_SELECTOR, "code").get_property("textContent")).startswith(
            begin
        ):
            return told.replace("\n", " ")
    raise AssertionError(f"no line begins with {begin}")


# --- history --------------------------------------------------------------------------------------
def test_a_rollback_is_shown_before_it_is_done(console: Console, site: Installation) -> None:
    first = made(site, MAPS, config_map("rolled", replicas="2"))["metadata"]["resourceVersion"]
    changed(site, f"{MAPS}/rolled", {"data": {"replicas": "9"}}, "two")
    console.open(f"{PAGE}/rolled?tab=history")
    console.see('+   replicas: "9"')
    press(console, f'tr[data-revision="{first}"] .restore')
    console.until(lambda: console.all("dialog .diff"))
    assert '-   replicas: "9"' in console.one("dialog").text
    assert site.request("GET", f"{MAPS}/rolled")[1]["data"] == {"replicas": "9"}
    confirm(console)
    eventually(lambda: site.request("GET", f"{MAPS}/rolled")[1]["data"] == {"replicas": "2"})
    console.see(f"rollback of {first}")


def test_what_a_revision_changed_is_one_click_away(console: Console, site: Installation) -> None:
    versions = [made(site, MAPS, config_map("often", n="1"))["metadata"]["resourceVersion"]]
    for n in "23":
        obj = changed(site, f"{MAPS}/often", {"data": {"n": n}}, "two")
        versions.append(obj["metadata"]["resourceVersion"])
    first, second, third = versions
    console.open(f"{PAGE}/often?tab=history")
    console.see(f"From {second} to {third}")
    press(console, f"[aria-label='to revision {second}']")
    console.see(f"From {first} to {second}")
    assert console.one(f"[aria-label='from revision {first}']").is_selected()
    focused = "return document.activeElement.getAttribute('aria-label')"
    assert console.script(focused) == f"to revision {second}"
    press(console, f"[aria-label='from revision {third}']")
    console.see(f"From {second} to {third}")
    press(console, f"[aria-label='from revision {first}']")
    console.see(f"From {first} to {third}")


def test_back_leads_to_the_tab_before(console: Console, site: Installation) -> None:
    version = made(site, MAPS, config_map("returned"))["metadata"]["resourceVersion"]
    console.open(f"{PAGE}/returned?tab=history")
    press(console, f'tr[data-revision="{version}"] button.link')
    console.see(f"As it was at revision {version}")
    console.browser.back()
    console.see(f"Revision {version}, which made it")
    press(console, "a[href='?tab=events']")
    console.see("There are no events about it.")
    console.browser.back()
    console.see(f"Revision {version}, which made it")


def test_what_was_deleted_is_found_and_comes_back(console: Console, site: Installation) -> None:
    made(site, MAPS, config_map("lost", kept="safe"))
    console.open(f"{PAGE}/lost")
    console.see("kept: safe")
    assert site.request("DELETE", f"{MAPS}/lost")[0] == 200
    console.see("deleted")
    console.open(f"{PAGE}/lost")
    console.see("DELETED")
    press(console, ".restore")
    confirm(console)
    eventually(lambda: site.request("GET", f"{MAPS}/lost")[0] == 200)
    assert site.request("GET", f"{MAPS}/lost")[1]["data"] == {"kept": "safe"}
    console.gone("DELETED\n")
    console.see("undelete of")


def test_as_of_a_time(console: Console, site: Installation) -> None:
    version = made(site, MAPS, config_map("then", was="here"))["metadata"]["resourceVersion"]
    assert site.request("DELETE", f"{MAPS}/then")[0] == 200
    console.open(f"/t/demo/past?namespace=shop&resource=configmaps&at={version}")
    console.see("ConfigMap then")
    console.browser.find_element(By.PARTIAL_LINK_TEXT, "then").click()
    console.see("was: here")
    console.see(f"As it was at revision {version}")


# --- owners and what holds an object --------------------------------------------------------------
def test_owners_and_dependents_both_ways(console: Console, site: Installation) -> None:
    top = made(site, MAPS, config_map("top"))["metadata"]["uid"]
    middle = config_map("middle")
    middle["metadata"]["ownerReferences"] = [reference("top", top)]
    uid = made(site, MAPS, middle)["metadata"]["uid"]
    made(
        site, SECRETS, {"metadata": {"name": "leaf", "ownerReferences": [reference("middle", uid)]}}
    )
    console.open(f"{PAGE}/middle?tab=owners")
    console.see("Secret leaf")
    tree = console.one(".relations .tree").text
    assert tree.index("ConfigMap top") < tree.index("ConfigMap middle") < tree.index("Secret leaf")
    console.browser.find_element(By.PARTIAL_LINK_TEXT, "top").click()
    console.until(lambda: console.one("h1").text == "top")


def reference(name: str, uid: str) -> dict[str, str]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "name": name, "uid": uid}


def test_services_lead_to_endpoints_and_roles_to_subjects(
    console: Console, site: Installation
) -> None:
    port = {"port": 80}
    made(
        site,
        f"{CORE}/namespaces/shop/services",
        {"metadata": {"name": "front"}, "spec": {"ports": [port], "selector": {"app": "front"}}},
    )
    made(
        site,
        "/clusters/demo/apis/discovery.k8s.io/v1/namespaces/shop/endpointslices",
        {
            "metadata": {"name": "front-1", "labels": {"kubernetes.io/service-name": "front"}},
            "addressType": "IPv4",
            "ports": [port],
            "endpoints": [{"addresses": ["10.1.2.3"]}],
        },
    )
    console.open("/t/demo/core/services/shop/front?tab=owners")
    console.see("EndpointSlice front-1")
    console.see("10.1.2.3")
    made(site, f"{RBAC}/roles", {"metadata": {"name": "reader"}, "rules": []})
    made(
        site,
        f"{RBAC}/rolebindings",
        {
            "metadata": {"name": "readers"},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "reader"},
            "subjects": [{"kind": "ServiceAccount", "name": "default", "namespace": "shop"}],
        },
    )
    console.open("/t/demo/core/serviceaccounts/shop/default?tab=owners")
    console.see("RoleBinding readers")
    console.browser.find_element(By.PARTIAL_LINK_TEXT, "readers").click()
    console.until(lambda: console.one("h1").text == "readers")
    press(console, "a[href='?tab=owners']")
    console.see("grants Role reader")
    console.see("to ServiceAccount default")


def test_a_stuck_object_is_explained_and_freed(console: Console, site: Installation) -> None:
    held = config_map("stuck")
    held["metadata"]["finalizers"] = ["example.com/clean"]
    made(site, MAPS, held, "cleaner")
    site.request("DELETE", f"{MAPS}/stuck")
    console.open(f"{PAGE}/stuck?tab=stuck")
    console.see("a controller of example.com; cleaner has put it there")
    assert "kubectl patch configmaps/stuck -n shop --type=json" in console.text()
    assert "--context demo" in console.text(), "as the tenant's kubeconfig calls it"
    press(console, ".remove-finalizer")
    console.see("It is for a controller of example.com to do that")
    assert not console.one("dialog button[type=submit]").is_enabled()
    confirm(console, "stuck")
    console.see("nothing holds it any more")
    assert site.request("GET", f"{MAPS}/stuck")[0] == 404


def test_a_stuck_namespace_says_what_is_left(console: Console, site: Installation) -> None:
    made(site, f"{CORE}/namespaces", {"metadata": {"name": "doomed"}})
    path = f"{CORE}/namespaces/doomed/configmaps"
    held = config_map("holder")
    held["metadata"]["finalizers"] = ["example.com/clean"]
    made(site, path, held)
    site.request("DELETE", f"{CORE}/namespaces/doomed")
    console.open("/t/demo/core/namespaces/-/doomed?tab=stuck")
    console.see("NamespaceFinalizersRemaining")
    console.see("ConfigMap holder")
    heads = ["What is left in the namespace", "What holds it", "Conditions"]
    console.until(lambda: console.script(_HEADS) == heads)  # its conditions are drawn as they come
    press(console, ".remove-finalizer")
    console.see("what is left in it stays behind without one. Free that first.")
    press(console, "dialog [aria-label=Close]")
    link = (By.PARTIAL_LINK_TEXT, "holder")
    console.until(lambda: [console.browser.find_element(*link).click()])
    press(console, ".remove-finalizer")
    confirm(console, "holder")
    eventually(lambda: site.request("GET", f"{CORE}/namespaces/doomed")[0] == 404)


def test_events_come_as_they_happen(console: Console, site: Installation) -> None:
    made(site, MAPS, config_map("eventful"))
    console.open(f"{PAGE}/eventful?tab=events")
    console.see("There are no events about it.")
    about = {"kind": "ConfigMap", "namespace": "shop", "name": "eventful", "apiVersion": "v1"}
    event = {
        "metadata": {"name": "e.1"},
        "involvedObject": about,
        "type": "Warning",
        "reason": "Odd",
    }
    made(site, f"{CORE}/namespaces/shop/events", event | {"message": HOSTILE})
    console.see(HOSTILE)
    assert "Odd" in console.text()


# --- strings that would be markup, and people who may only look -----------------------------------
def test_no_string_becomes_markup(console: Console, site: Installation) -> None:
    hostile = config_map("hostile", a=HOSTILE, b="</script><script>alert(2)</script>")
    hostile["metadata"]["annotations"] = {"note": HOSTILE}
    made(site, MAPS, hostile, "%3Cimg%20src%3Dx%20onerror%3Dalert(3)%3E")
    changed(site, f"{MAPS}/hostile", {"data": {"c": HOSTILE}}, "%3Cb%3Ebold")
    bound = {
        "metadata": {"name": "hostile"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": HOSTILE},
        "subjects": [{"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": HOSTILE}],
    }
    made(site, f"{RBAC}/rolebindings", bound)
    pages = [f"{PAGE}/hostile?tab={tab}" for tab in ("yaml", "blame", "history")]
    pages.append("/t/demo/rbac.authorization.k8s.io/rolebindings/shop/hostile?tab=owners")
    pages.append(f"{PAGE}/%3Cimg%20src%3Dx%20onerror%3Dalert(4)%3E?tab=history")
    for page in pages:
        console.open(page)
        console.see("<img src=x onerror=alert(")
        assert not console.script("return document.querySelector('main img, main script')"), page


@pytest.fixture
def viewer(somebody: Console) -> Iterator[Console]:
    somebody.log_in("viewer")
    yield somebody


def test_a_viewer_looks_and_does_not_touch(viewer: Console, site: Installation) -> None:
    held = config_map("seen", a="1")
    held["metadata"]["finalizers"] = ["example.com/clean"]
    version = made(site, MAPS, held)["metadata"]["resourceVersion"]
    changed(site, f"{MAPS}/seen", {"data": {"a": "2"}}, "two")
    viewer.open(f"{PAGE}/seen")
    viewer.see('a: "2"')
    site.request("DELETE", f"{MAPS}/seen")
    viewer.see("being deleted")
    press(viewer, "a[href='?tab=stuck']")
    assert not viewer.one(".remove-finalizer").is_enabled()
    press(viewer, "a[href='?tab=history']")
    viewer.until(lambda: viewer.all("tr[data-revision] .restore"))
    assert not [button for button in viewer.all(".restore") if button.is_enabled()]
    press(viewer, "tr[data-revision] .why")
    viewer.see("create revisions/rollback of history.polyplane.dev in shop")
    press(viewer, "dialog footer button")
    press(viewer, "a[href='?tab=blame']")
    viewer.see("this is what managedFields say")
    viewer.until(lambda: viewer.all(".blame .line"))
    assert gutter(viewer, '  a: "2"').startswith("two (update)")
    assert not [c for c in viewer.complaints() if "Failed to load resource" not in c]
    root = "/apis/history.polyplane.dev/v1/namespaces/shop/revisions"
    assert forced(viewer, "POST", f"{root}/{version}/rollback") == 403
    assert forced(viewer, "PATCH", "/api/v1/namespaces/shop/configmaps/seen") == 403
    kept = site.request("GET", f"{MAPS}/seen")[1]
    assert (kept["metadata"]["finalizers"], kept["data"]) == (["example.com/clean"], {"a": "2"})


def forced(console: Console, method: str, path: str) -> int:
    """The status of a request that no button of the page sends."""
    return int(
        console.browser.execute_async_script(
            """
            const [method, path, done] = arguments;
            import("/static/console/lib/api.js").then(({ api }) =>
              api("demo").send(method, path, {data: {}}, {contentType: method === "PATCH"
                ? "application/merge-patch+json" : undefined})
              .then(() => done(200), (error) => done(error.code)));
            """,
            method,
            path,
        )
    )
