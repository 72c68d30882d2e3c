"""Definitions and their objects against what a real kube-apiserver answered, without a server
between."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from apiserver.errors import Invalid
from apiserver.fielderrors import FieldErrors
from apiserver.kinds.apiextensions.custom import CustomResource
from apiserver.meta.gvk import GroupKind
from tests.support.definitions import create_errors, instance_errors, resource_of

pytestmark = pytest.mark.shared

NS = "<ns>"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


def steps(path: Path) -> Iterator[tuple[dict[str, Any], Any]]:
    """(step, recorded answer) of those steps whose answer is whole and that send an object."""
    text = path.read_text().replace("${ns}", "ns")
    answers = {
        a["id"]: a.get("answer")
        for a in json.loads(path.with_suffix(".recorded.json").read_text().replace(NS, "ns"))
    }
    for step in yaml.load(text, Loader=yaml.CSafeLoader)["steps"]:
        if (
            step.get("method") == "POST"
            and isinstance(step.get("body"), dict)
            and answers.get(step.get("id"))
        ):
            yield step, answers[step["id"]]


def causes(errors: FieldErrors) -> list[tuple[str, str]]:
    status = Invalid(GroupKind("g", "K"), "n", errors).to_status()
    return sorted((c["field"], c["message"]) for c in status["details"]["causes"])


def recorded_causes(answer: Any) -> list[tuple[str, str]] | None:
    body = answer["body"]
    details = body.get("details", body.get("/details"))
    if answer["status"] != 422 or not isinstance(details, dict) or "causes" not in details:
        return None
    return sorted((c["field"], c["message"]) for c in details["causes"])


@pytest.mark.parametrize(
    "name", ["crd-invalid-extensions-and-defaults", "crd-invalid-subresources-and-columns"]
)
def test_definitions_are_refused_for_the_recorded_causes(shared: Path, name: str) -> None:
    checked = 0
    for step, answer in steps(shared / "conformance" / "scenarios" / "apply" / f"{name}.yaml"):
        if not step["path"].startswith(DEFINITIONS):
            continue
        errors = create_errors(step["body"])
        wanted = recorded_causes(answer)
        if answer["status"] == 201:
            assert [str(e) for e in errors] == [], step["id"]
            checked += 1
        elif wanted is not None:
            assert causes(errors) == wanted, step["id"]
            checked += 1
    assert checked > 15


@pytest.mark.parametrize("name", ["crd-formats", "crd-validation-messages", "crd-special-types"])
def test_objects_are_refused_for_the_recorded_causes(shared: Path, name: str) -> None:
    resources: dict[str, CustomResource] = {}
    checked = 0
    for step, answer in steps(shared / "conformance" / "scenarios" / "apply" / f"{name}.yaml"):
        body = step["body"]
        if step["path"].startswith(DEFINITIONS):
            resources[body["spec"]["names"]["plural"]] = resource_of(body)
            continue
        resource = resources[step["path"].rsplit("/", 1)[-1].split("?")[0]]
        wanted = recorded_causes(answer)
        if (
            wanted is not None
            and all(not field.startswith("metadata") for field, _ in wanted)
            and "<uid" not in json.dumps(answer)
        ):
            assert causes(instance_errors(resource, body)) == wanted, step["id"]
            checked += 1
        elif answer["status"] == 201:
            assert [str(e) for e in instance_errors(resource, body)] == [], step["id"]
            checked += 1
    assert checked > 10
