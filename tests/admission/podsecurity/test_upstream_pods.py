"""Kubernetes' own pods that pass and fail each level in each version: staging/src/k8s.io/
pod-security-admission/test/testdata, in a directory that KUBERNETES_POD_SECURITY_PODS names."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import yaml

from admission.podsecurity.evaluate import NEWEST, evaluate
from admission.podsecurity.pods import Pod
from admission.podsecurity.policy import LevelVersion, parse_level, parse_version
from tests.support.kindtools import typed

VARIABLE = "KUBERNETES_POD_SECURITY_PODS"


def test_every_pod_passes_or_fails_as_upstream() -> None:
    if not os.environ.get(VARIABLE):
        pytest.skip(f"set {VARIABLE} to kubernetes' pod-security-admission/test/testdata")
    wrong, count = [], 0
    for path in sorted(Path(os.environ[VARIABLE]).glob("*/v1.*/*/*.yaml")):
        level, version, expected = path.parts[-4:-1]
        minor = parse_version(version)
        if minor is None or minor > NEWEST:
            continue
        pod = typed(yaml.safe_load(path.read_text()))
        verdict = evaluate(
            LevelVersion(parse_level(level), minor), Pod(pod["metadata"], pod["spec"])
        )
        count += 1
        if bool(verdict.violations) != (expected == "fail"):
            wrong.append((str(path), verdict.detail))
    assert count > 4000 and wrong == []
