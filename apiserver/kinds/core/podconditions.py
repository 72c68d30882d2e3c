"""Conditions that the API server itself writes into a pod's status."""

from __future__ import annotations

from datetime import datetime

from apiserver.meta.objects import Object
from apiserver.meta.times import format_time


def put(
    pod: Object,
    now: datetime,
    kind: str,
    *,
    state: str = "True",
    reason: str = "",
    message: str = "",
    generation: int = 0,
) -> None:
    """Makes the condition ``kind`` true, or what ``state`` says; its lastTransitionTime stays where
    it was so already (UpdatePodCondition). generation: that was looked at, 0 to say none."""
    status = pod.setdefault("status", {})
    conditions = status.get("conditions") or []
    place = next((i for i, c in enumerate(conditions) if c.get("type") == kind), len(conditions))
    before = conditions[place] if place < len(conditions) else {}
    since = before.get("lastTransitionTime") if before.get("status") == state else None
    said = {"reason": reason, "message": message}
    condition = {
        "type": kind,
        "status": state,
        "lastProbeTime": None,
        "lastTransitionTime": since or format_time(now),
        **{name: text for name, text in said.items() if text},
        **({"observedGeneration": generation} if generation else {}),
    }
    status["conditions"] = [*conditions[:place], condition, *conditions[place + 1 :]]


def is_true(pod: Object, kind: str) -> bool:
    conditions = (pod.get("status") or {}).get("conditions") or ()
    return any(c.get("type") == kind and c.get("status") == "True" for c in conditions)
