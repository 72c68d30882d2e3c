"""Conditions in the status of flow-control objects."""

from __future__ import annotations

from apiserver.fielderrors import FieldPath, duplicate, required
from apiserver.kinds.common import checks as c
from apiserver.meta.objects import Object


def condition_errors(obj: Object) -> c.Errors:
    seen: set[str] = set()
    for i, condition in enumerate((obj.get("status") or {}).get("conditions") or []):
        path, kind = FieldPath("status.conditions").at(i), condition.get("type", "")
        if not kind:
            yield required(path.child("type"), "must not be empty")
        if kind in seen:
            yield duplicate(path.child("type"), kind)
        seen.add(kind)
