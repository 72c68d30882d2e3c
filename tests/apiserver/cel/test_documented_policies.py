"""The CEL expressions of policies that the documentation shows: validation, variables, mutation."""

from __future__ import annotations

from typing import Any

import pytest

from apiserver.cel.kubernetes.patchtypes import (
    JSON_PATCH_TYPE,
    OBJECT_TYPE,
    JsonPatchValue,
    patch_operation,
    to_json,
)
from apiserver.cel.kubernetes.policies import Evaluation, Variables, compile_policy, policy_env
from apiserver.cel.library.authorizer import Authorizer, Decision
from apiserver.cel.types import BOOL, STRING, list_type

POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "p", "namespace": "default"},
    "spec": {"initContainers": [{"name": "a"}]},
}
DEPLOYMENT = {
    "metadata": {"name": "d", "labels": {"environment": "test", "env": "prod"}},
    "spec": {
        "replicas": 7,
        "template": {
            "spec": {"containers": [{"image": "test.example.com/nginx"}, {"image": "other"}]}
        },
    },
}
REQUEST = {
    "resource": {"group": "apps", "version": "v1", "resource": "deployments"},
    "name": "special",
    "userInfo": {"username": "u", "groups": ["system:authenticated"]},
}
POLICIES: list[tuple[str, Any]] = [
    ("object.spec.replicas <= 5", False),
    ("object.spec.replicas <= params.maxReplicas", True),
    ("object.spec.replicas > 50", False),
    (
        "'Deployment spec.replicas set to ' + string(object.spec.replicas)",
        "Deployment spec.replicas set to 7",
    ),
    (
        "'object.spec.replicas must be no greater than ' + string(params.maxReplicas)",
        "object.spec.replicas must be no greater than 10",
    ),
    (
        "!(request.resource.group == 'coordination.k8s.io' && request.resource.resource == "
        "'leases')",
        True,
    ),
    ("!('system:nodes' in request.userInfo.groups)", True),
    ("request.resource.group != 'rbac.authorization.k8s.io'", True),
    ("has(object.namex) ? object.namex == 'special' : request.name == 'special'", True),
    ("authorizer.group('').resource('pods').namespace('default').check('create').allowed()", True),
    ("authorizer.path('/healthz').check('get').allowed()", True),
    (
        "authorizer.serviceAccount('default', "
        "'myserviceaccount').group('apps').resource('deployments').check('delete').allowed()",
        True,
    ),
    (
        "authorizer.group('').resource('pods').fieldSelector('spec.nodeName=mynode').check('list').allowed()",
        True,
    ),
    (
        "authorizer.group('').resource('pods').labelSelector('example.com/mylabel=myvalue').check('list').allowed()",
        True,
    ),
    (
        "authorizer.group('admissionregistration.k8s.io').resource('validatingwebhookconfigurations').name('x').check('bypass').allowed()",
        True,
    ),
]


@pytest.mark.parametrize(("source", "expected"), POLICIES, ids=[e[0] for e in POLICIES])
def test_policies(source: str, expected: Any) -> None:
    expression = compile_policy(policy_env(params=True), source, (BOOL, STRING))
    assert expression.error == ""
    bindings = {
        "object": DEPLOYMENT,
        "request": REQUEST,
        "params": {"maxReplicas": 10},
        "authorizer": Authorizer(lambda _question: Decision(True)),
    }
    assert Evaluation(bindings).evaluate(expression).value == expected


def test_typed_and_untyped_variables_of_policies() -> None:
    assert (
        "undefined field 'namex'"
        in compile_policy(policy_env(), "request.namex == 'x'", (BOOL,)).error
    )
    expression = compile_policy(policy_env(), "object.namex == 'x'", (BOOL,))
    assert Evaluation({"object": {}}).evaluate(expression).error.endswith("no such key: namex")


def test_variables_of_policies() -> None:
    env, variables = policy_env(), Variables()
    for name, source in {
        "environment": (
            "'environment' in namespaceObject.metadata.labels ? "
            "namespaceObject.metadata.labels['environment'] : 'prod'"
        ),
        "exempt": (
            "'exempt' in object.metadata.labels && object.metadata.labels['exempt'] == 'true'"
        ),
        "containers": "object.spec.template.spec.containers",
        "containersToCheck": "variables.containers.filter(c, c.image.contains('example.com/'))",
    }.items():
        assert variables.add(env, name, source).error == ""
    rule = (
        "variables.exempt || variables.containersToCheck.all(c, "
        "c.image.startsWith(variables.environment + '.'))"
    )
    message = (
        "'only ' + variables.environment + ' images are allowed in namespace ' + "
        "namespaceObject.metadata.name"
    )
    for environment, expected in (("test", True), ("prod", False)):
        namespace = {"metadata": {"name": "n", "labels": {"environment": environment}}}
        run = Evaluation({"object": DEPLOYMENT, "namespaceObject": namespace}, variables)
        assert run.evaluate(compile_policy(variables.env(env), rule, (BOOL,))).value is expected
        text = run.evaluate(compile_policy(variables.env(env), message, (STRING,))).value
        assert text == f"only {environment} images are allowed in namespace n"


SIDECAR = (
    'name: "mesh-proxy", image: "mesh/proxy:v1.0.0", args: ["proxy", "sidecar"], restartPolicy: '
    '"Always"'
)
SIDECAR_JSON = {
    "name": "mesh-proxy",
    "image": "mesh/proxy:v1.0.0",
    "args": ["proxy", "sidecar"],
    "restartPolicy": "Always",
}
MUTATIONS: list[tuple[str, Any, Any]] = [
    (
        "Object{spec: Object.spec{initContainers: [Object.spec.initContainers{" + SIDECAR + "}]}}",
        OBJECT_TYPE,
        {"spec": {"initContainers": [SIDECAR_JSON]}},
    ),
    (
        '[JSONPatch{op: "add", path: "/spec/initContainers/-", value: Object.spec.initContainers{'
        + SIDECAR
        + "}}]",
        list_type(JSON_PATCH_TYPE),
        [{"op": "add", "path": "/spec/initContainers/-", "value": SIDECAR_JSON}],
    ),
    (
        (
            '[JSONPatch{op: "test", path: "/spec/example", value: "Red"}, JSONPatch{op: '
            '"replace", path: "/spec/example", value: "Green"}]'
        ),
        list_type(JSON_PATCH_TYPE),
        [
            {"op": "test", "path": "/spec/example", "value": "Red"},
            {"op": "replace", "path": "/spec/example", "value": "Green"},
        ],
    ),
    (
        (
            '[JSONPatch{op: "add", path: "/metadata/labels/" + '
            'jsonpatch.escapeKey("example.com/environment"), value: "test"}]'
        ),
        list_type(JSON_PATCH_TYPE),
        [{"op": "add", "path": "/metadata/labels/example.com~1environment", "value": "test"}],
    ),
]


@pytest.mark.parametrize(
    ("source", "type_", "expected"), MUTATIONS, ids=["apply", "add", "test and replace", "escape"]
)
def test_mutations(source: str, type_: Any, expected: Any) -> None:
    expression = compile_policy(policy_env(patch=True), source, (type_,))
    assert expression.error == ""
    assert plain(Evaluation({"object": POD}).evaluate(expression).value) == expected


def plain(value: Any) -> Any:
    if isinstance(value, list):
        return [plain(v) for v in value]
    made = patch_operation(value) if isinstance(value, JsonPatchValue) else to_json(value)
    return {k: v for k, v in made.items() if v is not None} if isinstance(made, dict) else made


def test_match_condition_of_mutations() -> None:
    expression = compile_policy(
        policy_env(), '!object.spec.initContainers.exists(ic, ic.name == "mesh-proxy")', (BOOL,)
    )
    assert Evaluation({"object": POD}).evaluate(expression).value is True
