from __future__ import annotations

import pytest

from admission.plugins.limitranger import apply_defaults, claim_errors, pod_errors
from apiserver.meta.objects import Object

LIMITS: list[Object] = [
    {
        "type": "Container",
        "default": {"cpu": "500m", "memory": "256Mi"},
        "defaultRequest": {"cpu": "250m", "memory": "256Mi"},
        "min": {"cpu": "100m"},
        "max": {"cpu": "1", "memory": "1Gi"},
        "maxLimitRequestRatio": {"cpu": "4"},
    },
    {"type": "Pod", "max": {"cpu": "1500m"}},
    {"type": "PersistentVolumeClaim", "min": {"storage": "1Gi"}, "max": {"storage": "2Gi"}},
]


def container(
    name: str = "c", requests: Object | None = None, limits: Object | None = None
) -> Object:
    resources = {k: v for k, v in (("requests", requests), ("limits", limits)) if v}
    return {"name": name, "resources": resources}


def pod(*containers: Object, init: tuple[Object, ...] = ()) -> Object:
    return {"metadata": {}, "spec": {"containers": list(containers), "initContainers": list(init)}}


def check(obj: Object) -> list[str]:
    apply_defaults(obj, LIMITS)
    return pod_errors(obj, LIMITS)


def test_defaults_are_put_in_and_noted() -> None:
    obj = pod(
        container("c", {"cpu": "400m"}, {"cpu": "400m"}),
        container("d", {"memory": "64Mi"}),
        init=(container("i"),),
    )
    assert check(obj) == []
    first, second = obj["spec"]["containers"]
    assert first["resources"] == {
        "requests": {"cpu": "400m", "memory": "256Mi"},
        "limits": {"cpu": "400m", "memory": "256Mi"},
    }
    assert second["resources"] == {
        "requests": {"cpu": "250m", "memory": "64Mi"},
        "limits": {"cpu": "500m", "memory": "256Mi"},
    }
    assert obj["metadata"]["annotations"]["kubernetes.io/limit-ranger"] == (
        "LimitRanger plugin set: memory request for container c; memory limit for container c; cpu "
        "request for container d; "
        "cpu, memory limit for container d; cpu, memory request for init container i; cpu, memory "
        "limit for init container i"
    )


def test_a_complete_pod_is_left_alone() -> None:
    full = {"cpu": "1", "memory": "1Gi"}
    obj = pod(container("c", full, full))
    assert check(obj) == [] and obj["metadata"] == {}


@pytest.mark.parametrize(
    ("requests", "limits", "error"),
    [
        ({}, {"memory": "2Gi"}, "maximum memory usage per Container is 1Gi, but limit is 2Gi"),
        (
            {"cpu": "50m"},
            {"cpu": "150m"},
            "minimum cpu usage per Container is 100m, but request is 50m",
        ),
        (
            {"cpu": "100m"},
            {"cpu": "500m"},
            "cpu max limit to request ratio per Container is 4, but provided ratio is 5.000000",
        ),
    ],
)
def test_containers_outside_the_bounds(requests: Object, limits: Object, error: str) -> None:
    assert check(pod(container("c", requests, limits))) == [error]


def test_what_must_be_said_is_asked_for() -> None:
    bounds: list[Object] = [
        {
            "type": "Container",
            "min": {"cpu": "1"},
            "max": {"memory": "1Gi"},
            "maxLimitRequestRatio": {"cpu": "2"},
        }
    ]
    assert pod_errors(pod(container()), bounds) == [
        "minimum cpu usage per Container is 1.  No request is specified",
        "maximum memory usage per Container is 1Gi.  No limit is specified",
        "cpu max limit to request ratio per Container is 2, but no request is specified or request "
        "is 0",
    ]


def test_a_pod_counts_as_the_sum_of_its_containers() -> None:
    both = pod(
        container("c", limits={"cpu": "1"}, requests={"cpu": "1"}),
        container("d", limits={"cpu": "900m"}, requests={"cpu": "900m"}),
    )
    assert check(both) == ["maximum cpu usage per Pod is 1500m, but limit is 1900m"]


MOST: list[Object] = [{"type": "Pod", "max": {"memory": "64Mi"}, "min": {"cpu": "2"}}]


@pytest.mark.parametrize(
    ("spec", "memory", "cpu"),
    [
        ({}, "96Mi", "1"),  # the second container says nothing of cpu
        ({"initContainers": [container("i", {"cpu": "1500m"})]}, "96Mi", "1500m"),
        (
            {
                "initContainers": [
                    {**container("s", {"cpu": "100m"}), "restartPolicy": "Always"},
                    container("i", {"cpu": "1"}),
                ]
            },
            "96Mi",
            "1100m",
        ),
        (
            {"resources": {"requests": {"cpu": "1200m"}, "limits": {"memory": "80Mi"}}},
            "80Mi",
            "1200m",
        ),
    ],
)
def test_a_pod_needs_what_runs_at_once_or_what_it_says(spec: Object, memory: str, cpu: str) -> None:
    obj = pod(
        container("c", limits={"memory": "64Mi"}, requests={"cpu": "1"}),
        container("d", limits={"memory": "32Mi"}),
    )
    obj["spec"] |= spec
    assert pod_errors(obj, MOST) == [
        f"minimum cpu usage per Pod is 2, but request is {cpu}",
        f"maximum memory usage per Pod is 64Mi, but limit is {memory}",
    ]


@pytest.mark.parametrize(
    ("storage", "errors"),
    [
        ("1Gi", []),
        ("100Mi", ["minimum storage usage per PersistentVolumeClaim is 1Gi, but request is 100Mi"]),
        ("3Gi", ["maximum storage usage per PersistentVolumeClaim is 2Gi, but request is 3Gi"]),
    ],
)
def test_claims(storage: str, errors: list[str]) -> None:
    assert (
        claim_errors({"spec": {"resources": {"requests": {"storage": storage}}}}, LIMITS) == errors
    )
