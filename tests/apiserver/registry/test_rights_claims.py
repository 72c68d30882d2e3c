"""A claim's status over HTTP: the right to change it is not the right to change all of it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from apiserver.meta import features
from apiserver.storage.postgres import PostgresStore
from tests.support.api import Api, serving
from tests.support.fixtures import store, tenant
from tests.support.roles import binding, role, rule, user
from tests.support.users import RBAC, ROOT, as_user, authorizing

__all__ = ["store", "tenant"]

CLAIMS = "/apis/resource.k8s.io/v1/namespaces/ns/resourceclaims"
STATUS = f"{CLAIMS}/c/status"
BOB = as_user("bob")
RESERVED = {
    "status": {"allocation": {}, "reservedFor": [{"resource": "pods", "name": "p", "uid": "u"}]}
}


@pytest_asyncio.fixture
async def api(store: PostgresStore, tenant: int) -> AsyncIterator[Api]:
    async with serving(store, tenant) as made:
        api = authorizing(made)
        await api.ok("POST", CLAIMS, {"metadata": {"name": "c"}, "spec": {}}, **ROOT)
        await allow(
            api, "status", rule("get update patch", "resourceclaims/status", "resource.k8s.io")
        )
        yield api


async def allow(api: Api, name: str, *rules: Any) -> None:
    made = role(name, *rules)
    for resource, obj in (
        ("clusterroles", made),
        ("clusterrolebindings", binding(name, made, user("bob"))),
    ):
        await api.ok(
            "POST", f"{RBAC}/{resource}", {k: v for k, v in obj.items() if k != "kind"}, **ROOT
        )


async def change(api: Api) -> tuple[int, Any]:
    return await api("PATCH", STATUS, RESERVED, "application/merge-patch+json", **BOB)


async def test_a_claim_is_bound_by_whoever_may(api: Api) -> None:
    code, answer = await change(api)
    assert code == 422 and 'resource="resourceclaims/binding", verb="patch"' in answer["message"]
    await allow(api, "binding", rule("patch", "resourceclaims/binding", "resource.k8s.io"))
    assert (await change(api))[0] == 200
    found = await api.ok("GET", STATUS, **BOB)
    code, _ = await api("PUT", STATUS, {**found, "status": {}}, **BOB)
    assert code == 422  # that would be an update


async def test_the_gate_switches_it_off(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(features.ENABLED, "DRAResourceClaimGranularStatusAuthorization", False)
    assert (await change(api))[0] == 200
