"""Which requests admission webhooks are asked about, and in which version they see the objects."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from apiserver.meta.objects import Object
from apiserver.storage.postgres import PostgresStore
from tests.support.admissionhooks import (
    CONFIGMAPS,
    EVERYTHING,
    KINDS,
    admitting,
    allowing,
    answer,
    configmap,
    configure,
    denying,
    entry,
    patched,
)
from tests.support.api import Api
from tests.support.webhooks import converting, webhook
from tests.support.widgets import V1, V2, define, widget

MAPS = "/api/v1/namespaces/ns/configmaps"
PODS = "/api/v1/namespaces/ns/pods"
POD: Object = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "p"},
    "spec": {"containers": [{"name": "c", "image": "i"}]},
}


@pytest_asyncio.fixture
async def api(store: PostgresStore, tenant: int) -> AsyncIterator[Api]:
    async with admitting(store, tenant) as served:
        account = {"metadata": {"name": "default"}}
        await served.ok("POST", "/api/v1/namespaces/ns/serviceaccounts", account)
        yield served


def rule(group: str, version: str, *resources: str, **more: Any) -> Object:
    return {
        "apiGroups": [group],
        "apiVersions": [version],
        "resources": list(resources),
        "operations": ["*"],
        **more,
    }


# --- selectors and conditions ---------------------------------------------------------------------


async def test_namespace_selector(api: Api) -> None:
    async with webhook(denying) as hook:
        selector = {"matchExpressions": [{"key": "guarded", "operator": "Exists"}]}
        await configure(api, "validating", entry(hook.config(), namespaceSelector=selector))
        await api.ok("POST", MAPS, configmap("a"))
        await api.patch("/api/v1/namespaces/ns", {"metadata": {"labels": {"guarded": ""}}})
        assert (await api("POST", MAPS, configmap("b")))[0] == 400
        await api.ok("POST", "/api/v1/namespaces/default/configmaps", configmap("b"))


async def test_object_selector_looks_at_both_states(api: Api) -> None:
    async with webhook(allowing) as hook:
        selector = {"matchLabels": {"l": "1"}}
        await configure(api, "validating", entry(hook.config(), objectSelector=selector))
        await api.ok("POST", MAPS, configmap("a"))
        assert hook.calls == []
        await api.patch(f"{MAPS}/a", {"metadata": {"labels": {"l": "1"}}})
        await api.patch(f"{MAPS}/a", {"metadata": {"labels": {"l": None}}})
        assert len(hook.calls) == 2
        await api.ok("DELETE", f"{MAPS}/a")
        assert len(hook.calls) == 2


async def test_scope(api: Api) -> None:
    async with webhook(allowing) as hook:
        cluster = rule("*", "*", "*", scope="Cluster")
        await configure(api, "validating", entry(hook.config(), rules=[cluster]))
        await api.ok("POST", MAPS, configmap("a"))
        await api.ok("POST", "/api/v1/namespaces", {"metadata": {"name": "x"}})
        assert [c["request"]["resource"]["resource"] for c in hook.calls] == ["namespaces"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("expressions", "policy", "calls", "why"),
    [
        (["object.metadata.name == 'a'"], "Fail", 1, ""),
        (["object.metadata.name == 'b'"], "Fail", 0, ""),
        (["oldObject == null && request.operation == 'CREATE'"], "Fail", 1, ""),
        (["request.userInfo.username == 'system:anonymous'"], "Fail", 1, ""),
        (["request.options.fieldManager == 'me'"], "Fail", 1, ""),
        (["authorizer.requestResource.check('delete').allowed()"], "Fail", 0, ""),
        (["object.none == 1", "false"], "Fail", 0, ""),
        (["object.none == 1", "true"], "Ignore", 0, ""),
        (["object.none == 1"], "Fail", 0, "resulted in error: no such key: none"),
    ],
)
async def test_match_conditions(
    api: Api, kind: str, expressions: list[str], policy: str, calls: int, why: str
) -> None:
    conditions = [{"name": f"c{i}", "expression": e} for i, e in enumerate(expressions)]
    async with webhook(allowing) as hook:
        asked = entry(hook.config(), matchConditions=conditions, failurePolicy=policy)
        await configure(api, kind, asked)
        status, told = await api("POST", f"{MAPS}?fieldManager=me", configmap("a"))
        assert len(hook.calls) == calls
        if why:
            assert (status, told["reason"]) == (403, "Forbidden")
            assert told["message"].startswith('configmaps "a" is forbidden: expression ')
            assert why in told["message"]
        else:
            assert status == 201


async def test_match_conditions_have_one_budget(api: Api) -> None:
    many = "[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15]"
    dear = f"{many}.all(a, {many}.all(b, {many}.all(c, {many}.all(d, a + b + c + d >= 0))))"
    conditions = [{"name": f"c{i}", "expression": dear} for i in range(9)]
    async with webhook(allowing) as hook:
        await configure(api, "validating", entry(hook.config(), matchConditions=conditions))
        status, told = await api("POST", MAPS, configmap("a"))
        assert status == 403 and told["message"] == (
            'configmaps "a" is forbidden: validation failed due to running out of cost budget, no '
            "further validation rules will be run"
        )


# --- dry run --------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
async def test_a_webhook_with_effects_is_not_asked_about_dry_runs(api: Api, kind: str) -> None:
    """Validation refuses such webhooks today; they may be stored from earlier."""
    async with webhook(allowing) as hook:
        await configure(api, kind, entry(hook.config(), sideEffects="NoneOnDryRun"))
        await api.ok("POST", f"{MAPS}?dryRun=All", configmap("a"))
        assert hook.calls[0]["request"]["dryRun"] is True
        plugin = next(
            p for p in api.registry.chain.plugins if p.name == f"{kind.title()}AdmissionWebhook"
        )
        (known,) = plugin._hooks._tenants[api.tenant.id].hooks  # type: ignore[attr-defined]
        object.__setattr__(known, "quiet", False)
        status, told = await api("POST", f"{MAPS}?dryRun=All", configmap("a"))
        assert (status, told["reason"], told["message"]) == (
            400,
            "BadRequest",
            'admission webhook "hook.example.com" does not support dry run',
        )
        await api.ok("POST", MAPS, configmap("a"))


# --- versions -------------------------------------------------------------------------------------


@pytest.mark.parametrize(("policy", "calls"), [("Equivalent", 1), ("Exact", 0)])
async def test_a_built_in_object_in_the_version_of_the_rule(
    api: Api, policy: str, calls: int
) -> None:
    async with webhook(allowing) as hook:
        rules = [rule("autoscaling", "v1", "horizontalpodautoscalers")]
        await configure(api, "validating", entry(hook.config(), rules=rules, matchPolicy=policy))
        target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"}
        cpu = {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 50}}
        spec = {
            "scaleTargetRef": target,
            "maxReplicas": 3,
            "metrics": [{"type": "Resource", "resource": cpu}],
        }
        path = "/apis/autoscaling/v2/namespaces/ns/horizontalpodautoscalers"
        await api.ok("POST", path, {"metadata": {"name": "h"}, "spec": spec})
        assert len(hook.calls) == calls
        for call in hook.calls:
            request = call["request"]
            assert request["kind"]["version"] == request["resource"]["version"] == "v1"
            assert request["requestKind"]["version"] == "v2"
            assert request["requestResource"]["version"] == "v2"
            assert request["object"]["apiVersion"] == "autoscaling/v1"
            assert request["object"]["spec"]["targetCPUUtilizationPercentage"] == 50


async def test_a_patch_in_the_version_of_the_rule(api: Api) -> None:
    async def fewer(review: Object) -> Object:
        assert review["request"]["object"]["apiVersion"] == "autoscaling/v1"
        path = "/spec/targetCPUUtilizationPercentage"
        return patched(review, {"op": "add", "path": path, "value": 7})

    async with webhook(fewer) as hook:
        rules = [rule("autoscaling", "v1", "horizontalpodautoscalers")]
        await configure(api, "mutating", entry(hook.config(), rules=rules))
        target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"}
        spec = {"scaleTargetRef": target, "maxReplicas": 3}
        path = "/apis/autoscaling/v2/namespaces/ns/horizontalpodautoscalers"
        made = await api.ok("POST", path, {"metadata": {"name": "h"}, "spec": spec})
        (metric,) = made["spec"]["metrics"]
        assert made["apiVersion"] == "autoscaling/v2"
        assert metric["resource"]["target"] == {"type": "Utilization", "averageUtilization": 7}


async def test_an_event_of_the_other_group(api: Api) -> None:
    async with webhook(allowing) as hook:
        rules = [rule("events.k8s.io", "v1", "events")]
        await configure(api, "validating", entry(hook.config(), rules=rules))
        involved = {"kind": "Pod", "namespace": "ns", "name": "p"}
        event = {"metadata": {"name": "e"}, "involvedObject": involved, "message": "hello"}
        await api.ok("POST", "/api/v1/namespaces/ns/events", event)
        (call,) = hook.calls
        assert call["request"]["object"]["apiVersion"] == "events.k8s.io/v1"
        assert call["request"]["object"]["note"] == "hello"
        assert call["request"]["requestResource"]["group"] == ""


async def test_a_custom_object_is_converted_by_its_webhook(api: Api) -> None:
    async def renames(review: Object) -> Object:
        assert review["request"]["object"]["spec"] == {"address": "h:1"}
        assert review["request"]["requestKind"]["version"] == "v1"
        return patched(review, {"op": "replace", "path": "/spec/address", "value": "other:2"})

    async with webhook(converting) as converter, webhook(renames) as hook:
        await define(api, converter.config())
        rules = [rule("example.com", "v2", "widgets")]
        await configure(api, "mutating", entry(hook.config(), rules=rules))
        made = await api.ok("POST", V1, widget("a", host="h", port=1))
        assert made["spec"] == {"host": "other", "port": 2}
        assert (await api.ok("GET", f"{V2}/a"))["spec"] == {"address": "other:2"}


async def test_a_custom_object_is_pruned_after_webhooks(api: Api) -> None:
    async def adds(review: Object) -> Object:
        known = {"op": "add", "path": "/spec/replicas", "value": 3}
        return patched(review, known, {"op": "add", "path": "/spec/unknown", "value": 1})

    async with webhook(adds) as hook:
        await define(api, None)
        rules = [rule("example.com", "*", "widgets")]
        await configure(api, "mutating", entry(hook.config(), rules=rules))
        made = await api.ok("POST", V1, widget("a", host="h"))
        assert made["spec"] == {"host": "h", "replicas": 3}


# --- subresources ---------------------------------------------------------------------------------


async def test_scale(api: Api) -> None:
    async def halves(review: Object) -> Object:
        replicas = review["request"]["object"]["spec"]["replicas"]
        return patched(review, {"op": "replace", "path": "/spec/replicas", "value": replicas // 2})

    template = {"metadata": {"labels": {"l": "1"}}, "spec": POD["spec"]}
    spec = {"replicas": 1, "selector": {"matchLabels": {"l": "1"}}, "template": template}
    path = "/apis/apps/v1/namespaces/ns/deployments"
    await api.ok("POST", path, {"metadata": {"name": "d"}, "spec": spec})
    async with webhook(halves) as hook, webhook(allowing) as other:
        rules = [rule("apps", "v1", "deployments/scale")]
        await configure(api, "mutating", entry(hook.config(), rules=rules))
        await configure(api, "validating", entry(other.config(), rules=rules))
        status, scale = await api.patch(f"{path}/d/scale", {"spec": {"replicas": 8}})
        assert status == 200 and scale["spec"]["replicas"] == 4
        assert (await api.ok("GET", f"{path}/d"))["spec"]["replicas"] == 4
        for called, new in ((hook, 8), (other, 4)):
            request = called.calls[0]["request"]
            assert request["kind"] == {"group": "autoscaling", "version": "v1", "kind": "Scale"}
            assert (request["subResource"], request["requestSubResource"]) == ("scale", "scale")
            assert request["resource"]["resource"] == "deployments"
            assert request["object"]["spec"]["replicas"] == new
            assert request["oldObject"]["spec"]["replicas"] == 1
            assert request["oldObject"]["kind"] == "Scale"


async def test_status(api: Api) -> None:
    async with webhook(allowing) as hook:
        await api.ok("POST", PODS, POD)
        await configure(
            api, "validating", entry(hook.config(), rules=[rule("", "v1", "pods/status")])
        )
        await api.patch(f"{PODS}/p/status", {"status": {"message": "m"}})
        await api.patch(f"{PODS}/p", {"metadata": {"labels": {"a": "b"}}})
        (call,) = hook.calls
        assert call["request"]["subResource"] == "status"
        assert call["request"]["kind"]["kind"] == "Pod"
        assert call["request"]["object"]["status"]["message"] == "m"


async def test_eviction_and_binding_are_admitted_as_what_was_posted(api: Api) -> None:
    async with webhook(allowing) as hook:
        await api.ok("POST", PODS, POD)
        rules = [rule("", "v1", "pods", "pods/*")]
        await configure(api, "validating", entry(hook.config(), rules=rules))
        node = {"apiVersion": "v1", "kind": "Node", "name": "n"}
        binding = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": "p"}, "target": node}
        await api.ok("POST", f"{PODS}/p/binding", binding)
        eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "p"}}
        await api.ok("POST", f"{PODS}/p/eviction", eviction)
        told = [c["request"] for c in hook.calls]
        assert [(r["operation"], r["subResource"], r["kind"]["kind"], r["name"]) for r in told] == [
            ("CREATE", "binding", "Binding", "p"),
            ("CREATE", "eviction", "Eviction", "p"),
        ]
        assert [r["object"]["kind"] for r in told] == ["Binding", "Eviction"]


async def test_an_eviction_can_be_refused(api: Api) -> None:
    async with webhook(denying) as hook:
        await api.ok("POST", PODS, POD)
        await configure(
            api, "validating", entry(hook.config(), rules=[rule("", "v1", "pods/eviction")])
        )
        eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "p"}}
        assert (await api("POST", f"{PODS}/p/eviction", eviction))[0] == 400
        assert "deletionTimestamp" not in (await api.ok("GET", f"{PODS}/p"))["metadata"]


async def test_connect(api: Api) -> None:
    async with webhook(denying) as hook:
        await api.ok("POST", PODS, POD)
        connecting = rule("", "v1", "pods/exec", "pods/portforward", operations=["CONNECT"])
        await configure(api, "validating", entry(hook.config(), rules=[connecting]))
        query = "command=ls&command=-l&container=c&stdin=true&stdout=1&tty=false"
        status, told = await api("POST", f"{PODS}/p/exec?{query}")
        assert status == 400 and "denied the request" in told["message"]
        request = hook.calls[0]["request"]
        assert (request["operation"], request["name"], request["namespace"]) == (
            "CONNECT",
            "p",
            "ns",
        )
        assert request["kind"] == {"group": "", "version": "v1", "kind": "PodExecOptions"}
        assert request["object"] == {
            "kind": "PodExecOptions",
            "apiVersion": "v1",
            "stdin": True,
            "stdout": True,
            "container": "c",
            "command": ["ls", "-l"],
        }
        assert request["options"] is None and request["oldObject"] is None
        await api("GET", f"{PODS}/p/portforward?ports=80&ports=81")
        assert hook.calls[1]["request"]["object"]["ports"] == [80, 81]
        status, told = await api("POST", f"{PODS}/p/exec?dryRun=All")
        assert (status, told["message"]) == (400, "dryRun is not supported")


# --- changes of configurations --------------------------------------------------------------------


async def test_a_changed_configuration_is_obeyed(api: Api) -> None:
    async with webhook(denying) as hook:
        await configure(api, "validating", entry(hook.config()))
        assert (await api("POST", MAPS, configmap("a")))[0] == 400
        path = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/hooks"
        found = await api.ok("GET", path)
        found["webhooks"][0]["rules"] = [{**CONFIGMAPS, "operations": ["DELETE"]}]
        await api.ok("PUT", path, found)
        await api.ok("POST", MAPS, configmap("a"))
        assert (await api("DELETE", f"{MAPS}/a"))[0] == 400
        await api.ok("DELETE", path)
        await api.ok("DELETE", f"{MAPS}/a")


async def test_audit_annotations_are_kept(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    audits: list[dict[str, str]] = []
    validate = type(api.registry.chain).validate

    async def remember(chain: Any, attributes: Any, lookup: Any) -> None:
        await validate(chain, attributes, lookup)
        audits.append(attributes.audit)

    async def annotates(review: Object) -> Object:
        return patched(
            review,
            {"op": "add", "path": "/metadata/labels", "value": {"a": "b"}},
            auditAnnotations={"key": "value", "not*good": "x"},
        )

    async def says(review: Object) -> Object:
        return answer(review, auditAnnotations={"said": "yes"})

    async with webhook(annotates) as one, webhook(says) as two:
        await configure(api, "mutating", entry(one.config(), "one.example.com"))
        await configure(api, "validating", entry(two.config(), "two.example.com"))
        monkeypatch.setattr(type(api.registry.chain), "validate", remember)
        await api.ok("POST", MAPS, configmap("a"))
        (audit,) = audits
        assert audit == {
            "authorization.k8s.io/decision": "allow",
            "authorization.k8s.io/reason": "",
            "one.example.com/key": "value",
            "two.example.com/said": "yes",
            "mutation.webhook.admission.k8s.io/round_0_index_0": '{"configuration":"hooks",'
            '"webhook":"one.example.com","mutated":true}',
            "patch.webhook.admission.k8s.io/round_0_index_0": '{"configuration":"hooks",'
            '"webhook":"one.example.com","patch":[{"op":"add","path":"/metadata/labels",'
            '"value":{"a":"b"}}],"patchType":"JSONPatch"}',
        }


@pytest.mark.parametrize("subresource", ["binding", "eviction"])
async def test_what_is_posted_to_a_pod_is_of_the_requests_namespace(
    api: Api, subresource: str
) -> None:
    path = f"/api/v1/namespaces/ns/pods/p/{subresource}"
    async with webhook(denying) as hook:
        await configure(api, "mutating", entry(hook.config(), rules=[EVERYTHING]))
        sent: Object = {"metadata": {"name": "p", "uid": "u"}, "target": {"name": "n"}}
        _, answered = await api("POST", path, sent)
        assert "denied the request" in answered["message"]
        (review,) = hook.calls
        metadata = review["request"]["object"]["metadata"]
        assert metadata["namespace"] == "ns"
        assert metadata.get("uid") == ("u" if subresource == "binding" else None)
        sent["metadata"]["namespace"] = "other"
        _, answered = await api("POST", path, sent)
        assert "does not match the namespace sent" in answered["message"]
