"""GrantReview through the API: who may do something, what somebody may do, and who is told of it.

What eve may read                                       what she is told
----------------------------------------------------    ----------------------------------------
nothing                                                 nothing; all that matters is hidden
list rolebindings, get roles in ns                      grants of ns by Roles
the same, and get clusterroles                          those by ClusterRoles in ns as well
list rolebindings in ns, no roles                       nothing: rules are in the roles
get rolebindings (no list)                              nothing: a list would not show them
list bindings, get of one cluster role by its name      grants by that one
all of RBAC                                             all
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from apiserver.authz import grants
from apiserver.meta.objects import Object
from apiserver.storage.postgres import PostgresStore
from tests.support.api import Api, serving
from tests.support.grants import NS, binding, role, rule
from tests.support.users import RBAC, ROOT, as_user, authorizing

REVIEWS = "/apis/authorization.polyplane.dev/v1/grantreviews"
GET_MAPS: Object = {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get"]}
ALL_MAPS: Object = {"apiGroups": [""], "resources": ["configmaps"], "verbs": ["*"]}
NAMED: Object = {**GET_MAPS, "resourceNames": ["settings"]}
ASKED = {"verb": "get", "resource": "configmaps", "namespace": "ns"}
EVE = as_user("eve")


@pytest.fixture
async def api(store: PostgresStore, tenant: int) -> AsyncIterator[Api]:
    """Ann gets ConfigMaps everywhere by a ClusterRole, bob in ns by the same, cid in ns by a Role,
    dan those named settings in ns."""
    async with serving(store, tenant) as served:
        authorizing(served)
        for path, obj in (
            (f"{RBAC}/clusterroles", role("maps", [GET_MAPS])),
            (f"{RBAC}/clusterrolebindings", binding("everywhere", "maps", "ann")),
            (f"{NS}/rolebindings", binding("here", "maps", "bob")),
            (f"{NS}/roles", role("own", [rule("secrets", ["get"], ""), ALL_MAPS])),
            (f"{NS}/rolebindings", binding("local", "own", "cid", kind="Role")),
            (f"{NS}/roles", role("one", [NAMED])),
            (f"{NS}/rolebindings", binding("named", "one", "dan", kind="Role")),
        ):
            await served.ok("POST", path, obj, **ROOT)
        yield served


async def asked(api: Api, headers: dict[str, str], **spec: Any) -> Object:
    review = await api.ok("POST", REVIEWS, {"spec": spec}, **headers)
    status: Object = review["status"]
    return status


def told(status: Object) -> list[str]:
    return [
        f"{g['subject']['name']} by {g['binding']['name']} of {g['role']['name']}/{g['ruleIndex']}"
        for g in status.get("grants", ())
    ]


async def test_who_may(api: Api) -> None:
    status = await asked(api, ROOT, resourceAttributes=ASKED)
    assert told(status) == [
        "ann by everywhere of maps/0",
        "bob by here of maps/0",
        "cid by local of own/1",
    ]
    assert "hidden" not in status and "incomplete" not in status
    roles = ["polyplane:viewers", "polyplane:editors", "polyplane:tenant-admins"]
    assert status["others"] == ["system:masters", "node", *roles]
    assert status["grants"][1] == {
        "binding": {"kind": "RoleBinding", "namespace": "ns", "name": "here"},
        "role": {"kind": "ClusterRole", "name": "maps"},
        "subject": {"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": "bob"},
        "rule": GET_MAPS,
        "ruleIndex": 0,
    }


@pytest.mark.parametrize(
    ("question", "users"),
    [
        ({"name": "settings"}, ["ann", "bob", "cid", "dan"]),
        ({"verb": "delete"}, ["cid"]),
        ({"namespace": ""}, ["ann"]),
        ({"namespace": "other"}, ["ann"]),
        ({"resource": "secrets"}, ["cid"]),
        ({"subresource": "status"}, []),
        ({"group": "apps"}, []),
    ],
)
async def test_who_may_what_else(api: Api, question: dict[str, str], users: list[str]) -> None:
    status = await asked(api, ROOT, resourceAttributes=ASKED | question)
    assert [text.split()[0] for text in told(status)] == users


async def test_what_somebody_may_by_all_bindings(api: Api) -> None:
    await api.ok("POST", f"{RBAC}/clusterrolebindings", binding("team", "maps", "x"), **ROOT)
    other = f"{RBAC}/namespaces/other/rolebindings"
    await api.ok("POST", "/api/v1/namespaces", {"metadata": {"name": "other"}}, **ROOT)
    group = binding("group", "maps")
    group["subjects"] = [{"kind": "Group", "name": "shift"}]
    await api.ok("POST", other, group, **ROOT)
    status = await asked(api, ROOT, user="cid", groups=["shift"])
    assert told(status) == [
        "cid by local of own/0",
        "cid by local of own/1",
        "shift by group of maps/0",
    ]
    narrowed = await asked(api, ROOT, user="cid", resourceAttributes=ASKED)
    assert told(narrowed) == ["cid by local of own/1"]


async def test_service_accounts_are_found_by_their_user_name(api: Api) -> None:
    bound = binding("robot", "maps")
    bound["subjects"] = [{"kind": "ServiceAccount", "name": "robot"}]
    bound["subjects"][0]["namespace"] = "ns"
    await api.ok("POST", f"{NS}/rolebindings", bound, **ROOT)
    assert told(await asked(api, ROOT, user="system:serviceaccount:ns:robot")) == [
        "robot by robot of maps/0"
    ]
    assert told(await asked(api, ROOT, user="system:serviceaccount:other:robot")) == []


async def test_paths_are_allowed_by_bindings_of_the_whole_tenant(api: Api) -> None:
    urls = {"nonResourceURLs": ["/logs/*"], "verbs": ["get"]}
    await api.ok("POST", f"{RBAC}/clusterroles", role("urls", [urls]), **ROOT)
    await api.ok("POST", f"{RBAC}/clusterrolebindings", binding("urls", "urls", "ann"), **ROOT)
    await api.ok("POST", f"{NS}/rolebindings", binding("not", "urls", "bob"), **ROOT)
    status = await asked(api, ROOT, nonResourceAttributes={"verb": "get", "path": "/logs/a"})
    assert told(status) == ["ann by urls of urls/0"]


async def test_a_role_that_is_gone_is_told(api: Api) -> None:
    await api.ok("DELETE", f"{RBAC}/clusterroles/maps", **ROOT)
    status = await asked(api, ROOT, user="ann")
    assert status["unresolved"] == ['clusterrole.rbac.authorization.k8s.io "maps" not found']


BINDINGS = rule("rolebindings", ["list"])
ROLES = rule("roles", ["get"])
CLUSTER_ROLES = rule("clusterroles", ["get"])


@pytest.mark.parametrize(
    ("rules", "users", "hidden"),
    [
        ([], [], ["clusterrolebindings", "rolebindings"]),
        ([BINDINGS, ROLES], ["cid"], ["clusterrolebindings", "clusterroles"]),
        ([BINDINGS], [], ["clusterrolebindings", "clusterroles", "roles"]),
        (
            [rule("rolebindings", ["get"]), ROLES],
            [],
            ["clusterrolebindings", "rolebindings"],
        ),
    ],
)
async def test_nobody_is_told_what_he_may_not_read_in_a_namespace(
    api: Api, rules: list[Object], users: list[str], hidden: list[str]
) -> None:
    await api.ok("POST", f"{NS}/roles", role("reads", rules), **ROOT)
    await api.ok(
        "POST", f"{NS}/rolebindings", binding("reads", "reads", "eve", kind="Role"), **ROOT
    )
    status = await asked(api, EVE, resourceAttributes=ASKED)
    assert [text.split()[0] for text in told(status)] == users
    assert status["hidden"] == hidden


@pytest.mark.parametrize(
    ("rules", "users", "hidden"),
    [
        ([BINDINGS, ROLES, CLUSTER_ROLES], ["bob", "cid"], ["clusterrolebindings"]),
        (
            [
                rule("rolebindings clusterrolebindings", ["list"]),
                {**CLUSTER_ROLES, "resourceNames": ["maps"]},
            ],
            ["ann", "bob"],
            ["clusterroles", "roles"],
        ),
        ([rule("*", ["get", "list"])], ["ann", "bob", "cid"], None),
    ],
)
async def test_nobody_is_told_what_he_may_not_read_in_the_tenant(
    api: Api, rules: list[Object], users: list[str], hidden: list[str] | None
) -> None:
    await api.ok("POST", f"{RBAC}/clusterroles", role("reads", rules), **ROOT)
    await api.ok("POST", f"{RBAC}/clusterrolebindings", binding("reads", "reads", "eve"), **ROOT)
    status = await asked(api, EVE, resourceAttributes=ASKED)
    assert [text.split()[0] for text in told(status)] == users
    assert status.get("hidden") == hidden


async def test_whose_bindings_are_in_other_namespaces_is_not_told(api: Api) -> None:
    await api.ok("POST", "/api/v1/namespaces", {"metadata": {"name": "other"}}, **ROOT)
    other = f"{RBAC}/namespaces/other/rolebindings"
    await api.ok("POST", other, binding("there", "maps", "bob"), **ROOT)
    rules = [BINDINGS, ROLES]
    await api.ok("POST", f"{NS}/roles", role("reads", rules), **ROOT)
    await api.ok(
        "POST", f"{NS}/rolebindings", binding("reads", "reads", "eve", kind="Role"), **ROOT
    )
    status = await asked(api, EVE, user="bob")
    assert "grants" not in status and "rolebindings" in status["hidden"]


async def test_an_answer_ends(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grants, "MOST", 2)
    status = await asked(api, ROOT, resourceAttributes=ASKED)
    assert (len(status["grants"]), status["incomplete"]) == (2, True)
    monkeypatch.setattr(grants, "MOST_LOOKS", 0)
    assert "grants" not in await asked(api, ROOT, resourceAttributes=ASKED)


async def test_what_is_no_question_is_refused(api: Api) -> None:
    status, answer = await api("POST", REVIEWS, {"spec": {}}, **ROOT)
    assert status == 422 and "at least one of user, groups" in answer["message"]
    both = {"resourceAttributes": ASKED, "nonResourceAttributes": {"path": "/", "verb": "get"}}
    assert (await api("POST", REVIEWS, {"spec": both}, **ROOT))[0] == 422


async def test_a_table_counts(api: Api) -> None:
    accept = "application/json;as=Table;g=meta.k8s.io;v=v1"
    table = await api.ok("POST", REVIEWS, {"spec": {"user": "cid"}}, **ROOT, accept=accept)
    assert table["rows"][0]["cells"] == [1, 2, "<none>", False]
