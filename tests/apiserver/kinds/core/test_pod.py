from __future__ import annotations

import copy
from typing import Any

import pytest

from apiserver.kinds.catalog import resources
from apiserver.meta.gvk import GroupResource
from tests.support.kindtools import NOW, cells, changed, create, pod, update

HOOKS = resources()[GroupResource("", "pods")].hooks


def with_resources(
    requests: dict[str, str] | None = None, limits: dict[str, str] | None = None
) -> dict[str, Any]:
    given = {k: v for k, v in (("requests", requests), ("limits", limits)) if v is not None}
    return pod(containers=[{"name": "c", "image": "i", "resources": given}])


def test_requests_default_to_limits() -> None:
    made = create(with_resources({"cpu": "1"}, {"cpu": "2", "memory": "1Gi"}))
    assert made.obj["spec"]["containers"][0]["resources"]["requests"] == {
        "cpu": "1",
        "memory": "1Gi",
    }


@pytest.mark.parametrize(
    ("image", "policy"),
    [
        ("nginx", "Always"),
        ("nginx:latest", "Always"),
        ("nginx:1.2", "IfNotPresent"),
        ("localhost:5000/nginx", "Always"),
        ("localhost:5000/nginx:1", "IfNotPresent"),
        ("nginx@sha256:" + "a" * 64, "IfNotPresent"),
    ],
)
def test_pull_policy_follows_the_tag(image: str, policy: str) -> None:
    assert (
        create(pod(containers=[{"name": "c", "image": image}])).obj["spec"]["containers"][0][
            "imagePullPolicy"
        ]
        == policy
    )


def test_host_network_publishes_every_port() -> None:
    made = create(
        pod(
            hostNetwork=True,
            containers=[{"name": "c", "image": "i", "ports": [{"containerPort": 80}]}],
        )
    )
    assert made.obj["spec"]["containers"][0]["ports"] == [
        {"containerPort": 80, "hostPort": 80, "protocol": "TCP"}
    ]
    assert not made.errors


def test_probes_and_volumes_get_their_defaults() -> None:
    probe = {"httpGet": {"port": 80}}
    container = {
        "name": "c",
        "image": "i",
        "livenessProbe": probe,
        "volumeMounts": [{"name": "s", "mountPath": "/s"}],
    }
    spec = create(
        pod(
            containers=[container],
            volumes=[{"name": "s", "secret": {"secretName": "x"}}, {"name": "e"}],
        )
    ).obj["spec"]
    assert spec["containers"][0]["livenessProbe"] == {
        "httpGet": {"port": 80, "path": "/", "scheme": "HTTP"},
        "timeoutSeconds": 1,
        "periodSeconds": 10,
        "successThreshold": 1,
        "failureThreshold": 3,
    }
    assert spec["volumes"] == [
        {"name": "s", "secret": {"secretName": "x", "defaultMode": 420}},
        {"name": "e", "emptyDir": {}},
    ]


@pytest.mark.parametrize(
    ("requests", "limits", "qos"),
    [
        (None, None, "BestEffort"),
        ({"cpu": "1"}, None, "Burstable"),
        (None, {"cpu": "1", "memory": "1Gi"}, "Guaranteed"),
        ({"cpu": "500m", "memory": "1Gi"}, {"cpu": "1", "memory": "1Gi"}, "Burstable"),
        ({"cpu": "1000m", "memory": "1024Mi"}, {"cpu": "1", "memory": "1Gi"}, "Guaranteed"),
        ({"cpu": "0"}, None, "BestEffort"),
    ],
)
def test_qos_class(
    requests: dict[str, str] | None, limits: dict[str, str] | None, qos: str
) -> None:
    assert create(with_resources(requests, limits)).obj["status"] == {
        "phase": "Pending",
        "qosClass": qos,
    }


def test_a_client_cannot_set_status_on_create() -> None:
    wanted = pod()
    wanted["status"] = {"phase": "Running"}
    assert create(wanted).obj["status"]["phase"] == "Pending"


def test_match_label_keys_become_requirements() -> None:
    constraint = {
        "maxSkew": 1,
        "topologyKey": "zone",
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {},
        "matchLabelKeys": ["v", "w"],
    }
    wanted = pod(topologySpreadConstraints=[constraint])
    wanted["metadata"]["labels"] = {"v": "1"}
    made = create(wanted)
    assert made.messages == []
    merged = made.obj["spec"]["topologySpreadConstraints"][0]["labelSelector"]["matchExpressions"]
    assert merged == [{"key": "v", "operator": "In", "values": ["1"]}]


def test_mounts_must_name_volumes() -> None:
    made = create(
        pod(
            containers=[
                {"name": "c", "image": "i", "volumeMounts": [{"name": "absent", "mountPath": "/x"}]}
            ]
        )
    )
    assert made.messages == ['spec.containers[0].volumeMounts[0].name: Not found: "absent"']


def test_requests_above_limits_are_refused() -> None:
    assert create(with_resources({"cpu": "2"}, {"cpu": "1"})).messages == [
        'spec.containers[0].resources.requests: Invalid value: "2": must be less than or equal to '
        "cpu limit of 1"
    ]


def test_container_names_are_unique_across_lists() -> None:
    made = create(pod(initContainers=[{"name": "c", "image": "i"}]))
    assert made.messages == ['spec.initContainers[0].name: Duplicate value: "c"']


def test_sidecars_may_have_probes_and_plain_init_containers_may_not() -> None:
    probed = {"name": "i", "image": "i", "livenessProbe": {"tcpSocket": {"port": 1}}}
    assert create(pod(initContainers=[{**probed, "restartPolicy": "Always"}])).messages == []
    refused = (
        "spec.initContainers[0].livenessProbe: Forbidden: may not be set for init "
        "containers without restartPolicy=Always"
    )
    assert create(pod(initContainers=[probed])).messages == [refused]


def test_generation_counts_changes_of_the_spec_only() -> None:
    old = create(pod()).obj
    labelled = copy.deepcopy(old)
    labelled["metadata"]["labels"] = {"a": "b"}
    assert update(labelled, old).obj["metadata"]["generation"] == 1
    assert update(changed(old, activeDeadlineSeconds=5), old).obj["metadata"]["generation"] == 2


def test_most_of_the_spec_is_fixed() -> None:
    old = create(pod()).obj
    (error,) = update(changed(old, restartPolicy="Never"), old).errors
    assert (error.path, error.type.value) == ("spec", "FieldValueForbidden")
    assert error.detail.startswith(
        "pod updates may not change fields other than `spec.containers[*].image`"
    )


def test_a_gated_pod_may_be_narrowed() -> None:
    old = create(pod(schedulingGates=[{"name": "example.com/gate"}], nodeSelector={"a": "b"})).obj
    assert old["status"]["conditions"][0]["reason"] == "SchedulingGated"
    assert update(changed(old, nodeSelector={"a": "b", "c": "d"}), old).messages == []
    assert len(update(changed(old, nodeSelector={"c": "d"}), old).errors) == 1


def test_a_resize_changes_cpu_and_memory_only() -> None:
    old = create(with_resources({"cpu": "100m"})).obj
    wanted = copy.deepcopy(old)
    wanted["spec"]["containers"][0].update(image="other", resources={"requests": {"cpu": "200m"}})
    made = update(wanted, old, "resize")
    assert made.messages == []
    assert made.obj["spec"]["containers"][0]["image"] == "i"
    assert made.obj["spec"]["containers"][0]["resources"]["requests"] == {"cpu": "200m"}
    removed = copy.deepcopy(old)
    removed["spec"]["containers"][0]["resources"] = {}
    assert (
        "spec.containers[0].resources.requests: Forbidden: resource requests cannot be removed"
        in update(removed, old, "resize").messages
    )


def test_status_keeps_its_qos_class_and_owners() -> None:
    old = create(pod()).obj
    old["metadata"]["ownerReferences"] = [{"uid": "u"}]
    wanted = copy.deepcopy(old)
    wanted["metadata"].pop("ownerReferences")
    wanted["status"] = {"phase": "Running"}
    made = update(wanted, old, "status")
    assert made.obj["status"] == {"phase": "Running", "qosClass": "BestEffort"}
    assert made.obj["metadata"]["ownerReferences"] == [{"uid": "u"}]


def test_an_ended_container_does_not_run_again() -> None:
    old = create(pod(restartPolicy="Never")).obj
    old["status"]["containerStatuses"] = [{"name": "c", "state": {"terminated": {"exitCode": 1}}}]
    wanted = copy.deepcopy(old)
    wanted["status"]["containerStatuses"][0]["state"] = {"running": {}}
    (message,) = update(wanted, old, "status").messages
    assert message == (
        "status.containerStatuses[0].state: Forbidden: may not be transitioned to "
        "non-terminated state"
    )


def test_selectable_fields() -> None:
    made = create(pod(nodeName="n", hostNetwork=True)).obj
    made["status"]["podIPs"] = [{"ip": "10.0.0.1"}]
    assert HOOKS.fields(made) == {
        "spec.nodeName": "n",
        "spec.restartPolicy": "Always",
        "spec.schedulerName": "default-scheduler",
        "spec.serviceAccountName": "",
        "spec.hostNetwork": "true",
        "status.phase": "Pending",
        "status.podIP": "10.0.0.1",
        "status.podIPs": "",
        "status.nominatedNodeName": "",
    }


@pytest.mark.parametrize(
    ("node", "phase", "requested", "grace"),
    [
        ("", "Pending", None, 0),
        ("n", "Running", None, 30),
        ("n", "Running", 5, 5),
        ("n", "Succeeded", None, 0),
        ("n", "Running", -1, 1),
    ],
)
def test_grace_period(node: str, phase: str, requested: int | None, grace: int) -> None:
    obj = {
        "spec": {"nodeName": node, "terminationGracePeriodSeconds": 30},
        "status": {"phase": phase},
    }
    assert HOOKS.grace_period(obj, requested) == grace


def status(**members: Any) -> dict[str, Any]:
    obj = create(pod(initContainers=[{"name": "i", "image": "i"}])).obj
    obj["status"].update(members)
    return obj


PULLING = {"waiting": {"reason": "ErrImagePull"}}
RUNNING = {"name": "c", "ready": True, "restartCount": 0, "state": {"running": {}}}


@pytest.mark.parametrize(
    ("members", "ready", "shown", "restarts"),
    [
        ({}, "0/1", "Pending", "0"),
        ({"phase": "Running", "containerStatuses": [RUNNING]}, "1/1", "Running", "0"),
        (
            {"containerStatuses": [{**RUNNING, "ready": False, "state": PULLING}]},
            "0/1",
            "ErrImagePull",
            "0",
        ),
        (
            {"initContainerStatuses": [{"name": "i", "state": {"running": {}}}]},
            "0/1",
            "Init:0/1",
            "0",
        ),
        (
            {"initContainerStatuses": [{"name": "i", "state": {"terminated": {"exitCode": 2}}}]},
            "0/1",
            "Init:ExitCode:2",
            "0",
        ),
        (
            {
                "containerStatuses": [
                    {
                        **RUNNING,
                        "restartCount": 2,
                        "lastState": {"terminated": {"finishedAt": "2026-01-02T03:00:05Z"}},
                    }
                ]
            },
            "1/1",
            "Pending",
            "2 (4m ago)",
        ),
        ({"reason": "Evicted", "phase": "Failed"}, "0/1", "Evicted", "0"),
    ],
)
def test_table(members: dict[str, Any], ready: str, shown: str, restarts: str) -> None:
    row = cells(status(**members))
    assert (row["Ready"], row["Status"], row["Restarts"], row["Node"]) == (
        ready,
        shown,
        restarts,
        "<none>",
    )


def test_table_of_a_pod_that_is_being_deleted() -> None:
    obj = status()
    obj["metadata"]["deletionTimestamp"] = "2026-01-02T03:04:00Z"
    assert cells(obj)["Status"] == "Terminating"
    assert NOW.year == 2026


def test_members_of_features_that_are_off_are_dropped() -> None:
    sources = [
        {"podCertificate": {"signerName": "a.b/c", "keyType": "ED25519"}},
        {"clusterTrustBundle": {"path": "p"}},
    ]
    made = create(
        pod(
            schedulingGroup={"podGroupName": "g"},
            volumes=[{"name": "v", "projected": {"sources": sources}}],
        )
    )
    assert made.messages == []
    assert "schedulingGroup" not in made.obj["spec"]
    assert made.obj["spec"]["volumes"] == [
        {"name": "v", "projected": {"sources": [{}, {}], "defaultMode": 420}}
    ]


SLEEP = {"sleep": {"seconds": 1}}


@pytest.mark.parametrize(
    ("lifecycle", "left"),
    [
        ({"stopSignal": "SIGUSR1"}, None),
        ({"stopSignal": "SIGUSR1", "preStop": SLEEP}, {"preStop": SLEEP}),
        ({"preStop": SLEEP}, {"preStop": SLEEP}),
        ({}, {}),
    ],
)
@pytest.mark.parametrize("list_name", ["containers", "initContainers"])
def test_stop_signals_are_dropped(
    list_name: str, lifecycle: dict[str, Any], left: dict[str, Any] | None
) -> None:
    members: dict[str, Any] = {list_name: [{"name": "x", "image": "i", "lifecycle": lifecycle}]}
    if list_name == "initContainers":
        members["initContainers"][0]["restartPolicy"] = "Always"
    made = create(pod(**members))
    assert made.messages == []
    assert made.obj["spec"][list_name][0].get("lifecycle") == left


def test_a_stop_signal_that_is_stored_stays() -> None:
    old = create(pod()).obj
    old["spec"]["containers"][0]["lifecycle"] = {"stopSignal": "SIGUSR1"}
    made = update({**old, "metadata": {**old["metadata"], "labels": {"a": "b"}}}, old)
    assert made.messages == []
    assert made.obj["spec"] == old["spec"]


def test_an_ephemeral_container_has_no_stop_signal() -> None:
    old = create(pod()).obj
    added = {"name": "e", "image": "i", "lifecycle": {"stopSignal": "SIGUSR1"}}
    wanted = {**old, "spec": {**old["spec"], "ephemeralContainers": [added]}}
    made = update(wanted, old, "ephemeralcontainers")
    assert made.messages == []
    assert "lifecycle" not in made.obj["spec"]["ephemeralContainers"][0]


def test_statuses_of_features_that_are_off_are_dropped() -> None:
    old = create(pod()).obj
    mount = {"name": "v", "mountPath": "/v"}
    status = {
        "name": "c",
        "image": "i",
        "imageID": "",
        "ready": False,
        "restartCount": 0,
        "volumeMounts": [{**mount, "volumeStatus": {"image": {"imageRef": "r@sha256:00"}}}],
    }
    allocated = [{"resourceClaimName": "r", "resources": {"cpu": "1"}}]
    wanted = {
        **old["status"],
        "containerStatuses": [status],
        "nodeAllocatableResourceClaimStatuses": allocated,
    }
    made = update({**old, "status": wanted}, old, "status")
    assert made.messages == []
    assert made.obj["status"]["containerStatuses"][0]["volumeMounts"] == [mount]
    assert "nodeAllocatableResourceClaimStatuses" not in made.obj["status"]


def test_restart_rules_are_limited() -> None:
    rule = {"action": "Restart", "exitCodes": {"operator": "In", "values": [1]}}
    container = {
        "name": "c",
        "image": "i",
        "restartPolicy": "Never",
        "restartPolicyRules": [rule] * 21,
    }
    assert create(pod(containers=[container])).messages == [
        "spec.containers[0].restartPolicyRules: Too long: may not be more than 20 bytes"
    ]


def test_what_never_restarts_is_not_restarted_by_a_resize_either() -> None:
    policy = {"resourceName": "cpu", "restartPolicy": "RestartContainer"}
    container = {"name": "c", "image": "nginx:1", "resizePolicy": [policy]}
    assert create(pod(restartPolicy="Never", containers=[container])).messages == [
        'spec.containers[0].resizePolicy: Invalid value: "RestartContainer": must be '
        "'NotRequired' when pod `restartPolicy` is 'Never'"
    ]
