"""The examples of Kubernetes' documentation on admission policies, obeyed."""

from __future__ import annotations

from tests.admission.policy.policies import (
    CONFIGMAPS,
    Policies,
    check,
    configmap,
    merge,
    patch,
    rule,
)
from tests.support.users import ROOT

DEPLOYMENTS = "/apis/apps/v1/namespaces/n/deployments"
PODS = "/api/v1/namespaces/n/pods"
APPS = rule("deployments", apiGroups=["apps"], apiVersions=["v1"], operations=["CREATE", "UPDATE"])
MESH = rule("pods", apiGroups=[""], apiVersions=["v1"], operations=["CREATE"])


def deployment(replicas: int, image: str = "example.com/a:1", **labels: str) -> dict[str, object]:
    selected = {"app": "a"}
    template = {
        "metadata": {"labels": selected},
        "spec": {"containers": [{"name": "a", "image": image}]},
    }
    spec = {"replicas": replicas, "selector": {"matchLabels": selected}, "template": template}
    return {"metadata": {"name": "d", "labels": labels}, "spec": spec}


async def test_replicas_are_limited_in_test_namespaces(policies: Policies) -> None:
    selector = {"matchResources": {"namespaceSelector": {"matchLabels": {"environment": "test"}}}}
    await policies.validating(
        "demo-policy.example.com",
        check("object.spec.replicas <= 5"),
        rules=[APPS],
        binding=selector,
        failurePolicy="Fail",
    )
    await policies.made(deployment(9), DEPLOYMENTS)
    body = {"metadata": {"name": "t", "labels": {"environment": "test"}}}
    await policies.api.ok("POST", "/api/v1/namespaces", body, **ROOT)
    denied = await policies.denied(deployment(9), DEPLOYMENTS.replace("/n/", "/t/"))
    assert denied == "failed expression: object.spec.replicas <= 5"


async def test_replicas_are_limited_by_a_parameter(policies: Policies) -> None:
    await policies.made(configmap("replica-limit", data={"max": "3"}))
    await policies.validating(
        "replicalimit-policy.example.com",
        check(
            "object.spec.replicas <= int(params.data.max)",
            messageExpression="'object.spec.replicas must be no greater than ' + params.data.max",
            reason="Invalid",
        ),
        rules=[APPS],
        paramKind={"apiVersion": "v1", "kind": "ConfigMap"},
        binding={"paramRef": {"name": "replica-limit", "parameterNotFoundAction": "Deny"}},
    )
    denied = await policies.denied(deployment(4), DEPLOYMENTS)
    assert denied == "object.spec.replicas must be no greater than 3"
    await policies.made(deployment(3), DEPLOYMENTS)
    await policies.api.ok("DELETE", f"{CONFIGMAPS}/replica-limit", **ROOT)
    assert "no params found" in await policies.denied(deployment(1), DEPLOYMENTS)


async def test_images_match_the_environment_of_their_namespace(policies: Policies) -> None:
    labels = "namespaceObject.metadata.labels"
    variables = [
        {
            "name": "environment",
            "expression": f"'team' in {labels} ? {labels}['team'] : 'prod'",
        },
        {
            "name": "exempt",
            "expression": "has(object.metadata.labels) && 'exempt' in object.metadata.labels",
        },
        {"name": "containers", "expression": "object.spec.template.spec.containers"},
        {
            "name": "containersToCheck",
            "expression": "variables.containers.filter(c, c.image.contains('example.com/'))",
        },
    ]
    await policies.validating(
        "image-matches-namespace-environment.policy.example.com",
        check(
            "variables.exempt || variables.containersToCheck.all(c, "
            "c.image.startsWith(variables.environment + '.'))",
            messageExpression="'only ' + variables.environment + ' images are allowed in "
            "namespace ' + namespaceObject.metadata.name",
        ),
        rules=[APPS],
        variables=variables,
    )
    denied = await policies.denied(deployment(1), DEPLOYMENTS)
    assert denied == "only red images are allowed in namespace n"
    await policies.made(deployment(1, "red.example.com/a:1"), DEPLOYMENTS)


async def test_some_requests_are_left_out(policies: Policies) -> None:
    conditions = [
        {
            "name": "exclude-leases",
            "expression": "!(request.resource.group == 'coordination.k8s.io' && "
            "request.resource.resource == 'leases')",
        },
        {"name": "exclude-root", "expression": "!('system:nodes' in request.userInfo.groups)"},
    ]
    await policies.validating(
        "demo-policy.example.com",
        check("!object.metadata.name.contains('demo')", message="no demo"),
        rules=[rule("*", operations=["CREATE", "UPDATE"])],
        matchConditions=conditions,
    )
    path = "/apis/coordination.k8s.io/v1/namespaces/n/leases"
    await policies.made({"metadata": {"name": "demo"}, "spec": {}}, path)
    assert await policies.denied(configmap("demo")) == "no demo"


SIDECAR = "initContainers: [Object.spec.initContainers{name: 'mesh-proxy', image: 'mesh/proxy:v1'}]"


async def test_a_sidecar_is_injected(policies: Policies) -> None:
    absent = "!object.spec.?initContainers.orValue([]).exists(ic, ic.name == 'mesh-proxy')"
    await policies.mutating(
        "sidecar-policy.example.com",
        merge(f"Object{{spec: Object.spec{{{SIDECAR}}}}}"),
        rules=[MESH],
        matchConditions=[{"name": "does-not-already-have-sidecar", "expression": absent}],
        again=True,
    )
    pod = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "a", "image": "a:1"}]}}
    made = await policies.made(pod, PODS)
    assert [c["name"] for c in made["spec"]["initContainers"]] == ["mesh-proxy"]


async def test_a_sidecar_is_patched_in(policies: Policies) -> None:
    container = (
        "Object.spec.initContainers{name: 'mesh-proxy', image: 'mesh-proxy/v1.0.0', "
        "restartPolicy: 'Always'}"
    )
    expression = (
        "has(object.spec.initContainers) ? "
        f"[JSONPatch{{op: 'add', path: '/spec/initContainers/-', value: {container}}}] : "
        f"[JSONPatch{{op: 'add', path: '/spec/initContainers', value: [{container}]}}]"
    )
    await policies.mutating("sidecar-policy.example.com", patch(expression), rules=[MESH])
    pod = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "a", "image": "a:1"}]}}
    (made,) = (await policies.made(pod, PODS))["spec"]["initContainers"]
    assert (made["name"], made["restartPolicy"]) == ("mesh-proxy", "Always")
