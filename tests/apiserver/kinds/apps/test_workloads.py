from __future__ import annotations

import copy
from typing import Any

import pytest

from tests.support.kindtools import (
    cells,
    changed,
    create,
    pod,
    resource_of,
    typed,
    update,
    workload,
)

KINDS = ["Deployment", "ReplicaSet", "StatefulSet", "DaemonSet"]


@pytest.mark.parametrize("kind", KINDS)
def test_a_plain_workload_is_fine(kind: str) -> None:
    made = create(workload(kind))
    assert (made.messages, made.warnings) == ([], [])
    assert made.obj["metadata"]["generation"] == 1
    assert made.obj["spec"]["template"]["spec"]["dnsPolicy"] == "ClusterFirst"


@pytest.mark.parametrize("kind", ["Deployment", "ReplicaSet", "DaemonSet"])
def test_the_selector_is_fixed(kind: str) -> None:
    old = create(workload(kind)).obj
    wanted = changed(old, selector={"matchLabels": {"app": "y"}})
    wanted["spec"]["template"]["metadata"]["labels"] = {"app": "y"}
    (message,) = update(wanted, old).messages
    assert (
        message == 'spec.selector: Invalid value: {"matchLabels":{"app":"y"}}: field is immutable'
    )


@pytest.mark.parametrize("kind", KINDS)
def test_templates_must_restart_always(kind: str) -> None:
    messages = create(workload(kind, template_spec={"restartPolicy": "Never"})).messages
    assert messages == [
        'spec.template.spec.restartPolicy: Unsupported value: "Never": supported values: "Always"'
    ]


def test_annotations_count_as_a_new_generation_of_deployments_only() -> None:
    for kind, generation in (("Deployment", 2), ("ReplicaSet", 1)):
        old = create(workload(kind)).obj
        wanted = copy.deepcopy(old)
        wanted["metadata"]["annotations"] = {"a": "b"}
        assert update(wanted, old).obj["metadata"]["generation"] == generation


def test_a_status_of_a_daemonset_leaves_the_count_of_templates() -> None:
    key = "deprecated.daemonset.template.generation"
    old = create(workload("DaemonSet")).obj
    wanted = copy.deepcopy(old)
    for given in ({}, {key: "7"}, {key: "0", "a": "b"}):
        wanted["metadata"]["annotations"] = given
        written = update(wanted, old, "status").obj["metadata"]["annotations"]
        assert written == {**given, key: "1"}


def test_a_replication_controller_without_labels_has_those_of_its_pods() -> None:
    rc = {"template": {"metadata": {"labels": {"a": "b"}}, "spec": pod()["spec"]}}
    old = create(
        {
            "apiVersion": "v1",
            "kind": "ReplicationController",
            "metadata": {"name": "x", "namespace": "ns", "labels": {"own": "1"}},
            "spec": rc,
        }
    ).obj
    assert (old["metadata"]["labels"], old["spec"]["selector"]) == ({"own": "1"}, {"a": "b"})
    wanted = copy.deepcopy(old)
    del wanted["metadata"]["labels"], wanted["spec"]["template"]
    assert update(wanted, old, "status").obj["metadata"]["labels"] == {"a": "b"}


def test_daemonsets_count_templates_in_an_annotation() -> None:
    key = "deprecated.daemonset.template.generation"
    old = create(workload("DaemonSet")).obj
    assert old["metadata"]["annotations"] == {key: "1"}
    assert old["spec"]["updateStrategy"] == {
        "type": "RollingUpdate",
        "rollingUpdate": {"maxUnavailable": 1, "maxSurge": 0},
    }
    wanted = copy.deepcopy(old)
    wanted["spec"]["template"]["spec"]["containers"][0]["image"] = "i:2"
    assert update(wanted, old).obj["metadata"]["annotations"] == {key: "2"}
    assert update(old, old).obj["metadata"]["annotations"] == {key: "1"}
    assert typed(workload("DaemonSet"))["metadata"]["annotations"] == {key: "0"}, (
        "what a client leaves out is zero, before it is counted"
    )


def test_daemonset_rolls_either_up_or_down() -> None:
    def messages(**rolling: Any) -> list[str]:
        return create(workload("DaemonSet", updateStrategy={"rollingUpdate": rolling})).messages

    path = "spec.updateStrategy.rollingUpdate"
    assert messages(maxSurge=1) == [
        f"{path}.maxSurge: Invalid value: 1: may not be set when maxUnavailable is non-zero"
    ]
    assert messages(maxUnavailable=0) == [
        f"{path}.maxUnavailable: Required value: cannot be 0 when maxSurge is 0"
    ]
    percent, surge = messages(maxSurge="-1")
    assert percent.startswith(f'{path}.maxSurge: Invalid value: "-1": a valid percent string')
    assert surge.startswith(f'{path}.maxSurge: Invalid value: "-1": may not be set')


def test_what_a_daemonset_that_does_not_roll_leaves_out_of_a_rolling_update_is_zero() -> None:
    def strategy(**rolling: Any) -> Any:
        wanted = workload("DaemonSet", updateStrategy={"type": "OnDelete", **rolling})
        return typed(wanted)["spec"]["updateStrategy"]

    assert strategy() == {"type": "OnDelete"}
    assert strategy(rollingUpdate={})["rollingUpdate"] == {"maxUnavailable": 0, "maxSurge": 0}
    assert strategy(rollingUpdate={"maxSurge": "1%"})["rollingUpdate"] == {
        "maxUnavailable": 0,
        "maxSurge": "1%",
    }


def test_statefulset_defaults() -> None:
    claim = {
        "metadata": {"name": "data"},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
    }
    spec = create(workload("StatefulSet", serviceName="s", volumeClaimTemplates=[claim])).obj[
        "spec"
    ]
    assert spec["podManagementPolicy"] == "OrderedReady"
    assert spec["updateStrategy"] == {"type": "RollingUpdate", "rollingUpdate": {"partition": 0}}
    assert spec["persistentVolumeClaimRetentionPolicy"] == {
        "whenDeleted": "Retain",
        "whenScaled": "Retain",
    }
    made = spec["volumeClaimTemplates"][0]
    assert (made["kind"], made["apiVersion"], made["status"], made["spec"]["volumeMode"]) == (
        "PersistentVolumeClaim",
        "v1",
        {"phase": "Pending"},
        "Filesystem",
    )


def test_statefulset_names_are_labels() -> None:
    rule = resource_of(workload("StatefulSet"))[0].hooks.name_rule
    assert rule is not None
    assert rule("a.b", False) == ["must not contain dots"]


def test_status_counters() -> None:
    old = create(workload("ReplicaSet")).obj
    assert old["status"] == {"replicas": 0}
    wanted = {**old, "status": {"replicas": 1, "readyReplicas": 2, "availableReplicas": 3}}
    assert update(wanted, old, "status").messages == [
        "status.readyReplicas: Invalid value: 2: cannot be greater than status.replicas",
        "status.availableReplicas: Invalid value: 3: cannot be greater than status.replicas",
        "status.availableReplicas: Invalid value: 3: cannot be greater than readyReplicas",
    ]


def test_scale() -> None:
    obj = create(workload("Deployment", replicas=3)).obj
    obj["status"]["replicas"] = 2
    hooks = resource_of(obj)[0].hooks
    scale = hooks.scale_of(obj)
    assert (scale["spec"], scale["status"]) == (
        {"replicas": 3},
        {"replicas": 2, "selector": "app=x"},
    )
    hooks.set_scale(obj, 7)
    assert obj["spec"]["replicas"] == 7


def test_tables() -> None:
    obj = create(workload("Deployment")).obj
    obj["status"] = {"readyReplicas": 1, "updatedReplicas": 1}
    row = cells(obj)
    assert (row["Ready"], row["Up-to-date"], row["Available"], row["Age"], row["Selector"]) == (
        "1/1",
        1,
        0,
        "4m5s",
        "app=x",
    )
    assert cells(create(workload("DaemonSet")).obj)["Node Selector"] == "<none>"
    assert cells(create(workload("StatefulSet")).obj)["Ready"] == "0/1"


def test_replication_controllers_take_labels_and_selector_from_the_template() -> None:
    wanted = workload("ReplicationController", "v1")
    wanted["spec"].pop("selector")
    made = create(wanted)
    assert made.messages == []
    assert (made.obj["spec"]["selector"], made.obj["metadata"]["labels"]) == (
        {"app": "x"},
        {"app": "x"},
    )
    assert resource_of(made.obj)[0].hooks.scale_of(made.obj)["status"]["selector"] == "app=x"


def test_controller_revisions_keep_their_data() -> None:
    wanted = {
        "apiVersion": "apps/v1",
        "kind": "ControllerRevision",
        "metadata": {"name": "r"},
        "revision": 1,
        "data": {"a": 1},
    }
    old = create(wanted).obj
    (message,) = update({**old, "data": {"a": 2}}, old).messages
    assert message == 'data: Invalid value: {"a":2}: field is immutable'
    owner = {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "web", "controller": True}
    old["metadata"]["ownerReferences"] = [owner]
    assert cells(old)["Controller"] == "statefulset.apps/web"


def test_a_daemon_set_may_begin_with_a_later_template() -> None:
    name = "deprecated.daemonset.template.generation"
    for text, kept in (("5", "5"), ("0", "1"), ("-2", "1")):
        wanted = workload("DaemonSet")
        wanted["metadata"]["annotations"] = {name: text}
        assert create(wanted).obj["metadata"]["annotations"] == {name: kept}


def test_an_update_does_not_ask_for_the_data_of_a_revision() -> None:
    """It may not change, which is all that is said of it."""
    revision = {
        "apiVersion": "apps/v1",
        "kind": "ControllerRevision",
        "metadata": {"name": "r"},
        "revision": 1,
    }
    assert create(revision).messages == ["data: Required value: data is mandatory"]
    made = create({**revision, "data": {"a": 1}})
    assert made.messages == []
    assert update({**revision, "metadata": made.obj["metadata"]}, made.obj).messages == [
        "data: Invalid value: null: field is immutable"
    ]
