"""Defaults of built-in kinds that follow a rule of more than one kind (k8s.io/kubernetes
``apis/*/v*/defaults.go`` and what is generated beside it)."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.kindtools import create, typed

TINY, ROUNDED = {"cpu": "0.1m", "storage": "1.0001Ki"}, {"cpu": "1m", "storage": "1024103m"}
NEEDS = {"limits": TINY, "requests": TINY}


def made(kind: str, api_version: str = "v1", **members: Any) -> dict[str, Any]:
    return typed({"apiVersion": api_version, "kind": kind, "metadata": {"name": "x"}, **members})


def found(obj: Any, path: str) -> Any:
    for name in path.split("."):
        obj = obj[int(name) if name.isdigit() else name]
    return obj


def pod_with(**members: Any) -> dict[str, Any]:
    return {"spec": {"containers": [{"name": "c", "image": "i"}], **members}}


EPHEMERAL = [{"name": "e", "ephemeral": {"volumeClaimTemplate": {"spec": {"resources": NEEDS}}}}]
CLAIM = {"spec": {"resources": NEEDS}, "status": {"capacity": TINY, "allocatedResources": TINY}}
RUN = {"allocatedResources": TINY, "resources": NEEDS}


@pytest.mark.parametrize(
    ("obj", "paths"),
    [
        (
            made("PersistentVolumeClaim", **CLAIM),
            "spec.resources.limits spec.resources.requests status.capacity "
            "status.allocatedResources",
        ),
        (made("PersistentVolume", spec={"capacity": TINY}), "spec.capacity"),
        (
            made("ResourceQuota", spec={"hard": TINY}, status={"hard": TINY, "used": TINY}),
            "spec.hard status.hard status.used",
        ),
        (
            made("LimitRange", spec={"limits": [{"type": "Container", "max": TINY}]}),
            "spec.limits.0.max spec.limits.0.default spec.limits.0.defaultRequest",
        ),
        (
            made(
                "LimitRange",
                spec={"limits": [{"type": "Pod", "min": TINY, "maxLimitRequestRatio": TINY}]},
            ),
            "spec.limits.0.min spec.limits.0.maxLimitRequestRatio",
        ),
        (made("Node", status={"capacity": TINY}), "status.capacity status.allocatable"),
        (
            made("StatefulSet", "apps/v1", spec={"volumeClaimTemplates": [CLAIM]}),
            "spec.volumeClaimTemplates.0.spec.resources.requests "
            "spec.volumeClaimTemplates.0.status.capacity",
        ),
        (
            made("Pod", **pod_with(volumes=EPHEMERAL)),
            "spec.volumes.0.ephemeral.volumeClaimTemplate.spec.resources.limits",
        ),
        (
            made("Pod", status={**RUN, "initContainerStatuses": [RUN], "containerStatuses": [RUN]}),
            "status.allocatedResources status.resources.limits "
            "status.initContainerStatuses.0.allocatedResources "
            "status.containerStatuses.0.resources.requests",
        ),
        (
            made("PodTemplate", template=pod_with(overhead=TINY, resources=NEEDS)),
            "template.spec.overhead template.spec.resources.limits",
        ),
        (
            made(
                "VolumeAttachment",
                "storage.k8s.io/v1",
                spec={"source": {"inlineVolumeSpec": {"capacity": TINY}}},
            ),
            "spec.source.inlineVolumeSpec.capacity",
        ),
    ],
)
def test_amounts_are_rounded_up_to_thousandths(obj: dict[str, Any], paths: str) -> None:
    assert {path: found(obj, path) for path in paths.split()} == dict.fromkeys(
        paths.split(), ROUNDED
    )


def test_what_a_runtime_class_adds_is_not_rounded() -> None:
    obj = made("RuntimeClass", "node.k8s.io/v1", handler="h", overhead={"podFixed": {"cpu": "1u"}})
    assert obj["overhead"]["podFixed"] == {"cpu": "1u"}


def test_the_amounts_of_a_pod_are_summed_before_they_are_rounded() -> None:
    asks = {"name": "c", "image": "i", "resources": {"requests": {"cpu": "0.4m"}}}
    obj = made("Pod", spec={"containers": [asks, asks], "resources": {"limits": {"cpu": "1"}}})
    assert obj["spec"]["resources"]["requests"] == {"cpu": "1m"}


DISK = {"diskName": "d", "diskURI": "https://x"}


@pytest.mark.parametrize(
    ("given", "left"),
    [
        ({}, {"cachingMode": "ReadWrite", "fsType": "ext4", "kind": "Shared", "readOnly": False}),
        (
            {"cachingMode": "", "fsType": "", "kind": "", "readOnly": True},
            {"cachingMode": "", "fsType": "", "kind": "", "readOnly": True},
        ),
    ],
)
def test_a_disk_may_name_no_file_system(given: dict[str, Any], left: dict[str, Any]) -> None:
    of_pod = made("Pod", **pod_with(volumes=[{"name": "d", "azureDisk": {**DISK, **given}}]))
    assert of_pod["spec"]["volumes"][0]["azureDisk"] == {**DISK, **left}
    of_volume = made("PersistentVolume", spec={"azureDisk": {**DISK, **given}})
    assert of_volume["spec"]["azureDisk"] == {**DISK, **left}


def test_an_empty_mode_of_a_disk_is_refused() -> None:
    volumes = [{"name": "d", "azureDisk": {**DISK, "cachingMode": ""}}]
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x"}}
    assert create({**pod, **pod_with(volumes=volumes)}).messages == [
        'spec.volumes[0].azureDisk.cachingMode: Unsupported value: "": supported values: '
        '"None", "ReadOnly", "ReadWrite"'
    ]


@pytest.mark.parametrize(("given", "optional"), [({}, False), ({"optional": True}, True)])
def test_a_variable_from_a_file_needs_it_unless_it_says_otherwise(
    given: dict[str, Any], optional: bool
) -> None:
    source = {"fileKeyRef": {"key": "k", "path": "p", "volumeName": "v", **given}}
    container = {"name": "c", "image": "i", "env": [{"name": "A", "valueFrom": source}]}
    obj = made("PodTemplate", template={"spec": {"containers": [container]}})
    reference = obj["template"]["spec"]["containers"][0]["env"][0]["valueFrom"]["fileKeyRef"]
    assert reference["optional"] is optional


@pytest.mark.parametrize(
    ("obj", "path"),
    [
        ({"kind": "Job", "spec": {}}, "spec"),
        ({"kind": "CronJob", "spec": {"jobTemplate": {"spec": {}}}}, "spec.jobTemplate.spec"),
    ],
)
def test_a_condition_that_a_failure_policy_waits_for_is_true(
    obj: dict[str, Any], path: str
) -> None:
    policy = {"rules": [{"onPodConditions": [{"type": "A"}, {"type": "B", "status": "False"}]}]}
    found(obj, path)["podFailurePolicy"] = policy
    spec = found(made(api_version="batch/v1", **obj), path)
    conditions = spec["podFailurePolicy"]["rules"][0]["onPodConditions"]
    assert [c["status"] for c in conditions] == ["True", "False"]
