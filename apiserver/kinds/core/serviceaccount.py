"""ServiceAccount (k8s.io/kubernetes ``registry/core/serviceaccount``)."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from apiserver.kinds.base import Kind, WriteContext
from apiserver.kinds.common import table
from apiserver.kinds.registration import register
from apiserver.meta.objects import Object

ENFORCE_MOUNTABLE = "kubernetes.io/enforce-mountable-secrets"


@register("", "ServiceAccount")
class ServiceAccount(Kind):
    generation = False
    returns_deleted = True

    def prepare_create(self, obj: Object, context: WriteContext) -> None:
        _keep_names(obj)

    def prepare_update(self, obj: Object, old: Object, context: WriteContext) -> None:
        _keep_names(obj)

    def warnings(self, obj: Object, old: Object | None, context: WriteContext) -> list[str]:
        if ENFORCE_MOUNTABLE not in (obj["metadata"].get("annotations") or {}):
            return []
        if old is not None and ENFORCE_MOUNTABLE in (old["metadata"].get("annotations") or {}):
            return []
        why = (
            "deprecated in v1.32+; prefer separate namespaces to isolate access to mounted secrets"
        )
        return [f"metadata.annotations[{ENFORCE_MOUNTABLE}]: {why}"]

    def cells(self, obj: Object, version: str, now: datetime) -> list[Any]:
        return [table.name(obj), table.created(obj, now)]


def _keep_names(obj: Object) -> None:
    """Of what refers to secrets, which are of the account's own namespace."""
    if obj.get("secrets"):
        obj["secrets"] = [{k: v for k, v in ref.items() if k == "name"} for ref in obj["secrets"]]
