"""ExpressionReview: a row has the values, or why there are none. Answered, never stored."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import orjson

from apiserver.kinds.base import Kind
from apiserver.kinds.registration import register
from apiserver.meta.objects import Object


@register("policies.polyplane.dev", "ExpressionReview")
class ExpressionReview(Kind):
    def cells(self, obj: Object, version: str, now: datetime) -> list[Any]:
        status = obj.get("status") or {}
        results = [
            result.get("error") or orjson.dumps(result.get("value")).decode()
            for result in status.get("results") or ()
        ]
        return [", ".join(results), status.get("cost", 0)]
