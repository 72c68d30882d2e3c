"""Expressions of the recorded admission policies compile, or are refused, with the recorded texts
(../shared/conformance)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from apiserver.cel.env import Env
from apiserver.cel.kubernetes.patchtypes import JSON_PATCH_TYPE, OBJECT_TYPE
from apiserver.cel.kubernetes.policies import Variables, compile_policy, policy_env
from apiserver.cel.types import BOOL, NULL, STRING, Type, list_type

SCENARIOS = Path(__file__).resolve().parents[4] / "shared" / "conformance" / "scenarios" / "apply"
pytestmark = pytest.mark.skipif(not SCENARIOS.is_dir(), reason="../shared/conformance is absent")
FILES = (
    sorted([*SCENARIOS.glob("vap-*.yaml"), *SCENARIOS.glob("map-*.yaml")])
    if SCENARIOS.is_dir()
    else []
)


def expressions(spec: dict[str, Any]) -> Iterator[tuple[str, str, tuple[Type, ...]]]:
    """(environment, source, result types) of all expressions but variables."""
    for condition in spec.get("matchConditions", []):
        yield "base", condition.get("expression", ""), (BOOL,)
    for validation in spec.get("validations", []):
        yield "base", validation.get("expression", ""), (BOOL,)
        yield "plain", validation.get("messageExpression", ""), (STRING,)
    for annotation in spec.get("auditAnnotations", []):
        yield "plain", annotation.get("valueExpression", ""), (STRING, NULL)
    for mutation in spec.get("mutations", []):
        yield "patch", mutation.get("applyConfiguration", {}).get("expression", ""), (OBJECT_TYPE,)
        yield (
            "patch",
            mutation.get("jsonPatch", {}).get("expression", ""),
            (list_type(JSON_PATCH_TYPE),),
        )


def policy_errors(spec: dict[str, Any]) -> list[str]:
    params = "paramKind" in spec
    envs: dict[str, Env] = {
        "base": policy_env(params),
        "plain": policy_env(params, authorizer=False),
        "patch": policy_env(params, patch=True),
    }
    found = []
    if spec.get("variables"):
        variables = Variables()
        for v in spec["variables"]:
            found.append(
                variables.add(
                    envs["base"], v.get("name", ""), v.get("expression", "").strip()
                ).error
            )
        envs = {name: variables.env(env) for name, env in envs.items()}
    found += [
        compile_policy(envs[env], source.strip(), results).error
        for env, source, results in expressions(spec)
        if source.strip()
    ]
    return [e for e in found if e]


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)
def test_recorded_policies(path: Path) -> None:
    answers = {
        r["id"]: r["answer"]
        for r in json.loads(path.with_name(path.stem + ".recorded.json").read_text())
    }
    for step in yaml.safe_load(path.read_text())["steps"]:
        body, answer = step.get("body"), answers.get(step["id"])
        written = step.get("method") == "POST" and isinstance(body, dict) and answer is not None
        if not written or not str(body.get("kind")).endswith("AdmissionPolicy"):
            continue
        found = policy_errors(body["spec"])
        if answer["status"] < 300:
            assert found == [], step["id"]
            continue
        message = answer["body"].get("message") or answer["body"].get("/message") or ""
        if message:
            assert [e for e in found if e not in message] == [], step["id"]
            assert found or not any(
                words in message for words in ("compilation failed", "must evaluate")
            ), step["id"]
