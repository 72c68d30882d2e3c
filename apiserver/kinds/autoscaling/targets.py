"""The Targets cell of a HorizontalPodAutoscaler: what each metric is and should be
(k8s.io/kubernetes ``printers/internalversion``)."""

from __future__ import annotations

from collections.abc import Sequence

from apiserver.meta.objects import ReadOnlyObject

_SHOWN = 2
_UNKNOWN, _NIL = "<unknown>", "<nil>"
"""Where nothing is known of the metric; where its status lacks the number that the target has."""


def show_targets(metrics: Sequence[ReadOnlyObject], statuses: Sequence[ReadOnlyObject]) -> str:
    if not metrics:
        return "<none>"
    texts = [
        _one(metric, statuses[i] if i < len(statuses) else {}) for i, metric in enumerate(metrics)
    ]
    text = ", ".join(texts[:_SHOWN])
    return f"{text} + {len(texts) - _SHOWN} more..." if len(texts) > _SHOWN else text


def _one(metric: ReadOnlyObject, status: ReadOnlyObject) -> str:
    kind = metric.get("type", "")
    member = kind[:1].lower() + kind[1:]
    source = metric.get(member)
    if source is None:
        return "<unknown type>"
    target, found = source.get("target") or {}, status.get(member)
    current = (found or {}).get("current") or {}
    unread = _UNKNOWN if found is None else _NIL
    if member in ("resource", "containerResource"):
        if target.get("averageValue") is not None:
            return (
                f"{source.get('name', '')}: "
                f"{current.get('averageValue') or unread}/{target['averageValue']}"
            )
        used, target_utilization = (
            current.get("averageUtilization"),
            target.get("averageUtilization"),
        )
        now = _UNKNOWN if used is None else f"{used}%"
        return (
            f"{source.get('name', '')}: "
            f"{now}/{'<auto>' if target_utilization is None else f'{target_utilization}%'}"
        )
    if target.get("averageValue") is not None:
        average = current.get("averageValue")
        if member == "pods":
            return f"{average or unread}/{target['averageValue']}"
        return f"{average or _UNKNOWN}/{target['averageValue']} (avg)"
    return f"{current.get('value') or unread}/{target.get('value', '0')}"
