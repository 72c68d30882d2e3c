"""Evictions through the API: the condition that says why a pod goes, and what budgets pay.
Logs and proxies, as far as they are answered without a kubelet."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from types import SimpleNamespace
from typing import Any, cast

import pytest

from apiserver.authz.attributes import Attributes, Decision
from apiserver.endpoints.views.pods import EvictionView
from apiserver.meta.objects import Object
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


async def test_an_eviction_is_a_dry_run_in_one_way(api: Api) -> None:
    await api.ok("POST", PODS, pod("p"))
    path, twice = f"{PODS}/p/eviction", eviction("p", dryRun=["All", "All"])
    status, answer = await api("POST", f"{path}?dryRun=All", twice)
    said = "Non-matching dry-run options in request and content: [All] and [All All]"
    assert (status, answer["message"]) == (500, said)
    for query in ("", "?dryRun=All&dryRun=All"):
        await api.ok("POST", path + query, twice)
    await api.ok("POST", f"{path}?dryRun=All", eviction("p", gracePeriodSeconds=0))
    assert "deletionTimestamp" not in (await api.ok("GET", f"{PODS}/p"))["metadata"]


async def test_a_version_that_has_passed_is_a_conflict_and_leaves_no_mark(api: Api) -> None:
    await api.ok("POST", PODS, pod("p"))
    stale = eviction("p", preconditions={"resourceVersion": "1"})
    status, _ = await api("POST", f"{PODS}/p/eviction", stale)
    assert status == 409
    assert "conditions" not in (await api.ok("GET", f"{PODS}/p"))["status"]


async def test_a_pod_that_changes_meanwhile_is_evicted_at_the_next_try(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = await api.ok("POST", PODS, pod("p"))
    look, tries = EvictionView._budget, []

    async def changed_by_another(view: EvictionView, seen: Object) -> Object | None:
        tries.append(seen["metadata"]["resourceVersion"])
        if len(tries) == 1:
            made["metadata"]["annotations"] = {"a": "b"}
            await api.ok("PUT", f"{PODS}/p", made)
        return await look(view, seen)

    monkeypatch.setattr(EvictionView, "_budget", changed_by_another)
    monkeypatch.setattr("apiserver.endpoints.views.pods._PAUSE", 0)
    await api.ok("POST", f"{PODS}/p/eviction", eviction("p"))
    assert len(tries) == 2
    assert (await api.ok("GET", f"{PODS}/p"))["metadata"]["deletionTimestamp"]


async def test_another_pod_of_that_name_is_not_waited_for(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    await api.ok("POST", PODS, pod("p"))
    monkeypatch.setattr("apiserver.endpoints.views.pods._PAUSE", 3600)
    other = eviction("p", preconditions={"uid": "other"})
    status, answer = await api("POST", f"{PODS}/p/eviction", other)
    assert status == 409
    assert "the UID in the precondition (other) does not match the UID" in answer["message"]


async def test_no_eviction_goes_without_reading(api: Api) -> None:
    await api.ok("POST", PODS, pod("p"))
    option = {"ignoreStoreReadErrorWithClusterBreakingPotential": True}
    status, answer = await api("POST", f"{PODS}/p/eviction", eviction("p", **option))
    assert (status, answer["message"]) == (
        422,
        'Eviction.policy "p" is invalid: '
        "deleteOptions.ignoreStoreReadErrorWithClusterBreakingPotential: Invalid value: true: "
        "can not be set for pod eviction, try after removing the option",
    )
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


async def test_a_binding_is_of_the_pod_that_it_means(api: Api) -> None:
    made = await api.ok("POST", PODS, pod("p"))
    path, version = f"{PODS}/p/binding", made["metadata"]["resourceVersion"]
    for expected, said in (
        ({"resourceVersion": "1"}, f"ResourceVersion in object meta: {version}"),
        ({"uid": "other"}, f"UID in object meta: {made['metadata']['uid']}"),
    ):
        body = {"metadata": {"name": "p", **expected}, "target": {"name": "n"}}
        status, answer = await api("POST", path, body)
        assert status == 409 and said in answer["message"]
        assert answer["details"]["kind"] == "pods"
    bound = {"metadata": {"name": "p", "resourceVersion": version}, "target": {"name": "n"}}
    await api.ok("POST", path, bound)
    assert (await api.ok("GET", f"{PODS}/p"))["spec"]["nodeName"] == "n"
    # what the binding expects comes before what the pod is
    status, answer = await api("POST", path, bound)
    assert status == 409 and "Precondition failed: ResourceVersion" in answer["message"]


@pytest.mark.parametrize(
    ("query", "code", "text"),
    [
        ("tailLines=-1", 422, 'PodLogOptions "absent" is invalid: tailLines: Invalid value: -1'),
        ("tailLines=x", 400, 'strconv.ParseInt: parsing "x": invalid syntax'),
        ("sinceTime=x&tailLines=y", 400, 'parsing time "x" as "2006-01-02T15:04:05Z07:00"'),
        ("sinceTime=null&tailLines=1", 404, 'pods "absent" not found'),
        ("sinceTime=2026-01-01T00:00:00Z", 404, 'pods "absent" not found'),
    ],
)
async def test_what_is_asked_of_a_log_is_read_before_the_pod(
    api: Api, query: str, code: int, text: str
) -> None:
    status, answer = await api("GET", f"{PODS}/absent/log?{query}")
    assert (status, answer["message"][: len(text)]) == (code, text)


async def test_a_node_without_addresses_is_told_of(api: Api) -> None:
    made = pod("p")
    made["spec"]["nodeName"] = "n"
    await api.ok("POST", PODS, made)
    status, answer = await api("GET", f"{PODS}/p/log")
    assert (status, answer["message"]) == (404, 'pods "n" not found')
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
    # whatever is looked up on the way is named as what the request is about
    assert await said(f"{SERVICES}/s") == (404, 'services "s" not found')
    assert await said(f"{SERVICES}/s:81") == (503, 'no service port 81 found for service "s"')
    assert await said(f"{SERVICES}/absent:80") == (404, 'services "absent" not found')
    await api.ok("POST", ENDPOINTS, {"kind": "Endpoints", "metadata": {"name": "s"}})
    status, answer = await api("GET", f"{SERVICES}/s:80/proxy/x")
    assert (status, answer["reason"]) == (503, "ServiceUnavailable")
    assert answer["message"] == 'no endpoints available for service "s"'
    status, answer = await api("GET", f"{SERVICES}/s/status/x")
    assert (status, answer["message"]) == (404, "the server could not find the requested resource")


@pytest.mark.parametrize("accept", ["text/plain", "text/html"])
async def test_a_log_is_for_those_who_take_objects(api: Api, accept: str) -> None:
    """Errors are objects: who takes text alone gets no log either."""
    assert (await api("GET", f"{PODS}/absent/log", accept=accept))[0] == 406
    for taken in ("*/*", f"{accept}, application/json", ""):
        assert (await api("GET", f"{PODS}/absent/log", accept=taken))[0] == 404


@pytest.mark.parametrize("ports", ["x", "-1", "65536", "", "80&ports=x"])
async def test_ports_to_forward_are_ports(api: Api, ports: str) -> None:
    await api.ok("POST", PODS, pod("p"))
    status, answer = await api("POST", f"{PODS}/p/portforward?ports={ports}")
    assert status == 400
    assert answer["message"].startswith("cannot convert to []int32: strconv.ParseUint: parsing ")


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
