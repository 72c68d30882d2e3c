"""What writers of a pod's status may say, after ValidatePodStatusUpdate of kubernetes 1.35."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from tests.support.kindtools import create, pod, update

BACK = "may not be transitioned to non-terminated state"


def told(spec: dict[str, Any], before: dict[str, Any], **status: Any) -> list[str]:
    """The errors of a write of ``status``, of a pod whose status was ``before``."""
    old = create(pod(**spec)).obj
    old["status"].update(before)
    wanted = copy.deepcopy(old)
    wanted["status"].update(status)
    return update(wanted, old, "status").messages


def ended(name: str, code: int) -> dict[str, Any]:
    return {"name": name, "state": {"terminated": {"exitCode": code}}}


def runs(name: str) -> dict[str, Any]:
    return {"name": name, "state": {"running": {}}}


def rule(*codes: int, operator: str = "In", action: str = "Restart") -> dict[str, Any]:
    return {"action": action, "exitCodes": {"operator": operator, "values": list(codes)}}


def test_conditions_and_generations() -> None:
    messages = told({}, {}, conditions=[{"type": "no type", "status": "True"}])
    assert [m.split(":")[0] for m in messages] == ["status.conditions[0].Type"]
    assert told(
        {},
        {},
        observedGeneration=-1,
        conditions=[{"type": "Ready", "status": "True", "observedGeneration": -2}],
    ) == [
        f"status.{at}observedGeneration: Invalid value: {value}: must be a non-negative integer"
        for at, value in (("conditions[0].", -2), ("", -1))
    ]


def test_a_bound_pod_is_nominated_for_no_node() -> None:
    assert told({}, {}, nominatedNodeName="there") == []
    assert told({"nodeName": "here"}, {}, nominatedNodeName="there") == [
        "status.nominatedNodeName: Forbidden: may not be set on pods that are already bound to a "
        "node"
    ]
    assert told({"nodeName": "here"}, {"nominatedNodeName": "there"}) == []


@pytest.mark.parametrize(
    ("container", "policy", "code", "may"),
    [
        ({}, "Always", 0, True),
        ({}, "OnFailure", 0, False),
        ({}, "OnFailure", 3, True),
        ({}, "Never", 3, False),
        ({"restartPolicy": "Always"}, "Never", 0, True),
        ({"restartPolicy": "OnFailure"}, "Never", 0, False),
        ({"restartPolicy": "Never"}, "Always", 3, False),
        ({"restartPolicy": "Never", "restartPolicyRules": [rule(3)]}, "Always", 3, True),
        ({"restartPolicy": "Never", "restartPolicyRules": [rule(3)]}, "Always", 4, False),
        (
            {"restartPolicy": "Never", "restartPolicyRules": [rule(3, operator="NotIn")]},
            "Always",
            4,
            True,
        ),
    ],
)
def test_who_runs_again(container: dict[str, Any], policy: str, code: int, may: bool) -> None:
    spec = {
        "restartPolicy": policy,
        "containers": [{"name": "c", "image": "i", **container}],
    }
    messages = told(spec, {"containerStatuses": [ended("c", code)]}, containerStatuses=[runs("c")])
    assert messages == ([] if may else [f"status.containerStatuses[0].state: Forbidden: {BACK}"])


def test_who_is_in_no_spec_does_not_run_again() -> None:
    assert told(
        {}, {"containerStatuses": [ended("other", 0)]}, containerStatuses=[runs("other")]
    ) == [f"status.containerStatuses[0].state: Forbidden: {BACK}"]


def test_a_rule_for_all_containers_restarts_all_but_ephemeral_ones() -> None:
    all_again = rule(7, action="RestartAllContainers")
    spec = {
        "restartPolicy": "Never",
        "initContainers": [{"name": "i", "image": "i"}],
        "containers": [
            {
                "name": "c",
                "image": "i",
                "restartPolicy": "Never",
                "restartPolicyRules": [all_again],
            }
        ],
    }
    lists = ("initContainerStatuses", "containerStatuses", "ephemeralContainerStatuses")
    before = {field: [ended(field[0], 0)] for field in lists}
    after = {field: [runs(field[0])] for field in lists}
    assert told(spec, before, **after) == [
        f"status.ephemeralContainerStatuses[0].state: Forbidden: {BACK}"
    ]


def test_addresses() -> None:
    assert told({}, {}, podIP="10.0.0.1", podIPs=[{"ip": "10.0.0.1"}, {"ip": "10.0.0.1"}]) == [
        'status.podIPs: Invalid value: [{"IP":"10.0.0.1"},{"IP":"10.0.0.1"}]: may specify no more '
        "than one IP for each IP family"
    ]
    assert told({}, {}, podIP="10.0.0.1", podIPs=[{"ip": "10.0.0.1"}, {"ip": "here"}])[1:] == [
        "status.podIPs: Internal error: failed to check for dual stack with error:invalid IP[1]: "
        "here",
        'status.podIPs: Invalid value: [{"IP":"10.0.0.1"},{"IP":"here"}]: may specify no more than '
        "one IP for each IP family",
    ]


def test_users_of_containers() -> None:
    user = {"linux": {"uid": -1, "gid": 0, "supplementalGroups": [0, -2]}}
    bounds = "must be between 0 and 2147483647, inclusive"
    assert told({}, {}, containerStatuses=[{"name": "c", "user": user}]) == [
        f"status.containerStatuses[0].user.linux.uid: Invalid value: -1: {bounds}",
        "status.containerStatuses[0].user.linux.supplementalGroups[1]: Invalid value: -2: "
        f"{bounds}",
    ]
    assert told({"os": {"name": "windows"}}, {}, initContainerStatuses=[{"user": user}]) == [
        "status.initContainerStatuses[0].user.linux: Forbidden: cannot be set for a windows pod"
    ]


def test_each_device_is_told_of_once() -> None:
    device = {"resourceID": "d", "health": "Healthy"}
    allocated = [{"name": "x.io/y", "resources": [device, {**device, "health": "Ill"}]}]
    at = "status.containerStatuses[0].allocatedResourcesStatus[0]"
    unknown = [
        f'{at}.resources[1].health: Unsupported value: "Ill": supported values: "Healthy", '
        '"Unhealthy", "Unknown"',
        f'{at}.resources[1].resourceID: Duplicate value: "d"',
    ]
    for name, more in (
        ("gone", []),
        (
            "c",
            [
                f'{at}.name: Invalid value: "x.io/y": must match one of the container\'s resource '
                "requests"
            ],
        ),
    ):
        statuses = [{"name": name, "allocatedResourcesStatus": allocated}]
        assert told({}, {}, containerStatuses=statuses) == more + unknown


def test_extended_resources_from_claims() -> None:
    container = {
        "name": "c",
        "image": "i",
        "resources": {"requests": {"x.io/y": "1"}, "limits": {"x.io/y": "1"}},
    }
    good = {"containerName": "c", "resourceName": "x.io/y", "requestName": "r"}
    at = "status.extendedResourceClaimStatus"

    def of(*mappings: dict[str, str], name: str = "claim") -> list[str]:
        status = {"requestMappings": list(mappings), "resourceClaimName": name}
        return told({"containers": [container]}, {}, extendedResourceClaimStatus=status)

    assert of(good) == []
    assert of(name="") == [
        f"{at}.requestMappings: Required value: at least one request mapping is required",
        f"{at}.resourceClaimName: Required value",
    ]
    assert of({**good, "containerName": "d"}, {**good, "resourceName": "z.io/y"}) == [
        f'{at}.requestMappings[0].containerName: Invalid value: "d": must match the name of an '
        "entry in spec.initContainers.name or spec.containers.name",
        f'{at}.requestMappings[1].resourceName: Invalid value: "z.io/y": must match the extended '
        "resource name of an entry in spec.initContainers.resources.requests or "
        "spec.containers.resources.requests",
    ]
    assert of(good, good) == [
        f'{at}.requestMappings[1].containerName: Duplicate value: "c"',
        f'{at}.requestMappings[1].resourceName: Duplicate value: "x.io/y"',
        f'{at}.requestMappings[1].requestName: Duplicate value: "r"',
    ]
