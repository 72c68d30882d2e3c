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
