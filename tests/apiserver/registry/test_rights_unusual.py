"""Nobody grants more than they hold: roles that gather rules, are not there, are no roles, or are
huge."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from apiserver.authz.rbac import GROUP
from apiserver.meta.objects import Object
from apiserver.storage.postgres import PostgresStore
from tests.support.api import TYPES, Api
from tests.support.grants import (
    HELD,
    MAPS,
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


GATHERS = {"aggregationRule": {"clusterRoleSelectors": [{"matchLabels": {"a": "b"}}]}}


async def test_gathering_rules_needs_everything(api: Api) -> None:
    path, eve = f"{RBAC}/clusterroles", as_user("eve")
    needs = (
        'clusterroles.rbac.authorization.k8s.io "g" is forbidden: must have '
        "cluster-admin privileges to use the aggregationRule"
    )
    status, answer = await api("POST", path, role("g", None, **GATHERS), **eve)
    assert (status, answer["message"]) == (403, needs)
    await api.ok("POST", path, role("g", None, **GATHERS), **ROOT)
    for change in ({"aggregationRule": None, "rules": MAPS}, {"metadata": {"labels": {"a": "b"}}}):
        status, answer = await api("PATCH", f"{path}/g", change, TYPES["merge"], **eve)
        assert (status, answer["message"]) == (403, needs)
    everything = [
        {"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]},
        {"nonResourceURLs": ["*"], "verbs": ["*"]},
    ]
    await give(api, *everything)
    assert (
        await api("PATCH", f"{path}/g", {"metadata": {"labels": {"a": "b"}}}, TYPES["merge"], **eve)
    )[0] == 200


async def test_a_role_that_is_missing_can_be_bound_with_the_verb_only(api: Api) -> None:
    path, eve = f"{RBAC}/clusterrolebindings", as_user("eve")
    status, answer = await api("POST", path, binding("x", "absent", "u"), **eve)
    assert (status, answer["message"]) == (
        404,
        'clusterrolebindings.rbac.authorization.k8s.io "absent" not found',
    )
    await give(api, rule("clusterroles", ["bind"]))
    assert (await api("POST", path, binding("x", "absent", "u"), **eve))[0] == 201


async def test_a_refusal_tells_of_roles_that_cannot_be_found(api: Api) -> None:
    await api.ok("POST", f"{RBAC}/clusterrolebindings", binding("lost", "gone", "eve"), **ROOT)
    status, answer = await api("POST", f"{RBAC}/clusterroles", role("x", SECRETS), **as_user("eve"))
    assert status == 403
    assert answer["message"].endswith(
        f'{HELD}; resolution errors: [clusterroles.rbac.authorization.k8s.io "gone" not found]'
    )


@pytest.mark.parametrize(
    "body",
    [
        {"roleRef": None},
        {"roleRef": {}},
        {"roleRef": {"kind": "Thing", "name": "x", "apiGroup": GROUP}},
        {"roleRef": {"kind": "ClusterRole", "name": "a/b", "apiGroup": "x"}},
        {"subjects": None, "roleRef": {"kind": "Role", "name": "x"}},
    ],
)
async def test_what_is_no_binding_is_never_an_error_of_the_server_but_upstreams_own(
    api: Api, body: Object
) -> None:
    status, answer = await api(
        "POST", f"{RBAC}/clusterrolebindings", {"metadata": {"name": "x"}, **body}, **as_user("eve")
    )
    assert status in (404, 422) or "unsupported role reference kind" in answer["message"], answer


@pytest.mark.parametrize(
    "rules",
    [
        None,
        [],
        [{}],
        [None],
        [{"verbs": None}],
        [{"verbs": ["get"], "resources": None}],
        [{"verbs": [""]}],
    ],
)
async def test_what_is_no_rule_is_left_to_validation(api: Api, rules: Any) -> None:
    status, answer = await api(
        "POST",
        f"{RBAC}/clusterroles",
        {"metadata": {"name": "x"}, "rules": rules},
        **as_user("eve"),
    )
    assert status in (201, 400, 422), answer


def wide(n: int) -> Object:
    return {
        "apiGroups": [f"g{i}" for i in range(n)],
        "resources": [f"r{i}" for i in range(n)],
        "verbs": [f"v{i}" for i in range(n)],
    }


async def test_a_role_of_any_number_of_combinations_is_refused_briefly(api: Api) -> None:
    """10^12 combinations in 200 KB; upstream's answer would list them all."""
    status, answer = await api(
        "POST", f"{RBAC}/clusterroles", role("x", [wide(10_000)]), **as_user("eve")
    )
    assert (status, len(answer["message"]) < 512 * 1024) == (403, True)
    assert answer["message"].endswith(
        "combinations of groups, resources, verbs and names are compared and told)"
    )
    await api.ok("POST", f"{RBAC}/clusterroles", role("wide", [wide(10_000)]), **ROOT)
    status, answer = await api(
        "POST", f"{RBAC}/clusterrolebindings", binding("x", "wide", "eve"), **as_user("eve")
    )
    assert status == 403
    await give(api, wide(10_000))
    assert (
        await api(
            "POST", f"{RBAC}/clusterrolebindings", binding("x", "wide", "eve"), **as_user("eve")
        )
    )[0] == 201


async def test_roles_that_cannot_be_found_do_not_fill_the_answer(api: Api) -> None:
    for i in range(150):
        await api.ok(
            "POST",
            f"{RBAC}/clusterrolebindings",
            binding(f"lost-{i}", f"{i}" + "n" * 5000, "eve"),
            **ROOT,
        )
    _, answer = await api("GET", "/api/v1/secrets", **as_user("eve"))
    assert len(answer["message"]) < 128 * 1024
    _, answer = await api("POST", f"{RBAC}/clusterroles", role("x", SECRETS), **as_user("eve"))
    assert len(answer["message"]) < 128 * 1024
