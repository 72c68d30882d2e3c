"""AdmissionUseReview: a row sums up. Answered, never stored."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from apiserver.kinds.base import Kind
from apiserver.kinds.registration import register
from apiserver.meta.objects import Object


@register("policies.polyplane.dev", "AdmissionUseReview")
class AdmissionUseReview(Kind):
    def cells(self, obj: Object, version: str, now: datetime) -> list[Any]:
        status = obj.get("status") or {}
        policies, webhooks = status.get("policies") or [], status.get("webhooks") or []
        refusals = sum(use.get("refusals", 0) for use in [*policies, *webhooks])
        return [len(policies), len(webhooks), refusals]
