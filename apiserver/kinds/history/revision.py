"""Revision, ClusterRevision and RetainedLog: made from the tenant's log, never stored
(apiserver.history)."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from apiserver.kinds.base import Kind
from apiserver.kinds.registration import register
from apiserver.meta.objects import Object
from apiserver.meta.times import age, human_duration

GROUP = "history.polyplane.dev"
API_VERSION = f"{GROUP}/v1"


class _RevisionKind(Kind):
    generation = False

    def cells(self, obj: Object, version: str, now: datetime) -> list[Any]:
        asked, reference = obj.get("request") or {}, obj.get("objectRef") or {}
        verb, subresource = obj.get("verb", ""), obj.get("subresource", "")
        return [
            obj["metadata"]["name"],
            f"{obj.get('resource', '')}/{reference.get('name', '')}",
            obj.get("type", ""),
            f"{verb} {subresource}".strip(),
            obj.get("manager", ""),
            asked.get("impersonatedUsername") or asked.get("username", ""),
            age(obj.get("time"), now),
            reference.get("uid", ""),
            obj.get("previous", ""),
            asked.get("userAgent", ""),
        ]


@register(GROUP, "Revision")
class Revision(_RevisionKind):
    pass


@register(GROUP, "ClusterRevision")
class ClusterRevision(_RevisionKind):
    pass


@register(GROUP, "RetainedLog")
class RetainedLog(Kind):
    generation = False

    def cells(self, obj: Object, version: str, now: datetime) -> list[Any]:
        seconds = int(obj.get("retentionSeconds", 0))
        return [
            obj["metadata"]["name"],
            obj.get("begins", "<nothing is left>"),
            age(obj.get("begins"), now) if obj.get("begins") else "",
            obj.get("oldest", ""),
            obj.get("newest", ""),
            human_duration(seconds),
        ]
