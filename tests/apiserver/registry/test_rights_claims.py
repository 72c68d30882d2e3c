"""Claims over HTTP: the right to change a status is not the right to change all of it, and admin
access takes a namespace that is open for it."""

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


# --- admin access ---------------------------------------------------------------------------------
OPEN = {"resource.kubernetes.io/admin-access": "true"}
ASKING = {
    "devices": {
        "requests": [{"name": "r", "exactly": {"deviceClassName": "gpu", "adminAccess": True}}]
    }
}
RESULT = {"request": "r", "driver": "d", "pool": "p", "device": "d", "adminAccess": True}
GRANTED = {"status": {"allocation": {"devices": {"results": [RESULT]}}}}
REFUSED = "requires the `resource.kubernetes.io/admin-access: true` label"
TEMPLATES = CLAIMS.replace("claims", "claimtemplates")
MERGE = "application/merge-patch+json"
ANY = {"request": "r", "driver": "d", "pool": "p", "device": "d"}


async def opened(api: Api, labels: dict[str, str]) -> None:
    path = "/api/v1/namespaces"
    code, _ = await api("POST", path, {"metadata": {"name": "ns"}}, **ROOT)
    assert code in (201, 409)
    await api.ok("PATCH", f"{path}/ns", {"metadata": {"labels": labels}}, MERGE, **ROOT)


@pytest.mark.parametrize(
    ("path", "spec"), [(CLAIMS, ASKING), (TEMPLATES, {"spec": ASKING})], ids=["claim", "template"]
)
@pytest.mark.parametrize("verb", ["POST", "apply"])
async def test_who_asks_for_admin_access_needs_an_open_namespace(
    api: Api, path: str, spec: Any, verb: str
) -> None:
    kind = "ResourceClaimTemplate" if path == TEMPLATES else "ResourceClaim"
    body = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": kind,
        "metadata": {"name": "admin"},
        "spec": spec,
    }

    async def ask() -> tuple[int, Any]:
        if verb == "POST":
            return await api("POST", path, body, **ROOT)
        query = "fieldManager=m"
        return await api(
            "PATCH", f"{path}/admin?{query}", body, "application/apply-patch+yaml", **ROOT
        )

    await opened(api, {})
    code, answer = await ask()
    assert code == 422 and REFUSED in answer["message"]
    assert answer["details"]["causes"][0]["field"] == "spec.devices.requests[0].adminAccess"
    await opened(api, OPEN)
    assert (await ask())[0] == 201
    await opened(api, {**OPEN, "resource.kubernetes.io/admin-access": "no"})
    labels = {"metadata": {"labels": {"a": "b"}}}
    await api.ok(
        "PATCH", f"{path}/admin", labels, MERGE, **ROOT
    )  # what it asks for does not change


async def test_what_a_status_grants_needs_an_open_namespace(api: Api) -> None:
    body = {"metadata": {"name": "admin"}, "spec": ASKING}
    await opened(api, OPEN)
    await api.ok("POST", CLAIMS, body, **ROOT)
    await opened(api, {"resource.kubernetes.io/admin-access": "false"})
    path = f"{CLAIMS}/admin/status"
    code, answer = await api("PATCH", path, GRANTED, MERGE, **ROOT)
    assert code == 422 and REFUSED in answer["message"]
    await opened(api, OPEN)
    await api.ok("PATCH", path, GRANTED, MERGE, **ROOT)
    await opened(api, {"resource.kubernetes.io/admin-access": "false"})
    await api.ok("PATCH", path, {"metadata": {"labels": {"a": "b"}}}, MERGE, **ROOT)


async def test_what_drivers_tell_of_a_device_goes_with_its_allocation(api: Api) -> None:
    device = {"driver": "d", "pool": "p", "device": "d", "conditions": []}
    spec = {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "gpu"}}]}}
    await api.ok("POST", CLAIMS, {"metadata": {"name": "e"}, "spec": spec}, **ROOT)
    path = f"{CLAIMS}/e/status"
    told = {"allocation": {"devices": {"results": [ANY]}}, "devices": [device]}
    made = await api.ok("PATCH", path, {"status": told}, MERGE, **ROOT)
    assert [d["device"] for d in made["status"]["devices"]] == ["d"]
    freed = await api.ok("PATCH", path, {"status": {"allocation": None}}, MERGE, **ROOT)
    assert "devices" not in freed["status"]
