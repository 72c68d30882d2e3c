from __future__ import annotations

import copy
from typing import Any

import pytest

from apiserver.kinds.base import WriteContext
from apiserver.kinds.catalog import resources
from apiserver.registry.objectmeta import validate_update
from tests.support.kindtools import NOW, create, update

GROUP = "admissionregistration.k8s.io"
RULE = {
    "apiGroups": [""],
    "apiVersions": ["v1"],
    "resources": ["pods"],
    "operations": ["CREATE"],
}


def policy(**spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": f"{GROUP}/v1",
        "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": "p"},
        "spec": {
            "matchConstraints": {"resourceRules": [RULE]},
            "validations": [{"expression": "true"}],
            **spec,
        },
    }


def test_messages_of_validations_are_one_line() -> None:
    validations = [{"expression": "true", "message": text} for text in (" ", "a\nb")]
    assert create(policy(validations=validations)).messages == [
        'spec.validations[0].message: Invalid value: " ": must be non-empty if specified',
        'spec.validations[1].message: Invalid value: "a\\nb": must not contain line breaks',
    ]


def test_too_many_annotations_are_quoted_as_go_holds_them() -> None:
    annotations = [{"key": f"k{i}", "valueExpression": "'v'"} for i in range(21)]
    (message,) = create(policy(auditAnnotations=annotations)).messages
    assert message.startswith(
        'spec.auditAnnotations: Invalid value: [{"Key":"k0","ValueExpression":"\'v\'"},'
    )


def test_names_of_resources_are_there_once() -> None:
    match = {"resourceRules": [{**RULE, "resourceNames": ["", ""]}]}
    assert create(policy(matchConstraints=match)).messages == [
        'spec.matchConstraints.resourceRules[0].resourceNames[1]: Duplicate value: ""'
    ]


def test_what_type_checking_says() -> None:
    old = create(policy()).obj
    new = copy.deepcopy(old)
    new["status"] = {
        "typeChecking": {"expressionWarnings": [{"fieldRef": " ", "warning": ""}]},
        "conditions": [{"type": "a", "status": "True", "message": ""}],
    }
    at = "status.typeChecking.expressionWarnings[0]"
    assert update(new, old, "status").messages == [
        f"{at}.warning: Required value",
        f"{at}.fieldRef: Required value",
        "status.conditions[0].lastTransitionTime: Required value",
        "status.conditions[0].reason: Required value",
    ]


def test_bindings_of_mutations_do_not_match_deletions() -> None:
    match = {"resourceRules": [{**RULE, "operations": ["DELETE"]}]}
    binding = {
        "apiVersion": f"{GROUP}/v1",
        "kind": "MutatingAdmissionPolicyBinding",
        "metadata": {"name": "b"},
        "spec": {"policyName": "p", "matchResources": match},
    }
    assert create(binding).messages == [
        'spec.matchResources.resourceRules.operations: Unsupported value: "DELETE": supported '
        'values: "*", "CONNECT", "CREATE", "UPDATE"'
    ]


def test_updates_ask_once_of_metadata_what_creates_ask() -> None:
    """A label is told of by the common checks, twice, and once by the kind's own."""
    metadata = {"name": "x", "resourceVersion": "1", "uid": "u", "labels": {"a": "-"}}
    for kind in (
        "FlowSchema",
        "PriorityLevelConfiguration",
        "ValidatingAdmissionPolicy",
        "ValidatingAdmissionPolicyBinding",
        "MutatingAdmissionPolicy",
        "MutatingAdmissionPolicyBinding",
        "ValidatingWebhookConfiguration",
        "MutatingWebhookConfiguration",
    ):
        hooks = next(r.hooks for r in resources().values() if r.kind == kind)
        new, old = {"metadata": metadata}, {"metadata": {**metadata, "labels": {}}}
        found = validate_update(new, old, hooks, namespaced=False, whole=True)
        assert [e.path for e in found] == ["metadata.labels"] * 3, kind


@pytest.mark.parametrize(
    "kind",
    [
        "ValidatingAdmissionPolicy",
        "ValidatingAdmissionPolicyBinding",
        "MutatingAdmissionPolicy",
        "MutatingAdmissionPolicyBinding",
        "ValidatingWebhookConfiguration",
        "MutatingWebhookConfiguration",
    ],
)
@pytest.mark.parametrize(
    ("name", "warned"), [("a.static.k8s.io", True), ("static.k8s.io", False), ("a", False)]
)
def test_names_of_manifests_are_reserved(kind: str, name: str, warned: bool) -> None:
    hooks = next(r for r in resources().values() if r.kind == kind).hooks
    obj = {"metadata": {"name": name}}
    for old in (None, obj):
        assert hooks.warnings(obj, old, WriteContext("v1", NOW)) == (
            [
                'metadata.name: names ending with ".static.k8s.io" are reserved for static '
                "manifest-based configurations and cannot be managed via the API"
            ]
            if warned
            else []
        )


def mutating(**spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": f"{GROUP}/v1",
        "kind": "MutatingAdmissionPolicy",
        "metadata": {"name": "p"},
        "spec": {
            "matchConstraints": {"resourceRules": [RULE]},
            "mutations": [patch_by('[JSONPatch{op: "remove", path: "/x"}]')],
            "reinvocationPolicy": "Never",
            **spec,
        },
    }


def patch_by(expression: str, **more: Any) -> dict[str, Any]:
    return {"patchType": "JSONPatch", "jsonPatch": {"expression": expression}, **more}


def test_constants_without_a_value_are_internal_errors() -> None:
    """They compile; making a program of them fails."""
    source = "object.x.find('[') == ''"
    why = (
        "Internal error: program instantiation failed: error parsing regexp: missing closing ]: `[`"
    )
    spec: dict[str, Any] = {
        "matchConditions": [{"name": "c", "expression": source}],
        "validations": [{"expression": source}],
        "auditAnnotations": [{"key": "k", "valueExpression": "object.x.find('[')"}],
    }
    assert create(policy(**spec)).messages == [
        f"spec.matchConditions[0].expression: {why}",
        f"spec.validations[0].expression: {why}",
        f"spec.auditAnnotations[0].valueExpression: {why}",
    ]


def test_a_variable_without_an_expression_is_none() -> None:
    variables = [
        {"name": "a", "expression": " "},
        {"name": "b", "expression": "1"},
        {"name": "c", "expression": "variables.a + variables.b"},
    ]
    empty, undefined, used = create(
        policy(variables=variables, validations=[{"expression": "variables.a == variables.c"}])
    ).messages
    assert empty == "spec.variables[0].expression: Required value: expression is not specified"
    assert undefined.startswith("spec.variables[2].expression: ") and used.startswith(
        "spec.validations[0].expression: "
    )
    for message in (undefined, used):
        assert "undefined field 'a'" in message and "'b'" not in message


def test_mutations_know_variables_even_where_there_are_none() -> None:
    [message] = create(mutating(mutations=[patch_by("variables.a")])).messages
    assert "undefined field 'a'" in message
    [message] = create(policy(validations=[{"expression": "variables.a == 1"}])).messages
    assert "undeclared reference to 'variables'" in message


def test_variables_make_no_patches() -> None:
    """They are untyped to the expressions behind them, then."""
    variables = [{"name": "patch", "expression": '[JSONPatch{op: "remove", path: "/x"}]'}]
    wrong, used = create(
        mutating(variables=variables, mutations=[patch_by("variables.patch")])
    ).messages
    assert "undeclared reference to 'JSONPatch'" in wrong
    assert used.endswith("must evaluate to list(JSONPatch) but got dyn")


def test_an_annotation_is_quoted_as_it_is_written() -> None:
    annotations = [{"key": "k", "valueExpression": " 1 "}]
    assert create(policy(auditAnnotations=annotations)).messages == [
        'spec.auditAnnotations[0].valueExpression: Invalid value: " 1 ": must evaluate to one of '
        "[string null_type] but got int"
    ]


@pytest.mark.parametrize("make", [policy, mutating])
def test_match_conditions_that_stay_are_not_asked_again(make: Any) -> None:
    old = create(make(matchConditions=[{"name": "c", "expression": "params.x == 1"}])).obj
    kept, freed, changed = (copy.deepcopy(old) for _ in range(3))
    kept["spec"]["failurePolicy"] = "Ignore"
    freed["spec"]["paramKind"] = {"apiVersion": "v1", "kind": "ConfigMap"}
    changed["spec"]["matchConditions"][0]["name"] = "d"
    assert update(kept, old).messages == [] == update(freed, old).messages
    for new, before in ((changed, old), (old, freed)):
        [message] = update(new, before).messages
        assert message.startswith("spec.matchConditions[0].expression: ")


def test_errors_of_policies_come_in_upstreams_order() -> None:
    match = {"resourceRules": [{**RULE, "operations": ["DELETE"]}]}
    wrong = patch_by("", applyConfiguration={"expression": "Object{}"})
    conditions = [{"name": "", "expression": "true"}]
    made = create(mutating(matchConstraints=match, matchConditions=conditions, mutations=[wrong]))
    assert [e.path for e in made.errors] == [
        "spec.matchConstraints.resourceRules.operations",
        "spec.matchConditions[0].name",
        "spec.mutations[0].jsonPatch.expression",
        "spec.mutations[0].applyConfiguration",
    ]
    selector = {"matchLabels": {"a": "-"}}
    ref = {"name": "n", "selector": selector, "parameterNotFoundAction": "Deny"}
    binding = {
        "apiVersion": f"{GROUP}/v1",
        "kind": "MutatingAdmissionPolicyBinding",
        "metadata": {"name": "b"},
        "spec": {"policyName": "p", "paramRef": ref},
    }
    assert [e.path for e in create(binding).errors] == [
        "spec.paramRef.name",
        "spec.paramRef.selector.matchLabels",
        "spec.paramRef.selector",
    ]
