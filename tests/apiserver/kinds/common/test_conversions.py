"""What the way through kube-apiserver's internal types makes of annotations and selectors that
older versions left behind (k8s.io/kubernetes ``apis/*/v1/conversion.go``)."""

from __future__ import annotations

from typing import Any

import pytest

from apiserver.kinds.catalog import resources
from apiserver.meta.gvk import GroupResource
from apiserver.schema.decode import DecodeError
from tests.support.kindtools import create, typed, workload

OLD = {
    f"pod.{stage}.kubernetes.io/{what}": "x"
    for stage in ("alpha", "beta")
    for what in ("init-containers", "init-container-statuses")
}
ROLLBACK = "deprecated.deployment.rollback.to"
GENERATION = "deprecated.daemonset.template.generation"
KEY = "pdb.kubernetes.io/deprecated-v1beta1-empty-selector-match"


def annotated(kind: str, **annotations: str) -> dict[str, Any]:
    obj = workload(kind)
    obj["metadata"]["annotations"] = annotations
    return obj


@pytest.mark.parametrize(("given", "left"), [({}, None), ({"a": "b"}, {"a": "b"})])
def test_a_pod_forgets_the_annotations_of_old_init_containers(
    given: dict[str, str], left: dict[str, str] | None
) -> None:
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x", "annotations": OLD | given}}
    assert typed(pod)["metadata"].get("annotations") == left


@pytest.mark.parametrize("kind", ["Deployment", "ReplicaSet", "StatefulSet", "DaemonSet"])
def test_so_does_a_template(kind: str) -> None:
    obj = annotated(kind, **OLD)
    obj["spec"]["template"]["metadata"] = {"annotations": {**OLD, "a": "b"}, "labels": {"a": "b"}}
    out = typed(obj)
    assert out["spec"]["template"]["metadata"]["annotations"] == {"a": "b"}
    assert OLD.items() <= out["metadata"]["annotations"].items(), "which are those of pods"


def test_so_does_the_template_of_a_cron_job_and_a_template_alone() -> None:
    template = {"metadata": {"annotations": {**OLD, "a": "b"}}}
    cron = {"spec": {"jobTemplate": {"spec": {"template": template}}}}
    job = typed({"apiVersion": "batch/v1", "kind": "CronJob", "metadata": {"name": "x"}, **cron})
    assert job["spec"]["jobTemplate"]["spec"]["template"]["metadata"] == {"annotations": {"a": "b"}}
    alone = {"apiVersion": "v1", "kind": "PodTemplate", "metadata": {"name": "x"}}
    assert typed({**alone, "template": template})["template"]["metadata"] == {
        "annotations": {"a": "b"}
    }


@pytest.mark.parametrize(("text", "left"), [("007", "7"), ("-1", "-1"), ("+3", "3"), ("", None)])
def test_the_revision_to_roll_back_to_is_a_number(text: str, left: str | None) -> None:
    out = typed(annotated("Deployment", **{ROLLBACK: text}))
    assert (out["metadata"].get("annotations") or {}).get(ROLLBACK) == left


def test_no_revision_is_below_0() -> None:
    assert create(annotated("Deployment", **{ROLLBACK: "-1"})).messages == [
        "spec.rollback.version: Invalid value: -1: must be greater than or equal to 0"
    ]


@pytest.mark.parametrize(
    ("kind", "name", "text", "why"),
    [
        (
            "Deployment",
            ROLLBACK,
            "x",
            f"failed to parse annotation[{ROLLBACK}]=x as int64: "
            'strconv.ParseInt: parsing "x": invalid syntax',
        ),
        ("DaemonSet", GENERATION, "x", 'strconv.ParseInt: parsing "x": invalid syntax'),
        ("DaemonSet", GENERATION, "", 'strconv.ParseInt: parsing "": invalid syntax'),
        (
            "DaemonSet",
            GENERATION,
            "9223372036854775808",
            'strconv.ParseInt: parsing "9223372036854775808": value out of range',
        ),
    ],
)
def test_an_annotation_that_is_no_number_does_not_decode(
    kind: str, name: str, text: str, why: str
) -> None:
    with pytest.raises(DecodeError) as caught:
        typed(annotated(kind, **{name: text}))
    assert str(caught.value) == why


NOTHING = {"key": KEY, "operator": "Exists"}
OTHER = {"key": "a", "operator": "Exists"}


@pytest.mark.parametrize(
    ("selector", "left"),
    [
        ({"matchExpressions": [NOTHING]}, {"matchExpressions": [NOTHING]}),
        ({"matchExpressions": [NOTHING, OTHER]}, {"matchExpressions": [OTHER]}),
        (
            {"matchExpressions": [NOTHING], "matchLabels": {"a": "b"}},
            {"matchLabels": {"a": "b"}},
        ),
        ({"matchExpressions": [{**NOTHING, "operator": "DoesNotExist"}]}, {}),
        ({"matchExpressions": [OTHER]}, {"matchExpressions": [OTHER]}),
        ({}, {}),
    ],
)
def test_a_budget_that_selects_nothing_says_so_with_a_key_of_its_own(
    selector: dict[str, Any], left: dict[str, Any]
) -> None:
    budget = {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "x"}}
    assert typed({**budget, "spec": {"selector": selector}})["spec"]["selector"] == left


METRICS = "autoscaling.alpha.kubernetes.io/metrics"


@pytest.mark.parametrize(
    ("group", "resource", "name"),
    [
        ("apps", "deployments", ROLLBACK),
        ("apps", "daemonsets", GENERATION),
        ("autoscaling", "horizontalpodautoscalers", METRICS),
    ],
)
def test_metadata_alone_has_no_annotation_that_a_conversion_writes(
    group: str, resource: str, name: str
) -> None:
    hooks = resources()[GroupResource(group, resource)].hooks
    both = {"metadata": {"name": "x", "annotations": {name: "1", "a": "b"}}, "spec": {}}
    assert hooks.unconverted(both)["metadata"] == {"name": "x", "annotations": {"a": "b"}}
    assert both["metadata"]["annotations"] == {name: "1", "a": "b"}
    one = {"metadata": {"name": "x", "annotations": {name: "1"}}}
    assert hooks.unconverted(one) == {"metadata": {"name": "x"}}
