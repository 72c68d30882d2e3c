"""AccessExplanation: a row says whether, by whom, and by which rule."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from apiserver.kinds.base import Kind
from apiserver.kinds.registration import register
from apiserver.meta.objects import Object

_NONE = "<none>"


@register("authorization.polyplane.dev", "AccessExplanation")
class AccessExplanation(Kind):
    def cells(self, obj: Object, version: str, now: datetime) -> list[Any]:
        status = obj.get("status") or {}
        misses = status.get("nearMisses") or ()
        grant = status.get("grant") or (misses[0] if misses else None)
        return [
            status.get("allowed", False),
            status.get("authorizer") or _NONE,
            _NONE if grant is None else _place(grant["binding"]),
            _NONE if grant is None else _place(grant["role"]),
            _NONE if grant is None else _rule(grant["rule"]),
            ",".join((grant or {}).get("lacking") or ()) or _NONE,
            status.get("reason", ""),
        ]


def _place(source: Object) -> str:
    namespace = source.get("namespace")
    return f"{source['kind']}/{f'{namespace}/' if namespace else ''}{source['name']}"


def _rule(rule: Object) -> str:
    """``get,list apps/deployments``."""
    what = rule.get("nonResourceURLs") or [
        f"{group}/{resource}" if group else resource
        for group in rule.get("apiGroups") or ()
        for resource in rule.get("resources") or ()
    ]
    names = rule.get("resourceNames")
    text = f"{','.join(rule.get('verbs') or ())} {','.join(what)}"
    return f"{text} named {','.join(names)}" if names else text
