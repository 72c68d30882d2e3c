"""Binding, eviction and streams of pods, by the rules behind objects/pod-binding,
surface/pod-subresources and surface/pdb-selectors."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from apiserver.errors import ApiError, BadRequest, Conflict, Forbidden, PlainError, TooManyRequests
from apiserver.kinds.core import podbinding, podeviction, podstreams
from tests.support.kindtools import NOW, create, pod

STAMP = "2026-01-02T03:04:05Z"
SCHEDULED = {
    "type": "PodScheduled",
    "status": "True",
    "lastProbeTime": None,
    "lastTransitionTime": STAMP,
}


def made(status: dict[str, Any] | None = None, **spec: Any) -> dict[str, Any]:
    obj = create(pod(**spec)).obj
    obj["status"].update(status or {})
    return obj


def binding(**metadata: Any) -> dict[str, Any]:
    return {"metadata": {"name": "p", **metadata}, "target": {"kind": "Node", "name": "n"}}


def test_binding_puts_the_pod_on_its_node() -> None:
    old = made()
    old["metadata"]["annotations"] = {"a": "1", "b": "1"}
    before = copy.deepcopy(old)
    bound = podbinding.assign(old, binding(annotations={"b": "2"}, labels={"zone": "z"}), NOW)
    assert old == before
    assert bound["spec"]["nodeName"] == "n"
    assert bound["metadata"]["annotations"] == {"a": "1", "b": "2"}
    assert bound["metadata"]["labels"] == {"zone": "z"}
    assert bound["metadata"]["generation"] == 1
    assert bound["status"]["conditions"] == [SCHEDULED]


def test_a_condition_that_was_true_keeps_its_time() -> None:
    earlier = {**SCHEDULED, "lastTransitionTime": "2026-01-01T00:00:00Z"}
    other = {"type": "Ready", "status": "False", "lastProbeTime": None, "lastTransitionTime": None}
    bound = podbinding.assign(made({"conditions": [earlier, other]}), binding(), NOW)
    assert bound["status"]["conditions"] == [earlier, other]


def test_a_bound_pod_is_nominated_for_no_node() -> None:
    bound = podbinding.assign(made({"nominatedNodeName": "other"}), binding(), NOW)
    assert "nominatedNodeName" not in bound["status"]


@pytest.mark.parametrize(
    ("metadata", "spec", "why"),
    [
        ({"deletionTimestamp": STAMP}, {}, "pod p is being deleted, cannot be assigned to a host"),
        ({}, {"nodeName": "one"}, 'pod p is already assigned to node "one"'),
        ({}, {"schedulingGates": [{"name": "a"}]}, "pod p has non-empty .spec.schedulingGates"),
    ],
)
def test_pods_that_cannot_be_bound(
    metadata: dict[str, Any], spec: dict[str, Any], why: str
) -> None:
    obj = made(**spec)
    obj["metadata"].update(metadata)
    with pytest.raises(Conflict) as caught:
        podbinding.assign(obj, binding(), NOW)
    assert caught.value.message == f'Operation cannot be fulfilled on pods/binding "p": {why}'
    assert caught.value.details == {"name": "p", "kind": "pods/binding"}


def ready(value: bool = True) -> dict[str, Any]:
    obj = made({"phase": "Running", "conditions": [{"type": "Ready", "status": str(value)}]})
    obj["metadata"]["labels"] = {"app": "x"}
    return obj


def budget(
    name: str = "b", selector: Any = None, policy: str = "", **status: Any
) -> dict[str, Any]:
    spec: dict[str, Any] = {
        "selector": {"matchLabels": {"app": "x"}} if selector is None else selector
    }
    if policy:
        spec["unhealthyPodEvictionPolicy"] = policy
    counts = {
        "disruptionsAllowed": 0,
        "currentHealthy": 1,
        "desiredHealthy": 2,
        "observedGeneration": 1,
    }
    return {
        "metadata": {"name": name, "generation": 1},
        "spec": spec,
        "status": {**counts, **status},
    }


@pytest.mark.parametrize(
    ("phase", "skips", "holds"),
    [("Pending", True, True), ("Failed", True, False), ("Running", False, False)],
)
def test_only_running_pods_are_guarded(phase: str, skips: bool, holds: bool) -> None:
    obj = made({"phase": phase})
    assert podeviction.skips_budgets(obj) is skips
    assert podeviction.holds_version(obj, None) is holds
    obj["metadata"]["deletionTimestamp"] = STAMP
    assert podeviction.skips_budgets(obj)


def test_which_budget_guards_a_pod() -> None:
    unset = budget("unset")
    del unset["spec"]["selector"]
    assert (
        podeviction.budget_of(ready(), [unset, budget("other", {"matchLabels": {"app": "y"}})])
        is None
    )
    everything = budget("everything", {})
    assert podeviction.budget_of(ready(), [unset, everything]) is everything
    with pytest.raises(
        PlainError,
        match=r"^This pod has more than one PodDisruptionBudget, which the eviction subresource",
    ):
        podeviction.budget_of(ready(), [everything, budget()])


def test_an_exhausted_budget_refuses() -> None:
    with pytest.raises(TooManyRequests) as caught:
        podeviction.charge(budget(), ready(), NOW)
    status = caught.value.to_status()
    assert status["message"] == "Cannot evict pod as it would violate the pod's disruption budget."
    assert status["details"] == {
        "causes": [
            {
                "reason": "DisruptionBudget",
                "message": "The disruption budget b needs 2 healthy pods and has 1 currently",
            }
        ]
    }
    assert caught.value.retry_after == 0


def condition(reason: str, message: str) -> dict[str, Any]:
    return {"type": "DisruptionAllowed", "status": "False", "reason": reason, "message": message}


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (
            {"conditions": [condition("SyncFailed", "no scale")]},
            "does not allow evicting pods currently because it failed sync: no scale",
        ),
        (
            {"conditions": [condition("Other", "why")]},
            "needs 2 healthy pods and has 1 currently",
        ),
        (
            {"conditions": [condition("Other", "why")], "currentHealthy": 3},
            "does not allow evicting pods currently (Other): why",
        ),
        ({"currentHealthy": 3}, "does not allow evicting pods currently"),
        (
            {"conditions": [condition("SyncFailed", "")], "currentHealthy": 3},
            "does not allow evicting pods currently",
        ),
        ({"currentHealthy": 2}, "needs 2 healthy pods and has 2 currently"),
    ],
)
def test_why_a_budget_allows_nothing(status: dict[str, Any], message: str) -> None:
    with pytest.raises(TooManyRequests) as caught:
        podeviction.charge(budget(**status), ready(), NOW)
    assert caught.value.details is not None
    [cause] = caught.value.details["causes"]
    assert cause["message"] == f"The disruption budget b {message}"


def test_a_budget_that_lags_behind_asks_for_patience() -> None:
    with pytest.raises(TooManyRequests) as caught:
        podeviction.charge(budget(observedGeneration=0, disruptionsAllowed=1), ready(), NOW)
    assert caught.value.retry_after == 10
    assert caught.value.details is not None
    assert (
        caught.value.details["causes"][0]["message"]
        == "The disruption budget b is still being processed by the server."
    )


@pytest.mark.parametrize(
    "status", [{"disruptionsAllowed": -1}, {"disruptedPods": {str(i): STAMP for i in range(2001)}}]
)
def test_budgets_without_sense_forbid(status: dict[str, Any]) -> None:
    with pytest.raises(Forbidden):
        podeviction.charge(budget(**status), ready(), NOW)


def test_an_eviction_costs_one_disruption() -> None:
    old = budget(disruptionsAllowed=2, disruptedPods={"q": STAMP})
    before = copy.deepcopy(old)
    charged = podeviction.charge(old, ready(), NOW)
    assert old == before
    assert charged is not None
    assert charged["status"]["disruptionsAllowed"] == 1
    assert charged["status"]["disruptedPods"] == {"q": STAMP, "p": STAMP}
    assert "conditions" not in charged["status"]


def test_the_last_disruption_is_told_by_a_condition() -> None:
    charged = podeviction.charge(budget(disruptionsAllowed=1), ready(), NOW)
    assert charged is not None
    [condition] = charged["status"]["conditions"]
    assert (condition["type"], condition["status"], condition["reason"]) == (
        "DisruptionAllowed",
        "False",
        "InsufficientPods",
    )


@pytest.mark.parametrize(
    ("guard", "free"),
    [
        (budget(), False),
        (budget(currentHealthy=2), True),
        (budget(currentHealthy=0, desiredHealthy=0), False),
        (budget(policy="AlwaysAllow"), True),
        (budget(policy="IfHealthyBudget"), False),
    ],
)
def test_pods_that_are_not_ready_cost_nothing_to_a_healthy_budget(
    guard: dict[str, Any], free: bool
) -> None:
    guard["status"]["disruptionsAllowed"] = 1
    assert (podeviction.charge(guard, ready(False), NOW) is None) is free
    assert podeviction.holds_version(ready(False), guard) is free
    assert podeviction.charge(guard, ready(), NOW) is not None


def test_an_evicted_pod_tells_why_it_goes() -> None:
    [condition] = [
        c
        for c in podeviction.marked(ready(), NOW)["status"]["conditions"]
        if c["type"] == "DisruptionTarget"
    ]
    assert condition["reason"] == "EvictionByEvictionAPI"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"tailLines": -1}, "tailLines: Invalid value: -1: must be greater than or equal to 0"),
        ({"limitBytes": 0}, "limitBytes: Invalid value: 0: must be greater than 0"),
        ({"sinceSeconds": 0}, "sinceSeconds: Invalid value: 0: must be greater than 0"),
        (
            {"sinceSeconds": 1, "sinceTime": STAMP},
            "[]: Forbidden: at most one of `sinceTime` or `sinceSeconds` may be specified",
        ),
        ({"stream": "x"}, "stream: Forbidden: may not be specified"),
        ({"stream": "All", "tailLines": 1}, "stream: Forbidden: may not be specified"),
        ({"tailLines": 0, "limitBytes": 1, "sinceSeconds": 1}, None),
    ],
)
def test_log_options(options: dict[str, Any], message: str | None) -> None:
    assert [str(e) for e in podstreams.log_errors(options)] == ([message] if message else [])


def test_which_container_is_meant() -> None:
    one = made()
    assert podstreams.container_of(one) == "c"
    assert podstreams.container_of(one, "c") == "c"
    containers = [{"name": n, "image": "i"} for n in "cd"]
    several = made(containers=containers, initContainers=[{"name": "i", "image": "i"}])
    assert podstreams.container_of(several, "i") == "i"
    assert refusal(podstreams.container_of, several) == (
        "a container name must be specified for pod p, choose one of: [i c d]"
    )
    assert refusal(podstreams.container_of, one, "x") == "container x is not valid for pod p"


def test_streams_need_a_node() -> None:
    assert refusal(podstreams.node_of, made()) == "pod p does not have a host assigned"
    assert podstreams.node_of(made(nodeName="n")) == "n"


def refusal(call: Any, *args: Any) -> str:
    with pytest.raises(BadRequest) as caught:
        call(*args)
    error: ApiError = caught.value
    return error.message
