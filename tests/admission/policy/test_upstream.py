"""What kube-apiserver's own tests (test/integration/apiserver/cel, test/e2e/apimachinery) demand of
policies, where the other modules do not ask for it."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from apiserver.kinds.apiextensions import conditions
from apiserver.meta.objects import Object
from tests.admission.policy.policies import (
    CONFIGMAPS,
    REGISTRATION,
    Policies,
    check,
    configmap,
    merge,
    patch,
    rule,
)
from tests.support.users import RBAC, ROOT, as_user
from tests.support.widgets import CRD, CRDS, V1, V2, crd

NAMESPACES = "/api/v1/namespaces"
ENDPOINTS = f"{NAMESPACES}/n/endpoints"
CUSTOM_PATHS = {"v1": V1.replace("/ns/", "/n/"), "v2": V2.replace("/ns/", "/n/")}
MAPS: Object = {"apiVersion": "v1", "kind": "ConfigMap"}
MERGE = "application/merge-patch+json"
BOUND = {"parameterNotFoundAction": "Allow"}


def named(name: str) -> Object:
    return {"metadata": {"name": name}}


def noted(**annotations: str) -> Object:
    return {"metadata": {"name": "e", "annotations": annotations}}


async def change(policies: Policies, resource: str, name: str, spec: Object) -> None:
    path = f"{REGISTRATION}/{resource}/{name}"
    await policies.api.ok("PATCH", path, {"spec": spec}, MERGE, **ROOT)


# --- validating -----------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("expression", "denied"),
    [
        (
            "object.metadata.name.startsWith(params.metadata.name)",
            "expression 'object.metadata.name.startsWith(params.metadata.name)' resulted in error: "
            "no such key: metadata",
        ),
        ("has(params.metadata)", "failed expression: has(params.metadata)"),
        ("params != null", "failed expression: params != null"),
        ("has(params.metadata) || object.metadata.name == 'c'", ""),
        ("params != null || object.metadata.name == 'c'", ""),
    ],
)
async def test_parameters_that_no_binding_gives(
    policies: Policies, expression: str, denied: str
) -> None:
    await policies.validating("p", check(expression), paramKind=MAPS)
    if denied:
        assert await policies.denied(configmap()) == denied
    else:
        await policies.made(configmap())


async def test_conditions_have_parameters(policies: Policies) -> None:
    await policies.made(configmap("whom", data={"user": "ann"}))
    await policies.validating(
        "p",
        check("false", message="not you"),
        rules=[rule("secrets")],
        paramKind=MAPS,
        binding={"paramRef": {"name": "whom", **BOUND}},
        matchConditions=[
            {"name": "who", "expression": "request.userInfo.username == params.data.user"}
        ],
    )
    secrets = f"{NAMESPACES}/n/secrets"
    await policies.made(named("s"), secrets)
    change = {"data": {"user": "root"}}
    await policies.api.ok("PATCH", f"{CONFIGMAPS}/whom", change, MERGE, **ROOT)
    assert await policies.denied(named("t"), secrets) == "not you"


async def test_annotations_that_need_parameters_that_no_binding_gives(policies: Policies) -> None:
    annotations = [{"key": "k", "valueExpression": "string(params.metadata.name)"}]
    await policies.validating("p", auditAnnotations=annotations, paramKind=MAPS)
    assert await policies.denied(configmap()) == (
        "expression 'string(params.metadata.name)' resulted in error: no such key: metadata"
    )
    await change(policies, "validatingadmissionpolicies", "p", {"failurePolicy": "Ignore"})
    await policies.made(configmap())


async def test_a_change_of_nothing_is_judged(policies: Policies) -> None:
    await policies.made(configmap())
    await policies.validating("p", check("false", message="denied"))
    for body, type in (([], "application/json-patch+json"), ({}, MERGE)):
        status, answer = await policies.api("PATCH", f"{CONFIGMAPS}/c", body, type, **ROOT)
        assert status == 422 and answer["message"].endswith("denied"), answer


async def test_the_kind_of_parameters_can_change(policies: Policies) -> None:
    await policies.made(configmap("prefixes"))
    await policies.made(named("prefixes"), f"{NAMESPACES}/n/secrets")
    prefixed = check("object.metadata.name.startsWith(params.kind.lowerAscii())", message="no")
    await policies.validating(
        "p",
        prefixed,
        rules=[rule("namespaces")],
        paramKind=MAPS,
        binding={"paramRef": {"name": "prefixes", "namespace": "n", **BOUND}},
    )
    await policies.made({"metadata": {"generateName": "configmap-"}}, NAMESPACES)
    assert await policies.denied({"metadata": {"generateName": "secret-"}}, NAMESPACES) == "no"
    secrets = {"paramKind": {"apiVersion": "v1", "kind": "Secret"}}
    await change(policies, "validatingadmissionpolicies", "p", secrets)
    await policies.made({"metadata": {"generateName": "secret-"}}, NAMESPACES)
    assert await policies.denied({"metadata": {"generateName": "configmap-"}}, NAMESPACES) == "no"


async def test_a_binding_can_change_its_reference_and_go(policies: Policies) -> None:
    for name in ("one", "two"):
        await policies.made(configmap(name))
    await policies.validating(
        "p",
        check("object.metadata.name.startsWith(params.metadata.name)", message="no"),
        rules=[rule("namespaces")],
        paramKind=MAPS,
        binding={"paramRef": {"name": "one", "namespace": "n", **BOUND}},
    )
    await policies.made(named("one-1"), NAMESPACES)
    assert await policies.denied(named("two-1"), NAMESPACES) == "no"
    ref = {"paramRef": {"name": "two"}}
    await change(policies, "validatingadmissionpolicybindings", "p", ref)
    await policies.made(named("two-2"), NAMESPACES)
    assert await policies.denied(named("one-2"), NAMESPACES) == "no"
    path = f"{REGISTRATION}/validatingadmissionpolicybindings/p"
    await policies.api.ok("DELETE", path, **ROOT)
    await policies.made(named("one-2"), NAMESPACES)


async def test_a_parameter_can_change_go_and_come_back(policies: Policies) -> None:
    await policies.made(configmap("param", data={"prefix": "one"}))
    await policies.validating(
        "p",
        check("object.metadata.name.startsWith(params.data['prefix'])", message="no"),
        rules=[rule("namespaces")],
        paramKind=MAPS,
        binding={
            "paramRef": {"name": "param", "namespace": "n", "parameterNotFoundAction": "Deny"}
        },
    )
    assert await policies.denied(named("two-1"), NAMESPACES) == "no"
    path = f"{CONFIGMAPS}/param"
    await policies.api.ok("PATCH", path, {"data": {"prefix": "two"}}, MERGE, **ROOT)
    await policies.made(named("two-1"), NAMESPACES)
    await policies.api.ok("DELETE", path, **ROOT)
    denied = await policies.denied(named("two-2"), NAMESPACES)
    assert denied.startswith("failed to configure binding: no params found for policy binding")
    await policies.made(configmap("param", data={"prefix": "two"}))
    await policies.made(named("two-2"), NAMESPACES)


async def test_bindings_with_labels_and_parameters_of_their_own(policies: Policies) -> None:
    for name, data in (
        ("fail", {"fail": "true"}),
        ("pass", {"fail": "false", "asks": "false"}),
        ("ask", {"fail": "false", "asks": "true", "prefix": "good-"}),
    ):
        await policies.made(configmap(name, data=data))
    asked = "params.data.asks == 'false' || object.metadata.name.startsWith(params.data.prefix)"
    spec = {
        "matchConstraints": {"resourceRules": [rule("secrets")]},
        "validations": [check(f"params.data.fail != 'true' && ({asked})", message="no")],
        "paramKind": MAPS,
    }
    await policies.store("validatingadmissionpolicies", "p", spec)
    for name in ("fail", "pass", "ask"):
        selector = {"matchExpressions": [{"key": name, "operator": "Exists"}]}
        body = {
            "policyName": "p",
            "validationActions": ["Deny"],
            "paramRef": {"name": name, "namespace": "n", **BOUND},
            "matchResources": {"objectSelector": selector},
        }
        await policies.store("validatingadmissionpolicybindings", name, body)
    secrets = f"{NAMESPACES}/n/secrets"
    for name, label, passes in (
        ("a", "fail", False),
        ("b", "pass", True),
        ("good-c", "ask", True),
        ("bad-d", "ask", False),
    ):
        body = {"metadata": {"name": name, "labels": {label: "true"}}}
        status, answer = await policies.create(body, secrets)
        assert status == (201 if passes else 422), answer


async def test_versions_of_custom_objects(policies: Policies) -> None:
    await defined(policies)
    v1 = [rule("widgets", apiGroups=["example.com"], apiVersions=["v1"])]
    never = check("false", message="never")
    await policies.validating("p", never, rules=v1)
    for version in ("v1", "v2"):
        assert await policies.denied(custom("w", version), CUSTOM_PATHS[version]) == "never"
    exact = {"matchConstraints": {"resourceRules": v1, "matchPolicy": "Exact"}}
    await change(policies, "validatingadmissionpolicies", "p", exact)
    assert await policies.denied(custom("w", "v1"), CUSTOM_PATHS["v1"]) == "never"
    await policies.made(custom("w", "v2"), CUSTOM_PATHS["v2"])


def custom(name: str, version: str) -> Object:
    return {"apiVersion": f"example.com/{version}", "kind": "Widget", **named(name), "spec": {}}


async def defined(policies: Policies) -> None:
    api = policies.api
    definition = await api.ok("POST", CRDS, crd(None), **ROOT)
    conditions.settle(definition, [], datetime.now(UTC))
    await api.ok("PUT", f"{CRD}/status", definition, **ROOT)
    await api.until(lambda: api.catalog.find(api.tenant, "example.com", "widgets"))


SECOND = (
    "authorizer.group('apps').resource('deployments').subresource('status').namespace('default')"
    ".name('special').check('create').allowed()"
)
CUSTOM = "authorizer.requestResource.check('anthropomorphize').allowed()"


@pytest.mark.parametrize(
    ("granted", "expression", "passes"),
    [
        (
            {
                "apiGroups": ["apps"],
                "resources": ["deployments/status"],
                "resourceNames": ["special"],
                "verbs": ["create"],
            },
            SECOND,
            True,
        ),
        (None, SECOND, False),
        (
            {"apiGroups": [""], "resources": ["namespaces"], "verbs": ["anthropomorphize"]},
            CUSTOM,
            True,
        ),
        (None, CUSTOM, False),
    ],
)
async def test_secondary_authorization(
    policies: Policies, granted: Object | None, expression: str, passes: bool
) -> None:
    rules = [{"apiGroups": [""], "resources": ["namespaces"], "verbs": ["create"]}]
    rules += [granted] if granted else []
    role = {"metadata": {"name": "r"}, "rules": rules}
    await policies.api.ok("POST", f"{RBAC}/clusterroles", role, **ROOT)
    binding = {
        "metadata": {"name": "r"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "r"},
        "subjects": [{"kind": "User", "name": "alice"}],
    }
    await policies.api.ok("POST", f"{RBAC}/clusterrolebindings", binding, **ROOT)
    await policies.validating("p", check(expression), rules=[rule("namespaces")])
    status, answer = await policies.create(named("x"), NAMESPACES, **as_user("alice"))
    assert status == (201 if passes else 422), answer


# --- mutating -------------------------------------------------------------------------------------
def annotate(entries: str) -> Object:
    return merge(f"Object{{metadata: Object.metadata{{annotations: {entries}}}}}")


COUNT = "{?'n': optional.of(string(int(object.metadata.annotations['n']) + 1)), '%s': 'true'}"


async def annotations_of(policies: Policies, body: Object) -> Any:
    return (await policies.made(body, f"{ENDPOINTS}?dryRun=All"))["metadata"].get("annotations")


async def test_each_policy_is_asked_again_once(policies: Policies) -> None:
    for name, again in (("first", True), ("second", True), ("third", False)):
        mutation = annotate(COUNT % name)
        await policies.mutating(name, mutation, rules=[rule("endpoints")], again=again)
    every = {"first": "true", "second": "true", "third": "true"}
    assert await annotations_of(policies, noted(n="0")) == {"n": "5", **every}


async def test_each_parameter_is_an_invocation_of_its_own(policies: Policies) -> None:
    for name, labels in (("one", {"use": "yes"}), ("two", {"use": "yes"}), ("three", {})):
        await policies.made(configmap(name, data={name: "true"}, labels=labels))
    mutations = [annotate("params.data"), annotate(COUNT.replace(", '%s': 'true'", ""))]
    for name, ref, again in (
        ("a", {"selector": {"matchLabels": {"use": "yes"}}}, True),
        ("b", {"name": "three"}, False),
    ):
        await policies.mutating(
            name,
            *mutations,
            rules=[rule("endpoints")],
            paramKind=MAPS,
            binding={"paramRef": {**ref, **BOUND}},
            again=again,
        )
    every = {"one": "true", "two": "true", "three": "true"}
    assert await annotations_of(policies, noted(n="0")) == {"n": "5", **every}


async def test_several_bindings_of_one_policy(policies: Policies) -> None:
    for name in ("one", "two"):
        await policies.made(configmap(name, data={name: "x"}))
    await policies.mutating(
        "p",
        annotate("params.data"),
        rules=[rule("endpoints")],
        paramKind=MAPS,
        binding={"paramRef": {"name": "one", "namespace": "n", **BOUND}},
    )
    ref = {"name": "two", "namespace": "n", **BOUND}
    await policies.store(
        "mutatingadmissionpolicybindings", "q", {"policyName": "p", "paramRef": ref}
    )
    assert await annotations_of(policies, named("e")) == {"one": "x", "two": "x"}


async def test_mutations_see_those_before_them_and_share_variables(policies: Policies) -> None:
    await policies.mutating(
        "p",
        annotate("{'a': variables.a}"),
        patch(
            "[JSONPatch{op: 'test', path: '/metadata/annotations', value: {'a': variables.a}}, "
            "JSONPatch{op: 'add', path: '/metadata/annotations/b', value: variables.b}]"
        ),
        annotate("{'c': '3'}"),
        rules=[rule("endpoints")],
        variables=[
            {"name": "a", "expression": "'v' + '1'"},
            {"name": "b", "expression": "variables.a.replace('1', '2')"},
        ],
    )
    assert await annotations_of(policies, named("e")) == {"a": "v1", "b": "v2", "c": "3"}


async def test_a_configuration_that_does_not_fit_its_type(policies: Policies) -> None:
    wrong = merge("Object{spec: Object.spec{invalidField: 'x'}}")
    await policies.mutating("p", wrong, rules=[rule("endpoints")], failurePolicy="Ignore")
    assert await annotations_of(policies, named("e")) is None
    await change(policies, "mutatingadmissionpolicies", "p", {"failurePolicy": "Fail"})
    status, answer = await policies.create(named("e"), ENDPOINTS)
    assert status >= 400 and "policy 'p'" in answer["message"].lower(), answer


async def test_a_condition_of_a_status(policies: Policies) -> None:
    content = "NamespaceDeletionContentFailure"
    condition = f"Object.status.conditions{{type: '{content}', message: 'mutated'}}"
    await policies.mutating(
        "p",
        merge(f"Object{{status: Object.status{{conditions: [{condition}]}}}}"),
        rules=[rule("namespaces/status")],
    )
    body = {**named("n"), "status": {"conditions": [{"type": content, "status": "Unknown"}]}}
    changed = await policies.api.ok("PUT", f"{NAMESPACES}/n/status?dryRun=All", body, **ROOT)
    (found,) = changed["status"]["conditions"]
    assert (found["type"], found["status"], found["message"]) == (content, "Unknown", "mutated")
    await policies.made(named("m"), NAMESPACES)


async def test_custom_objects_in_each_version(policies: Policies) -> None:
    await defined(policies)
    mutation = merge("Object{metadata: Object.metadata{labels: {'mutated': 'yes'}}}")
    v1 = [rule("widgets", apiGroups=["example.com"], apiVersions=["v1"])]
    await policies.mutating("p", mutation, rules=v1, again=True)
    for version in ("v1", "v2"):
        made = await policies.made(custom(version, version), CUSTOM_PATHS[version])
        assert made["metadata"]["labels"] == {"mutated": "yes"}


async def test_policies_in_v1beta1(policies: Policies) -> None:
    root = REGISTRATION.replace("/v1", "/v1beta1")
    spec = {
        "matchConstraints": {"resourceRules": [rule("endpoints")]},
        "mutations": [annotate("{'a': 'b'}")],
        "reinvocationPolicy": "Never",
    }
    for resource, body in (
        ("mutatingadmissionpolicies", spec),
        ("mutatingadmissionpolicybindings", {"policyName": "p"}),
    ):
        await policies.api.ok("POST", f"{root}/{resource}", {**named("p"), "spec": body}, **ROOT)
    assert await annotations_of(policies, named("e")) == {"a": "b"}
