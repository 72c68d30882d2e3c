from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apiserver.kinds.autoscaling.conversion import to_v1, to_v2
from tests.support.kindtools import cells, create, typed, update

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


def test_v2_has_no_annotations_of_v1() -> None:
    prefix = "autoscaling.alpha.kubernetes.io/"
    names = ("metrics", "current-metrics", "conditions", "behavior")
    tolerances = ("scale-up-tolerance", "scale-down-tolerance")
    obj = hpa([CPU])
    obj["metadata"]["annotations"] = {prefix + n: "[]" for n in (*names, *tolerances)} | {"a": "b"}
    assert typed(obj)["metadata"]["annotations"] == {"a": "b"}


def annotation(source: dict[str, Any]) -> dict[str, Any]:
    """The only metric of v2 that a metric in v1's annotation becomes."""
    v1 = to_v1(hpa([]))
    key = "autoscaling.alpha.kubernetes.io/metrics"
    v1["metadata"]["annotations"] = {key: json.dumps([source])}
    (metric,) = to_v2(v1)["spec"]["metrics"]
    found: dict[str, Any] = metric
    return found


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ({"type": "Object", "object": {"metricName": "m"}}, {"type": "Value", "value": "0"}),
        (
            {"type": "Object", "object": {"targetValue": "0", "averageValue": "1"}},
            {"type": "AverageValue", "averageValue": "1"},
        ),
        (
            {"type": "Object", "object": {"targetValue": "2", "averageValue": "1"}},
            {"type": "AverageValue", "value": "2", "averageValue": "1"},
        ),
        ({"type": "Pods", "pods": {}}, {"type": "AverageValue", "averageValue": "0"}),
        ({"type": "Resource", "resource": {"name": "cpu"}}, {"type": "AverageValue"}),
        ({"type": "External", "external": {}}, {"type": "AverageValue"}),
        (
            {"type": "External", "external": {"targetValue": "2", "targetAverageValue": "1"}},
            {"type": "Value", "value": "2", "averageValue": "1"},
        ),
    ],
)
def test_the_type_of_a_target_follows_from_what_v1_has(
    source: dict[str, Any], target: dict[str, Any]
) -> None:
    metric = annotation(source)
    assert metric[source["type"].lower()]["target"] == target


def with_status(*current: dict[str, Any]) -> dict[str, Any]:
    return {**hpa([CPU]), "status": {"currentMetrics": list(current)}}


def used(utilization: int) -> dict[str, Any]:
    resource = {"name": "cpu", "current": {"averageUtilization": utilization}}
    return {"type": "Resource", "resource": resource}


def test_v1_writes_the_values_that_are_not_known_as_0() -> None:
    external = {"type": "External", "external": {"metric": {"name": "m"}, "current": {}}}
    v1 = to_v1(with_status(used(7), external))
    assert v1["metadata"]["annotations"]["autoscaling.alpha.kubernetes.io/current-metrics"] == (
        '[{"type":"Resource","resource":{"name":"cpu","currentAverageUtilization":7,'
        '"currentAverageValue":"0"}},{"type":"External","external":{"metricName":"m",'
        '"currentValue":"0"}}]'
    )
    current = [next(iter(m[m["type"].lower()]["current"])) for m in _current(to_v2(v1))]
    assert current == ["averageUtilization", "value"]
    assert _current(to_v2(v1))[0]["resource"]["current"]["averageValue"] == "0"


def _current(v2: dict[str, Any]) -> list[dict[str, Any]]:
    listed: list[dict[str, Any]] = v2["status"]["currentMetrics"]
    return listed


def test_the_last_metric_of_cpu_is_v1s_number() -> None:
    v1 = to_v1(with_status(used(7), used(9)))
    assert v1["status"]["currentCPUUtilizationPercentage"] == 9


def test_what_the_annotation_says_of_current_metrics_wins() -> None:
    v1 = to_v1(hpa([CPU]))
    v1["status"]["currentCPUUtilizationPercentage"] = 7
    assert [m["type"] for m in _current(to_v2(v1))] == ["Resource"]
    v1["metadata"]["annotations"] = {"autoscaling.alpha.kubernetes.io/current-metrics": "[]"}
    assert to_v2(v1)["status"]["currentMetrics"] is None


BEHAVIOR = "autoscaling.alpha.kubernetes.io/behavior"
DOWN = (
    '{"StabilizationWindowSeconds":5,"SelectPolicy":"Min",'
    '"Policies":[{"Type":"Pods","Value":1,"PeriodSeconds":5}]'
)
COMPLETE = (
    '{"ScaleUp":{"StabilizationWindowSeconds":0,"SelectPolicy":"Max","Policies":['
    '{"Type":"Pods","Value":4,"PeriodSeconds":15},{"Type":"Percent","Value":100,'
    f'"PeriodSeconds":15}}],"Tolerance":null}},"ScaleDown":{DOWN},"Tolerance":null}}}}'
)


def noted(text: str) -> dict[str, Any]:
    v1 = to_v1(hpa([CPU]))
    v1["metadata"]["annotations"] = {"mine": "kept", BEHAVIOR: text}
    return v1


@pytest.mark.parametrize("text", ["{}", "null", "x"])
def test_what_v1_notes_of_v2_goes_where_it_cannot_be_read(text: str) -> None:
    assert typed(noted(text))["metadata"]["annotations"] == {"mine": "kept"}


def test_a_behavior_in_v1_is_completed_as_that_of_v2_when_it_is_stored() -> None:
    wanted = noted(f'{{"ScaleDown":{DOWN}}}}}')
    assert BEHAVIOR in typed(wanted)["metadata"]["annotations"]
    made = create(wanted)
    assert made.messages == []
    assert made.obj["metadata"]["annotations"] == {"mine": "kept", BEHAVIOR: COMPLETE}
    again = update(wanted, made.obj).obj
    assert again["metadata"]["annotations"] == made.obj["metadata"]["annotations"]


def test_a_direction_without_policies_is_refused_in_v1() -> None:
    assert create(noted('{"ScaleUp":{"SelectPolicy":"Max"}}')).messages == [
        "spec.behavior.scaleUp.policies: Required value: must specify at least one Policy"
    ]


def test_v1_without_a_metric_goes_by_cpu() -> None:
    v1 = to_v1(hpa([CPU]))
    del v1["spec"]["targetCPUUtilizationPercentage"]
    (metric,) = to_v2(v1)["spec"]["metrics"]
    assert metric["resource"]["target"] == {"type": "Utilization", "averageUtilization": 80}


def test_annotations_of_v1_follow_what_they_stand_for() -> None:
    """A status that came with the object goes, and so does its annotation; a status of its own
    makes one, and leaves those of the spec."""
    pods = {"metric": {"name": "a"}, "target": {"type": "AverageValue", "averageValue": "1"}}
    old = to_v1(hpa([{"type": "Pods", "pods": pods}]))
    sent = copy.deepcopy(old)
    sent["status"]["currentCPUUtilizationPercentage"] = 6
    names = set(old["metadata"]["annotations"])
    assert names == {"mine", "autoscaling.alpha.kubernetes.io/metrics"}
    whole = update(typed(sent), typed(old)).obj
    assert set(whole["metadata"]["annotations"]) == names
    sent["metadata"]["annotations"] = {"mine": "kept"}
    status = update(typed(sent), typed(old), "status").obj
    assert set(status["metadata"]["annotations"]) == {
        *names,
        "autoscaling.alpha.kubernetes.io/current-metrics",
    }
    assert status["status"]["currentCPUUtilizationPercentage"] == 6
