"""What the status of a PodDisruptionBudget says of its pods (kubernetes
``pkg/controller/disruption``): without I/O, from facts about pods and the scales of their
controllers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from apiserver.kinds.common import metaconditions, selectors
from apiserver.kinds.common.rollout import value_of
from apiserver.kinds.core import podconditions
from apiserver.meta.objects import Object, ReadOnlyObject, controller_of
from apiserver.meta.times import parse_time

DELETION = timedelta(minutes=2)
"""How long a pod that an eviction has paid for counts as going, unless it is marked for deletion
before."""
STALE = timedelta(minutes=2)
"""How long a pod that is not being deleted may say that it is about to be."""
_ALLOWED = "DisruptionAllowed"
_LONGEST = 4096


class SyncFailed(Exception):
    """The pods of a budget cannot be counted; the text goes into its condition."""


class Pod(NamedTuple):
    """controller: the owner reference."""

    name: str
    uid: str
    labels: Mapping[str, str]
    controller: Object | None
    deleted: bool
    ready: bool

    @classmethod
    def of(cls, obj: Object) -> Pod:
        metadata = obj["metadata"]
        return cls(
            metadata["name"],
            metadata["uid"],
            metadata.get("labels") or {},
            controller_of(obj),
            bool(metadata.get("deletionTimestamp")),
            podconditions.is_true(obj, "Ready"),
        )


class Expected(NamedTuple):
    """pods: how many there should be; healthy: how many must be."""

    pods: int
    healthy: int


def selected(budget: ReadOnlyObject, pods: Sequence[Pod]) -> Sequence[Pod]:
    """Those of ``pods`` that the budget is for. Raises SyncFailed."""
    selector = budget["spec"].get("selector")
    if selectors.problem(selector):
        raise SyncFailed("spec.selector is not a valid label selector")
    return [pod for pod in pods if selectors.matches(selector, pod.labels)]


def asks_scales(spec: ReadOnlyObject) -> bool:
    """Whether the budget is a share of what its pods' controllers are to run. Otherwise it counts
    the pods that there are, whoever runs them."""
    return spec.get("maxUnavailable") is not None or isinstance(spec.get("minAvailable"), str)


def expected(spec: ReadOnlyObject, count: int) -> Expected:
    """count: the sum of the scales if `asks_scales`, else of the pods. Shares are rounded up."""
    most, least = spec.get("maxUnavailable"), spec.get("minAvailable")
    if most is not None:
        return Expected(count, max(count - _share(most, count), 0))
    return Expected(0, 0) if least is None else Expected(count, _share(least, count))


def _share(value: int | str, count: int) -> int:
    return -(-value_of(value) * count // 100) if isinstance(value, str) else value


def settled(
    budget: ReadOnlyObject, pods: Sequence[Pod], wanted: Expected, now: datetime
) -> tuple[Object, float | None]:
    """The status that the budget is to have, pods being those that it selects; the seconds until it
    will be another one, should nothing happen before."""
    disrupted, again = _disrupted(budget, pods, now)
    healthy = sum(p.ready and not p.deleted and p.name not in disrupted for p in pods)
    status: Object = {
        "observedGeneration": budget["metadata"].get("generation", 0),
        **({"disruptedPods": disrupted} if disrupted else {}),
        "disruptionsAllowed": max(healthy - wanted.healthy, 0) if wanted.pods > 0 else 0,
        "currentHealthy": healthy,
        "desiredHealthy": wanted.healthy,
        "expectedPods": wanted.pods,
        "conditions": metaconditions.conditions_of(budget),
    }
    if status["disruptionsAllowed"]:
        metaconditions.put(status, _ALLOWED, "True", "SufficientPods", now=now)
    else:
        metaconditions.put(status, _ALLOWED, "False", "InsufficientPods", now=now)
    return status, again


def failed(budget: ReadOnlyObject, why: str, now: datetime) -> Object:
    """The status of a budget whose pods cannot be counted: nothing may be evicted."""
    status = {**(budget.get("status") or {}), "disruptionsAllowed": 0}
    metaconditions.put(status, _ALLOWED, "False", "SyncFailed", why[:_LONGEST], now=now)
    return status


def differ(one: ReadOnlyObject, other: ReadOnlyObject) -> bool:
    """Whether statuses do, where what is empty or 0 may be left out."""
    return _meant(one) != _meant(other)


def _meant(status: ReadOnlyObject) -> Object:
    conditions = [{k: v for k, v in x.items() if v} for x in status.get("conditions") or ()]
    return {k: v for k, v in {**status, "conditions": conditions}.items() if v}


def _disrupted(
    budget: ReadOnlyObject, pods: Sequence[Pod], now: datetime
) -> tuple[dict[str, str], float | None]:
    """Of the pods that evictions have paid for, those that are yet to be deleted; the seconds until
    the first of them counts as kept."""
    noted: Mapping[str, str | None] = (budget.get("status") or {}).get("disruptedPods") or {}
    left: dict[str, str] = {}
    again: float | None = None
    for pod in pods:
        since = noted.get(pod.name)
        if since is None or pod.deleted:
            continue
        seconds = (parse_time(since) + DELETION - now).total_seconds()
        if seconds > 0:
            left[pod.name] = since
            again = seconds if again is None else min(again, seconds)
    return left, again


def overdue(budget: ReadOnlyObject, pods: Sequence[Pod], now: datetime) -> Sequence[Pod]:
    """Of the pods that evictions have paid for, those that should have been deleted by now."""
    noted: Mapping[str, str | None] = (budget.get("status") or {}).get("disruptedPods") or {}
    left, _ = _disrupted(budget, pods, now)
    return [pod for pod in pods if noted.get(pod.name) and pod.name not in left and not pod.deleted]


def seconds_until_stale(pod: ReadOnlyObject, now: datetime) -> float | None:
    """Of the pod's condition DisruptionTarget; None where it is not true, or does not become stale:
    what the kubelet says of a pod that it ends may hold for long."""
    status = pod.get("status") or {}
    if pod["metadata"].get("deletionTimestamp") or status.get("phase") in ("Succeeded", "Failed"):
        return None
    conditions = status.get("conditions") or ()
    said: Object = next((c for c in conditions if c.get("type") == "DisruptionTarget"), {})
    if said.get("status") != "True" or said.get("reason") == "TerminationByKubelet":
        return None
    since = said.get("lastTransitionTime")
    return 0.0 if since is None else (parse_time(since) + STALE - now).total_seconds()
