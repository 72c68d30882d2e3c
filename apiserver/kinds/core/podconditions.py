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
    reason: str = "",
    message: str = "",
) -> None:
    """Makes the condition ``kind`` true; its lastTransitionTime stays where it was true already
    (UpdatePodCondition)."""
    status = pod.setdefault("status", {})
    conditions = status.get("conditions") or []
    place = next((i for i, c in enumerate(conditions) if c.get("type") == kind), len(conditions))
    before = conditions[place] if place < len(conditions) else {}
    since = before.get("lastTransitionTime") if before.get("status") == "True" else None
    said = {"reason": reason, "message": message}
    condition = {
        "type": kind,
        "status": "True",
        "lastProbeTime": None,
        "lastTransitionTime": since or format_time(now),
        **{name: text for name, text in said.items() if text},
    }
    status["conditions"] = [*conditions[:place], condition, *conditions[place + 1 :]]


def is_true(pod: Object, kind: str) -> bool:
    conditions = (pod.get("status") or {}).get("conditions") or ()
    return any(c.get("type") == kind and c.get("status") == "True" for c in conditions)
