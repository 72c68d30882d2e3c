"""Which FlowSchema means a request: the table of k8s.io/apiserver ``flowcontrol/rule.go``."""

from __future__ import annotations

from typing import Any

import pytest

from apiserver.flow.matching import Schema
from apiserver.request import parse_request
from apiserver.user import User

ALICE = User("alice", groups=("dev", "system:authenticated"))
ROBOT = User("system:serviceaccount:ci:robot", groups=("system:serviceaccounts",))
PODS = parse_request("GET", "/api/v1/namespaces/a/pods")
NODE = parse_request("GET", "/api/v1/nodes/n")
SCALE = parse_request("PUT", "/apis/apps/v1/namespaces/a/deployments/d/scale")
HEALTH = parse_request("GET", "/healthz/etcd")
EVERYTHING = {
    "verbs": ["*"],
    "apiGroups": ["*"],
    "resources": ["*"],
    "clusterScope": True,
    "namespaces": ["*"],
}
ALL_PATHS = {"verbs": ["*"], "nonResourceURLs": ["*"]}


def user(name: str) -> dict[str, Any]:
    return {"kind": "User", "user": {"name": name}}


def group(name: str) -> dict[str, Any]:
    return {"kind": "Group", "group": {"name": name}}


def account(namespace: str, name: str) -> dict[str, Any]:
    return {"kind": "ServiceAccount", "serviceAccount": {"namespace": namespace, "name": name}}


def schema(**rule: Any) -> Schema:
    return Schema("s", "uid", {"rules": [{"subjects": [user("*")], **rule}]})


@pytest.mark.parametrize(
    ("subject", "who", "means"),
    [
        (user("alice"), ALICE, True),
        (user("*"), ALICE, True),
        (user("bob"), ALICE, False),
        (group("dev"), ALICE, True),
        (group("*"), ALICE, True),
        (group("ops"), ALICE, False),
        (account("ci", "robot"), ROBOT, True),
        (account("ci", "*"), ROBOT, True),
        (account("ci", "other"), ROBOT, False),
        (account("c", "*"), ROBOT, False),
        (account("ci", "*"), ALICE, False),
        ({"kind": "User"}, ALICE, False),
        ({"kind": "Martian", "user": {"name": "*"}}, ALICE, False),
    ],
)
def test_subjects(subject: dict[str, Any], who: User, means: bool) -> None:
    found = schema(subjects=[subject], resourceRules=[EVERYTHING])
    assert found.matches(PODS, who) is means


@pytest.mark.parametrize(
    ("change", "request_", "means"),
    [
        ({}, PODS, True),
        ({}, NODE, True),
        ({"verbs": ["list"]}, PODS, True),
        ({"verbs": ["get"]}, PODS, False),
        ({"apiGroups": [""]}, PODS, True),
        ({"apiGroups": ["apps"]}, PODS, False),
        ({"apiGroups": ["apps"]}, SCALE, True),
        ({"resources": ["pods"]}, PODS, True),
        ({"resources": ["deployments"]}, SCALE, False),
        ({"resources": ["deployments/scale"]}, SCALE, True),
        ({"namespaces": ["a"]}, PODS, True),
        ({"namespaces": ["b"]}, PODS, False),
        ({"namespaces": ["b"]}, NODE, True),
        ({"clusterScope": False}, NODE, False),
        ({"clusterScope": False}, PODS, True),
        ({"namespaces": []}, PODS, False),
        ({}, HEALTH, False),
    ],
)
def test_resources(change: dict[str, Any], request_: Any, means: bool) -> None:
    assert schema(resourceRules=[{**EVERYTHING, **change}]).matches(request_, ALICE) is means


@pytest.mark.parametrize(
    ("urls", "verbs", "means"),
    [
        (["*"], ["*"], True),
        (["/healthz/etcd"], ["get"], True),
        (["/healthz/*"], ["get"], True),
        (["/healthz"], ["get"], True),
        (["/health"], ["get"], False),
        (["/livez", "/healthz"], ["*"], True),
        (["/healthz"], ["post"], False),
    ],
)
def test_paths(urls: list[str], verbs: list[str], means: bool) -> None:
    found = schema(nonResourceRules=[{"verbs": verbs, "nonResourceURLs": urls}])
    assert found.matches(HEALTH, ALICE) is means


def test_a_rule_needs_both_subject_and_request() -> None:
    rules = [
        {"subjects": [user("bob")], "resourceRules": [EVERYTHING]},
        {"subjects": [user("alice")], "nonResourceRules": [ALL_PATHS]},
    ]
    found = Schema("s", "", {"rules": rules})
    assert not found.matches(PODS, ALICE)
    assert found.matches(HEALTH, ALICE)


@pytest.mark.parametrize(
    ("method", "distinguisher"),
    [({"type": "ByUser"}, "alice"), ({"type": "ByNamespace"}, "a"), (None, "")],
)
def test_flows_are_told_apart(method: dict[str, str] | None, distinguisher: str) -> None:
    assert Schema("s", "", {"distinguisherMethod": method}).distinguisher(PODS, ALICE) == (
        distinguisher
    )
