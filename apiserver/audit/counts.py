"""What this process has counted of its audit log, under kube-apiserver's names where it has one."""

from __future__ import annotations

EVENTS: dict[tuple[str, ...], float] = {(): 0}
"""Made, for whatever takes them (apiserver_audit_event_total)."""
LEVELS: dict[tuple[str, ...], float] = dict.fromkeys(
    [("None",), ("Metadata",), ("Request",), ("RequestResponse",)], 0
)
"""Requests by what the policy wants of them (apiserver_audit_level_total)."""
LOST: dict[tuple[str, ...], float] = {}
"""By who should have taken them (apiserver_audit_error_total, plugin)."""


def count_event() -> None:
    EVENTS[()] += 1


def lost(plugin: str, count: int = 1) -> None:
    LOST[plugin,] = LOST.get((plugin,), 0) + count
