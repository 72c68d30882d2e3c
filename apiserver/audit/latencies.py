"""Where the time of a slow request went, as annotations of its event.

Source: k8s.io/apiserver ``endpoints/request/webhook_duration.go`` and
``endpoints/filters/audit.go`` (``writeLatencyToAnnotation``). Of upstream's layers those are
measured that exist here and may take long; storage is called by the name that operators look for.
"""

from __future__ import annotations

from collections.abc import Mapping

from apiserver.golang.time import format_duration

AUTHENTICATION = "authentication"
IMPERSONATION = "impersonation"
QUEUE = "apf-queue-wait"
AUTHORIZATION = "authorization"
MUTATING = "mutating-webhook"
VALIDATING = "validating-webhook"
STORAGE = "etcd"
WRITING = "response-write"

SLOW = 0.5
"""Seconds; of requests that take no longer nothing is told."""
_PREFIX = "apiserver.latency.k8s.io/"
_AT_ONCE = frozenset({QUEUE, AUTHORIZATION, VALIDATING})
"""Of these the longest counts: several are under way together."""


def add(delays: dict[str, float], layer: str, seconds: float) -> None:
    """``delays``: seconds by layer."""
    before = delays.get(layer, 0.0)
    delays[layer] = max(before, seconds) if layer in _AT_ONCE else before + seconds


def noted(delays: Mapping[str, float], total: float) -> dict[str, str]:
    """``total``: seconds that the request has taken."""
    if total <= SLOW:
        return {}
    told = {**delays, "total": total}
    return {_PREFIX + layer: format_duration(int(s * 1e9)) for layer, s in told.items() if s > 0}
