"""pods/eviction: which disruption budget guards a pod, and what an eviction costs it (EvictionREST
of ``pkg/registry/core/pod``).

The caller reads the pod and the namespace's budgets, then: ``skips_budgets`` → delete at once; else
``budget_of`` → ``charge`` → write the returned budget's status (not in a dry run) → write
``marked`` pod's status → delete. Where ``holds_version`` says so, the deletion must name the pod's
resourceVersion, lest the pod become ready meanwhile.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from apiserver.errors import Forbidden, PlainError, TooManyRequests
from apiserver.kinds.common import metaconditions, selectors
from apiserver.kinds.core import podconditions
from apiserver.meta.gvk import GroupResource
from apiserver.meta.objects import Object, copy_json
from apiserver.meta.times import format_time

_BUDGET = GroupResource("policy", "poddisruptionbudget")
_VIOLATED = "Cannot evict pod as it would violate the pod's disruption budget."
_MANY = (
    "This pod has more than one PodDisruptionBudget, which the eviction subresource does "
    "not support."
)
_MOST_DISRUPTED = 2000
_RETRY_SECONDS = 10


def skips_budgets(pod: Object) -> bool:
    """Pods that do not run are evicted whatever their budgets say."""
    return _is_over(pod) or _phase(pod) == "Pending"


def holds_version(pod: Object, budget: Object | None) -> bool:
    """Whether the eviction rests on the pod's not being ready, and so must fail when the pod has
    changed since."""
    if skips_budgets(pod):
        return not _is_over(pod)
    return budget is not None and _is_free(pod, budget)


def budget_of(pod: Object, budgets: Iterable[Object]) -> Object | None:
    """The one budget that selects the pod, of those in its namespace; an absent selector selects
    nothing, an empty one all.

    Raises PlainError for more than one.
    """
    labels = pod["metadata"].get("labels")
    matching = [b for b in budgets if _selects(b["spec"].get("selector"), labels)]
    if len(matching) > 1:
        raise PlainError(_MANY)
    return matching[0] if matching else None


def charge(budget: Object, pod: Object, now: datetime) -> Object | None:
    """The budget with one disruption less and the pod noted in its status; None: the pod, not being
    ready, costs nothing.

    Raises TooManyRequests where the budget does not allow it, Forbidden where its status makes no
    sense. ``budget`` does not change.
    """
    if _is_free(pod, budget):
        return None
    metadata, status = budget["metadata"], budget.get("status") or {}
    name, allowed = metadata["name"], status.get("disruptionsAllowed", 0)
    if status.get("observedGeneration", 0) < metadata.get("generation", 0):
        raise still_processed(name)
    if allowed < 0:
        raise Forbidden(_BUDGET, name, "pdb disruptions allowed is negative")
    if len(status.get("disruptedPods") or {}) > _MOST_DISRUPTED:
        raise Forbidden(
            _BUDGET,
            name,
            "DisruptedPods map too big - too many evictions not confirmed by PDB controller",
        )
    if allowed == 0:
        raise _refusal(f"The disruption budget {name} {_why_not(status)}")
    charged = copy_json(budget)
    charged["status"]["disruptionsAllowed"] = allowed - 1
    charged["status"]["disruptedPods"] = {
        **(status.get("disruptedPods") or {}),
        pod["metadata"]["name"]: format_time(now),
    }
    if allowed == 1:
        metaconditions.put(
            charged["status"], "DisruptionAllowed", "False", "InsufficientPods", now=now
        )
    return charged


def still_processed(budget_name: str) -> TooManyRequests:
    """The answer while the budget's status lags behind; also when the pod changed under an eviction
    that ``holds_version``."""
    return _refusal(
        f"The disruption budget {budget_name} is still being processed by the server.",
        _RETRY_SECONDS,
    )


def marked(pod: Object, now: datetime) -> Object:
    """The pod with the condition that tells why it goes."""
    out = copy_json(pod)
    podconditions.put(
        out,
        now,
        "DisruptionTarget",
        reason="EvictionByEvictionAPI",
        message="Eviction API: evicting",
    )
    return out


def _phase(pod: Object) -> str:
    return str((pod.get("status") or {}).get("phase") or "")


def _is_over(pod: Object) -> bool:
    return _phase(pod) in ("Succeeded", "Failed") or bool(pod["metadata"].get("deletionTimestamp"))


def _is_free(pod: Object, budget: Object) -> bool:
    if podconditions.is_true(pod, "Ready"):
        return False
    if budget["spec"].get("unhealthyPodEvictionPolicy") == "AlwaysAllow":
        return True
    status = budget.get("status") or {}
    needed, healthy = int(status.get("desiredHealthy", 0)), int(status.get("currentHealthy", 0))
    return 0 < needed <= healthy


def _selects(selector: Object | None, labels: dict[str, str] | None) -> bool:
    return not selectors.problem(selector) and selectors.matches(selector, labels)


def _why_not(status: Object) -> str:
    """What a budget that allows no disruption says of itself."""
    conditions = status.get("conditions") or ()
    said: Object = next((c for c in conditions if c.get("type") == "DisruptionAllowed"), {})
    message = said.get("message", "") if said.get("status") == "False" else ""
    needed, healthy = status.get("desiredHealthy", 0), status.get("currentHealthy", 0)
    refuses = "does not allow evicting pods currently"
    if message and said.get("reason") == "SyncFailed":
        return f"{refuses} because it failed sync: {message}"
    if healthy <= needed:
        return f"needs {needed} healthy pods and has {healthy} currently"
    return f"{refuses} ({said['reason']}): {message}" if message else refuses


def _refusal(why: str, retry_seconds: int = 0) -> TooManyRequests:
    error = TooManyRequests(_VIOLATED)
    error.details = {"causes": [{"reason": "DisruptionBudget", "message": why}]}
    if retry_seconds:
        error.details["retryAfterSeconds"] = retry_seconds
    return error
