from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from apiserver.kinds.base import WriteContext
from apiserver.kinds.flowcontrol.flowschema import FlowSchema
from apiserver.kinds.flowcontrol.prioritylevelconfiguration import PriorityLevelConfiguration
from apiserver.meta.objects import Object

CONTEXT = WriteContext("v1", datetime(2026, 1, 1, tzinfo=UTC))
SUBJECT = {"kind": "User", "user": {"name": "u"}}


def schema(rule: Object | None = None, name: str = "s", **spec: Any) -> list[str]:
    rules = [{"subjects": [SUBJECT], **rule}] if rule else []
    obj: Object = {
        "metadata": {"name": name},
        "spec": {"priorityLevelConfiguration": {"name": "p"}, "rules": rules, **spec},
    }
    kind = FlowSchema()
    kind.default(obj, "v1")
    return [str(e) for e in kind.validate(obj, CONTEXT)]


def level(name: str = "l", **spec: Any) -> tuple[Object, list[str]]:
    obj: Object = {"metadata": {"name": name}, "spec": spec}
    kind = PriorityLevelConfiguration()
    kind.default(obj, "v1")
    return obj["spec"], [str(e) for e in kind.validate(obj, CONTEXT)]


@pytest.mark.parametrize(
    ("rule", "error"),
    [
        (
            {
                "resourceRules": [
                    {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"], "clusterScope": True}
                ]
            },
            "",
        ),
        ({}, ""),
        (
            {"subjects": []},
            "spec.rules[0].subjects: Required value: subjects must contain at least one value",
        ),
        (
            {"nonResourceRules": [{"verbs": ["*", "get"], "nonResourceURLs": ["/x/*"]}]},
            'spec.rules[0].nonResourceRules[0].verbs: Invalid value: ["*","get"]: if \'*\' is '
            "present, must not specify other verbs",
        ),
        (
            {"nonResourceRules": [{"verbs": ["get"], "nonResourceURLs": ["/x*"]}]},
            'spec.rules[0].nonResourceRules[0].nonResourceURLs[0]: Invalid value: "/x*": wildcard '
            "can only do suffix matching",
        ),
        (
            {"resourceRules": [{"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]}]},
            "spec.rules[0].resourceRules[0].namespaces: Required value: "
            "resource rules that are not cluster scoped must supply at least one namespace",
        ),
    ],
)
def test_rules_of_a_flow_schema(rule: Object, error: str) -> None:
    found = schema(rule)
    assert (error in found) if error else all("at least one of" in e for e in found)


def test_precedence_one_is_for_exempt_alone() -> None:
    assert schema(matchingPrecedence=1) == [
        "spec.matchingPrecedence: Invalid value: 1: only the schema named 'exempt' may have "
        "matchingPrecedence 1"
    ]


def test_mandatory_objects_keep_their_spec() -> None:
    assert any(
        "spec of 'catch-all' must equal the fixed value" in e for e in schema(name="catch-all")
    )


def test_levels_are_completed() -> None:
    spec, errors = level(
        type="Limited", limited={"limitResponse": {"type": "Queue", "queuing": {}}}
    )
    assert errors == []
    queuing = {"queues": 64, "handSize": 8, "queueLengthLimit": 50}
    response = {"type": "Queue", "queuing": queuing}
    assert spec["limited"] == {
        "nominalConcurrencyShares": 30,
        "lendablePercent": 0,
        "limitResponse": response,
    }


def test_hands_must_leave_entropy() -> None:
    _, errors = level(
        type="Limited",
        limited={"limitResponse": {"type": "Queue", "queuing": {"queues": 1024, "handSize": 7}}},
    )
    why = "required entropy bits of deckSize 1024 and handSize 7 should not be greater than 60"
    assert errors == [f"spec.limited.limitResponse.queuing.handSize: Invalid value: 7: {why}"]


def test_only_exempt_is_exempt() -> None:
    _, errors = level(type="Exempt")
    assert errors == [
        "spec.type: Invalid value: \"Exempt\": must be 'Exempt' if and only if `name` is 'exempt'"
    ]


def test_what_is_exempt_may_lend() -> None:
    spec, _ = level("exempt", type="Exempt", exempt={"lendablePercent": 5})
    assert level("exempt", **spec)[1] == []
    _, errors = level("exempt", type="Limited", limited={"limitResponse": {"type": "Reject"}})
    assert errors[0].startswith("spec.type: Invalid value")
    assert errors[1].startswith('spec: Invalid value: {"Type":"Limited","Limited":{')
    assert errors[1].endswith(
        "spec of 'exempt' except the 'spec.exempt' field must equal the fixed value"
    )


def test_levels_of_v1_keep_zero_anyhow() -> None:
    name = "flowcontrol.k8s.io/v1beta3-preserve-zero-concurrency-shares"
    spec = {"type": "Limited", "limited": {"limitResponse": {"type": "Reject"}}}
    obj: Object = {"metadata": {"name": "l", "annotations": {name: ""}}, "spec": spec}
    assert [str(e) for e in PriorityLevelConfiguration().validate(obj, CONTEXT)] == [
        f"metadata.annotations: Forbidden: annotation '{name}' is forbidden"
    ]


def test_conditions_have_types() -> None:
    obj: Object = {"metadata": {"name": "s"}, "status": {"conditions": [{"status": "True"}]}}
    assert [str(e) for e in FlowSchema().validate_status_update(obj, obj, CONTEXT)] == [
        "status.conditions[0].type: Required value"
    ]
