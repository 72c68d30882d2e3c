"""The Targets cell of a HorizontalPodAutoscaler: what each metric is and should be (k8s.io/kubernetes ``printers/internalversion``)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

Object = Mapping[str, Any]

_SHOWN = 2
_UNKNOWN = "<unknown>"


def show_targets(metrics: Sequence[Object], statuses: Sequence[Object]) -> str:
    if not metrics:
        return "<none>"
    shown = [_one(metric, statuses[i] if i < len(statuses) else {}) for i, metric in enumerate(metrics)]
    text = ", ".join(shown[:_SHOWN])
    return f"{text} + {len(shown) - _SHOWN} more..." if len(shown) > _SHOWN else text


def _one(metric: Object, status: Object) -> str:
    kind = metric.get("type", "")
    member = kind[:1].lower() + kind[1:]
    source = metric.get(member)
    if source is None:
        return "<unknown type>"
    target, current = source.get("target") or {}, (status.get(member) or {}).get("current") or {}
    if member in ("resource", "containerResource"):
        if target.get("averageValue") is not None:
            return f"{source.get('name', '')}: {current.get('averageValue') or _UNKNOWN}/{target['averageValue']}"
        used, wanted = current.get("averageUtilization"), target.get("averageUtilization")
        now = _UNKNOWN if used is None else f"{used}%"
        return f"{source.get('name', '')}: {now}/{'<auto>' if wanted is None else f'{wanted}%'}"
    if target.get("averageValue") is not None:
        average = " (avg)" if member in ("external", "object") else ""
        return f"{current.get('averageValue') or _UNKNOWN}/{target['averageValue']}{average}"
    return f"{current.get('value') or _UNKNOWN}/{target.get('value', '0')}"
