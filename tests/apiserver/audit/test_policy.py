"""Which rule means which request: the cases that k8s.io/apiserver's documentation of PolicyRule and
GroupResources tells apart."""

from __future__ import annotations

from typing import Any

import pytest

from apiserver.audit.policy import DEFAULT, Level, PolicyError, is_sensitive, parse
from apiserver.authz.attributes import Attributes
from apiserver.user import User

ANN = User("ann", groups=("devs", "system:authenticated"))
NOBODY = User("")
REQUESTS = {
    "pod": Attributes(ANN, "get", "", "v1", "pods", "", "shop", "web"),
    "pods": Attributes(ANN, "list", "", "v1", "pods", "", "shop"),
    "log": Attributes(ANN, "get", "", "v1", "pods", "log", "shop", "web"),
    "role": Attributes(
        ANN, "update", "rbac.authorization.k8s.io", "v1", "clusterroles", "", "", "r"
    ),
    "status": Attributes(ANN, "patch", "apps", "v1", "deployments", "status", "shop", "web"),
    "scale": Attributes(ANN, "update", "apps", "v1", "deployments", "scale", "other", "web"),
    "path": Attributes(ANN, "get", path="/logs/today", is_resource=False),
    "root": Attributes(ANN, "get", path="/", is_resource=False),
    "stranger": Attributes(NOBODY, "get", "", "v1", "pods", "", "shop", "web"),
}


def rule(**members: Any) -> dict[str, Any]:
    return {"level": "Metadata", **members}


def group(name: str, *resources: str, names: tuple[str, ...] = ()) -> list[dict[str, Any]]:
    return [{"group": name, "resources": list(resources), "resourceNames": list(names)}]


ALL = set(REQUESTS)
RESOURCES = ALL - {"path", "root"}
CORE = {"pod", "pods", "log", "stranger"}
MATRIX: list[tuple[dict[str, Any], set[str]]] = [
    ({}, ALL),
    ({"users": ["ann"]}, ALL - {"stranger"}),
    ({"users": ["bob"]}, set()),
    ({"userGroups": ["ops", "devs"]}, ALL - {"stranger"}),
    ({"userGroups": ["ops"]}, set()),
    ({"users": ["ann"], "userGroups": ["ops"]}, set()),
    ({"verbs": ["list", "patch"]}, {"pods", "status"}),
    ({"verbs": ["*"]}, set()),
    ({"namespaces": ["shop"]}, CORE | {"status"}),
    ({"namespaces": [""]}, {"role"}),
    ({"resources": [{"group": ""}]}, CORE),
    ({"resources": [{}]}, CORE),
    ({"resources": [{"group": "apps"}]}, {"status", "scale"}),
    ({"resources": [{"group": "*"}]}, RESOURCES),
    ({"resources": group("*", "*/status")}, {"status"}),
    ({"resources": group("", "pods")}, {"pod", "pods", "stranger"}),
    ({"resources": group("", "pods/log")}, {"log"}),
    ({"resources": group("", "pods/*")}, CORE),
    ({"resources": group("apps", "*/scale")}, {"scale"}),
    ({"resources": group("apps", "*")}, {"status", "scale"}),
    ({"resources": group("", "pods", names=("web",))}, {"pod", "stranger"}),
    ({"resources": group("", "pods", names=("db",))}, set()),
    ({"resources": group("", "*") + group("apps", "*")}, CORE | {"status", "scale"}),
    ({"resources": group("", "pods"), "namespaces": ["other"]}, set()),
    ({"nonResourceURLs": ["*"]}, {"path", "root"}),
    ({"nonResourceURLs": ["/logs*"]}, {"path"}),
    ({"nonResourceURLs": ["/logs/"]}, set()),
    ({"nonResourceURLs": ["/"]}, {"root"}),
]


def policy(*rules: dict[str, Any], **members: Any) -> Any:
    document = {"apiVersion": "audit.k8s.io/v1", "kind": "Policy", "rules": list(rules)}
    return parse({**document, **members})


@pytest.mark.parametrize(("members", "meant"), MATRIX)
def test_what_a_rule_means(members: dict[str, Any], meant: set[str]) -> None:
    made = policy(rule(**members))
    found = {name for name, asked in REQUESTS.items() if made.verdict(asked).level}
    assert found == meant


def test_the_first_rule_decides_and_none_keeps_nothing() -> None:
    made = policy(
        rule(level="None", users=["ann"], verbs=["list"]),
        rule(level="RequestResponse", verbs=["get", "list"]),
    )
    levels = {name: made.verdict(asked).level for name, asked in REQUESTS.items()}
    assert levels["pods"] is Level.NONE, "the first"
    assert levels["pod"] is Level.REQUEST_RESPONSE
    assert levels["scale"] is Level.NONE, "no rule"


def test_stages_are_left_out_by_the_policy_and_by_the_rule() -> None:
    made = policy(rule(verbs=["get"], omitStages=["Panic"]), rule(), omitStages=["RequestReceived"])
    assert made.verdict(REQUESTS["pod"]).quiet == {"RequestReceived", "Panic"}
    assert made.verdict(REQUESTS["pods"]).quiet == {"RequestReceived"}


@pytest.mark.parametrize(
    ("own", "whole", "omitted"),
    [(None, None, False), (None, True, True), (False, True, False), (True, False, True)],
)
def test_a_rule_decides_about_managed_fields_before_the_policy(
    own: bool | None, whole: bool | None, omitted: bool
) -> None:
    made = policy(rule(omitManagedFields=own), omitManagedFields=whole)
    assert made.verdict(REQUESTS["pod"]).omit_managed is omitted


@pytest.mark.parametrize("percent", [0, 1, 100])
def test_a_rule_says_its_share(percent: int) -> None:
    made = policy(rule(verbs=["get"], samplePercent=percent), rule())
    assert made.verdict(REQUESTS["pod"]).sample == percent
    assert made.verdict(REQUESTS["pods"]).sample is None


@pytest.mark.parametrize(
    ("document", "complaint"),
    [
        (None, "policy: it must be a mapping"),
        ({"kind": "Policy"}, "an audit.k8s.io/v1 Policy"),
        ({"rules": []}, "at least one rule"),
        ({"rules": [{"level": "All"}]}, r"rules\[0\].level"),
        ({"rules": [{"levle": "None"}]}, r"rules\[0\].level"),
        ({"rules": [rule(verbs="get")]}, r"rules\[0\].verbs: it must be a list"),
        ({"rules": [rule(verbs=[1])]}, "a list of strings"),
        ({"rules": [rule(), rule(omitStages=["Begin"])]}, r"rules\[1\].omitStages"),
        ({"rules": [rule(nonResourceURLs=["logs"])]}, "must begin with '/'"),
        ({"rules": [rule(nonResourceURLs=["/a*b"])]}, "at its end alone"),
        ({"rules": [rule(nonResourceURLs=["/a"], namespaces=["b"])]}, "about resources, or"),
        ({"rules": [rule(resources=[{"group": "a_b"}])]}, "no API group"),
        ({"rules": [rule(resources=[{"resourceNames": ["a"]}])]}, "at least one resource"),
        ({"rules": [rule(omitManagedFields="yes")]}, "true or false"),
        *(
            ({"rules": [rule(), rule(samplePercent=nonsense)]}, r"rules\[1\].samplePercent: .* 100")
            for nonsense in (-1, 101, 10.0, 0.5, True, "10", "10%", None, [10])
        ),
    ],
)
def test_a_policy_that_is_none_says_where(document: Any, complaint: str) -> None:
    if isinstance(document, dict) and "rules" in document:
        document = {"apiVersion": "audit.k8s.io/v1", "kind": "Policy", **document}
    with pytest.raises(PolicyError, match=complaint):
        parse(document)


def test_by_default_changes_are_kept_and_reads_are_not() -> None:
    levels = {name: DEFAULT.verdict(asked).level for name, asked in REQUESTS.items()}
    kept = {name for name, level in levels.items() if level is Level.METADATA}
    assert kept == {"role", "status", "scale"}
    review = Attributes(ANN, "create", "authorization.k8s.io", "v1", "subjectaccessreviews")
    assert DEFAULT.verdict(review).level is Level.NONE, "a question"
    counted = Attributes(ANN, "create", "search.polyplane.dev", "v1", "objectcounts")
    assert DEFAULT.verdict(counted).level is Level.NONE, "which the console asks all the time"
    declared = counted._replace(resource="fieldindexes")
    assert DEFAULT.verdict(declared).level is Level.METADATA


@pytest.mark.parametrize(
    ("group_", "resource", "subresource", "sensitive"),
    [
        ("", "secrets", "", True),
        ("", "secrets", "status", True),
        ("", "serviceaccounts", "token", True),
        ("", "serviceaccounts", "", False),
        ("authentication.k8s.io", "tokenreviews", "", True),
        ("history.polyplane.dev", "revisions", "", True),
        ("history.polyplane.dev", "revisions", "rollback", True),
        ("tenancy.polyplane.dev", "tenanttemplates", "", True),
        ("tenancy.polyplane.dev", "tenants", "", False),
        ("policies.polyplane.dev", "expressionreviews", "", True),
        ("policies.polyplane.dev", "admissionusereviews", "", True),
        ("example.com", "secrets", "", False),
    ],
)
def test_whose_bodies_are_secret(
    group_: str, resource: str, subresource: str, sensitive: bool
) -> None:
    assert is_sensitive(group_, resource, subresource) is sensitive


def test_unknown_fields_do_not_count_and_are_named() -> None:
    rules = [rule(users=["ann"], verb=["list"]), rule(resources=[{"group": "", "kind": "Pod"}])]
    made = policy(*rules, samplePercent=10, annotations={})
    assert made.ignored == (
        "policy.annotations",
        "policy.samplePercent",
        "rules[0].verb",
        "rules[1].resources[0].kind",
    )
    known = policy(rule(users=["ann"]), rule(resources=[{"group": ""}]))
    assert (made.rules, known.ignored) == (known.rules, ())
