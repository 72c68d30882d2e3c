"""Tokens of service accounts die with their account, with what they are bound to, and their watches
with them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from apiserver.storage.postgres import PostgresStore
from tests.support.accounttokens import (
    ACCOUNT,
    NS,
    RBAC,
    ROOT,
    issue,
    payload,
    ref,
    refused,
    review,
    serving_tokens,
    status,
    token,
)
from tests.support.api import Api, serving


@pytest_asyncio.fixture
async def api(store: PostgresStore, tenant: int) -> AsyncIterator[Api]:
    async with serving_tokens(store, tenant) as served:
        yield served


@pytest.mark.parametrize("kind", ["Secret", "Pod", "Node"])
async def test_a_bound_token_dies_with_what_it_is_bound_to(api: Api, kind: str) -> None:
    collection = {"Secret": f"{NS}/secrets", "Pod": f"{NS}/pods", "Node": "/api/v1/nodes"}[kind]
    await api.ok("POST", "/api/v1/nodes", {"metadata": {"name": "n1"}}, **ROOT)
    spec = (
        {
            "serviceAccountName": "robot",
            "nodeName": "n1",
            "containers": [{"name": "c", "image": "i"}],
        }
        if kind == "Pod"
        else {}
    )
    made = await api.ok(
        "POST",
        collection,
        {"metadata": {"name": "bond"}, **({"spec": spec} if spec else {})},
        **ROOT,
    )
    uid = made["metadata"]["uid"]
    assert (await refused(api, boundObjectRef=ref(kind, "bond", uid="x")))[0] == 409
    bound = await token(api, boundObjectRef=ref(kind, "bond", uid=uid))
    private = payload(bound)["kubernetes.io"]
    assert private[kind.lower()] == {"name": "bond", "uid": uid}
    assert private.get("node", {}).get("name") == {"Pod": "n1", "Node": "bond"}.get(kind)
    extra = (await review(api, bound))["user"]["extra"]
    named = {"Pod": ["bond"], "Secret": None}.get(kind)
    assert extra.get("authentication.kubernetes.io/pod-name") == named
    assert extra.get("authentication.kubernetes.io/node-name") == {
        "Pod": ["n1"],
        "Node": ["bond"],
    }.get(kind)
    assert await status(api, bound, f"{NS}/configmaps") == 403
    await api.ok("DELETE", "/api/v1/nodes/n1", **ROOT)
    assert await status(api, bound, f"{NS}/configmaps") == 403
    await api.ok("DELETE", f"{collection}/bond?gracePeriodSeconds=0", **ROOT)
    assert await status(api, bound, f"{NS}/configmaps") == 401
    await api.ok(
        "POST",
        collection,
        {"metadata": {"name": "bond"}, **({"spec": spec} if spec else {})},
        **ROOT,
    )
    assert await status(api, bound, f"{NS}/configmaps") == 401
    assert "does not match" in (await review(api, bound))["error"]


async def test_a_pod_of_another_account_is_no_bond(api: Api) -> None:
    spec = {"serviceAccountName": "default", "containers": [{"name": "c", "image": "i"}]}
    await api.ok("POST", f"{NS}/pods", {"metadata": {"name": "p"}, "spec": spec}, **ROOT)
    text = (
        'cannot bind token for serviceaccount "robot" to pod running with different '
        "serviceaccount name."
    )
    assert await refused(api, boundObjectRef=ref("Pod", "p")) == (400, text)


async def test_a_token_dies_with_its_account(api: Api) -> None:
    secret = await token(api)
    assert await status(api, secret, f"{NS}/configmaps") == 403
    await api.ok("DELETE", ACCOUNT, **ROOT)
    assert await status(api, secret, f"{NS}/configmaps") == 401
    assert await review(api, secret) == {
        "user": {},
        "error": '[invalid bearer token, serviceaccounts "robot" not found]',
    }
    await api.ok("POST", f"{NS}/serviceaccounts", {"metadata": {"name": "robot"}}, **ROOT)
    assert await status(api, secret, f"{NS}/configmaps") == 401


async def test_what_another_process_wrote_a_moment_ago_counts(api: Api, postgres: str) -> None:
    """The token comes from a worker whose writes this one's caches have not heard of."""
    assert await status(api, await token(api), f"{NS}/configmaps") == 403  # the caches are there
    opened = PostgresStore(postgres, size=2)
    await opened.open()
    async with serving(opened, api.tenant.id) as other:
        other.server.tokens, other.server.directory = api.server.tokens, api.server.directory
        await other.ok("POST", f"{NS}/serviceaccounts", {"metadata": {"name": "new"}}, **ROOT)
        secret = (await issue(other, f"{NS}/serviceaccounts/new/token"))["status"]["token"]
        assert await status(api, secret, f"{NS}/configmaps") == 403
    await opened.close()


async def test_a_watch_lives_as_long_as_its_account(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    rounds = 0
    holds = api.server.watchdog._holds

    async def counted(right: Any) -> bool:
        nonlocal rounds
        rounds += 1
        return await holds(right)

    monkeypatch.setattr(api.server.watchdog, "_every", 0.01)
    monkeypatch.setattr(api.server.watchdog, "_holds", counted)
    rules = [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["watch"]}]
    await api.ok("POST", f"{RBAC}/roles", {"metadata": {"name": "watcher"}, "rules": rules}, **ROOT)
    subjects = [{"kind": "ServiceAccount", "name": "robot", "namespace": "ns"}]
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "watcher"}
    await api.ok(
        "POST",
        f"{RBAC}/rolebindings",
        {"metadata": {"name": "watcher"}, "subjects": subjects, "roleRef": role},
        **ROOT,
    )
    watch = api.watch(
        f"{NS}/configmaps?watch=true&resourceVersion=0", authorization=f"Bearer {await token(api)}"
    )
    await api.until(lambda: rounds > 3)
    await api.ok("POST", f"{NS}/configmaps", {"metadata": {"name": "seen"}}, **ROOT)
    event = await watch.next()
    assert event is not None and event["object"]["metadata"]["name"] == "seen"
    await api.ok("DELETE", ACCOUNT, **ROOT)
    assert await watch.next() is None
