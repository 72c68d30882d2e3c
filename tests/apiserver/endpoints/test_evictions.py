"""Evictions through the API: the condition that says why a pod goes, and what budgets pay.
Logs and proxies, as far as they are answered without a kubelet."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from types import SimpleNamespace
from typing import Any, cast

import pytest

from apiserver.authz.attributes import Attributes, Decision
from apiserver.storage.interface import Store
from tests.support.api import Api, serving

PODS = "/api/v1/namespaces/default/pods"
SERVICES = "/api/v1/namespaces/default/services"
ENDPOINTS = "/api/v1/namespaces/default/endpoints"
BUDGETS = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"


@pytest.fixture
async def api(store: Store, tenant: int) -> AsyncIterator[Api]:
    async with serving(store, tenant) as made:
        yield made


def pod(name: str) -> dict[str, Any]:
    metadata = {"name": name, "labels": {"app": "x"}, "finalizers": ["example.com/stay"]}
    spec = {"containers": [{"name": "c", "image": "i"}], "automountServiceAccountToken": False}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def eviction(name: str, **options: Any) -> dict[str, Any]:
    body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name}}
    return {**body, "deleteOptions": options} if options else body


async def running(api: Api, name: str) -> dict[str, Any]:
    made = await api.ok("POST", PODS, pod(name))
    made["status"] = {
        "phase": "Running",
        "conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": None}],
    }
    return await api.ok("PUT", f"{PODS}/{name}/status", made)


async def test_an_evicted_pod_says_why_it_goes(api: Api) -> None:
    await api.ok("POST", PODS, pod("p"))
    await api.ok("POST", f"{PODS}/p/eviction", eviction("p"))
    gone = await api.ok("GET", f"{PODS}/p")
    assert gone["metadata"]["deletionTimestamp"]
    condition = gone["status"]["conditions"][-1]
    assert condition.pop("lastTransitionTime")
    assert condition == {
        "type": "DisruptionTarget",
        "observedGeneration": 1,
        "status": "True",
        "lastProbeTime": None,
        "reason": "EvictionByEvictionAPI",
        "message": "Eviction API: evicting",
    }


async def test_a_dry_run_marks_nothing(api: Api) -> None:
    await api.ok("POST", PODS, pod("p"))
    await api.ok("POST", f"{PODS}/p/eviction", eviction("p", dryRun=["All"]))
    left = await api.ok("GET", f"{PODS}/p")
    assert "deletionTimestamp" not in left["metadata"]
    assert "conditions" not in left["status"]


async def test_a_version_that_has_passed_is_a_conflict_and_leaves_no_mark(api: Api) -> None:
    await api.ok("POST", PODS, pod("p"))
    stale = eviction("p", preconditions={"resourceVersion": "1"})
    status, _ = await api("POST", f"{PODS}/p/eviction", stale)
    assert status == 409
    assert "conditions" not in (await api.ok("GET", f"{PODS}/p"))["status"]


async def test_evictions_at_once_do_not_spend_one_disruption_twice(api: Api) -> None:
    names = [f"p{i}" for i in range(6)]
    for name in names:
        await running(api, name)
    budget = await api.ok(
        "POST",
        BUDGETS,
        {
            "apiVersion": "policy/v1",
            "kind": "PodDisruptionBudget",
            "metadata": {"name": "b"},
            "spec": {"selector": {"matchLabels": {"app": "x"}}, "maxUnavailable": 2},
        },
    )
    budget["status"] = {
        "observedGeneration": 1,
        "disruptionsAllowed": 2,
        "currentHealthy": 6,
        "desiredHealthy": 4,
        "expectedPods": 6,
    }
    await api.ok("PUT", f"{BUDGETS}/b/status", budget)
    answers = await asyncio.gather(
        *(api("POST", f"{PODS}/{name}/eviction", eviction(name)) for name in names)
    )
    assert sorted(status for status, _ in answers) == [201, 201, 429, 429, 429, 429]
    spent = (await api.ok("GET", f"{BUDGETS}/b"))["status"]
    assert spent["disruptionsAllowed"] == 0
    assert len(spent["disruptedPods"]) == 2


async def test_a_node_without_addresses_is_told_of(api: Api) -> None:
    made = pod("p")
    made["spec"]["nodeName"] = "n"
    await api.ok("POST", PODS, made)
    status, _ = await api("GET", f"{PODS}/p/log")
    assert status == 404
    await api.ok("POST", "/api/v1/nodes", {"kind": "Node", "metadata": {"name": "n"}})
    status, answer = await api("GET", f"{PODS}/p/log")
    assert (status, answer["message"]) == (
        500,
        "no preferred addresses found; known addresses: []",
    )


async def test_proxies_say_why_nothing_is_there(api: Api) -> None:
    node = {"kind": "Node", "metadata": {"name": "n"}}
    service = {"kind": "Service", "metadata": {"name": "s"}, "spec": {"ports": [{"port": 80}]}}
    for path, obj in ((PODS, pod("p")), ("/api/v1/nodes", node), (SERVICES, service)):
        await api.ok("POST", path, obj)

    async def said(path: str) -> tuple[int, str]:
        status, answer = await api("GET", f"{path}/proxy/")
        return status, answer["message"]

    assert await said("/api/v1/nodes/https:n:10250") == (
        500,
        "no preferred addresses found; known addresses: []",
    )
    assert await said("/api/v1/nodes/absent") == (404, 'nodes "absent" not found')
    assert await said(f"{PODS}/http:p:80") == (400, "address not allowed")
    assert await said(f"{PODS}/ftp:p:21") == (400, 'invalid pod request "ftp:p:21"')
    assert await said(f"{SERVICES}/s") == (404, 'endpoints "s" not found')
    assert await said(f"{SERVICES}/s:81") == (503, 'no service port 81 found for service "s"')
    assert await said(f"{SERVICES}/absent:80") == (404, 'services "absent" not found')
    await api.ok("POST", ENDPOINTS, {"kind": "Endpoints", "metadata": {"name": "s"}})
    status, answer = await api("GET", f"{SERVICES}/s:80/proxy/x")
    assert (status, answer["reason"]) == (503, "ServiceUnavailable")
    assert answer["message"] == 'no endpoints available for service "s"'
    status, answer = await api("GET", f"{SERVICES}/s/status/x")
    assert (status, answer["message"]) == (404, "the server could not find the requested resource")


@pytest.mark.parametrize("method", ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"])
async def test_proxies_take_every_method_of_theirs(api: Api, method: str) -> None:
    """``proxyMethods`` in kubernetes ``pkg/registry/core/pod/rest``; no other subresource, and no
    object, takes HEAD or OPTIONS."""
    service = {"kind": "Service", "metadata": {"name": "s"}, "spec": {"ports": [{"port": 80}]}}
    await api.ok("POST", SERVICES, service)
    for path in (f"{SERVICES}/s:81/proxy", f"{SERVICES}/s:81/proxy/deeper"):
        assert (await api(method, path))[0] == 503
    if method in ("HEAD", "OPTIONS"):
        for path in (SERVICES, f"{SERVICES}/s", f"{SERVICES}/s/status", f"{PODS}/p/exec"):
            assert (await api(method, path))[0] == 405


@pytest.mark.parametrize("stream", ["exec", "attach", "portforward"])
async def test_a_stream_needs_the_right_to_create_by_get_too(api: Api, stream: str) -> None:
    """kubernetes ``pkg/registry/core/pod/rest/authorize.go``: a WebSocket comes by GET, which is
    the verb get, and whoever may only read is not to run anything."""
    asked: list[tuple[str, ...]] = []
    rights: set[str] = set()

    async def authorize(_: Any, attributes: Attributes) -> Decision:
        asked.append((attributes.verb, attributes.resource, attributes.subresource))
        return Decision(attributes.verb in rights, "because of me")

    await api.ok("POST", PODS, pod("p"))
    api.server.authorizer = cast(Any, SimpleNamespace(authorize=authorize))
    path = f"{PODS}/p/{stream}"
    rights.add("get")
    status, found = await api("GET", path)
    assert (status, found["message"]) == (403, 'pods "p" is forbidden: because of me')
    assert asked[-1] == ("create", "pods", stream)
    rights.add("create")
    status, found = await api("GET", path)
    assert (status, found["message"]) == (400, "pod p does not have a host assigned")
    rights.remove("get")
    asked.clear()
    assert (await api("POST", path))[0] == 400
    assert {verb for verb, *_ in asked} <= {"create"}


async def test_proxies_need_no_other_right(api: Api) -> None:
    async def authorize(_: Any, attributes: Attributes) -> Decision:
        return Decision(attributes.verb == "get")

    await api.ok("POST", PODS, pod("p"))
    api.server.authorizer = cast(Any, SimpleNamespace(authorize=authorize))
    assert (await api("GET", f"{PODS}/http:p:80/proxy/"))[0] == 400
