"""Rules of a pod's spec that came with the features of 1.34 to 1.36."""

from __future__ import annotations

import copy
from typing import Any

from tests.support.kindtools import create, pod, update, workload

CONTAINER = {"name": "c", "image": "i:1"}


def messages(**spec: Any) -> list[str]:
    return create(pod(**spec)).messages


def reading(name: str = "v", path: str = "a/b") -> dict[str, Any]:
    ref = {"volumeName": name, "path": path, "key": "K"}
    return {**CONTAINER, "env": [{"name": "K", "valueFrom": {"fileKeyRef": ref}}]}


def test_files_of_variables_lie_in_an_empty_dir() -> None:
    at = "spec.containers[0].env[0].valueFrom.fileKeyRef"
    empty, secret = {"name": "v", "emptyDir": {}}, {"name": "v", "secret": {"secretName": "s"}}
    assert messages(containers=[reading()], volumes=[empty]) == []
    assert messages(containers=[reading(path="/..a")], volumes=[empty]) == []
    assert messages(containers=[reading(path="a/../b")], volumes=[empty]) == [
        f"{at}.path: Invalid value: \"a/../b\": must not contain '..'"
    ]
    assert messages(containers=[reading()]) == [f'{at}.volumeName: Not found: "v"']
    assert messages(containers=[reading()], volumes=[secret]) == [
        f'{at}.volumeName: Invalid value: "v": referenced volume must be of type emptyDir'
    ]


def test_restart_rules_of_init_containers_need_a_policy_first() -> None:
    init = {**CONTAINER, "name": "i", "restartPolicyRules": [{"action": "Never"}]}
    assert messages(initContainers=[init]) == [
        "spec.initContainers[0].restartPolicy: Required value: must specify restartPolicy when "
        "restart rules are used"
    ]


def test_own_users_mean_no_devices() -> None:
    spec: dict[str, Any] = {
        "hostUsers": False,
        "hostPID": True,
        "volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": "v"}}],
        "containers": [{**CONTAINER, "volumeDevices": [{"name": "v", "devicePath": "/d"}]}],
    }
    assert messages(**spec) == [
        "spec.HostPID: Forbidden: when `hostUsers` is false",
        "spec.containers[0].volumeDevices: Forbidden: when `hostUsers` is false",
    ]


def test_a_host_name_of_its_own() -> None:
    spec = {"hostnameOverride": "a" * 65, "hostNetwork": True, "setHostnameAsFQDN": True}
    assert messages(**spec)[:3] == [
        "spec.hostnameOverride: Forbidden: may not be specified when setHostnameAsFQDN is true",
        "spec.hostnameOverride: Forbidden: may not be specified when hostNetwork is true",
        "spec.hostnameOverride: Too long: may not be more than 64 bytes",
    ]


def test_resources_of_the_whole_pod() -> None:
    def container(kind: str, **amounts: str) -> dict[str, Any]:
        huge = {"hugepages-2Mi": "4Mi", "cpu": "1"}
        return {**CONTAINER, "resources": {"requests": {**huge, **amounts}, "limits": huge}}

    resources = {"requests": {"cpu": "2"}, "claims": []}
    storage = {**CONTAINER, "resources": {"requests": {"ephemeral-storage": "1Gi"}}}
    assert messages(containers=[storage], resources={"requests": {"cpu": "2"}}) == []
    assert messages(os={"name": "windows"}, resources=resources) == [
        "spec.resources: Forbidden: may not be set for a windows pod"
    ]
    assert messages(resources={"requests": {"cpu": "2", "pods": "1"}}) == [
        'spec.resources.requests[pods]: Unsupported value: "pods": supported values: "cpu", '
        '"hugepages-", "memory"'
    ]
    small = {"cpu": "4", "hugepages-2Mi": "2Mi"}
    assert messages(
        containers=[container("a")], resources={"requests": small, "limits": small}
    ) == [
        'spec.resources.requests[hugepages-2Mi]: Invalid value: "2Mi": must be greater than or '
        "equal to aggregate container requests of 4Mi",
        'spec.resources.limits[hugepages-2Mi]: Invalid value: "2Mi": must be greater than or equal '
        "to aggregate container limits of 4Mi",
        'spec.resources.containers[0][hugepages-2Mi].limits: Invalid value: "4Mi": must be less '
        "than or equal to pod limits of 2Mi",
    ]


def test_operators_that_are_off_are_named_once_they_are_known() -> None:
    def told(operator: str) -> list[str]:
        return messages(tolerations=[{"key": "k", "operator": operator, "value": "1"}])

    at = "spec.tolerations[0].operator: Unsupported value: "
    assert told("Gt") == [f'{at}"Gt": supported values: "Equal", "Exists", "Lt", "Gt"']
    assert told("Ge") == [f'{at}"Ge": supported values: "Equal", "Exists"']


def test_spread_constraints_know_the_keys_that_the_server_merges() -> None:
    constraint: dict[str, Any] = {
        "maxSkew": 1,
        "topologyKey": "zone",
        "whenUnsatisfiable": "DoNotSchedule",
        "matchLabelKeys": ["app", "no key"],
    }
    at = "spec.topologySpreadConstraints[0]"
    assert messages(topologySpreadConstraints=[constraint]) == [
        f"{at}.matchLabelKeys: Forbidden: must not be specified when labelSelector is not set"
    ]
    constraint["matchLabelKeys"] = ["other", "app"]
    constraint["labelSelector"] = {"matchLabels": {"app": "x"}}
    labelled = pod(topologySpreadConstraints=[constraint])
    labelled["metadata"]["labels"] = {"app": "x"}
    assert create(labelled).messages == [
        f'{at}[1]: Invalid value: "app": exists in both matchLabelKeys and labelSelector'
    ]
    template = workload("Deployment", template_spec={"topologySpreadConstraints": [constraint]})
    assert create(template).messages == []


def test_static_pods_have_no_claims() -> None:
    static = pod(nodeName="n", resourceClaims=[{"name": "Bad"}])
    static["metadata"]["annotations"] = {"kubernetes.io/config.mirror": "x"}
    assert create(static).messages == ["[]: Forbidden: static pods do not support resource claims"]


def test_the_old_name_of_a_field() -> None:
    env = [{"name": "N", "valueFrom": {"fieldRef": {"fieldPath": "spec.host"}}}]
    assert messages(containers=[{**CONTAINER, "env": env}]) == []


def test_ephemeral_containers_have_no_lifecycle() -> None:
    old = create(pod()).obj
    wanted = copy.deepcopy(old)
    wanted["spec"]["ephemeralContainers"] = [{**CONTAINER, "name": "e", "lifecycle": {}}]
    assert update(wanted, old, "ephemeralcontainers").messages == [
        "spec.ephemeralContainers[0].lifecycle: Forbidden: cannot be set for an Ephemeral Container"
    ]


def test_an_update_may_spell_amounts_in_another_way() -> None:
    resources = {"requests": {"memory": "1Gi"}}
    old = create(pod(containers=[{**CONTAINER, "resources": resources}])).obj
    wanted = copy.deepcopy(old)
    amounts = wanted["spec"]["containers"][0]["resources"]["requests"]
    amounts["memory"] = "1073741824"
    assert update(wanted, old).messages == []
    amounts["memory"] = "1073741825"
    assert "pod updates may not change fields" in update(wanted, old).messages[0]


def test_a_gated_pod_is_narrowed_and_not_moved() -> None:
    def affinity(*keys: str) -> dict[str, Any]:
        terms = [{"matchExpressions": [{"key": k, "operator": "Exists"}]} for k in keys]
        kind = "requiredDuringSchedulingIgnoredDuringExecution"
        return {"nodeAffinity": {kind: {"nodeSelectorTerms": terms}}}

    gates = [{"name": "g.io/g"}]
    old = create(pod(schedulingGates=gates, nodeSelector={"a": "b"}, affinity=affinity("a"))).obj
    wanted = copy.deepcopy(old)
    del wanted["spec"]["nodeSelector"]
    wanted["spec"]["affinity"] = affinity("b")
    wanted["spec"]["schedulingGates"] = [{"name": "g.io/h"}]
    assert update(wanted, old).messages == [
        "spec.schedulingGates[0].name: Forbidden: only deletion is allowed, but found new "
        "scheduling gate 'g.io/h'",
        "spec.nodeSelector: Invalid value: null: only additions to spec.nodeSelector are allowed "
        "(no mutations or deletions)",
        "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution."
        'nodeSelectorTerms[0]: Invalid value: {"MatchExpressions":[{"Key":"b","Operator":"Exists",'
        '"Values":null}],"MatchFields":null}: only additions are allowed (no mutations or '
        "deletions)",
    ]


def test_who_is_never_restarted_restarts_for_no_resize() -> None:
    policy = {"resourceName": "cpu", "restartPolicy": "RestartContainer"}
    container = {**CONTAINER, "resizePolicy": [policy]}
    assert messages(containers=[container], restartPolicy="Never") == [
        'spec.containers[0].resizePolicy: Invalid value: "RestartContainer": must be '
        "'NotRequired' when pod `restartPolicy` is 'Never'"
    ]
