"""Capacities that several claims share, after validateRequestPolicy of kubernetes 1.34."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from tests.support.kindtools import create, update

AT = "spec.devices[0].capacity[mem].requestPolicy"


def slice_with(policy: dict[str, Any], *, shared: bool = True) -> dict[str, Any]:
    device = {
        "name": "d",
        "allowMultipleAllocations": shared,
        "capacity": {"mem": {"value": "8Gi", "requestPolicy": policy}},
    }
    spec = {
        "driver": "d.io",
        "nodeName": "n",
        "pool": {"name": "p", "resourceSliceCount": 1},
        "devices": [device],
    }
    kind = {"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice"}
    return {**kind, "metadata": {"name": "s"}, "spec": spec}


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        ({"default": "1Gi", "validValues": ["1Gi", "2Gi"]}, []),
        ({"validValues": ["1Gi"]}, ["default: Required value: required when validValues is"]),
        (
            {"default": "3Gi", "validValues": ["2Gi", "1Gi", "2Gi", "9Gi"]},
            [
                'validValues[1]: Invalid value: "1Gi": values must be sorted in ascending order',
                'validValues[3]: Invalid value: "9Gi": option is larger than capacity value: 8Gi',
                'validValues[2]: Duplicate value: "2147483648"',
                'validValues: Invalid value: "3Gi": default value is not valid according to the',
            ],
        ),
        (
            {"default": "1", "validValues": [str(n) for n in range(1, 12)]},
            [
                "validValues: Too many: 11: must have at most 10 items",
                'validValues: Invalid value: "1": default value is not valid according to the',
            ],
        ),
        (
            {"default": "2", "validRange": {"min": "1", "max": "5", "step": "2"}},
            ['validRange.step: Invalid value: "2": value is not a multiple of a given step (2)'],
        ),
        ({"default": "2", "validRange": {}}, ["validRange.min: Required value: required when"]),
        (
            {"default": "1", "validRange": {"min": "9Gi", "max": "2"}},
            [
                'validRange.min: Invalid value: "9Gi": min is larger than capacity value: 8Gi',
                'validRange.default: Invalid value: "1": default is less than min: 9Gi',
                'validRange.max: Invalid value: "9Gi": min is larger than max: 2',
            ],
        ),
        (
            {"default": "10Gi", "validRange": {"min": "1Gi", "max": "9Gi", "step": "8Gi"}},
            [
                'validRange.max: Invalid value: "9Gi": max is larger than capacity value: 8Gi',
                'validRange.default: Invalid value: "10Gi": default is more than max: 9Gi',
                'validRange.step: Invalid value: "8Gi": one step 9Gi is larger than capacity',
                'validRange.step: Invalid value: "10Gi": value is not a multiple of a given step',
            ],
        ),
        (
            {"default": "1", "validRange": {"min": "1", "step": "0"}},
            ['validRange.step: Invalid value: "0": must be greater than zero'],
        ),
        (
            {"default": "1", "validValues": ["1"], "validRange": {"min": "1"}},
            [': Forbidden: exactly one policy can be specified, cannot specify "validValues"'],
        ),
    ],
)
def test_policies(policy: dict[str, Any], expected: list[str]) -> None:
    messages = create(slice_with(policy)).messages
    assert len(messages) == len(expected), messages
    for message, beginning in zip(messages, expected, strict=True):
        at = AT if beginning.startswith(":") else f"{AT}."
        assert message.startswith(at + beginning)


def test_a_capacity_that_stays_is_not_asked_again() -> None:
    old = create(slice_with({"validValues": ["1"]}, shared=False)).obj
    assert update(copy.deepcopy(old), old).messages == []
    new = copy.deepcopy(old)
    new["spec"]["devices"][0]["capacity"]["mem"]["value"] = "9Gi"
    assert update(new, old).messages == [f"{AT}: Forbidden: allowMultipleAllocations must be true"]
