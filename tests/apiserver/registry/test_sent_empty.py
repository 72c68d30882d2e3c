"""Lists and maps that are sent empty, where kube-apiserver tells them from none."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from apiserver.storage.interface import Store
from tests.support.api import Api, serving

ENDPOINTS = "/api/v1/namespaces/default/endpoints"
POLICIES = "/apis/networking.k8s.io/v1/namespaces/default/networkpolicies"
CLAIMS = "/api/v1/namespaces/default/persistentvolumeclaims"
TEMPLATES = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaimtemplates"
CIDRS = "/apis/networking.k8s.io/v1/servicecidrs"
SLICES = "/apis/resource.k8s.io/v1/resourceslices"
AUTOSCALERS = "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers"
CLAIM = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}


@pytest.fixture
async def api(store: Store, tenant: int) -> AsyncIterator[Api]:
    async with serving(store, tenant) as made:
        yield made


async def make(api: Api, path: str, api_version: str, kind: str, **members: Any) -> Any:
    body = {"apiVersion": api_version, "kind": kind, "metadata": {"name": "x"}, **members}
    return await api.ok("POST", path, body, user_agent="one/1")


async def patch(api: Api, path: str, body: Any, kind: str = "merge", **query: str) -> Any:
    return await api.patch(f"{path}/x", body, kind, fieldManager="two", **query)


def managers(obj: Any) -> list[str]:
    return [entry["manager"] for entry in obj["metadata"]["managedFields"]]


async def test_one_in_an_atomic_list_makes_an_owner(api: Api) -> None:
    subset = {"addresses": [{"ip": "192.168.3.1"}], "ports": [{"port": 80}]}
    await make(api, ENDPOINTS, "v1", "Endpoints", subsets=[subset])
    _, same = await patch(api, ENDPOINTS, {"subsets": [subset]})
    assert managers(same) == ["one"]
    _, changed = await patch(api, ENDPOINTS, {"subsets": [{**subset, "notReadyAddresses": []}]})
    assert changed["subsets"] == same["subsets"]
    assert managers(changed) == ["two"]


async def test_one_in_a_list_of_a_map_type_does_not(api: Api) -> None:
    made = await make(api, POLICIES, "networking.k8s.io/v1", "NetworkPolicy", spec={})
    spec = {"podSelector": {"matchExpressions": []}}
    _, changed = await patch(api, POLICIES, {"spec": spec})
    assert managers(changed) == ["one"]
    assert (made["metadata"]["generation"], changed["metadata"]["generation"]) == (1, 2)
    assert changed["spec"] == made["spec"]
    _, same = await patch(api, POLICIES, {"spec": {"policyTypes": []}})  # has a default
    assert same["metadata"]["generation"] == 2


async def test_a_claim_template_may_hold_none(api: Api) -> None:
    request = {"name": "r", "exactly": {"deviceClassName": "c"}}
    spec = {"spec": {"devices": {"requests": [request]}}, "metadata": {"finalizers": []}}
    status, answer = await api(
        "POST",
        TEMPLATES,
        {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "ResourceClaimTemplate",
            "metadata": {"name": "x"},
            "spec": spec,
        },
    )
    assert (status, answer["details"]["causes"][0]) == (
        422,
        {
            "reason": "FieldValueForbidden",
            "message": "Forbidden: cannot be set",
            "field": "spec.metadata.finalizers",
        },
    )


async def test_messages_show_it_whoever_sends_it(api: Api) -> None:
    await make(api, CLAIMS, "v1", "PersistentVolumeClaim", spec=CLAIM)
    body: dict[str, Any] = {"apiVersion": "v1", "kind": "PersistentVolumeClaim"}
    body["spec"] = {"accessModes": []}
    for kind in ("merge", "apply"):
        query = {"force": "true"} if kind == "apply" else {}
        status, answer = await patch(api, CLAIMS, body, kind, **query)
        assert status == 422
        assert '\n+ "AccessModes": [],\n' in answer["message"]


async def test_an_empty_selector_is_not_none(api: Api) -> None:
    await make(api, CLAIMS, "v1", "PersistentVolumeClaim", spec=CLAIM)
    status, answer = await patch(api, CLAIMS, {"spec": {"selector": {}}})
    assert status == 422
    assert '\n- "Selector": null,\n+ "Selector": {},\n' in answer["message"]


async def test_ranges_that_go_are_shown_as_sent(api: Api) -> None:
    spec = {"cidrs": ["192.168.0.0/16"]}
    await make(api, CIDRS, "networking.k8s.io/v1", "ServiceCIDR", spec=spec)
    for cidrs, shown in (([], "[]"), (None, "null")):
        status, answer = await patch(api, CIDRS, {"spec": {"cidrs": cidrs}})
        assert status == 422
        assert f"Invalid value: {shown}: field is immutable" in answer["message"]


@pytest.mark.parametrize("direction", ["scaleUp", "scaleDown"])
async def test_no_policies_of_an_autoscaler_get_no_defaults(api: Api, direction: str) -> None:
    ref = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"}
    spec = {"maxReplicas": 2, "scaleTargetRef": ref, "behavior": {direction: {}}}
    made = await make(api, AUTOSCALERS, "autoscaling/v2", "HorizontalPodAutoscaler", spec=spec)
    assert made["spec"]["behavior"][direction]["policies"]
    answer, told = await patch(
        api, AUTOSCALERS, {"spec": {"behavior": {direction: {"policies": []}}}}
    )
    assert answer == 422
    assert [(c["field"], c["message"]) for c in told["details"]["causes"]] == [
        (
            f"spec.behavior.{direction}.policies",
            "Required value: must specify at least one Policy",
        )
    ]


@pytest.mark.parametrize(
    ("devices", "counters", "wrong"),
    [([], [], True), ([{"name": "d"}], [], True), ([], None, False), (None, [], False)],
)
async def test_a_slice_has_counters_or_devices(
    api: Api, devices: list[Any] | None, counters: list[Any] | None, wrong: bool
) -> None:
    pool = {"name": "p", "resourceSliceCount": 1}
    spec = {"driver": "a.b", "nodeName": "n", "pool": pool}
    await make(api, SLICES, "resource.k8s.io/v1", "ResourceSlice", spec=spec)
    answer, told = await patch(
        api, SLICES, {"spec": {"devices": devices, "sharedCounters": counters}}
    )
    assert answer == (422 if wrong else 200)
    if wrong:
        assert [c["message"] for c in told["details"]["causes"]] == [
            'Invalid value: "": only one of `sharedCounters` or `devices` is allowed'
        ]


async def test_a_role_without_rules_is_applied_again_without_a_write(api: Api) -> None:
    """Clients that apply every few minutes what they have in a repository."""
    path = "/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles"
    role = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "Role",
        "metadata": {"name": "x"},
        "rules": [],
    }
    _, made = await patch(api, path, role, "apply")
    made["metadata"]["managedFields"][0]["time"] = "2026-01-01T00:00:00Z"
    older = await api.ok("PUT", f"{path}/x", made)
    _, again = await patch(api, path, role, "apply")
    assert older["rules"] is None
    assert again == older


@pytest.mark.parametrize(
    ("kind", "member", "refused"),
    [
        ("ConfigMap", "data", False),  # has a default
        ("ConfigMap", "binaryData", True),
        ("Secret", "data", True),
    ],
)
async def test_one_in_what_is_immutable_is_a_change(
    api: Api, kind: str, member: str, refused: bool
) -> None:
    path = f"/api/v1/namespaces/default/{kind.lower()}s"
    await make(api, path, "v1", kind, immutable=True)
    status, answer = await patch(api, path, {member: {}})
    assert status == (422 if refused else 200)
    if refused:
        assert [cause["field"] for cause in answer["details"]["causes"]] == [member]
