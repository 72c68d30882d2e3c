"""Every recorded write (and the reads after it) that kinds alone can answer, compared with the
recording.

``python -m tests.support.kindreplay [KIND ...]`` prints the same as a report per kind. What is
listed in ``ELSEWHERE`` differs here because another part decides it; a step that has become equal
must leave the list.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.kindreplay import replay, scenarios

SHARED = Path(__file__).resolve().parents[4] / "shared"

_ALLOCATION = "allocation of addresses and ports is the registry's"
_ADMISSION = "admission adds it"
_EVICTION = "an eviction, which is not played here, changes it"
ELSEWHERE = {
    "objects/dry-run-create/admission-mutates": _ADMISSION,
    "surface/configmap-serviceaccount/serviceaccount-pull-secrets-reach-pods": _ADMISSION,
    "surface/policy-scheduling/pod-gets-priority": _ADMISSION,
    "surface/policy-scheduling/pod-system-priority": _ADMISSION,
    "surface/policy-scheduling/pod-gets-overhead": _ADMISSION,
    "objects/pod-binding/bound-by-bindings-resource": (
        "POST /bindings, which is not played here, changes it"
    ),
    "surface/pdb-selectors/budget-was-charged": _EVICTION,
    "objects/service-errors/clusterip-outside-the-range": _ALLOCATION,
    "objects/service-errors/nodeport-outside-the-range": _ALLOCATION,
    "objects/service-errors/dual-stack-on-single-stack": _ALLOCATION,
    "objects/service-errors/family-not-configured": _ALLOCATION,
    "surface/doc-dry-run-effects/service-ip-is-not-kept": _ALLOCATION,
    "surface/service/load-balancer-defaults": _ALLOCATION,
    "surface/service/node-port-out-of-range": _ALLOCATION,
    "surface/service/cluster-ip-outside-range": _ALLOCATION,
    "surface/service/dual-stack-on-single-stack": _ALLOCATION,
}
KINDS_ELSEWHERE = {
    "CustomResourceDefinition": (
        "its rules and its status are made by the registry of custom resources"
    )
}


@pytest.mark.shared
@pytest.mark.parametrize("path", scenarios(SHARED), ids=lambda p: f"{p.parent.name}/{p.stem}")
def test_answers_are_the_recorded_ones(path: Path) -> None:
    outcomes = [o for o in replay(path) if o.kind not in KINDS_ELSEWHERE]
    wrong = {o.id: o.differences for o in outcomes if o.differences and o.id not in ELSEWHERE}
    assert wrong == {}
    stale = [o.id for o in outcomes if not o.differences and o.id in ELSEWHERE]
    assert stale == []


@pytest.mark.shared
def test_most_recorded_writes_are_played() -> None:
    """The replay passes over what it cannot play; it must not pass over everything."""
    played = sum(
        len(list(replay(path))) for path in scenarios(SHARED) if path.parent.name == "surface"
    )
    assert played > 300
