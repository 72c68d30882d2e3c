"""ServiceAccount (k8s.io/kubernetes ``registry/core/serviceaccount``)."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from apiserver.kinds.base import Kind, Object, WriteContext
from apiserver.kinds.common import table
from apiserver.kinds.registration import register

ENFORCE_MOUNTABLE = "kubernetes.io/enforce-mountable-secrets"


@register("", "ServiceAccount")
class ServiceAccount(Kind):
    generation = False
    returns_deleted = True

    def warnings(self, obj: Object, old: Object | None, context: WriteContext) -> list[str]:
        if ENFORCE_MOUNTABLE not in (obj["metadata"].get("annotations") or {}):
            return []
        if old is not None and ENFORCE_MOUNTABLE in (old["metadata"].get("annotations") or {}):
            return []
        why = "deprecated in v1.32+; prefer separate namespaces to isolate access to mounted secrets"
        return [f"metadata.annotations[{ENFORCE_MOUNTABLE}]: {why}"]

    def cells(self, obj: Object, version: str, now: datetime) -> list[Any]:
        return [table.name(obj), table.created(obj, now)]
