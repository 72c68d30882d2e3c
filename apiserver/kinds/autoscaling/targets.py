"""The Targets cell of a HorizontalPodAutoscaler: what each metric is and should be
(k8s.io/kubernetes ``printers/internalversion``)."""

from __future__ import annotations

from collections.abc import Sequence

from apiserver.meta.objects import ReadOnlyObject

_SHOWN = 2
_UNKNOWN = "<unknown>"


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
    target, current = source.get("target") or {}, (status.get(member) or {}).get("current") or {}
    if member in ("resource", "containerResource"):
        if target.get("averageValue") is not None:
            return (
                f"{source.get('name', '')}: "
                f"{current.get('averageValue') or _UNKNOWN}/{target['averageValue']}"
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
        average = " (avg)" if member in ("external", "object") else ""
        return f"{current.get('averageValue') or _UNKNOWN}/{target['averageValue']}{average}"
    return f"{current.get('value') or _UNKNOWN}/{target.get('value', '0')}"
