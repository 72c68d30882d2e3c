"""Rules that pods and templates share, one wrong member at a time."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.kindtools import create, pod

CONTAINER = {"name": "c", "image": "i:1"}


def messages(**spec: Any) -> list[str]:
    return create(pod(**spec)).messages


def of_container(**members: Any) -> list[str]:
    return messages(containers=[{**CONTAINER, **members}])


@pytest.mark.parametrize(
    ("members", "expected"),
    [
        (
            {"resources": {"requests": {"cpu": "2"}, "limits": {"cpu": "1"}}},
            'resources.requests: Invalid value: "2": must be less than or equal to cpu limit of 1',
        ),
        (
            {"resources": {"requests": {"cpu": "-1"}}},
            'resources.requests[cpu]: Invalid value: "-1": must be greater than or equal to 0',
        ),
        (
            {"resources": {"requests": {"a.com/b": "1"}}},
            "resources.limits: Required value: Limit must be set for non overcommitable resources",
        ),
        ({"ports": [{"containerPort": 0}]}, "ports[0].containerPort: Required value"),
        (
            {"ports": [{"containerPort": 70000}]},
            "ports[0].containerPort: Invalid value: 70000: must be between 1 and 65535, inclusive",
        ),
        ({"env": [{"name": ""}]}, "env[0].name: Required value"),
        (
            {
                "env": [
                    {
                        "name": "a",
                        "value": "b",
                        "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}},
                    }
                ]
            },
            'env[0].valueFrom: Invalid value: "": may not be specified when `value` is not empty',
        ),
        (
            {"imagePullPolicy": "Sometimes"},
            'imagePullPolicy: Unsupported value: "Sometimes": supported values: "Always", '
            '"IfNotPresent", "Never"',
        ),
        (
            {"livenessProbe": {"periodSeconds": -1, "exec": {"command": ["a"]}}},
            "livenessProbe.periodSeconds: Invalid value: -1: must be greater than or equal to 0",
        ),
        ({"livenessProbe": {}}, "livenessProbe: Required value: must specify a handler type"),
        (
            {"securityContext": {"runAsUser": -1}},
            "securityContext.runAsUser: Invalid value: -1: must be between 0 and 2147483647, "
            "inclusive",
        ),
        (
            {"volumeMounts": [{"name": "v", "mountPath": "/v"}]},
            'volumeMounts[0].name: Not found: "v"',
        ),
        (
            {"terminationMessagePolicy": "x"},
            'terminationMessagePolicy: Unsupported value: "x": supported values: "File", '
            '"FallbackToLogsOnError"',
        ),
        ({"image": ""}, "image: Required value"),
        (
            {"image": " i"},
            'image: Invalid value: " i": must not have leading or trailing whitespace',
        ),
    ],
)
def test_containers(members: dict[str, Any], expected: str) -> None:
    assert of_container(**members) == [f"spec.containers[0].{expected}"]


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"containers": []}, ["containers: Required value"]),
        ({"containers": [CONTAINER, CONTAINER]}, ['containers[1].name: Duplicate value: "c"']),
        ({"initContainers": [CONTAINER]}, ['initContainers[0].name: Duplicate value: "c"']),
        (
            {"restartPolicy": "x"},
            [
                'restartPolicy: Unsupported value: "x": supported values: "Always", "OnFailure", '
                '"Never"'
            ],
        ),
        (
            {"dnsPolicy": "None"},
            ["dnsConfig: Required value: must provide `dnsConfig` when `dnsPolicy` is None"],
        ),
        (
            {"activeDeadlineSeconds": 0},
            [
                "activeDeadlineSeconds: Invalid value: 0: must be between 1 and 2147483647, "
                "inclusive"
            ],
        ),
        (
            {"volumes": [{"name": "v", "secret": {}}]},
            ["volumes[0].secret.secretName: Required value"],
        ),
        (
            {"volumes": [{"name": "v", "emptyDir": {}, "hostPath": {"path": "/"}}]},
            ["volumes[0].hostPath: Forbidden: may not specify more than 1 volume type"],
        ),
        (
            {"tolerations": [{"operator": "Equal"}]},
            [
                'tolerations[0].operator: Invalid value: "Equal": operator must be Exists when '
                "`key` is empty"
            ],
        ),
        (
            {
                "topologySpreadConstraints": [
                    {"maxSkew": 0, "topologyKey": "a", "whenUnsatisfiable": "DoNotSchedule"}
                ]
            },
            ["topologySpreadConstraints[0].maxSkew: Invalid value: 0: must be greater than zero"],
        ),
        ({"nodeSelector": {"a b": "c"}}, ["nodeSelector: Invalid value"]),
        (
            {"hostAliases": [{"ip": "x"}]},
            [
                'hostAliases[0].ip: Invalid value: "x": must be a valid IP address, (e.g. 10.9.8.7 '
                "or 2001:db8::ffff)"
            ],
        ),
    ],
)
def test_specs(spec: dict[str, Any], expected: list[str]) -> None:
    got = messages(**spec)
    assert len(got) == len(expected), got
    assert all(g.startswith(f"spec.{e}") for g, e in zip(got, expected, strict=True)), got


@pytest.mark.parametrize(
    ("requests", "limits", "qos"),
    [
        ({}, {}, "BestEffort"),
        ({"cpu": "1"}, {}, "Burstable"),
        ({}, {"cpu": "1", "memory": "1Gi"}, "Guaranteed"),
        ({"cpu": "500m"}, {"cpu": "1", "memory": "1Gi"}, "Burstable"),
        ({"cpu": "1000m"}, {"cpu": "1", "memory": "1Gi"}, "Guaranteed"),
    ],
)
def test_quality_of_service(requests: dict[str, str], limits: dict[str, str], qos: str) -> None:
    resources = {"requests": requests, "limits": limits}
    assert (
        create(pod(containers=[{**CONTAINER, "resources": resources}])).obj["status"]["qosClass"]
        == qos
    )


def test_containers_without_names_repeat_each_other_where_kube_apiserver_says_so() -> None:
    unnamed = {"image": "i:1"}
    assert messages(containers=[unnamed, unnamed]) == [
        "spec.containers[0].name: Required value",
        "spec.containers[1].name: Required value",
        'spec.containers[1].name: Duplicate value: ""',
    ]
    assert messages(containers=[CONTAINER], initContainers=[unnamed, unnamed]) == [
        "spec.initContainers[0].name: Required value",
        "spec.initContainers[1].name: Required value",
    ]
