"""Nobody grants more than they hold, over HTTP: every verb that writes a role or a binding, what is
free, and what is refused."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from apiserver.authz.rbac import GROUP
from apiserver.meta.objects import Object
from apiserver.registry import rights
from apiserver.storage.postgres import PostgresStore
from tests.support.api import TYPES, Api
from tests.support.grants import (
    HELD,
    MAPS,
    NS,
    SECRETS,
    binding,
    give,
    granting,
    role,
    rule,
)
from tests.support.users import RBAC, ROOT, as_user


@pytest_asyncio.fixture
async def api(store: PostgresStore, tenant: int) -> AsyncIterator[Api]:
    async with granting(store, tenant) as served:
        yield served


KINDS = {
    "roles": ("Role", f"{NS}/roles"),
    "clusterroles": ("ClusterRole", f"{RBAC}/clusterroles"),
    "rolebindings": ("RoleBinding", f"{NS}/rolebindings"),
    "clusterrolebindings": ("ClusterRoleBinding", f"{RBAC}/clusterrolebindings"),
}


async def test_who_may_only_bind_cannot_become_administrator(api: Api) -> None:
    """The finding: she may create ClusterRoleBindings and nothing else, binds herself to
    cluster-admin, and reads all Secrets."""
    everything = [
        {"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]},
        {"nonResourceURLs": ["*"], "verbs": ["*"]},
    ]
    await api.ok("POST", f"{RBAC}/clusterroles", role("cluster-admin", everything), **ROOT)
    await api.ok(
        "POST",
        f"{RBAC}/clusterroles",
        role("binder", [rule("clusterrolebindings", ["create"])]),
        **ROOT,
    )
    await api.ok(
        "POST", f"{RBAC}/clusterrolebindings", binding("binder", "binder", "mallory"), **ROOT
    )
    status, answer = await api(
        "POST",
        f"{RBAC}/clusterrolebindings",
        binding("mine", "cluster-admin", "mallory"),
        **as_user("mallory"),
    )
    assert status == 403
    assert answer["message"] == (
        'clusterrolebindings.rbac.authorization.k8s.io "mine" is forbidden: user "mallory" '
        '(groups=["system:authenticated"]) is '
        'attempting to grant RBAC permissions not currently held:\n{APIGroups:["*"], '
        'Resources:["*"], Verbs:["*"]}\n'
        '{NonResourceURLs:["*"], Verbs:["*"]}'
    )
    assert (await api("GET", "/api/v1/secrets", **as_user("mallory")))[0] == 403


def body_of(resource: str, name: str, *, more: bool) -> Object:
    """An object that grants reading secrets (``more``), or config maps."""
    kind = KINDS[resource][0]
    obj = (
        role(name, SECRETS if more else MAPS)
        if kind.endswith("Role")
        else binding(name, "secrets" if more else "maps", "friend")
    )
    return {"apiVersion": f"{GROUP}/v1", "kind": kind, **obj}


VERBS = [
    "POST",
    "POST generated",
    "POST dry",
    "PUT",
    "PUT dry",
    "PUT new",
    "json",
    "merge",
    "strategic",
    "patch dry",
    "apply",
    "apply new",
]


async def write(api: Api, verb: str, resource: str, *, more: bool, user: str) -> tuple[int, Any]:
    """The write of that object by that verb; where the verb changes an object, that is there, bound
    or granting less."""
    path, who = KINDS[resource][1], as_user(user)
    there, new, binds = (
        verb not in ("PUT new", "apply new") and not verb.startswith("POST"),
        body_of(resource, "x", more=more),
        "roleRef" in body_of(resource, "x", more=more),
    )
    if there:
        before = (
            {**body_of(resource, "x", more=more), "subjects": []}
            if binds
            else body_of(resource, "x", more=False)
        )
        await api.ok("POST", path, before, **ROOT)
    member = "subjects" if binds else "rules"
    dry = "?dryRun=All" if verb.endswith("dry") else ""
    patch = {member: new[member], "metadata": {"labels": {"a": "b"}}}
    match verb:
        case "POST" | "POST dry":
            return await api("POST", path + dry, new, **who)
        case "POST generated":
            return await api("POST", path, {**new, "metadata": {"generateName": "x-"}}, **who)
        case "PUT" | "PUT dry" | "PUT new":
            return await api(
                "PUT",
                f"{path}/x{dry}",
                {**new, "metadata": {"name": "x", "labels": {"a": "b"}}},
                **who,
            )
        case "json":
            operations = [
                {"op": "add", "path": f"/{member}", "value": new[member]},
                {"op": "add", "path": "/metadata/labels", "value": {"a": "b"}},
            ]
            return await api("PATCH", f"{path}/x", operations, TYPES["json"], **who)
        case "strategic":
            return await api(
                "PATCH", f"{path}/x", patch, "application/strategic-merge-patch+json", **who
            )
        case "merge" | "patch dry":
            return await api("PATCH", f"{path}/x{dry}", patch, TYPES["merge"], **who)
        case _:
            return await api(
                "PATCH", f"{path}/x?fieldManager=m&force=true", new, TYPES["apply"], **who
            )


@pytest.mark.parametrize("resource", KINDS)
@pytest.mark.parametrize("verb", VERBS)
async def test_every_write_is_checked(api: Api, verb: str, resource: str) -> None:
    """The guard: each verb that writes x each kind that grants. What she holds passes, so the
    refusal is about the rights."""
    status, answer = await write(api, verb, resource, more=True, user="eve")
    name = "" if verb == "POST generated" else '"x" '
    assert (status, answer.get("reason")) == (403, "Forbidden"), answer
    assert answer["message"].startswith(f'{resource}.{GROUP} {name}is forbidden: user "eve" ')
    assert answer["message"].endswith(f"not currently held:\n{HELD}")
    await api("DELETE", f"{KINDS[resource][1]}/x", **ROOT)
    status, answer = await write(api, verb, resource, more=False, user="eve")
    assert status in (200, 201), answer


def test_every_kind_of_the_group_is_checked(api: Api) -> None:
    assert (
        {r.resource for r in api.catalog.all(api.tenant) if r.group == GROUP}
        == set(rights._CHECKS)
        == set(KINDS)
    )


# --- what is free ---------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("given", "verb", "resource", "name", "allowed"),
    [
        ([rule("clusterroles", ["escalate"])], "POST", "clusterroles", "x", True),
        ([rule("roles", ["escalate"])], "POST", "clusterroles", "x", False),
        (
            [rule("clusterroles", ["escalate"], resourceNames=["x"])],
            "PUT",
            "clusterroles",
            "x",
            True,
        ),
        (
            [rule("clusterroles", ["escalate"], resourceNames=["y"])],
            "PUT",
            "clusterroles",
            "x",
            False,
        ),
        (
            [rule("clusterroles", ["escalate"], resourceNames=["x"])],
            "POST",
            "clusterroles",
            "x",
            False,
        ),  # a POST has no name
        ([rule("clusterroles", ["bind"])], "POST", "clusterrolebindings", "x", True),
        (
            [rule("clusterroles", ["bind"], resourceNames=["secrets"])],
            "POST",
            "clusterrolebindings",
            "x",
            True,
        ),
        (
            [rule("clusterroles", ["bind"], resourceNames=["maps"])],
            "POST",
            "clusterrolebindings",
            "x",
            False,
        ),
        ([rule("clusterroles", ["bind"])], "POST", "rolebindings", "x", True),
        ([rule("roles", ["bind"])], "POST", "rolebindings", "x", False),
        ([rule("clusterroles", ["escalate"])], "POST", "clusterrolebindings", "x", False),
        ([rule("clusterroles", ["bind"])], "POST", "clusterroles", "x", False),
        (SECRETS, "POST", "clusterrolebindings", "x", True),
        (
            [rule("secrets", ["get"], "", resourceNames=["one"])],
            "POST",
            "clusterrolebindings",
            "x",
            False,
        ),
    ],
)
async def test_escalate_and_bind(
    api: Api, given: list[Object], verb: str, resource: str, name: str, allowed: bool
) -> None:
    await give(api, *given)
    status, answer = await write(api, verb, resource, more=True, user="eve")
    assert status == 403 or allowed, answer
    assert status in (200, 201) or not allowed, answer


async def test_what_is_held_in_a_namespace_is_granted_there_only(api: Api) -> None:
    await api.ok("POST", f"{NS}/rolebindings", binding("eve", "secrets", "eve"), **ROOT)
    assert (await write(api, "POST", "roles", more=True, user="eve"))[0] == 201
    assert (await write(api, "POST", "rolebindings", more=True, user="eve"))[0] == 201
    assert (await write(api, "POST", "clusterroles", more=True, user="eve"))[0] == 403
    assert (await write(api, "POST", "clusterrolebindings", more=True, user="eve"))[0] == 403
    elsewhere = f"{RBAC}/namespaces/other/rolebindings"
    assert (await api("POST", elsewhere, binding("x", "secrets", "eve"), **as_user("eve")))[
        0
    ] == 403


async def test_the_impersonated_user_is_who_grants(api: Api) -> None:
    await give(api, rule("users", ["impersonate"], ""), user="boss")
    eve = {**as_user("root"), "impersonate-user": "eve"}
    assert (await api("POST", f"{RBAC}/clusterroles", role("x", SECRETS), **eve))[0] == 403
    assert (
        await api(
            "POST",
            f"{RBAC}/clusterroles",
            role("y", MAPS),
            **{**as_user("boss"), "impersonate-user": "eve"},
        )
    )[0] == 201


# --- updates --------------------------------------------------------------------------------------
@pytest.mark.parametrize("resource", KINDS)
async def test_an_update_passes_when_it_only_lets_the_object_go(api: Api, resource: str) -> None:
    """Owner references and finalizers, for garbage collection; labels and what is kept of the rules
    are not."""
    path = KINDS[resource][1]
    made = await api.ok(
        "POST",
        path,
        body_of(resource, "x", more=True) | {"metadata": {"name": "x", "finalizers": ["a/b"]}},
        **ROOT,
    )
    eve = as_user("eve")
    owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "o", "uid": "u"}
    assert (
        await api(
            "PATCH", f"{path}/x", {"metadata": {"ownerReferences": [owner]}}, TYPES["merge"], **eve
        )
    )[0] == 200
    there = await api.ok("GET", f"{path}/x", **eve)
    there["metadata"]["finalizers"] = []
    assert (await api("PUT", f"{path}/x", there, **eve))[0] == 200
    assert (await api("PATCH", f"{path}/x", {}, TYPES["merge"], **eve))[0] == 200
    assert (
        await api("PATCH", f"{path}/x", {"metadata": {"labels": {"a": "b"}}}, TYPES["merge"], **eve)
    )[0] == 403
    again = {
        **body_of(resource, "x", more=True),
        "metadata": {"name": "x", "uid": made["metadata"]["uid"]},
    }
    assert (await api("PUT", f"{path}/x", again, **eve))[0] == 403, (
        "without the times and the version of what is stored it is more than that"
    )


async def test_less_may_be_left_than_was_there_only_if_that_is_held(api: Api) -> None:
    await api.ok("POST", f"{RBAC}/clusterroles", role("x", SECRETS + MAPS), **ROOT)
    eve = as_user("eve")
    assert (
        await api("PATCH", f"{RBAC}/clusterroles/x", {"rules": SECRETS}, TYPES["merge"], **eve)
    )[0] == 403
    assert (await api("PATCH", f"{RBAC}/clusterroles/x", {"rules": MAPS}, TYPES["merge"], **eve))[
        0
    ] == 200


async def test_another_role_is_refused_before_the_role_is_said_to_be_fixed(api: Api) -> None:
    path = f"{RBAC}/clusterrolebindings"
    await api.ok("POST", path, binding("x", "maps", "eve"), **ROOT)
    assert (await api("PUT", f"{path}/x", binding("x", "secrets", "eve"), **as_user("eve")))[
        0
    ] == 403
    status, answer = await api("PUT", f"{path}/x", binding("x", "secrets", "eve"), **ROOT)
    assert (status, "cannot change roleRef" in answer["message"]) == (422, True)
