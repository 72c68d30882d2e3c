"""Rules of the recorded scenarios: definitions are refused and objects judged with the recorded
causes (../shared/conformance)."""

from __future__ import annotations

import copy
import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import yaml

from apiserver.cel.kubernetes.rulecheck import check_rules
from apiserver.cel.kubernetes.rulenodes import compile_rules
from apiserver.cel.kubernetes.rules import validate
from apiserver.fielderrors import FieldError
from apiserver.schema.types import Schema
from tests.apiserver.cel.schemas import schema_from, with_defaults

SCENARIOS = Path(__file__).resolve().parents[4] / "shared" / "conformance" / "scenarios"
pytestmark = pytest.mark.skipif(not SCENARIOS.is_dir(), reason="../shared/conformance is absent")
FILES = sorted(SCENARIOS.glob("apply/cel-*.yaml")) if SCENARIOS.is_dir() else []
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z")


def causes_of(errors: list[FieldError]) -> Counter[tuple[str, str]]:
    return Counter(
        (e.path or "<nil>", TIME.sub("<time>", e.body()).replace("${ns}", "<ns>")) for e in errors
    )


class Scenario:
    """Plays a scenario against the rules alone: what else a server would say is left out of the
    comparison."""

    def __init__(self, path: Path) -> None:
        self.steps = yaml.safe_load(path.read_text())["steps"]
        recorded = json.loads(path.with_name(path.stem + ".recorded.json").read_text())
        self.recorded = {r["id"]: r["answer"] for r in recorded}
        self.schemas: dict[str, Schema] = {}
        self.objects: dict[str, Any] = {}
        self.failures: list[str] = []

    def play(self) -> list[str]:
        for step in self.steps:
            answer = self.recorded.get(step.get("id"))
            if answer is None or "body" not in step:
                continue
            if step["path"].startswith(CRDS):
                self.define(step, answer)
            else:
                self.write(step, answer)
        return self.failures

    def define(self, step: Any, answer: Any) -> None:
        body = step["body"]
        if step["method"] != "POST" or not body.get("spec", {}).get("versions"):
            return
        raw = body["spec"]["versions"][0].get("schema", {}).get("openAPIV3Schema", {})
        schema = schema_from(raw)
        errors = check_rules(schema, "spec.validation.openAPIV3Schema")
        self.compare(step["id"], answer, errors, "x-kubernetes-validations")
        if answer["status"] == 201:
            self.schemas[f"{body['spec']['group']}/{body['spec']['names']['plural']}"] = schema

    def write(self, step: Any, answer: Any) -> None:
        m = re.match(
            r"/apis/([^/]+)/[^/]+/(?:namespaces/[^/]+/)?([^/]+)(?:/([^/]+))?$", step["path"]
        )
        if m is None or f"{m[1]}/{m[2]}" not in self.schemas:
            return
        schema = self.schemas[f"{m[1]}/{m[2]}"]
        obj = copy.deepcopy(step["body"])
        key = f"{m[1]}/{m[2]}/{m[3] or obj.get('metadata', {}).get('name')}"
        old = self.objects.get(key)
        if step["method"] == "PATCH":
            obj = merge(copy.deepcopy(old) or {}, obj)
        obj = with_defaults(obj, schema)
        outcome = validate(compile_rules(schema), obj, old)
        self.compare(step["id"], answer, outcome.errors, "")
        if answer["status"] < 300 and "dryRun" not in step.get("query", {}):
            self.objects[key] = obj

    def compare(self, step: str, answer: Any, errors: list[FieldError], only: str) -> None:
        body = answer["body"]
        got = causes_of(errors)
        if "details" in body:
            expected = Counter(
                (c["field"], c["message"]) for c in body["details"].get("causes", [])
            )
            others = {
                c
                for c in expected
                if (only not in c[0] and only not in c[1])
                or "to be structural" in c[1]
                or "metadata]" in c[0]
            }
            if others or (not only and not got):
                return  # the schema, not a rule, was refused
            if got != expected:
                self.failures.append(
                    f"{step}: missing {sorted(expected - got)}, wrong {sorted(got - expected)}"
                )
        elif answer["status"] < 300:
            if got:
                self.failures.append(f"{step}: accepted, but {sorted(got)}")
        elif "/message" in body:
            self.compare_message(step, body["/message"], got, only)
        elif not {f for f, _ in got} & {body.get("/details/causes/0/field")}:
            self.failures.append(f"{step}: {sorted(got)} instead of {body}")

    def compare_message(
        self, step: str, message: str, got: Counter[tuple[str, str]], only: str
    ) -> None:
        missing = [c for c in got if f"{c[0]}: {c[1]}" not in message]
        if missing or (only in message and not got):
            self.failures.append(f"{step}: {sorted(got)} instead of {message}")


def merge(target: Any, patch: Any) -> Any:
    if not isinstance(patch, dict):
        return patch
    target = target if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            target.pop(key, None)
        else:
            target[key] = merge(target.get(key), value)
    return target


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)
def test_recorded(path: Path) -> None:
    failures = Scenario(path).play()
    assert not failures, "\n".join(failures)
