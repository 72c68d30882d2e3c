"""What is done to objects besides editing: one at a time, many at a time, and by whom not."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from selenium.webdriver.common.by import By

from tests.support.consolebrowser import Console
from tests.support.consolechanges import Changes, get
from tests.support.installation import eventually

MAPS = "/api/v1/namespaces/shop/configmaps"
DEPLOYMENTS = "/apis/apps/v1/namespaces/shop/deployments"
POLICIES = "/apis/admissionregistration.k8s.io/v1"
RBAC = "rbac.authorization.k8s.io"
RBAC_PATH = f"/apis/{RBAC}/v1"
SCRIPT = "<img src=x onerror=window.hacked=1>"


@pytest.fixture
def changes(console: Console) -> Changes:
    return Changes(console)


def make(console: Console, path: str, name: str, **members: Any) -> None:
    obj = {"metadata": {"name": name, **members.pop("metadata", {})}, **members}
    status, answer = console.installation.request("POST", f"/clusters/demo{path}", obj)
    assert status == 201, answer


def deployment(console: Console, name: str) -> None:
    labels = {"app": name}
    pod = {"containers": [{"name": "c", "image": "nginx"}]}
    template = {"metadata": {"labels": labels}, "spec": pod}
    spec = {"replicas": 1, "selector": {"matchLabels": labels}, "template": template}
    make(console, DEPLOYMENTS, name, spec=spec)


def keep_labelled(console: Console) -> None:
    """A policy that refuses to delete what is labelled keep=it, with a message of markup."""
    rule = {
        "apiGroups": [""],
        "apiVersions": ["v1"],
        "operations": ["DELETE"],
        "resources": ["configmaps"],
    }
    expression = '!(has(oldObject.metadata.labels) && "keep" in oldObject.metadata.labels)'
    spec = {
        "failurePolicy": "Fail",
        "matchConstraints": {"resourceRules": [rule]},
        "validations": [{"expression": expression, "message": f"kept {SCRIPT}"}],
    }
    make(console, f"{POLICIES}/validatingadmissionpolicies", "keep", spec=spec)
    binding = {"policyName": "keep", "validationActions": ["Deny"]}
    make(console, f"{POLICIES}/validatingadmissionpolicybindings", "keep", spec=binding)
    make(console, MAPS, "probe", metadata={"labels": {"keep": "it"}})
    path = f"/clusters/demo{MAPS}/probe?dryRun=All"
    console.until(lambda: console.installation.request("DELETE", path)[0] == 422)


def names(console: Console, path: str) -> set[str]:
    return {item["metadata"]["name"] for item in get(console, path)["items"]}


def test_a_bulk_deletion_with_one_refusal_shows_it(changes: Changes) -> None:
    console = changes.console
    keep_labelled(console)
    for name in ("bulk-a", "bulk-c"):
        make(console, MAPS, name)
    make(console, MAPS, "bulk-b", metadata={"labels": {"keep": "it"}})
    console.open("/t/demo/core/configmaps?namespace=shop")
    changes.select("bulk-a", "bulk-b", "bulk-c")
    changes.press("delete")
    changes.perform()
    console.see("2 done, 1 refused")
    results = changes.results()
    assert f"kept {SCRIPT}" in results["shop/bulk-b"] and results["shop/bulk-a"] == ""
    assert console.script("return window.hacked ?? null") is None
    assert names(console, MAPS) & {"bulk-a", "bulk-b", "bulk-c"} == {"bulk-b"}
    changes.expect(422)


def test_a_dry_run_of_many_changes_nothing(changes: Changes) -> None:
    console = changes.console
    for name in ("dry-a", "dry-b"):
        make(console, MAPS, name)
    console.open("/t/demo/core/configmaps?namespace=shop")
    changes.select("dry-a", "dry-b")
    changes.press("delete")
    console.browser.find_element(By.XPATH, "//dialog//button[text()='Dry run']").click()
    console.see("2 would be done")
    assert {"dry-a", "dry-b"} <= names(console, MAPS)
    changes.perform()
    console.see("2 objects done")
    console.until(lambda: not {"dry-a", "dry-b"} & names(console, MAPS))


def test_labels_of_many_are_set_and_none_overwritten_unasked(changes: Changes) -> None:
    console = changes.console
    make(console, MAPS, "label-a", metadata={"labels": {"team": "blue", "old": "1"}})
    make(console, MAPS, "label-b", data={"a": "1"})
    console.open("/t/demo/core/configmaps?namespace=shop")
    changes.select("label-a", "label-b")
    changes.press("label")
    console.one("dialog textarea").send_keys("team=red\nold-")
    changes.perform()
    console.see("1 done, 1 refused")
    assert changes.results()["shop/label-a"] == "team is blue: not overwritten"
    console.one("dialog .what input[type=checkbox]").click()
    changes.perform()
    console.until(lambda: not console.all("dialog"))
    for name in ("label-a", "label-b"):
        stored = get(console, f"{MAPS}/{name}")
        assert stored["metadata"]["labels"] == {"team": "red"}
        managers = [entry["manager"] for entry in stored["metadata"]["managedFields"]]
        assert "polyplane-console" in managers


def test_annotations_are_set(changes: Changes) -> None:
    console = changes.console
    make(console, MAPS, "note-a")
    console.open("/t/demo/core/configmaps?namespace=shop")
    changes.select("note-a")
    changes.press("annotate")
    console.one("dialog textarea").send_keys(f"example.com/note=a = {SCRIPT}")
    changes.perform()
    console.until(lambda: not console.all("dialog"))
    stored = get(console, f"{MAPS}/note-a")["metadata"]["annotations"]
    assert stored == {"example.com/note": f"a = {SCRIPT}"}


def test_a_deployment_is_scaled_and_restarted(changes: Changes) -> None:
    console = changes.console
    deployment(console, "moving")
    console.open("/t/demo/apps/deployments?namespace=shop")
    changes.select("moving")
    changes.press("scale")
    console.one("dialog input[type=number]").send_keys("4")
    changes.perform()
    console.until(lambda: get(console, f"{DEPLOYMENTS}/moving")["spec"]["replicas"] == 4)
    console.until(lambda: not console.all("dialog"))
    changes.press("restart")
    changes.perform()
    at = "kubectl.kubernetes.io/restartedAt"
    template = lambda: get(console, f"{DEPLOYMENTS}/moving")["spec"]["template"]  # noqa: E731
    console.until(lambda: at in template()["metadata"].get("annotations", {}))


def test_what_is_typed_takes_the_place_of_what_is_preset(changes: Changes) -> None:
    console = changes.console
    deployment(console, "typed")
    before = get(console, f"{DEPLOYMENTS}/typed")["spec"]["replicas"]
    console.open("/t/demo/apps/deployments/shop/typed")
    changes.press("scale")
    console.see(f"Replicas (now {before})")
    console.browser.switch_to.active_element.send_keys("3")
    changes.perform()
    console.until(lambda: get(console, f"{DEPLOYMENTS}/typed")["spec"]["replicas"] == 3)


def test_reports_are_written_by_nobody(changes: Changes) -> None:
    console = changes.console
    console.open("/t/demo/core/configmaps")
    console.one("main .toolbar .change-bar [data-action=new]")
    for place in "core/events", "events.k8s.io/events":
        console.open(f"/t/demo/{place}")
        console.until(lambda: console.all("main .toolbar h1"))
        assert not console.all("main .toolbar .change-bar"), "where New would be"


def test_scaling_warns_of_who_scales_as_well(changes: Changes) -> None:
    console = changes.console
    deployment(console, "hpa-scaled")
    ref = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "hpa-scaled"}
    hpas = "/apis/autoscaling/v2/namespaces/shop/horizontalpodautoscalers"
    make(console, hpas, "hpa-scaler", spec={"scaleTargetRef": ref, "maxReplicas": 5})
    status, _ = console.installation.request(
        "PATCH",
        f"/clusters/demo{DEPLOYMENTS}/hpa-scaled/scale?fieldManager=horizontal-pod-autoscaler",
        {"spec": {"replicas": 3}},
        "application/merge-patch+json",
    )
    assert status == 200
    console.open("/t/demo/apps/deployments/shop/hpa-scaled")
    changes.press("scale")
    console.see("horizontal-pod-autoscaler owns replicas")
    console.see("HorizontalPodAutoscaler shop/hpa-scaler scales this: it may soon be set back.")


def test_scaling_says_how_many_there_are_wherever_a_definition_keeps_them(
    changes: Changes,
) -> None:
    console = changes.console
    spec = {"type": "object", "properties": {"size": {"type": "integer"}}}
    schema = {"type": "object", "properties": {"spec": spec, "status": {"type": "object"}}}
    scale = {"specReplicasPath": ".spec.size", "statusReplicasPath": ".status.size"}
    version = {"name": "v1", "served": True, "storage": True, "subresources": {"scale": scale}}
    make(
        console,
        "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
        "pools.scaled.example.com",
        spec={
            "group": "scaled.example.com",
            "scope": "Namespaced",
            "names": {"plural": "pools", "singular": "pool", "kind": "Pool", "listKind": "Pools"},
            "versions": [{**version, "schema": {"openAPIV3Schema": schema}}],
        },
    )
    pools = "/apis/scaled.example.com/v1/namespaces/shop/pools"
    body = {"apiVersion": "scaled.example.com/v1", "kind": "Pool", "metadata": {"name": "large"}}
    site = console.installation
    eventually(
        lambda: (
            site.request("POST", f"/clusters/demo{pools}", {**body, "spec": {"size": 7}})[0] == 201
        )
    )
    console.open("/t/demo/scaled.example.com/pools/shop/large")
    changes.press("scale")
    console.see("Replicas (now 7)")
    assert console.one("dialog input[type=number]").get_attribute("value") == "7"
    console.open("/t/demo/apps/deployments?namespace=shop")
    deployment(console, "listed")
    changes.select("listed")
    changes.press("scale")
    console.see(f"Replicas (now {get(console, f'{DEPLOYMENTS}/listed')['spec']['replicas']})")


def test_scaling_warns_of_who_controls_it(changes: Changes) -> None:
    console = changes.console
    deployment(console, "above")
    found = get(console, f"{DEPLOYMENTS}/above")
    owner = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "above", "controller": True}
    make(
        console,
        DEPLOYMENTS.replace("deployments", "replicasets"),
        "below",
        metadata={"ownerReferences": [{**owner, "uid": found["metadata"]["uid"]}]},
        spec={name: found["spec"][name] for name in ("replicas", "selector", "template")},
    )
    console.open("/t/demo/apps/replicasets/shop/below")
    changes.press("scale")
    console.see("Deployment above controls this: it may soon be set back.")


def test_a_namespace_is_deleted_once_its_name_is_typed(changes: Changes) -> None:
    console = changes.console
    make(console, "/api/v1/namespaces", "going")
    make(console, "/api/v1/namespaces/going/configmaps", "goes-along")
    console.open("/t/demo/core/namespaces/-/going?tab=owners")
    console.see("What it holds")
    link = console.one("main").find_element(By.LINK_TEXT, "ConfigMap")  # one is at the side
    assert str(link.get_attribute("href")).endswith("/core/configmaps?namespace=going")
    console.open("/t/demo/core/namespaces")
    changes.select("going")
    changes.press("delete")
    assert not console.one("#perform").is_enabled()
    typed = console.one("dialog input[type=text]")
    typed.send_keys("goin")
    assert not console.one("#perform").is_enabled()
    typed.send_keys("g")
    console.until(lambda: re.search(r"deleted, too: .*[12] ConfigMap", console.text()))
    assert not console.all("dialog input[value=Orphan]"), "it would spare nothing"
    changes.perform()
    path = "/clusters/demo/api/v1/namespaces/going"

    def going() -> bool:
        status, answer = console.installation.request("GET", path)
        return status == 404 or "deletionTimestamp" in answer["metadata"]

    console.until(going)


def test_an_object_whose_namespace_has_gone_leads_to_it(console: Console) -> None:
    inside = "/api/v1/namespaces/went/configmaps"
    site = console.installation
    make(console, "/api/v1/namespaces", "went")
    make(console, inside, "went-along")
    assert site.request("DELETE", "/clusters/demo/api/v1/namespaces/went")[0] == 200
    eventually(lambda: site.request("GET", "/clusters/demo/api/v1/namespaces/went")[0] == 404)
    undelete(console, "went-along")
    console.see("It comes back to its namespace: undelete went first.")
    console.browser.find_element(By.LINK_TEXT, "went").click()
    console.see("DELETED")
    assert not console.all("dialog")
    console.one("tr[data-revision] .restore").click()
    console.one("dialog button[type=submit]").click()
    console.see("went is back.")
    console.see("which made it")
    undelete(console, "went-along")
    console.one("dialog button[type=submit]").click()
    eventually(lambda: site.request("GET", f"/clusters/demo{inside}/went-along")[0] == 200)
    console.complaints()  # the 404 of the first dry run


def undelete(console: Console, name: str) -> None:
    """From the list of what was deleted, as far as the dry run."""
    console.open("/t/demo/deleted?namespace=went")
    path = f"//main//tr[contains(., '{name}')]//button"
    console.until(lambda: console.browser.find_elements(By.XPATH, path))[0].click()


def test_a_viewer_has_nothing_to_press_and_is_refused_by_the_server(
    console: Console, somebody: Console
) -> None:
    make(console, MAPS, "looked-at")
    grant(console, "viewer", "view")
    somebody.log_in("viewer")
    changes = Changes(somebody)
    somebody.open("/t/demo/core/configmaps?namespace=shop")
    changes.select("looked-at")
    somebody.see("Read only")
    assert somebody.all("[data-action]") == []
    somebody.one(".why-all").click()
    somebody.see("No rule grants you “delete configmaps in shop”")
    somebody.open("/t/demo/core/configmaps/shop/looked-at/edit")
    somebody.see("Read only")
    assert somebody.all("#review") == []
    somebody.open("/t/demo/core/configmaps/new?namespace=shop")
    somebody.see("Read only")
    assert somebody.all("#review") == []
    changes.expect(403)
    path = f"/clusters/demo{MAPS}"
    patch = json.dumps({"data": {"a": "1"}})
    assert changes.force("DELETE", f"{path}/looked-at", "{}") == 403
    assert changes.force("POST", path, json.dumps({"metadata": {"name": "x"}})) == 403
    patched = changes.force("PATCH", f"{path}/looked-at", patch, "application/merge-patch+json")
    assert patched == 403
    assert "looked-at" in names(console, MAPS) and "x" not in names(console, MAPS)


def test_what_is_refused_says_by_which_rule(console: Console, somebody: Console) -> None:
    """Somebody who may label, but not delete, and who may see explanations."""
    labels = {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["patch"]}
    explanations = {
        "apiGroups": ["authorization.polyplane.dev"],
        "resources": ["accessexplanations"],
        "verbs": ["create"],
    }
    make(console, f"{RBAC_PATH}/clusterroles", "half-way", rules=[labels, explanations])
    grant(console, "viewer", "half-way")
    grant(console, "viewer", "view")
    make(console, MAPS, "half")
    somebody.log_in("viewer")
    somebody.open("/t/demo/core/configmaps?namespace=shop")
    Changes(somebody).select("half")
    somebody.one("[data-action=label]")
    assert somebody.all("[data-action=delete]") == []
    somebody.one('[aria-label="Why not: Delete"]').click()
    somebody.see("ClusterRole half-way")
    somebody.see("it lacks: verbs")
    Changes(somebody).expect(403)


def grant(console: Console, user: str, role: str) -> None:
    binding = f"{RBAC_PATH}/clusterrolebindings"
    subject = {"apiGroup": RBAC, "kind": "User", "name": user}
    reference = {"apiGroup": RBAC, "kind": "ClusterRole", "name": role}
    obj = {"metadata": {"name": f"{user}-{role}"}, "roleRef": reference, "subjects": [subject]}
    status, answer = console.installation.request("POST", f"/clusters/demo{binding}", obj)
    assert status in {201, 409}, answer
