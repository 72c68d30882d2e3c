"""SelfSubjectRulesReview by accounts with roles in the installation, in two tenants of which one
has a definition, and each a ClusterRole ``edit`` of its own."""

from __future__ import annotations

from collections.abc import AsyncIterator
from types import SimpleNamespace
from typing import Any, cast

import pytest

from apiserver.meta.objects import Object
from apiserver.platformroles import EDITORS, LOOKING, TENANT_ADMINS
from apiserver.request import TENANCY_GROUP
from apiserver.storage import tenants
from apiserver.storage.postgres import PostgresStore
from apiserver.user import MASTERS, User, authenticated
from tests.support.api import Api, serving
from tests.support.fixtures import in_thread
from tests.support.grants import binding, role, rule
from tests.support.storage import numbers
from tests.support.users import RBAC, ROOT, as_user, authorizing
from tests.support.widgets import define

REVIEWS = "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews"
ROLES = {
    "editor": {EDITORS},
    "viewer": {LOOKING},
    "keeper": {TENANT_ADMINS},
    "chief": {EDITORS, LOOKING, TENANT_ADMINS},
}
WRITTEN = ["get", "create"]
BASIC = rule("selfsubjectrulesreviews", ["create"], "authorization.k8s.io")


class Directory:
    def __init__(self, named: dict[str, int]) -> None:
        self._named = named

    async def tenant(self, name: str) -> Any:
        limits = {"max_watches": None, "max_inflight": None}
        return SimpleNamespace(id=self._named[name], name=name, state="active", **limits)

    async def token(self, secret: str, tenant_id: int) -> User | None:
        groups = authenticated((MASTERS,) if secret in ("root", "chief") else (), secret)
        roles = frozenset(ROLES.get(secret, ()))
        return User(secret, groups=groups, everywhere=True, platform=roles)

    def remembered(self, secret: str, tenant: str) -> None:
        return None

    async def home(self, secret: str) -> str:
        return "default"


@pytest.fixture
async def api(store: PostgresStore) -> AsyncIterator[Api]:
    named = {name: next(numbers) for name in ("default", "acme")}
    for number in named.values():
        await in_thread(lambda number=number: tenants.create(number))  # type: ignore[misc]
    async with serving(store, named["default"]) as served:
        await define(served, None)
        authorizing(served)
        served.server.directory = cast(Any, Directory(named))
        maps = rule("configmaps secrets", WRITTEN, "")
        for tenant, rules in (
            ("default", [maps, rule("*", WRITTEN, "example.com")]),
            ("acme", [maps]),
        ):
            path = f"/clusters/{tenant}{RBAC}/clusterroles"
            await served.ok("POST", path, role("edit", rules), **ROOT)
            await served.ok("POST", path, role("basic", [BASIC]), **ROOT)
            bound = binding("basic", "basic", *ROLES, "eve")
            await served.ok("POST", f"{path[:-1]}bindings", bound, **ROOT)
        yield served


async def told(api: Api, tenant: str, user: str, **headers: str) -> Object:
    body = {"spec": {"namespace": "ns"}}
    path = f"/clusters/{tenant}{REVIEWS}"
    review = await api.ok("POST", path, body, **as_user(user), **headers)
    status: Object = review["status"]
    return status


def of_group(status: Object, group: str) -> list[Object]:
    return [rule for rule in status["resourceRules"] if group in rule["apiGroups"]]


WIDGETS = ["widgets", "widgets/status", "widgets/scale"]


async def test_an_editor_is_told_what_the_role_edit_is_there(api: Api) -> None:
    maps = {"verbs": ["get", "create"], "apiGroups": [""], "resources": ["configmaps"]}
    widgets = {"verbs": WRITTEN, "apiGroups": ["example.com"], "resources": WIDGETS}
    status = await told(api, "default", "editor")
    assert (of_group(status, ""), of_group(status, "example.com")) == ([maps], [widgets])
    assert status["incomplete"] and EDITORS in status["evaluationError"]
    status = await told(api, "acme", "editor")
    assert (of_group(status, ""), of_group(status, "example.com")) == ([maps], [])
    assert not status["incomplete"] and "evaluationError" not in status
    assert status["nonResourceRules"] == []


async def test_a_viewer_is_told_what_the_tenant_serves(api: Api) -> None:
    status = await told(api, "default", "viewer")
    (widgets,) = of_group(status, "example.com")
    assert widgets == {
        "verbs": ["get", "list", "watch"],
        "apiGroups": ["example.com"],
        "resources": WIDGETS,
    }
    (core,) = of_group(status, "")
    assert {"configmaps", "pods", "pods/status"} < {*core["resources"]}
    assert not {"secrets", "pods/exec", "pods/log"} & {*core["resources"]}
    assert status["incomplete"]
    assert of_group(await told(api, "acme", "viewer"), "example.com") == []


async def test_who_keeps_tenants_is_told_so_in_tenant_default(api: Api) -> None:
    status = await told(api, "default", "keeper")
    rules = of_group(status, TENANCY_GROUP)
    assert [rule["resourceNames"] for rule in rules if "resourceNames" in rule] == [[""]]
    assert status["incomplete"] and TENANT_ADMINS in status["evaluationError"]
    status = await told(api, "acme", "keeper")
    assert of_group(status, TENANCY_GROUP) == [] and not status["incomplete"]


async def test_who_acts_as_another_is_told_of_that_one(api: Api) -> None:
    for user, headers in (("eve", {}), ("chief", {"impersonate_user": "eve"})):
        status = await told(api, "default", user, **headers)
        assert status == {"resourceRules": [BASIC], "nonResourceRules": [], "incomplete": False}
