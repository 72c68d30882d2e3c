"""Admin access to devices: where it is asked for, and what the namespace's label says to that."""

from __future__ import annotations

from typing import Any

import pytest

from apiserver.kinds.resource.adminaccess import LABEL, asked_for, granted_anew, refusal

ASKS: dict[str, Any] = {"name": "r", "exactly": {"adminAccess": True}}
REFUSES = {"name": "r", "exactly": {"adminAccess": False}}
SILENT: dict[str, Any] = {"name": "r", "exactly": {"deviceClassName": "gpu"}}
SEVERAL = {"name": "r", "firstAvailable": [{"name": "s", "deviceClassName": "gpu"}]}
SPEC, STATUS = "spec.devices.requests", "status.allocation.devices.results"


@pytest.mark.parametrize(
    ("requests", "path"),
    [
        ([], None),
        ([SILENT, REFUSES, SEVERAL], None),
        ([ASKS], f"{SPEC}[0].adminAccess"),
        ([SEVERAL, REFUSES, ASKS, ASKS], f"{SPEC}[2].adminAccess"),
    ],
)
def test_the_first_request_that_asks(requests: list[Any], path: str | None) -> None:
    assert asked_for({"devices": {"requests": requests}}) == path


def test_a_spec_without_devices() -> None:
    assert asked_for({}) is None and asked_for({"devices": {}}) is None


def status(*access: bool | None) -> dict[str, Any]:
    results = [{"device": "d", **({} if a is None else {"adminAccess": a})} for a in access]
    return {"allocation": {"devices": {"results": results}}}


@pytest.mark.parametrize(
    ("new", "old", "path"),
    [
        ({}, {}, None),
        (status(None, False), {}, None),
        (status(None, True), {}, f"{STATUS}[1].adminAccess"),
        (status(True), status(False), f"{STATUS}[0].adminAccess"),
        (status(True), status(True), None),
        (status(True, True), status(None, True), None),
        ({}, status(True), None),
    ],
)
def test_the_first_result_that_was_not_granted_before(
    new: dict[str, Any], old: dict[str, Any], path: str | None
) -> None:
    assert granted_anew(new, old) == path


@pytest.mark.parametrize("labels", [{}, {LABEL: "false"}, {LABEL: ""}, {LABEL: "True"}])
def test_a_namespace_that_is_not_open(labels: dict[str, str]) -> None:
    path = asked_for({"devices": {"requests": [ASKS]}})
    assert path is not None
    error = refusal(path, labels)
    assert error is not None and str(error) == (
        "spec.devices.requests[0].adminAccess: Forbidden: admin access to devices requires the "
        "`resource.kubernetes.io/admin-access: true` label on the containing namespace"
    )
    assert refusal(path, {LABEL: "true"}) is None
