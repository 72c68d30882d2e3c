"""ValidatingAdmissionPolicy: what is refused, in which words; the examples of Kubernetes'
documentation are in test_documented.py."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from admission.attributes import Attributes
from apiserver.meta.objects import Object
from tests.admission.policy.policies import (
    CONFIGMAPS,
    REGISTRATION,
    Policies,
    check,
    configmap,
    rule,
)
from tests.support.users import ROOT, as_user

NEVER = check("false", message="never")


# --- answers --------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("reason", "code"),
    [(None, 422), ("Invalid", 422), ("Forbidden", 403), ("RequestEntityTooLarge", 413)],
)
async def test_a_denial_names_policy_binding_and_reason(
    policies: Policies, reason: str | None, code: int
) -> None:
    await policies.validating("p", {**NEVER, **({"reason": reason} if reason else {})})
    status, answer = await policies.create(configmap())
    message = "ValidatingAdmissionPolicy 'p' with binding 'p' denied request: never"
    assert (status, answer["reason"], answer["code"]) == (code, reason or "Invalid", code)
    assert answer["message"] == f'configmaps "c" is forbidden: {message}'
    assert answer["details"]["causes"] == [{"message": message}]


@pytest.mark.parametrize(
    ("members", "text"),
    [
        ({}, "failed expression: 1 > 2"),
        ({"message": " said "}, "said"),
        (
            {"message": "said", "messageExpression": "'made of ' + object.metadata.name"},
            "made of c",
        ),
        ({"message": "said", "messageExpression": "'two\\nlines'"}, "said"),
        ({"message": "said", "messageExpression": "'  '"}, "said"),
        ({"message": "said", "messageExpression": "string(object.none)"}, "said"),
        ({"messageExpression": "'x'.replace('x', object.data.long)"}, "failed expression: 1 > 2"),
    ],
)
async def test_messages(policies: Policies, members: Object, text: str) -> None:
    await policies.validating("p", check(" 1 > 2", **members))
    assert await policies.denied(configmap(data={"long": "y" * 6000})) == text


async def test_an_object_without_its_name_yet_is_called_by_its_prefix(policies: Policies) -> None:
    await policies.validating("p", NEVER)
    _, answer = await policies.create({"metadata": {"generateName": "pre-"}})
    assert answer["message"].startswith('configmaps "pre-')


async def test_warnings_and_denials_of_several_bindings(policies: Policies) -> None:
    await policies.validating("p", NEVER, actions=["Warn", "Audit"])
    bound = {"policyName": "p", "validationActions": ["Deny"]}
    await policies.store("validatingadmissionpolicybindings", "q", bound)
    status, answer = await policies.create(configmap())
    assert status == 422
    assert "with binding 'q'" in answer["message"]
    text = "Validation failed for ValidatingAdmissionPolicy 'p' with binding 'p': never"
    assert policies.api.warnings == [f'299 - "{text}"']


async def test_an_audited_failure_lets_pass_and_is_told_to_the_audit_log(
    policies: Policies, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: dict[str, str] = {}
    monkeypatch.setattr(Attributes, "annotate", lambda self, k, v: seen.setdefault(k, v))
    annotations = [
        {"key": "size", "valueExpression": "'of ' + string(size(object.data))"},
        {"key": "nothing", "valueExpression": "null"},
    ]
    await policies.validating("p", NEVER, actions=["Audit"], auditAnnotations=annotations)
    assert (await policies.create(configmap(data={"a": "b"})))[0] == 201
    failure = seen.pop("validation.policy.admission.k8s.io/validation_failure")
    assert orjson.loads(failure) == [
        {
            "message": "never",
            "policy": "p",
            "binding": "p",
            "expressionIndex": 0,
            "validationActions": ["Audit"],
        }
    ]
    assert seen == {"p/size": "of 1"}


# --- errors ---------------------------------------------------------------------------------------
ERROR = check("object.data.none == 'x'")
NO_KEY = "expression 'object.data.none == 'x'' resulted in error: no such key: none"


@pytest.mark.parametrize("fails", [True, False])
async def test_an_error_denies_unless_the_policy_ignores_it(
    policies: Policies, fails: bool
) -> None:
    await policies.validating("p", ERROR, failurePolicy="Fail" if fails else "Ignore")
    status, answer = await policies.create(configmap(data={"a": "b"}))
    assert status == (422 if fails else 201), answer
    assert not fails or answer["message"].endswith(NO_KEY)


async def test_a_failed_audit_annotation_denies_whatever_the_actions(policies: Policies) -> None:
    broken = [{"key": "k", "valueExpression": "string(object.data.none)"}]
    await policies.validating("p", check("true"), actions=["Audit"], auditAnnotations=broken)
    denied = await policies.denied(configmap(data={"a": "b"}))
    assert denied.endswith("resulted in error: no such key: none")


# --- conditions and variables ---------------------------------------------------------------------
@pytest.mark.parametrize(
    ("conditions", "name", "fails", "denied"),
    [
        (["true", "object.metadata.name == 'c'"], "c", True, "never"),
        (["object.metadata.name == 'c'"], "d", True, ""),
        (
            ["object.none == 1"],
            "c",
            True,
            "expression 'object.none == 1' resulted in error: no such key: none",
        ),
        (["object.none == 1"], "c", False, ""),
        (["object.none == 1", "false"], "c", True, ""),  # one that is false settles it
        (
            ["object.none == 1", "object.nil == 1"],
            "c",
            True,
            "[expression 'object.none == 1' resulted in error: no such key: none, "
            "expression 'object.nil == 1' resulted in error: no such key: nil]",
        ),
        (["namespaceObject == null"], "c", True, "never"),  # conditions do not see it
    ],
)
async def test_match_conditions(
    policies: Policies, conditions: list[str], name: str, fails: bool, denied: str
) -> None:
    named = [{"name": f"c{i}", "expression": e} for i, e in enumerate(conditions)]
    failure = "Fail" if fails else "Ignore"
    await policies.validating("p", NEVER, matchConditions=named, failurePolicy=failure)
    if denied:
        assert await policies.denied(configmap(name)) == denied
    else:
        await policies.made(configmap(name))


async def test_variables_are_evaluated_when_they_are_read(policies: Policies) -> None:
    variables = [
        {"name": "size", "expression": "has(object.data) ? size(object.data) : 0"},
        {"name": "twice", "expression": "variables.size * 2"},
        {"name": "broken", "expression": "object.none"},
    ]
    await policies.validating(
        "p",
        check("variables.twice < 4", messageExpression="'twice ' + string(variables.twice)"),
        check("object.metadata.name != 'broken' || variables.broken == 1"),
        variables=variables,
    )
    assert await policies.denied(configmap(data={"a": "", "b": ""})) == "twice 4"
    await policies.made(configmap("fine"))
    assert await policies.denied(configmap("broken")) == (
        "expression 'object.metadata.name != 'broken' || variables.broken == 1' resulted in error: "
        'composited variable "broken" fails to evaluate: no such key: none'
    )


# --- what expressions see -------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("request.operation + request.namespace + request.name", "CREATEnc"),
        ("request.kind.kind + request.resource.resource", "ConfigMapconfigmaps"),
        ("request.userInfo.username", "root"),
        (
            "string(request.options.kind) + string(request.options.apiVersion)",
            "CreateOptionsmeta.k8s.io/v1",
        ),
        ("string(oldObject == null)", "true"),
        ("string(object.apiVersion) + string(object.kind)", "v1ConfigMap"),
        ("namespaceObject.metadata.labels.team + namespaceObject.status.phase", "redActive"),
    ],
)
async def test_a_create(policies: Policies, expression: str, expected: str) -> None:
    await policies.validating("p", check("false", messageExpression=expression))
    assert await policies.denied(configmap()) == expected


async def test_update_apply_and_delete_see_the_old_object(policies: Policies) -> None:
    await policies.made(configmap(data={"a": "old"}))
    told = "request.operation + ' ' + oldObject.data.a + ' ' + string(object == null)"
    await policies.validating("p", check("false", messageExpression=told))
    path = f"{CONFIGMAPS}/c"
    for method, body, type in (
        ("PUT", configmap(), "application/json"),
        ("PATCH", {"data": {"a": "b"}}, "application/merge-patch+json"),
    ):
        _, answer = await policies.api(method, path, body, type, **ROOT)
        assert answer["message"].endswith("UPDATE old false")
    _, answer = await policies.api("DELETE", path, **ROOT)
    assert answer["message"].endswith("DELETE old true")
    _, answer = await policies.api("DELETE", CONFIGMAPS, **ROOT)
    assert answer["message"].startswith('configmaps "Unknown" is forbidden')


async def test_a_dry_run_is_judged_as_well(policies: Policies) -> None:
    await policies.validating("p", check("!request.dryRun", message="dry"))
    assert await policies.denied(configmap(), f"{CONFIGMAPS}?dryRun=All") == "dry"
    await policies.made(configmap())


async def test_an_equivalent_version_is_seen_as_the_policy_has_it(policies: Policies) -> None:
    v1 = rule("horizontalpodautoscalers", apiGroups=["autoscaling"], apiVersions=["v1"])
    told = "string(object.apiVersion) + ' ' + string(object.spec.targetCPUUtilizationPercentage)"
    told += " + ' ' + request.requestKind.version + ' ' + request.kind.version"
    await policies.validating("p", check("false", messageExpression=told), rules=[v1])
    target = {"type": "Utilization", "averageUtilization": 60}
    body = {
        "metadata": {"name": "h"},
        "spec": {
            "maxReplicas": 3,
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"},
            "metrics": [{"type": "Resource", "resource": {"name": "cpu", "target": target}}],
        },
    }
    path = "/apis/autoscaling/v2/namespaces/n/horizontalpodautoscalers"
    assert await policies.denied(body, path) == "autoscaling/v1 60 v2 v1"


async def test_the_authorizer(policies: Policies) -> None:
    asked = "authorizer.group('').resource('configmaps').namespace('n').check('%s').allowed()"
    own = "authorizer.requestResource.check('create').allowed()"
    account = "authorizer.serviceAccount('n', 'robot').group('').resource('pods').check('get')"
    await policies.validating(
        "p",
        check(own, message="may not create"),
        check(asked % "frobnicate", message="may not frobnicate"),
        check(f"!{account}.allowed()", message="the robot may"),
    )
    rbac = "/apis/rbac.authorization.k8s.io/v1/namespaces/n"
    rules = [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["create"]}]
    role = {"metadata": {"name": "r"}, "rules": rules}
    await policies.api.ok("POST", f"{rbac}/roles", role, **ROOT)
    binding = {
        "metadata": {"name": "r"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "r"},
        "subjects": [{"kind": "User", "name": "ann"}],
    }
    await policies.api.ok("POST", f"{rbac}/rolebindings", binding, **ROOT)
    assert await policies.denied(configmap(), **as_user("ann")) == "may not frobnicate"
    await policies.made(configmap())  # root may do everything


# --- matching -------------------------------------------------------------------------------------
async def test_a_binding_narrows_what_the_policy_says(policies: Policies) -> None:
    selector = {"objectSelector": {"matchLabels": {"strict": "yes"}}}
    await policies.validating("p", NEVER, binding={"matchResources": selector})
    await policies.made(configmap())
    assert await policies.denied(configmap("d", labels={"strict": "yes"})) == "never"


async def test_a_policy_without_binding_and_a_binding_without_policy_do_nothing(
    policies: Policies,
) -> None:
    spec = {"matchConstraints": {"resourceRules": [rule()]}, "validations": [NEVER]}
    await policies.store("validatingadmissionpolicies", "alone", spec)
    bound = {"policyName": "absent", "validationActions": ["Deny"]}
    await policies.store("validatingadmissionpolicybindings", "b", bound)
    await policies.made(configmap())


@pytest.mark.parametrize(
    ("path", "body", "passes"),
    [
        (f"{REGISTRATION}/validatingadmissionpolicybindings", "binding", True),
        (f"{REGISTRATION}/validatingwebhookconfigurations", {"metadata": {"name": "w"}}, False),
        ("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", {"spec": {}}, True),
    ],
)
async def test_whom_no_policy_can_lock_out(
    policies: Policies, path: str, body: Any, passes: bool
) -> None:
    await policies.validating("p", NEVER, rules=[rule("*")])
    if body == "binding":
        spec = {"policyName": "q", "validationActions": ["Deny"]}
        body = {"metadata": {"name": "q"}, "spec": spec}
    _, answer = await policies.create(body, path)
    assert ("denied request: never" not in answer.get("message", "")) is passes


async def test_a_policy_counts_no_more_once_it_is_changed_or_gone(policies: Policies) -> None:
    await policies.validating("p", NEVER)
    assert await policies.denied(configmap()) == "never"
    path = f"{REGISTRATION}/validatingadmissionpolicies/p"
    change = {"spec": {"validations": [check("object.metadata.name != 'd'", message="no d")]}}
    assert (await policies.api("PATCH", path, change, "application/merge-patch+json", **ROOT))[
        0
    ] == 200
    await policies.made(configmap())
    assert await policies.denied(configmap("d")) == "no d"
    await policies.api.ok("DELETE", path, **ROOT)
    await policies.made(configmap("d"))


# --- subresources ---------------------------------------------------------------------------------
POD = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "a", "image": "a:1"}]}}
PODS = "/api/v1/namespaces/n/pods"


async def test_connections_are_judged_by_what_they_ask_for(policies: Policies) -> None:
    told = "request.operation + ' ' + request.kind.kind + ' ' + object.command.join(' ')"
    await policies.validating(
        "p",
        check("!has(object.stdin)", messageExpression=told),
        rules=[rule("pods/exec", operations=["CONNECT"])],
    )
    await policies.made(POD, PODS)
    path = f"{PODS}/p/exec?container=a&command=rm&command=x"
    denied = await policies.denied({}, f"{path}&stdin=true")
    assert denied == "CONNECT PodExecOptions rm x"
    _, answer = await policies.create({}, path)
    assert "denied" not in answer["message"]


async def test_an_eviction_is_judged_before_it_deletes(policies: Policies) -> None:
    told = "request.operation + ' ' + string(object.kind)"
    await policies.validating(
        "p", check("false", messageExpression=told), rules=[rule("pods/eviction")]
    )
    await policies.made(POD, PODS)
    eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "p"}}
    assert await policies.denied(eviction, f"{PODS}/p/eviction") == "CREATE Eviction"


async def test_a_scale_is_seen_as_a_scale(policies: Policies) -> None:
    told = "request.kind.kind + ' ' + string(object.kind) + ' ' + string(object.spec.replicas)"
    await policies.validating(
        "p",
        check("object.spec.replicas < 5", messageExpression=told + " + string(oldObject.kind)"),
        rules=[rule("deployments/scale")],
    )
    labels = {"app": "a"}
    template = {"metadata": {"labels": labels}, "spec": POD["spec"]}
    spec = {"selector": {"matchLabels": labels}, "template": template}
    path = "/apis/apps/v1/namespaces/n/deployments"
    await policies.made({"metadata": {"name": "d"}, "spec": spec}, path)
    scale = {"metadata": {"name": "d"}, "spec": {"replicas": 9}}
    _, answer = await policies.api("PUT", f"{path}/d/scale", scale, **ROOT)
    assert answer["message"].endswith("Scale Scale 9Scale")
