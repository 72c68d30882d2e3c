"""Lease (k8s.io/kubernetes ``apis/coordination/validation``)."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from apiserver.fielderrors import FieldErrors, invalid
from apiserver.kinds.base import Kind, Object, WriteContext
from apiserver.kinds.common import checks, table
from apiserver.kinds.registration import register

_SPEC = checks.root("spec")


@register("coordination.k8s.io", "Lease")
class Lease(Kind):
    """PUT of an absent lease creates it; an update must name the version that it replaces."""

    generation = False
    allow_create_on_update = True
    allow_unconditional_update = False

    def prepare_create(self, obj: Object, context: WriteContext) -> None:
        _drop_disabled(obj.get("spec") or {}, {})

    def prepare_update(self, obj: Object, old: Object, context: WriteContext) -> None:
        _drop_disabled(obj.get("spec") or {}, old.get("spec") or {})

    def validate(self, obj: Object, context: WriteContext) -> FieldErrors:
        spec = obj.get("spec") or {}
        errors: FieldErrors = []
        if spec.get("leaseDurationSeconds") is not None and spec["leaseDurationSeconds"] <= 0:
            errors.append(invalid(_SPEC.child("leaseDurationSeconds"), spec["leaseDurationSeconds"], "must be greater than 0"))
        return errors + list(checks.non_negative(spec.get("leaseTransitions"), _SPEC.child("leaseTransitions")))

    def cells(self, obj: Object, version: str, now: datetime) -> list[Any]:
        return [table.name(obj), (obj.get("spec") or {}).get("holderIdentity") or "", table.created(obj, now)]


def _drop_disabled(spec: Object, old: Object) -> None:
    """strategy and preferredHolder belong to CoordinatedLeaderElection, which is off."""
    for field in ("strategy", "preferredHolder"):
        if field not in old:
            spec.pop(field, None)
