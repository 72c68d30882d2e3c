"""The status of a Tenant object."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from apiserver.meta.objects import Object
from apiserver.meta.times import format_optional_time, format_time
from apiserver.storage.models import TenantHead
from controlplane.tenancy.models import Tenant


def status_of(
    obj: Object, row: Tenant, head: TenantHead | None, problem: str, now: datetime
) -> Object:
    """problem: why not all is there that shall be, "" when it is."""
    before = obj.get("status") or {}
    present = {c["type"]: c for c in before.get("conditions") or ()}
    generation = obj["metadata"].get("generation", 1)
    current = [_ready(row, problem), _suspended(row), *_expired(row, now)]
    conditions = [
        {
            "type": kind,
            "status": value,
            "reason": reason,
            "message": message,
            "observedGeneration": generation,
            "lastTransitionTime": _since(present.get(kind), value, now),
        }
        for kind, value, reason, message in current
    ]
    status = {
        "observedGeneration": generation,
        "path": f"/clusters/{row.name}",
        "conditions": conditions,
    }
    if "counts" in before:  # which are counted beside this (counting.py), and may be newer
        status["counts"] = before["counts"]
    elif head is not None:
        status["counts"] = counts_of(head.object_count, head.bytes, head.log_bytes)
    return status


def counts_of(objects: int, size: int, log_size: int) -> Object:
    """Sizes in bytes."""
    return {"objects": objects, "bytes": size, "logBytes": log_size}


def is_over(row: Tenant, now: datetime) -> bool:
    """Whether its time is up."""
    return row.expires_at is not None and row.expires_at <= now


def _since(before: Mapping[str, Any] | None, value: str, now: datetime) -> Any:
    if before is not None and before["status"] == value:
        return before["lastTransitionTime"]
    return format_time(now)


_Condition = tuple[str, str, str, str]


def _ready(row: Tenant, problem: str) -> _Condition:
    if row.state == Tenant.State.DELETING:
        return "Ready", "False", "Deleting", "the tenant is being deleted"
    if problem:
        return "Ready", "False", "Incomplete", problem[:32_000]
    if row.state == Tenant.State.SUSPENDED:
        return "Ready", "False", "Suspended", "all requests are refused"
    return "Ready", "True", "Complete", "all that was declared is there"


def _suspended(row: Tenant) -> _Condition:
    if row.state == Tenant.State.SUSPENDED:
        return "Suspended", "True", "Declared", "all requests are refused"
    return "Suspended", "False", "Active", "requests are served"


def _expired(row: Tenant, now: datetime) -> list[_Condition]:
    if row.expires_at is None:
        return []
    until = format_optional_time(row.expires_at)
    if not is_over(row, now):
        return [("Expired", "False", "NotYet", f"the tenant is deleted at {until}")]
    if row.deletion_protection:
        text = f"the time was up at {until}; the tenant is protected from deletion, and stays"
        return [("Expired", "True", "Protected", text)]
    return [("Expired", "True", "Expired", f"the time was up at {until}")]
