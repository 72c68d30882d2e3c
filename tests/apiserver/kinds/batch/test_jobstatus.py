"""What a Job's status may become, and what a suspended Job may change."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from tests.support.kindtools import create, update, workload

BEGAN, DONE = "2026-01-02T03:00:00Z", "2026-01-02T03:10:00Z"


def job(**spec: Any) -> dict[str, Any]:
    made = workload("Job", "batch/v1", {"restartPolicy": "Never"}, **spec)
    made["spec"].pop("selector")
    return create(made).obj


def true(*types: str) -> list[dict[str, str]]:
    return [{"type": t, "status": "True"} for t in types]


def messages(
    status: dict[str, Any], before: dict[str, Any] | None = None, **spec: Any
) -> list[str]:
    old = job(**spec)
    old["status"] = before or {}
    new = copy.deepcopy(old)
    new["status"] = status
    return update(new, old, "status").messages


COMPLETE = {
    "startTime": BEGAN,
    "completionTime": DONE,
    "conditions": true("SuccessCriteriaMet", "Complete"),
    "succeeded": 1,
}
FAILED = {"startTime": BEGAN, "conditions": true("FailureTarget", "Failed"), "failed": 1}
INDEXED = {"completionMode": "Indexed", "completions": 5}


@pytest.mark.parametrize(
    ("status", "wrong"),
    [
        (COMPLETE, []),
        (FAILED, []),
        (
            {"conditions": true("Complete"), "active": 1},
            [
                "status.conditions: Invalid value: cannot set Complete=True condition without the "
                "SuccessCriteriaMet=true condition",
                "status.active: Invalid value: 1: active>0 is invalid for finished job",
                "status.startTime: Required value: startTime is required for finished job",
                "status.completionTime: Required value: completionTime is required for Complete "
                "jobs",
            ],
        ),
        (
            {"conditions": true("Failed"), "startTime": BEGAN},
            [
                "status.conditions: Invalid value: cannot set Failed=True condition without the "
                "FailureTarget=true condition"
            ],
        ),
        (
            {**COMPLETE, "completionTime": "2026-01-02T02:00:00Z"},
            [
                'status.completionTime: Invalid value: "2026-01-02T02:00:00Z": must be equal '
                "to or after `startTime`"
            ],
        ),
        (
            {"completionTime": DONE},
            [
                f'status.completionTime: Invalid value: "{DONE}": cannot set completionTime when '
                f"there is no Complete=True condition"
            ],
        ),
        (
            {
                "active": 1,
                "ready": 2,
                "uncountedTerminatedPods": {"succeeded": ["a", "a"], "failed": [""]},
            },
            [
                'status.uncountedTerminatedPods.succeeded[1]: Duplicate value: "a"',
                'status.uncountedTerminatedPods.failed[0]: Invalid value: "": must not be empty',
                "status.ready: Invalid value: 2: cannot set more ready pods than active",
            ],
        ),
        (
            {**FAILED, "uncountedTerminatedPods": {"failed": ["a"]}},
            [
                'status.uncountedTerminatedPods: Invalid value: {"Succeeded":null,"Failed":["a"]}: '
                "must be empty for finished job"
            ],
        ),
        (
            {"completedIndexes": "1", "failedIndexes": ""},
            [
                'status.completedIndexes: Invalid value: "1": error parsing completedIndexes: too '
                'large index: "1"',
                'status.completedIndexes: Invalid value: "1": cannot set non-empty '
                "completedIndexes when non-indexed completion mode",
                'status.failedIndexes: Invalid value: "": cannot set non-null failedIndexes when '
                "backoffLimitPerIndex is null",
            ],
        ),
        (
            {"failedIndexes": "0"},
            [
                'status.failedIndexes: Invalid value: "0": cannot set non-null failedIndexes when '
                "backoffLimitPerIndex is null"
            ],
        ),
    ],
)
def test_new_status(status: dict[str, Any], wrong: list[str]) -> None:
    assert messages(status) == wrong


def test_indexes_are_in_one_list() -> None:
    found = messages(
        {"completedIndexes": "0-2,4", "failedIndexes": "1,3"}, **INDEXED, backoffLimitPerIndex=1
    )
    assert found == [
        'status.failedIndexes: Invalid value: "1,3": failedIndexes and completedIndexes overlap at '
        "index: 1"
    ]
    assert (
        messages(
            {"completedIndexes": "0-2,4", "failedIndexes": "3"}, **INDEXED, backoffLimitPerIndex=1
        )
        == []
    )


def test_what_is_said_once_stays() -> None:
    before = {**COMPLETE, "failed": 2}
    assert messages(before, before) == []
    assert messages(
        {**before, "conditions": true("SuccessCriteriaMet"), "failed": 1, "startTime": DONE}, before
    ) == [
        f'status.completionTime: Invalid value: "{DONE}": cannot set completionTime when there is '
        f"no Complete=True condition",
        "status.conditions: Invalid value: cannot disable the terminal Complete=True condition",
        "status.failed: Invalid value: 1: cannot decrease the failed counter",
        f'status.startTime: Invalid value: "{DONE}": field is immutable for unsuspended job once '
        "set",
    ]
    shrunk = {"succeeded": 1}, {"succeeded": 2}
    assert messages(*shrunk) == [
        "status.succeeded: Invalid value: 1: cannot decrease the succeeded counter"
    ]
    assert messages(*shrunk, **INDEXED, parallelism=5) == []


def test_what_broke_a_rule_already_may_stay() -> None:
    before = {"conditions": true("Complete"), "active": 1}
    assert messages({**before, "ready": 1}, before) == []


@pytest.mark.parametrize(
    ("status", "allowed"),
    [
        ({}, True),
        ({"startTime": BEGAN}, False),
        ({"startTime": BEGAN, "conditions": true("Suspended")}, True),
        ({"startTime": BEGAN, "conditions": true("Suspended"), "active": 1}, False),
    ],
)
def test_suspended_jobs_change_resources_and_scheduling(
    status: dict[str, Any], allowed: bool
) -> None:
    old = job(suspend=True)
    old["status"] = status
    new = copy.deepcopy(old)
    pods = new["spec"]["template"]["spec"]
    pods["containers"][0]["resources"] = {"requests": {"cpu": "1"}}
    pods["affinity"] = {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": []}}
    assert [e.path for e in update(new, old).errors] == ([] if allowed else ["spec.template"])
    pods["affinity"]["podAffinity"] = {}
    wrong = "spec.template.spec" if allowed else "spec.template"
    assert [e.path for e in update(new, old).errors] == [wrong]


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ("", "Required value"),
        ("a b", 'Invalid value: "a b": must be a domain-prefixed path (such as "acme.io/foo")'),
        ("example.com/" + "x" * 60, "Too long: may not be more than 63 bytes"),
    ],
)
def test_managed_by(value: str, why: str) -> None:
    wanted = workload("Job", "batch/v1", {"restartPolicy": "Never"}, managedBy=value)
    wanted["spec"].pop("selector")
    assert create(wanted).messages == [f"spec.managedBy: {why}"]


def test_success_policies_are_shown_as_go_has_them() -> None:
    wanted = workload(
        "Job",
        "batch/v1",
        {"restartPolicy": "Never"},
        successPolicy={"rules": [{"succeededCount": 1}]},
    )
    wanted["spec"].pop("selector")
    (message,) = create(wanted).messages
    shown = '{"Rules":[{"SucceededIndexes":null,"SucceededCount":1}]}'
    assert (
        message == f"spec.successPolicy: Invalid value: {shown}: requires indexed completion mode"
    )


def test_times_of_completion() -> None:
    before = {**COMPLETE, "completionTime": BEGAN}
    assert messages({**before, "completionTime": DONE}, before) == [
        f'status.completionTime: Invalid value: "{DONE}": field is immutable'
    ]
    assert messages({**COMPLETE, "startTime": DONE, "completionTime": BEGAN}) == [
        f'status.completionTime: Invalid value: "{BEGAN}": must be equal to or after `startTime`'
    ]


def test_a_resumed_job_begins_anew() -> None:
    before = {"startTime": BEGAN, "conditions": true("Suspended")}
    resumed = [{"type": "Suspended", "status": "False"}]
    assert messages({"startTime": DONE, "conditions": resumed}, before) == []
