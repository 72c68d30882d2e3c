"""GrantReview: a row says how many are granted something. Answered, never stored."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from apiserver.kinds.base import Kind
from apiserver.kinds.registration import register
from apiserver.meta.objects import Object


@register("authorization.polyplane.dev", "GrantReview")
class GrantReview(Kind):
    def cells(self, obj: Object, version: str, now: datetime) -> list[Any]:
        status = obj.get("status") or {}
        grants = status.get("grants") or ()
        subjects = {tuple(sorted(grant["subject"].items())) for grant in grants}
        hidden = ",".join(status.get("hidden") or ()) or "<none>"
        return [len(subjects), len(grants), hidden, status.get("incomplete", False)]
