"""AccessExplanation through the API: who may see it, and what it tells."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from apiserver.meta.objects import Object
from apiserver.storage.postgres import PostgresStore
from tests.support.api import Api, serving
from tests.support.grants import NS, binding, role
from tests.support.users import RBAC, ROOT, as_user, authorizing

EXPLANATIONS = "/apis/authorization.polyplane.dev/v1/accessexplanations"
MAPS: Object = {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "list"]}


@pytest.fixture
async def api(store: PostgresStore, tenant: int) -> AsyncIterator[Api]:
    async with serving(store, tenant) as served:
        authorizing(served)
        await served.ok("POST", f"{NS}/roles", role("maps", [MAPS]), **ROOT)
        await served.ok(
            "POST", f"{NS}/rolebindings", binding("b", "maps", "eve", kind="Role"), **ROOT
        )
        yield served


async def explain(api: Api, verb: str, resource: str, **more: Any) -> Object:
    asked = {"verb": verb, "resource": resource, **more}
    spec = {"user": "eve", "resourceAttributes": asked}
    review: Object = await api.ok("POST", EXPLANATIONS, {"spec": spec}, **ROOT)
    status: Object = review["status"]
    return status


async def test_a_yes_names_the_rule_and_the_binding(api: Api) -> None:
    assert await explain(api, "get", "configmaps", namespace="ns") == {
        "allowed": True,
        "reason": 'RBAC: allowed by RoleBinding "b/ns" of Role "maps" to User "eve"',
        "authorizer": "rbac",
        "grant": {
            "binding": {"kind": "RoleBinding", "namespace": "ns", "name": "b"},
            "role": {"kind": "Role", "namespace": "ns", "name": "maps"},
            "subject": {
                "kind": "User",
                "apiGroup": "rbac.authorization.k8s.io",
                "name": "eve",
            },
            "rule": MAPS,
            "ruleIndex": 0,
        },
    }


@pytest.mark.parametrize(
    ("question", "lacking"),
    [
        ({"verb": "delete", "resource": "configmaps", "namespace": "ns"}, ["verbs"]),
        ({"verb": "get", "resource": "secrets", "namespace": "ns"}, ["resources"]),
        ({"verb": "get", "resource": "configmaps", "namespace": "other"}, ["namespace"]),
        ({"verb": "list", "resource": "configmaps"}, ["namespace"]),
        ({"verb": "get", "resource": "configmaps", "group": "x", "namespace": "ns"}, ["apiGroups"]),
    ],
)
async def test_a_no_tells_what_comes_nearest(
    api: Api, question: dict[str, Any], lacking: list[str]
) -> None:
    status = await explain(api, **question)
    assert (status["allowed"], "grant" in status, "authorizer" in status) == (False, False, False)
    (miss,) = status["nearMisses"]
    assert (miss["lacking"], miss["rule"]) == (lacking, MAPS)


async def test_it_takes_a_right_of_its_own(api: Api) -> None:
    asked = {"spec": {"resourceAttributes": {"verb": "get", "resource": "pods"}}}
    status, _ = await api("POST", EXPLANATIONS, asked, **as_user("eve"))
    assert status == 403
    right = {"apiGroups": ["authorization.polyplane.dev"], "resources": ["*"], "verbs": ["create"]}
    await api.ok("POST", f"{RBAC}/clusterroles", role("see", [right]), **ROOT)
    await api.ok("POST", f"{RBAC}/clusterrolebindings", binding("see", "see", "eve"), **ROOT)
    own = await api.ok("POST", EXPLANATIONS, asked, **as_user("eve"))
    assert [m["lacking"] for m in own["status"]["nearMisses"]] == [
        ["resources", "namespace"]
    ] or own


async def test_masters_are_named_and_a_lost_role_is_told(api: Api) -> None:
    review = {"spec": {"resourceAttributes": {"verb": "get", "resource": "pods"}}}
    own = await api.ok("POST", EXPLANATIONS, review, **ROOT)
    assert own["status"] == {"allowed": True, "authorizer": "system:masters"}
    await api.ok("POST", f"{RBAC}/clusterroles", role("gone", [MAPS]), **ROOT)
    await api.ok("POST", f"{RBAC}/clusterrolebindings", binding("gone", "gone", "eve"), **ROOT)
    await api.ok("DELETE", f"{RBAC}/clusterroles/gone", **ROOT)
    status = await explain(api, "get", "pods")
    lost = 'clusterrole.rbac.authorization.k8s.io "gone" not found'
    assert (status["unresolved"], status["reason"]) == ([lost], f"RBAC: {lost}")


async def test_a_table_shows_the_rule(api: Api) -> None:
    asked = {"verb": "delete", "resource": "configmaps", "namespace": "ns"}
    accept = "application/json;as=Table;g=meta.k8s.io;v=v1"
    spec = {"spec": {"user": "eve", "resourceAttributes": asked}}
    table = await api.ok("POST", EXPLANATIONS, spec, **ROOT, accept=accept)
    (row,) = table["rows"]
    assert row["cells"][:6] == [
        False,
        "<none>",
        "RoleBinding/ns/b",
        "Role/ns/maps",
        "get,list configmaps",
        "verbs",
    ]


async def test_what_is_no_question_is_refused(api: Api) -> None:
    status, answer = await api("POST", EXPLANATIONS, {"spec": {}}, **ROOT)
    assert status == 422
    assert "exactly one of nonResourceAttributes or resourceAttributes" in answer["message"]
