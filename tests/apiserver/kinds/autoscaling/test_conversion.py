from __future__ import annotations

import copy
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from apiserver.kinds.autoscaling.conversion import to_v1, to_v2
from tests.support.kindtools import cells, create

QUANTITIES = st.sampled_from(["1", "100m", "64Mi", "1k"])
METRICS = st.one_of(
    st.builds(
        lambda n, u: {
            "type": "Resource",
            "resource": {"name": n, "target": {"type": "Utilization", "averageUtilization": u}},
        },
        st.just("memory"),
        st.integers(1, 99),
    ),
    st.builds(
        lambda n, q: {
            "type": "Pods",
            "pods": {"metric": {"name": n}, "target": {"type": "AverageValue", "averageValue": q}},
        },
        st.sampled_from(["a", "b"]),
        QUANTITIES,
    ),
    st.builds(
        lambda q, s: {
            "type": "External",
            "external": {"metric": {"name": "q", **s}, "target": {"type": "Value", "value": q}},
        },
        QUANTITIES,
        st.sampled_from([{}, {"selector": {"matchLabels": {"a": "<b>"}}}]),
    ),
    st.builds(
        lambda q, k: {
            "type": "Object",
            "object": {
                "describedObject": {"kind": "Service", "name": "s"},
                "metric": {"name": "m"},
                "target": {"type": k[0], k[1]: q},
            },
        },
        QUANTITIES,
        st.sampled_from([("Value", "value"), ("AverageValue", "averageValue")]),
    ),
)
RULES = st.fixed_dictionaries(
    {
        "policies": st.just([{"type": "Pods", "value": 1, "periodSeconds": 15}]),
        "selectPolicy": st.sampled_from(["Min", "Max"]),
    },
    optional={"stabilizationWindowSeconds": st.integers(0, 3600), "tolerance": QUANTITIES},
)
CPU = {
    "type": "Resource",
    "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 50}},
}


def hpa(metrics: list[dict[str, Any]], **spec: Any) -> dict[str, Any]:
    ref = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
    return {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": "h", "annotations": {"mine": "kept"}},
        "spec": {"scaleTargetRef": ref, "maxReplicas": 3, "metrics": metrics, **spec},
        "status": {"desiredReplicas": 0, "currentMetrics": None},
    }


@given(st.lists(METRICS, max_size=4), st.booleans(), RULES, RULES)
def test_v1_carries_all_of_v2(
    metrics: list[dict[str, Any]], cpu: bool, up: dict[str, Any], down: dict[str, Any]
) -> None:
    # v1 names cpu apart, so that on the way back it comes last.
    wanted = hpa(
        [*metrics, *([CPU] if cpu or not metrics else [])],
        behavior={"scaleUp": up, "scaleDown": down},
    )
    before = copy.deepcopy(wanted)
    assert to_v2(to_v1(wanted)) == wanted
    assert wanted == before


def test_a_plain_autoscaler_needs_no_annotations() -> None:
    v1 = to_v1(hpa([CPU]))
    assert v1["spec"]["targetCPUUtilizationPercentage"] == 50
    assert v1["metadata"]["annotations"] == {"mine": "kept"}


def test_unreadable_annotations_are_dropped() -> None:
    v1 = to_v1(hpa([CPU]))
    v1["metadata"]["annotations"]["autoscaling.alpha.kubernetes.io/metrics"] = "{not json"
    assert to_v2(v1)["spec"]["metrics"] == [CPU]


def test_targets_cell() -> None:
    made = create(
        hpa(
            [
                CPU,
                {
                    "type": "Pods",
                    "pods": {
                        "metric": {"name": "rps"},
                        "target": {"type": "AverageValue", "averageValue": "1k"},
                    },
                },
            ]
        )
    )
    assert cells(made.obj)["Targets"] == "cpu: <unknown>/50%, <unknown>/1k"
    assert cells(made.obj)["Reference"] == "Deployment/web"
