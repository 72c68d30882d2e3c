"""Rules, selectors and match policies of policies and webhooks, as
k8s.io/apiserver ``predicates`` and ``policy/matching`` have them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from admission.attributes import Attributes, Equivalent
from admission.rules import Criteria, is_configuration, namespace_of
from apiserver.errors import NotFound
from apiserver.meta.gvk import GroupResource, GroupVersionKind, GroupVersionResource
from apiserver.meta.objects import Object
from apiserver.user import User

SCALE = GroupVersionKind("autoscaling", "v1", "Scale")
V1, V2 = (
    Equivalent(
        GroupVersionResource("autoscaling", v, "horizontalpodautoscalers"),
        GroupVersionKind("autoscaling", v, "HorizontalPodAutoscaler"),
    )
    for v in ("v1", "v2")
)


class Tenant:
    """admission.Lookup over namespaces, whose autoscalers are served in two versions.

    late: namespaces that only the database knows yet."""

    def __init__(self, *, late: Sequence[str] = (), **labels: dict[str, str]) -> None:
        self.labels, self.late = labels, late

    async def get(
        self, resource: GroupResource, namespace: str, name: str, *, fresh: bool = False
    ) -> Object | None:
        assert resource == GroupResource("", "namespaces")
        if name not in self.labels or (name in self.late and not fresh):
            return None
        return {"metadata": {"name": name, "labels": self.labels[name]}}

    async def list(self, resource: GroupResource, namespace: str = "") -> Sequence[Object]:
        raise AssertionError("rules list nothing")

    def equivalents(self, resource: GroupVersionResource, subresource: str) -> Sequence[Equivalent]:
        return [V2, V1] if resource.group == "autoscaling" and not subresource else []

    async def convert(self, obj: Object, resource: GroupVersionResource, to: Equivalent) -> Object:
        raise AssertionError("rules convert nothing")


NOBODY = Tenant(red={"team": "red"}, blue={"team": "blue"})


def request(resource: str = "pods", **more: Any) -> Attributes:
    """A create of a pod in namespace red, unless told otherwise."""
    version, group = more.pop("version", "v1"), more.pop("group", "")
    kind = GroupVersionKind(group, version, more.pop("kind", "Pod"))
    told = {
        "operation": "CREATE",
        "subresource": "",
        "namespace": "red",
        "name": "x",
        "object": {"metadata": {"name": "x"}},
        "old": None,
        **more,
    }
    gvr = GroupVersionResource(group, version, resource)
    return Attributes(tenant=1, kind=kind, resource=gvr, user=User("u"), **told)


def rule(**more: Any) -> Object:
    return {
        "apiGroups": ["*"],
        "apiVersions": ["*"],
        "operations": ["*"],
        "resources": ["*"],
        "scope": "*",
        **more,
    }


def constraints(*rules: Object, **more: Any) -> Object:
    return {
        "resourceRules": list(rules),
        "matchPolicy": "Equivalent",
        "namespaceSelector": {},
        "objectSelector": {},
        **more,
    }


async def matches(match: Object, attributes: Attributes, lookup: Tenant = NOBODY) -> bool:
    return await Criteria.of_policy(match).match(attributes, lookup) is not None


@pytest.mark.parametrize(
    ("resources", "subresource", "expected"),
    [
        (["*"], "", True),
        (["*"], "status", False),
        (["*/*"], "", True),
        (["*/*"], "status", True),
        (["pods"], "", True),
        (["pods"], "status", False),
        (["pods/*"], "", True),
        (["pods/*"], "exec", True),
        (["pods/exec"], "exec", True),
        (["pods/exec"], "", False),
        (["*/scale"], "scale", True),
        (["*/scale"], "status", False),
        (["services", "pods/log"], "log", True),
        (["services"], "", False),
    ],
)
async def test_resources(resources: list[str], subresource: str, expected: bool) -> None:
    match = constraints(rule(resources=resources))
    assert await matches(match, request(subresource=subresource)) is expected


@pytest.mark.parametrize(
    ("member", "value", "expected"),
    [
        ("apiGroups", [""], True),
        ("apiGroups", ["apps"], False),
        ("apiVersions", ["v1"], True),
        ("apiVersions", ["v2"], False),
        ("operations", ["CREATE", "UPDATE"], True),
        ("operations", ["DELETE"], False),
        ("scope", "Namespaced", True),
        ("scope", "Cluster", False),
        ("resourceNames", ["y", "x"], True),
        ("resourceNames", ["y"], False),
    ],
)
async def test_members_of_a_rule(member: str, value: Any, expected: bool) -> None:
    assert await matches(constraints(rule(**{member: value})), request()) is expected


async def test_a_namespace_is_of_the_cluster_and_lies_in_itself() -> None:
    ns = request("namespaces", kind="Namespace", namespace="", name="red")
    assert namespace_of(ns) == "red"
    assert await matches(constraints(rule(scope="Cluster")), ns)
    assert not await matches(constraints(rule(scope="Namespaced")), ns)


async def test_exclusions_come_before_rules() -> None:
    match = constraints(rule(), excludeResourceRules=[rule(resourceNames=["x"])])
    assert not await matches(match, request())
    assert await matches(match, request(name="y"))


@pytest.mark.parametrize(("policy", "resource"), [("Equivalent", V1), ("Exact", None)])
async def test_another_version_of_the_same_objects(
    policy: str, resource: Equivalent | None
) -> None:
    match = constraints(rule(apiGroups=["autoscaling"], apiVersions=["v1"]), matchPolicy=policy)
    v2 = request("horizontalpodautoscalers", group="autoscaling", version="v2", kind="H")
    assert await Criteria.of_policy(match).match(v2, NOBODY) == resource


async def test_the_version_of_the_request_is_preferred_over_earlier_rules() -> None:
    match = constraints(rule(apiVersions=["v1"]), rule(apiVersions=["v2"]))
    v2 = replace(request("horizontalpodautoscalers", group="autoscaling"), resource=V2.resource)
    matched = await Criteria.of_policy(match).match(v2, NOBODY)
    assert matched is not None
    assert matched.resource == V2.resource


async def test_a_binding_without_rules_matches_all_and_a_webhook_without_rules_nothing() -> None:
    assert await matches(constraints(), request())
    webhook = {**constraints(), "rules": []}
    assert await Criteria.of_webhook(webhook).match(request(), NOBODY) is None
    webhook["rules"] = [rule()]
    assert await Criteria.of_webhook(webhook).match(request(), NOBODY) is not None


# --- selectors ------------------------------------------------------------------------------------
RED = {"matchLabels": {"team": "red"}}


@pytest.mark.parametrize(
    ("attributes", "expected"),
    [
        (request(), True),
        (request(namespace="blue"), False),
        (request("nodes", namespace=""), True),  # outside of namespaces nothing is exempted
        # a namespace is judged by what it is going to be
        (request("namespaces", namespace="", name="blue", object={"metadata": RED}), False),
        (
            request(
                "namespaces",
                namespace="",
                name="blue",
                object={"metadata": {"name": "blue", "labels": {"team": "red"}}},
            ),
            True,
        ),
        # and in its deletion by what it is
        (request("namespaces", namespace="", name="red", operation="DELETE", object=None), True),
        (request("namespaces", namespace="", name="blue", operation="DELETE", object=None), False),
    ],
)
async def test_namespace_selectors(attributes: Attributes, expected: bool) -> None:
    assert await matches(constraints(rule(), namespaceSelector=RED), attributes) is expected


async def test_a_namespace_that_is_not_there_fails_only_what_matches_otherwise() -> None:
    gone = request(namespace="gone")
    with pytest.raises(NotFound, match='namespaces "gone" not found'):
        await matches(constraints(rule(), namespaceSelector=RED), gone)
    assert not await matches(constraints(rule(resources=["x"]), namespaceSelector=RED), gone)


async def test_a_namespace_that_the_cache_does_not_know_yet_is_asked_for() -> None:
    late = Tenant(late=["red"], red={"team": "red"})
    assert await matches(constraints(rule(), namespaceSelector=RED), request(), late)


@pytest.mark.parametrize(("new", "old", "expected"), [(1, 0, True), (0, 1, True), (0, 0, False)])
async def test_an_object_neither_enters_nor_leaves_a_selection_unseen(
    new: int, old: int, expected: bool
) -> None:
    states: list[Object] = [{"metadata": {}}, {"metadata": {"labels": {"team": "red"}}}]
    update = request(operation="UPDATE", object=states[new], old=states[old])
    assert await matches(constraints(rule(), objectSelector=RED), update) is expected
    deletion = request(operation="DELETE", object=None, old=states[old])
    assert await matches(constraints(rule(), objectSelector=RED), deletion) is bool(old)


def test_policies_and_webhooks_are_configuration() -> None:
    policy = request(kind="ValidatingAdmissionPolicy", group="admissionregistration.k8s.io")
    assert is_configuration(policy)
    assert not is_configuration(request())
