"""The admission page: policies and webhooks with what they have been used for, and the try-out."""

from __future__ import annotations

import json
from typing import Any

from selenium.webdriver.common.by import By
from selenium.webdriver.support.ui import Select

from tests.support.consolebrowser import Console
from tests.support.consolechanges import Changes, get

REGISTRATION = "/apis/admissionregistration.k8s.io/v1"
MAPS = "/api/v1/namespaces/shop/configmaps"
PAGE = "/t/demo/admission"
HOSTILE = "<img src=x onerror=window.hacked=1>"


def post(console: Console, path: str, obj: dict[str, Any]) -> int:
    return int(console.installation.request("POST", f"/clusters/demo{path}", obj)[0])


def make(console: Console, path: str, name: str, **members: Any) -> None:
    status, answer = console.installation.request(
        "POST", f"/clusters/demo{path}", {"metadata": {"name": name}, **members}
    )
    assert status == 201, answer


def about(label: str) -> dict[str, Any]:
    """Match constraints: ConfigMaps with adm=<label>."""
    rule = {
        "apiGroups": [""],
        "apiVersions": ["v1"],
        "operations": ["CREATE"],
        "resources": ["configmaps"],
    }
    return {"resourceRules": [rule], "objectSelector": {"matchLabels": {"adm": label}}}


def policy(console: Console, name: str, *validations: dict[str, str], **spec: Any) -> None:
    """About ConfigMaps with adm=<name>, bound to refuse."""
    body = {"matchConstraints": about(name), "validations": list(validations), **spec}
    make(console, f"{REGISTRATION}/validatingadmissionpolicies", name, spec=body)
    binding = {"policyName": name, "validationActions": ["Deny"], **spec.pop("binding", {})}
    make(console, f"{REGISTRATION}/validatingadmissionpolicybindings", name, spec=binding)


def labelled(label: str, name: str = "probe") -> dict[str, Any]:
    return {"metadata": {"name": name, "labels": {"adm": label}}, "data": {"size": "3"}}


def refused(console: Console, label: str) -> None:
    """Until the policy is obeyed: it is a moment after it has been stored."""
    path = f"{MAPS}?dryRun=All"
    console.until(lambda: post(console, path, labelled(label)) == 422)


def row(console: Console, name: str) -> str:
    lines = console.script(
        "return [...document.querySelectorAll('main tbody tr')].map((row) => row.innerText)"
    )
    return next((line for line in lines if line.startswith(name)), "")


def evaluate(console: Console) -> list[list[str]]:
    """The rows of the answer, once there is a new one."""
    console.script("document.querySelector('#results').replaceChildren()")
    console.one("#evaluate").click()
    console.until(lambda: console.all("#results > *"))
    rows = console.all("#results tbody tr")
    return [[cell.text for cell in line.find_elements(By.TAG_NAME, "td")] for line in rows]


def put(console: Console, name: str, text: str) -> None:
    console.script(
        "document.querySelector(`[name=${arguments[0]}]`).value = arguments[1]", name, text
    )


# --- policies and webhooks ------------------------------------------------------------------------
def test_what_policies_have_been_used_for_is_seen_as_it_happens(console: Console) -> None:
    policy(console, "adm-refuses", {"expression": "false", "message": "never"})
    console.open(PAGE)
    console.until(lambda: row(console, "adm-refuses"))
    assert "validating\tadm-refuses\tDeny" in row(console, "adm-refuses")
    refused(console, "adm-refuses")
    console.until(lambda: int(row(console, "adm-refuses").split("\t")[7]) > 0)
    cells = row(console, "adm-refuses").split("\t")
    assert int(cells[6]) >= int(cells[7]) and cells[9].endswith("ms")


def test_errors_and_what_type_checking_finds(console: Console) -> None:
    policy(
        console,
        "adm-broken",
        {"expression": "object.data.absent == 'x'"},
        {"expression": "object.date == 'x'"},
    )
    refused(console, "adm-broken")
    console.open(PAGE)
    console.until(lambda: "no such key: absent" in row(console, "adm-broken"))
    console.until(lambda: "undefined field 'date'" in row(console, "adm-broken"))
    assert "spec.validations[1].expression" in row(console, "adm-broken")


def test_webhooks_and_why_they_fail(console: Console) -> None:
    hook = {
        "name": "adm-hook.example.com",
        "clientConfig": {"url": "https://webhook.invalid/check"},
        "failurePolicy": "Ignore",
        "timeoutSeconds": 1,
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
        "rules": about("hooked")["resourceRules"],
        "objectSelector": about("hooked")["objectSelector"],
    }
    make(console, f"{REGISTRATION}/validatingwebhookconfigurations", "adm-hooks", webhooks=[hook])
    console.open(PAGE)
    console.until(lambda: "https://webhook.invalid/check" in row(console, "adm-hook.example.com"))
    assert post(console, MAPS, labelled("hooked", "adm-hooked")) == 201
    console.until(lambda: "failed calling webhook" in row(console, "adm-hook.example.com"))
    cut = """
      return [...document.querySelectorAll("td.wrap")]
        .filter((cell) => cell.scrollWidth > cell.clientWidth).map((cell) => cell.innerText);
    """
    assert console.script(cut) == [], "an error is read to its end without its tooltip"
    cells = row(console, "adm-hook.example.com").split("\t")
    assert (cells[2], cells[4], cells[5], cells[7]) == ("adm-hooks", "Ignore", "1", "1")


# --- the try-out ----------------------------------------------------------------------------------
def test_an_expression_is_tried_out_against_an_object(console: Console) -> None:
    make(console, MAPS, "adm-tried", data={"size": "3", "text": HOSTILE})
    console.open(PAGE)
    form = console.one("#evaluate").find_element(By.XPATH, "ancestor::form")
    for name, value in (("resource", "cm"), ("namespace", "shop"), ("name", "adm-tried")):
        form.find_element(By.NAME, name).send_keys(value)
    console.one("#load").click()
    console.until(
        lambda: (
            "adm-tried" in console.script("return document.querySelector('[name=object]').value")
        )
    )
    put(
        console,
        "expression",
        "int(object.data.size) > 2 && namespaceObject.metadata.name == 'shop'",
    )
    ((name, type_, value, cost),) = evaluate(console)
    assert (name, type_, value) == ("expression", "bool", "true") and int(cost) > 0
    put(console, "expression", "object.data.text")
    assert HOSTILE in evaluate(console)[0][2]
    put(console, "expression", "object.data.\n  size +")
    assert evaluate(console)[0][2].startswith("line 2, column 9:")
    put(console, "expression", "object.data.none")
    assert "no such key: none" in evaluate(console)[0][2]
    put(console, "params", "least: 2")
    put(console, "expression", "params.least < int(object.data.size)")
    assert evaluate(console)[0][2] == "true"
    put(console, "object", "a: [")
    assert evaluate(console) == [] and "object:" in console.one("#results").text
    assert console.script("return window.hacked ?? null") is None


def test_all_expressions_of_a_policy_are_tried_out(console: Console) -> None:
    policy(
        console,
        "adm-chosen",
        {
            "expression": "variables.size < 3",
            "messageExpression": "'it is ' + string(variables.size)",
        },
        matchConditions=[{"name": "some", "expression": "request.operation == 'CREATE'"}],
        variables=[{"name": "size", "expression": "int(object.data.size)"}],
    )
    console.open(PAGE)
    console.until(lambda: row(console, "adm-chosen"))
    Select(console.one("[name=policy]")).select_by_value("validating/adm-chosen")
    put(console, "object", json.dumps(labelled("adm-chosen")))
    found = [(name, value) for name, _, value, _ in evaluate(console)]
    assert found == [
        ("condition some", "true"),
        ("validation 1", "false"),
        ("message 1", '"it is 3"'),
    ]
    assert "adm-probe" not in {item["metadata"]["name"] for item in get(console, MAPS)["items"]}


def test_values_of_secrets_stay_out_of_the_box(console: Console) -> None:
    value = "czNjcmV0LXZhbHVl"
    make(console, "/api/v1/namespaces/shop/secrets", "adm-secret", data={"key": value})
    console.open(PAGE)
    form = console.one("#evaluate").find_element(By.XPATH, "ancestor::form")
    for name, text in (("resource", "secrets"), ("namespace", "shop"), ("name", "adm-secret")):
        form.find_element(By.NAME, name).send_keys(text)
    console.one("#load").click()
    console.until(
        lambda: (
            "adm-secret" in console.script("return document.querySelector('[name=object]').value")
        )
    )
    assert value not in console.script("return document.querySelector('[name=object]').value")


# --- rights ---------------------------------------------------------------------------------------
def test_a_viewer_sees_all_but_the_texts_of_errors(console: Console, somebody: Console) -> None:
    policy(console, "adm-seen", {"expression": "object.data.secretish == 'x'"})
    refused(console, "adm-seen")
    somebody.log_in("viewer")
    somebody.open(PAGE)
    somebody.until(lambda: "for those to read who may update it" in row(somebody, "adm-seen"))
    assert "no such key: secretish" not in somebody.text()
    assert [b.text for b in somebody.all("main button")] == ["Load", "Evaluate"]
    put(somebody, "expression", "1 + 1")
    assert evaluate(somebody)[0][2] == "2"
    changes = Changes(somebody)
    body = json.dumps({"metadata": {"name": "x"}, "spec": {"policyName": "adm-seen"}})
    path = f"/clusters/demo{REGISTRATION}/validatingadmissionpolicybindings"
    assert changes.force("POST", path, body) == 403
    changes.expect(403)


def test_somebody_without_rights_is_told_what_is_hidden(somebody: Console) -> None:
    somebody.log_in("nobody")
    somebody.open(PAGE)
    somebody.see("You may not list validatingadmissionpolicies, mutatingadmissionpolicies")
    assert "adm-" not in somebody.text()
