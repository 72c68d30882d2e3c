"""What an editor of all tenants may do in one of them: the bootstrap role ``edit`` and more, as a
tenant may have made it.

| asked | by the bootstrap role | by a role that allows everything |
|---|---|---|
| to read or write what is in ``edit`` | yes | yes |
| custom resources, cluster-scoped objects | what is aggregated | yes |
| Secrets, service accounts' tokens, to impersonate | no | no |
| to write RBAC or tenants; escalate, bind, approve | no | no |
| URLs, and questions about everything at once | no | no |
"""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

import pytest

from apiserver.authorizers.chain import Authority
from apiserver.authorizers.links import Named, Stateless, World
from apiserver.authz.attributes import Attributes, Decision
from apiserver.authz.rbac import UserRules
from apiserver.meta.gvk import GroupResource
from apiserver.meta.objects import Object
from apiserver.platformroles import EDITORS, METRICS_READERS, VIEWERS
from apiserver.request import TENANCY_GROUP
from apiserver.user import User

RBAC = "rbac.authorization.k8s.io"
EDITOR = User("editor", platform=frozenset({EDITORS}))
OTHERS = [
    User("editor"),
    User("editor", groups=(EDITORS,)),
    User("editor", everywhere=True, platform=frozenset({VIEWERS, METRICS_READERS})),
]
TOYS: Object = {"apiGroups": ["toys.example.com"], "resources": ["widgets"], "verbs": ["*"]}
ALL: Object = {"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}
URLS: Object = {"nonResourceURLs": ["*"], "verbs": ["*"]}
"""What a tenant may have added."""


class Silent(Stateless):
    async def authorize(self, world: World, attributes: Attributes) -> Decision:
        return Decision(False)

    async def rules_for(self, world: World, user: User, namespace: str) -> UserRules:
        return UserRules([], [])


class Holds:
    """A tenant whose only object is this ClusterRole ``edit``, if any."""

    def __init__(self, rules: list[Object] | None) -> None:
        self._rules = rules

    async def get(self, resource: GroupResource, namespace: str, name: str) -> Object | None:
        assert (resource, namespace, name) == (GroupResource(RBAC, "clusterroles"), "", "edit")
        return None if self._rules is None else {"rules": self._rules}


def bootstrap() -> list[Object]:
    """The rules that are aggregated to ``edit`` and to the ``view`` in it."""
    labels = {f"{RBAC}/aggregate-to-edit", f"{RBAC}/aggregate-to-view"}
    data = json.loads((files("apiserver.kinds") / "data" / "bootstrap.json").read_bytes())
    return [
        rule
        for role in data["clusterroles"]
        if labels & set(role["metadata"].get("labels") or {})
        for rule in role.get("rules") or []
    ]


async def decide(
    asked: dict[str, Any],
    rules: list[Object] | None,
    user: User = EDITOR,
    link: Any = None,
    tenant: str = "acme",
) -> Decision:
    authority = Authority()
    authority.use([Named("one", "Webhook", link or Silent())])
    world = World(1, tenant, Holds(rules))  # type: ignore[arg-type]  # an editor reads one role
    return await authority.authorize(world, Attributes(user, **asked))


def of(verbs: str, resource: str, group: str = "", **more: Any) -> list[dict[str, Any]]:
    name, _, sub = resource.partition("/")
    asked = {"group": group, "resource": name, "subresource": sub, "namespace": "shop", **more}
    return [{"verb": verb, **asked} for verb in verbs.split()]


READ, WRITE = "get list watch", "create update patch delete deletecollection"
IN_EDIT = [
    *of(f"{READ} {WRITE}", "configmaps"),
    *of(f"{READ} {WRITE}", "deployments", "apps"),
    *of(f"{READ} {WRITE}", "configmaps", namespace=""),
    *of(f"{READ} update patch", "deployments/scale", "apps"),
    *of(f"{READ} {WRITE}", "serviceaccounts"),
    *of("get create", "pods/exec"),
    *of("create", "pods/eviction"),
    *of(READ, "pods/log"),
    *of(READ, "namespaces", namespace=""),
    *of(READ, "resourcequotas"),
]
NOT_IN_EDIT = [
    *of(WRITE, "namespaces", namespace=""),
    *of(WRITE, "resourcequotas"),
    *of(f"{READ} {WRITE}", "nodes", namespace=""),
    *of(f"{READ} {WRITE}", "clusterroles", RBAC, namespace=""),
    *of(f"{READ} {WRITE}", "customresourcedefinitions", "apiextensions.k8s.io", namespace=""),
    *of("update patch", "deployments/status", "apps"),
    *of(f"{READ} {WRITE}", "widgets", "toys.example.com"),
    *of(READ, "tenants", TENANCY_GROUP, namespace=""),
]
NEVER = [
    *of(f"{READ} {WRITE}", "secrets"),
    *of(f"{READ} {WRITE}", "secrets", namespace=""),
    *of(f"{READ} {WRITE}", "secrets/anything"),
    *of("create get", "serviceaccounts/token"),
    *of("impersonate", "serviceaccounts"),
    *of("impersonate", "users", namespace=""),
    *of("impersonate", "groups", namespace=""),
    *of("impersonate:user-info", "users", "authentication.k8s.io", namespace=""),
    *of("impersonate:serviceaccount", "serviceaccounts", "authentication.k8s.io"),
    *of("impersonate-on:user-info:get", "configmaps"),
    *of(WRITE, "roles", RBAC),
    *of(WRITE, "rolebindings", RBAC),
    *of(WRITE, "clusterrolebindings", RBAC, namespace=""),
    *of(f"escalate bind {WRITE}", "clusterroles", RBAC, namespace=""),
    *of("approve sign attest", "signers", "certificates.k8s.io", namespace=""),
    *of(WRITE, "tenants", TENANCY_GROUP, namespace=""),
    *of("update patch", "tenants/status", TENANCY_GROUP, namespace=""),
    *of(f"{READ} {WRITE}", "tenanttemplates", TENANCY_GROUP, namespace=""),
    *of("*", "configmaps"),
    *of("get", "*"),
    *of("get", "configmaps", "*"),
    {"verb": "get", "path": "/metrics", "is_resource": False},
]


@pytest.mark.parametrize("tenant", ["acme", "default"])
async def test_the_role_edit_is_an_editors(tenant: str) -> None:
    for asked in IN_EDIT:
        decision = await decide(asked, bootstrap(), tenant=tenant)
        assert decision.allowed and decision.authorizer == EDITORS, asked
        assert 'ClusterRole "edit"' in decision.reason
    for asked in [*NOT_IN_EDIT, *NEVER]:
        assert not (await decide(asked, bootstrap(), tenant=tenant)).allowed, asked


@pytest.mark.parametrize("tenant", ["acme", "default"])
async def test_a_tenant_adds_to_edit_but_never_what_makes_somebody_else(tenant: str) -> None:
    for asked in of(f"{READ} {WRITE}", "widgets", "toys.example.com"):
        assert (await decide(asked, [*bootstrap(), TOYS], tenant=tenant)).allowed, asked
    for asked in [*IN_EDIT, *NOT_IN_EDIT]:
        if asked in NEVER:
            continue
        assert (await decide(asked, [ALL, URLS], tenant=tenant)).allowed, asked
    for asked in NEVER:
        assert not (await decide(asked, [ALL, URLS], tenant=tenant)).allowed, asked


async def test_names_in_rules_hold_for_editors_too() -> None:
    rule = {**TOYS, "resourceNames": ["one"]}
    one, two = (of("get", "widgets", "toys.example.com", name=name)[0] for name in ("one", "two"))
    assert (await decide(one, [rule])).allowed
    assert not (await decide(two, [rule])).allowed


@pytest.mark.parametrize("rules", [None, []])
async def test_without_the_role_there_is_nothing(rules: list[Object] | None) -> None:
    for asked in IN_EDIT:
        assert not (await decide(asked, rules)).allowed, asked


@pytest.mark.parametrize("user", OTHERS)
async def test_nobody_else_is_an_editor(user: User) -> None:
    for asked in IN_EDIT:
        assert not (await decide(asked, [ALL], user)).allowed, asked


async def test_who_refuses_for_good_comes_first() -> None:
    class Refuses(Silent):
        async def authorize(self, world: World, attributes: Attributes) -> Decision:
            return Decision(False, "no", denied=True)

    assert (await decide(IN_EDIT[0], [ALL])).allowed
    assert not (await decide(IN_EDIT[0], [ALL], link=Refuses())).allowed
