"""MutatingAdmissionPolicy: both kinds of patches, their errors, and who is asked again."""

from __future__ import annotations

import pytest

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

PODS = "/api/v1/namespaces/n/pods"
POD = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "a", "image": "a:1"}]}}


async def test_a_configuration_is_merged_and_defaulted(policies: Policies) -> None:
    sidecar = 'Object.spec.containers{name: "b", image: "b:1", ports: []}'
    await policies.mutating(
        "p",
        merge(f"Object{{spec: Object.spec{{containers: [{sidecar}]}}}}"),
        rules=[rule("pods")],
    )
    pod = await policies.made(POD, PODS)
    assert [c["name"] for c in pod["spec"]["containers"]] == ["a", "b"]
    assert pod["spec"]["containers"][1]["imagePullPolicy"] == "IfNotPresent"


async def test_what_a_policy_adds_has_no_owner_and_is_validated_and_stored(
    policies: Policies,
) -> None:
    await policies.mutating("p", merge('Object{data: {"added": string(size(object.data))}}'))
    await policies.validating("v", check("object.data.added == '1'", message="not mutated"))
    made = await policies.made(configmap(data={"a": "b"}))
    assert made["data"] == {"a": "b", "added": "1"}
    assert "f:added" not in made["metadata"]["managedFields"][0]["fieldsV1"]["f:data"]
    assert (await policies.api.ok("GET", f"{CONFIGMAPS}/c", **ROOT))["data"] == made["data"]


async def test_json_patches(policies: Policies) -> None:
    operations = (
        '[JSONPatch{op: "test", path: "/data/a", value: "b"}, '
        'JSONPatch{op: "copy", from: "/data/a", path: "/data/c"}, '
        'JSONPatch{op: "add", path: "/metadata/labels", value: {"x": "y"}}, '
        'JSONPatch{op: "add", path: "/data/" + jsonpatch.escapeKey("k"), value: "v"}, '
        'JSONPatch{op: "remove", path: "/data/a"}]'
    )
    await policies.mutating("p", patch(operations))
    made = await policies.made(configmap(data={"a": "b"}))
    assert made["data"] == {"c": "b", "k": "v"}
    assert made["metadata"]["labels"] == {"x": "y"}
    # a test that fails leaves the object alone
    assert (await policies.made(configmap("d", data={"a": "z"})))["data"] == {"a": "z"}


async def test_an_object_in_a_patch(policies: Policies) -> None:
    container = 'Object.spec.containers{name: "b", image: "b:1"}'
    operation = f'[JSONPatch{{op: "add", path: "/spec/containers/-", value: {container}}}]'
    await policies.mutating("p", patch(operation), rules=[rule("pods")])
    pod = await policies.made(POD, PODS)
    assert [c["name"] for c in pod["spec"]["containers"]] == ["a", "b"]


@pytest.mark.parametrize(
    ("mutation", "text"),
    [
        (
            merge("Object{data: {'x': object.data.none}}"),
            "expression 'Object{data: {'x': object.data.none}}' resulted in error: "
            "no such key: none",
        ),
        (
            merge("Object{metadata: Object.wrong{}}"),
            'type mismatch: unexpected type name "Object.wrong", expected "Object.metadata", '
            "which matches field name path from root Object type",
        ),
        (
            merge("Object{none: 1}"),
            "error applying patch: failed to convert patch object to typed object: "
            ".none: field not declared in schema",
        ),
        (
            patch('[JSONPatch{op: "remove", path: "/data/none"}]'),
            "JSON Patch: error in remove for path: '/data/none': "
            "Unable to remove nonexistent key: none: missing value",
        ),
    ],
)
async def test_a_mutation_that_fails(policies: Policies, mutation: dict, text: str) -> None:  # type: ignore[type-arg]
    await policies.mutating("p", mutation)
    status, answer = await policies.create(configmap(data={"a": "b"}))
    message = f"policy 'p' with binding 'p' denied request: {text}"
    # the reason is told, the code stays that of a refusal: so kube-apiserver has it
    assert (status, answer["reason"], answer["message"]) == (403, "Invalid", message)
    assert answer["details"]["causes"] == [{"message": message}]


async def test_a_failure_that_is_ignored_leaves_the_other_mutations(policies: Policies) -> None:
    broken, works = merge("Object{data: {'x': object.none}}"), merge("Object{data: {'y': 'z'}}")
    await policies.mutating("p", broken, works, failurePolicy="Ignore")
    assert (await policies.made(configmap()))["data"] == {"y": "z"}


async def test_atomic_lists_cannot_be_merged(policies: Policies) -> None:
    command = 'Object.spec.containers{name: "a", args: ["x"]}'
    await policies.mutating(
        "p",
        merge(f"Object{{spec: Object.spec{{containers: [{command}]}}}}"),
        rules=[rule("pods")],
    )
    assert (await policies.denied(POD, PODS)).endswith(
        "invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: "
        ".spec.containers[0].args"
    )


async def test_a_patch_that_makes_something_else_of_the_object(policies: Policies) -> None:
    await policies.mutating("p", patch('[JSONPatch{op: "add", path: "/none", value: 1}]'))
    status, answer = await policies.create(configmap())
    assert (status, answer["reason"]) == (500, "InternalError")
    assert answer["message"] == (
        'Internal error occurred: strict decoding error: unknown field "none"'
    )


async def test_conditions_look_at_what_earlier_policies_made(policies: Policies) -> None:
    await policies.mutating("a", merge("Object{data: {'first': 'a'}}"))
    seen = [{"name": "seen", "expression": "'first' in object.data"}]
    await policies.mutating("b", merge("Object{data: {'second': 'b'}}"), matchConditions=seen)
    assert (await policies.made(configmap()))["data"] == {"first": "a", "second": "b"}


@pytest.mark.parametrize(("again", "expected"), [(True, "yes"), (False, "no")])
async def test_a_policy_is_asked_again_after_a_later_change(
    policies: Policies, again: bool, expected: str
) -> None:
    saw = "Object{data: {'saw': has(object.data.later) ? 'yes' : 'no'}}"
    await policies.mutating("a", merge(saw), again=again)
    await policies.mutating("b", merge("Object{data: {'later': 'b'}}"))
    made = await policies.made(configmap(data={"x": "y"}))
    assert made["data"] == {"x": "y", "later": "b", "saw": expected}


async def test_updates_are_mutated_and_deletions_are_not(policies: Policies) -> None:
    await policies.made(configmap(data={"a": "old"}))
    told = "Object{data: {'was': oldObject == null ? 'nothing' : oldObject.data.a}}"
    await policies.mutating("p", merge(told))
    updated = await policies.api.ok("PUT", f"{CONFIGMAPS}/c", configmap(data={"a": "b"}), **ROOT)
    assert updated["data"] == {"a": "b", "was": "old"}
    await policies.api.ok("DELETE", f"{CONFIGMAPS}/c", **ROOT)


async def test_a_policy_in_another_version_of_the_object(policies: Policies) -> None:
    v1 = rule("horizontalpodautoscalers", apiGroups=["autoscaling"], apiVersions=["v1"])
    mutation = merge("Object{spec: Object.spec{targetCPUUtilizationPercentage: 70}}")
    await policies.mutating("p", mutation, rules=[v1])
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"}
    body = {"metadata": {"name": "h"}, "spec": {"maxReplicas": 3, "scaleTargetRef": target}}
    path = "/apis/autoscaling/v2/namespaces/n/horizontalpodautoscalers"
    (metric,) = (await policies.made(body, path))["spec"]["metrics"]
    assert metric["resource"]["target"]["averageUtilization"] == 70
